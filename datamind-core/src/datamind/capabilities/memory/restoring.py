"""Taking a write of the memory back: what it closed or forgot holds again, what it added goes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

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
from datamind.core.protocols.memory import MemoryRevert
from datamind.core.receipts import SurfaceWriteResult, profile_of_receipt
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, Selector, ToolSpec
from datamind.core.types import SHARED_PROFILE, DataSurface


async def _find(args: RestoreArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    change = await side.memory.reverting(args.receipt, shared=_is_shared(args.receipt))
    back, gone = ([item.text[:120] for item in part] for part in (change.back, change.gone))
    return found_write(args.receipt, back, gone)


def _ids(change: MemoryRevert) -> tuple[tuple[str, ...], tuple[str, ...]]:
    back, gone = (tuple(item.memory_id for item in part) for part in (change.back, change.gone))
    return back, gone


def _is_shared(receipt_id: str) -> bool:
    return profile_of_receipt(receipt_id) == SHARED_PROFILE


async def _plan(args: RestoreArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    shared = _is_shared(args.receipt)
    unit = {"receipt": args.receipt, "shared": shared}
    yield PlannedWrite(unit, ledger_profile=SHARED_PROFILE if shared else "", label=args.receipt)


async def _restore(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    side: WriteSide = ctx.side
    back, gone = _ids(await side.memory.revert(args["receipt"], ctx.unit.receipt_id, shared=args["shared"]))
    return restored(DataSurface.MEMORY, back, gone)


async def _is_restored(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    side: ReadSide = ctx.side
    session = ctx.request.session
    back, left = await side.memory.seen(result.ids, session), await side.memory.seen(result.closed_ids, session)
    return seen_restored(back, len(result.ids), left, len(result.closed_ids), "memories")


def memory_restore_tool() -> ToolSpec:
    """``memory_restore``: the store keeps what each write changed."""
    return restore_tool(
        DataSurface.MEMORY,
        "memory_restore",
        _restore,
        selector=Selector(_find, as_found),
        plan=_plan,
        read_back=_is_restored,
    )
