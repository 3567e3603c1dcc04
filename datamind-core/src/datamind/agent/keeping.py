"""What is kept of a run beside its answer: every receipt it has, and the truth about what was interrupted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from datamind.agent.history import INTERRUPTED
from datamind.agent.results import with_receipts
from datamind.agent.services import AgentServices
from datamind.core.context import RequestContext
from datamind.core.messages import Block, Message, ToolResultBlock
from datamind.core.receipts import IngestReceipt, StoreResult, overall_status


async def with_all_receipts(
    result: StoreResult, services: AgentServices, *, refused: bool | None = None
) -> StoreResult:
    """The result with every receipt the ledger has for its request.

    A write that went past its intent when the time ran out is in the ledger, not in what the loop saw. ``refused``,
    left out, is what the result's own status says.
    """
    known = {receipt.receipt_id for receipt in result.receipts}
    missed = [receipt for receipt in await _receipts(result.trace_id, services) if receipt.receipt_id not in known]
    if not missed:
        return result
    refused = result.status == "partial" if refused is None else refused
    return with_receipts(result, (*result.receipts, *missed), refused=refused)


async def fill_interrupted(
    messages: Sequence[Message], ctx: RequestContext, services: AgentServices
) -> tuple[Message, ...]:
    """Interrupted calls whose write was recorded say so, with the receipt."""
    results = [result for message in messages for result in message.results]
    interrupted = [result for result in results if result.content == INTERRUPTED]
    if not interrupted:
        return tuple(messages)
    receipts = await _receipts(ctx.trace_id, services)
    if ctx.idempotency_key:
        # The caller's key names no call. Writes run one at a time, so what no result tells is the first one's.
        told = "".join(result.content for result in results)
        mine = {interrupted[0].call_id: [receipt for receipt in receipts if receipt.receipt_id not in told]}
    else:
        mine = {result.call_id: _of_call(result.call_id, ctx, receipts) for result in interrupted}
    return tuple(
        message.model_copy(update={"blocks": tuple(_told(block, mine) for block in message.blocks)})
        if message.role == "tool"
        else message
        for message in messages
    )


def _of_call(call_id: str, ctx: RequestContext, receipts: Sequence[IngestReceipt]) -> list[IngestReceipt]:
    return [receipt for receipt in receipts if receipt.idempotency_key.startswith(f"{ctx.trace_id}/{call_id}#")]


def _told(block: Block, receipts: Mapping[str, Sequence[IngestReceipt]]) -> Block:
    if not isinstance(block, ToolResultBlock) or block.content != INTERRUPTED or not receipts.get(block.call_id):
        return block
    mine = receipts[block.call_id]
    status = overall_status(receipt.result for receipt in mine)
    content = {
        "status": status,
        "receipt_ids": [receipt.receipt_id for receipt in mine],
        "note": "interrupted after it",
    }
    return block.model_copy(update={"content": json.dumps(content), "is_error": status == "failed"})


async def _receipts(trace_id: str, services: AgentServices) -> list[IngestReceipt]:
    return [receipt for control in services.controls() for receipt in await control.receipts.of_trace(trace_id)]
