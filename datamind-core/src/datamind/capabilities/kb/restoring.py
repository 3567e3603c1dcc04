"""Taking a write of the knowledge base back: documents with their passages come back, or go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from datamind.capabilities.control.sources import StoredSource
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
    change = await side.kb.reverting(args.receipt)
    return found_write(args.receipt, [_label(one) for one in change.back], [_label(one) for one in change.gone])


def _label(stored: StoredSource) -> str:
    return stored.title or stored.source.uri


async def _plan(args: RestoreArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    side: WriteSide = ctx.side
    change = await side.kb.reverting(args.receipt)
    yield PlannedWrite({"receipt": args.receipt, **change.as_json()}, label=args.receipt)


async def _restore(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    side: WriteSide = ctx.side
    change = Restoration.of_json(args)
    await side.kb.restore(change, ctx.unit)
    back, gone = (tuple(one.document_id for one in part) for part in (change.back, change.gone))
    return restored(DataSurface.KB, back, gone)


async def _is_restored(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    side: ReadSide = ctx.side
    back, left = await side.kb.present(result.ids), await side.kb.present(result.closed_ids)
    return seen_restored(back, len(result.ids), left, len(result.closed_ids), "documents")


def kb_restore_tool() -> ToolSpec:
    """``kb_restore``: the texts of every version are kept, so that the passages are made from them again."""
    return restore_tool(
        DataSurface.KB,
        "kb_restore",
        _restore,
        selector=Selector(_find, as_found),
        plan=_plan,
        read_back=_is_restored,
    )
