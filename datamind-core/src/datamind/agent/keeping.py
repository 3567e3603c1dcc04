"""What is kept of a run beside its answer: every receipt it has, and the truth about what was interrupted."""

from __future__ import annotations

import json
from collections.abc import Sequence

from datamind.agent.history import INTERRUPTED
from datamind.agent.services import AgentServices
from datamind.core.context import RequestContext
from datamind.core.messages import Message, ToolResultBlock
from datamind.core.receipts import IngestReceipt, StoreResult, overall_status


async def with_all_receipts(result: StoreResult, services: AgentServices) -> StoreResult:
    """The result with every receipt the ledger has for its request.

    A write that went past its intent when the time ran out is in the ledger, not in what the loop saw.
    """
    known = {receipt.receipt_id for receipt in result.receipts}
    missed = [receipt for receipt in await _receipts(result.trace_id, services) if receipt.receipt_id not in known]
    if not missed:
        return result
    receipts = (*result.receipts, *missed)
    status = overall_status(receipt.result for receipt in receipts)
    return result.model_copy(update={"receipts": receipts, "status": status})


async def fill_interrupted(
    messages: Sequence[Message], ctx: RequestContext, services: AgentServices
) -> tuple[Message, ...]:
    """Interrupted calls whose write was recorded say so, with the receipt."""
    receipts = await _receipts(ctx.trace_id, services)
    return tuple(
        message.model_copy(update={"blocks": tuple(_told(block, ctx, receipts) for block in message.blocks)})
        if message.role == "tool"
        else message
        for message in messages
    )


def _told(block: object, ctx: RequestContext, receipts: Sequence[IngestReceipt]) -> object:
    if not isinstance(block, ToolResultBlock) or block.content != INTERRUPTED:
        return block
    prefix = f"{ctx.trace_id}/{block.call_id}#"
    mine = [receipt for receipt in receipts if receipt.idempotency_key.startswith(prefix)]
    if not mine:
        return block
    status = overall_status(receipt.result for receipt in mine)
    content = {
        "status": status,
        "receipt_ids": [receipt.receipt_id for receipt in mine],
        "note": "interrupted after it",
    }
    return block.model_copy(update={"content": json.dumps(content), "is_error": status == "failed"})


async def _receipts(trace_id: str, services: AgentServices) -> list[IngestReceipt]:
    shared = services.shared_control.if_exists()
    found = list(await services.control.receipts.of_trace(trace_id))
    return found + (list(await shared.receipts.of_trace(trace_id)) if shared else [])
