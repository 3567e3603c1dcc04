"""Taking the write of a skill back: the version before it comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from datamind.capabilities.control.versions import Restoration
from datamind.capabilities.restoring import (
    RestoreArguments,
    as_found,
    found_write,
    restore_tool,
    restored,
    seen_restored,
)
from datamind.capabilities.sides import ReadSide, WriteSide
from datamind.core.context import ToolContext
from datamind.core.hooks import Candidates
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, Selector, ToolSpec
from datamind.core.types import DataSurface


async def _find(args: RestoreArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    change = await side.skills.reverting(args.receipt)
    return found_write(args.receipt, [one.title for one in change.back], [one.title for one in change.gone])


async def _plan(args: RestoreArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    side: WriteSide = ctx.side
    change = await side.skills.reverting(args.receipt)
    yield PlannedWrite({"receipt": args.receipt, **change.as_json()}, label=args.receipt)


async def _restore(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    side: WriteSide = ctx.side
    change = Restoration.of_json(args)
    await side.skills.restore(change, ctx.unit)
    back, gone = (tuple(one.title for one in part) for part in (change.back, change.gone))
    return restored(DataSurface.SKILLS, back, gone)


async def _is_restored(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    side: ReadSide = ctx.side
    found = {skill.name for skill in await side.skills.skills()}
    back, left = len(found & set(result.ids)), len(found & set(result.closed_ids))
    return seen_restored(back, len(result.ids), left, len(result.closed_ids), "skills")


def skill_restore_tool() -> ToolSpec:
    """``skill_restore``: the body of every version is kept."""
    return restore_tool(
        DataSurface.SKILLS,
        "skill_restore",
        _restore,
        selector=Selector(_find, as_found),
        plan=_plan,
        read_back=_is_restored,
    )
