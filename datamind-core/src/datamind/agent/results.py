"""From what a run did to what it returns; the status of a write comes from receipts, never from words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from datamind.agent.base import LoopParts, LoopTurn
from datamind.core.evidence import InferenceResult
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import IngestReceipt, StoreResult, overall_status
from datamind.core.results import StopReason, ToolTrace
from datamind.core.types import DataSurface, Role

if TYPE_CHECKING:
    from datamind.agent.run import AgentRun

_CLAIMS_WRITE = re.compile(
    r"\b(saved|stored|remembered|noted|recorded|added|updated|deleted|removed|forgotten|imported|written)\b"
    r"|(?:已|已经)(?:保存|存储|记录|记住|添加|更新|删除|移除|忘记|导入|写入)|记住了|保存了|存好了|删除了",
    re.IGNORECASE,
)
_DENIES_WRITE = re.compile(
    r"\b(not|nothing|no|never|cannot|could ?n[o']t|failed|unable)\b|没有|未能|无法|不能|失败", re.IGNORECASE
)


def make_result(
    parts: LoopParts, turn: LoopTurn, run: AgentRun, answer: str, stop_reason: StopReason
) -> InferenceResult | StoreResult:
    """The result of a run, by role."""
    shared = {
        "surfaces_used": surfaces_used(run.outcomes),
        "tool_trace": tuple(trace_of(outcome) for outcome in run.outcomes),
        "history": run.messages,
        "iterations": run.budget.turns,
        "stop_reason": stop_reason,
        "usage": run.budget.usage,
        "model": parts.client.model,
        "extractive": parts.client.extractive,
        "trace_id": turn.ctx.trace_id,
        "duration_s": round(run.duration_s, 4),
    }
    if parts.role is Role.STORE:
        return make_store_result(answer, receipts_of(run.outcomes), notices=parts.notices, **shared)
    resolved = run.evidence.resolve(answer)
    return InferenceResult(
        answer=resolved.text,
        evidence=tuple(run.evidence.evidence),
        citations=resolved.citations,
        claims=resolved.claims,
        notices=(*parts.notices, *resolved.notices),
        **shared,
    )


def make_store_result(answer: str, receipts: tuple[IngestReceipt, ...], **shared: Any) -> StoreResult:
    """A StoreResult whose status is computed from ``receipts`` alone."""
    status = overall_status(receipt.result for receipt in receipts)
    flags = ("unreceipted_claim",) if status in ("nothing_written", "failed") and claims_write(answer) else ()
    return StoreResult(status=status, receipts=receipts, answer=answer, flags=flags, **shared)


def claims_write(answer: str) -> bool:
    """Whether a sentence says that something was written, and does not deny it."""
    return any(
        _CLAIMS_WRITE.search(part) and not _DENIES_WRITE.search(part) for part in re.split(r"[.!?。！？\n]", answer)
    )


def receipts_of(outcomes: list[ToolOutcome]) -> tuple[IngestReceipt, ...]:
    """Every receipt once, in the order of the writes."""
    found = {receipt.receipt_id: receipt for outcome in outcomes for receipt in outcome.receipts}
    return tuple(found.values())


def surfaces_used(outcomes: list[ToolOutcome]) -> tuple[DataSurface, ...]:
    """The surfaces whose calls ran, in order of first use."""
    used = {outcome.surface: None for outcome in outcomes if outcome.surface is not None and not outcome.is_error}
    return tuple(used)


def trace_of(outcome: ToolOutcome) -> ToolTrace:
    """One call as the result shows it."""
    return ToolTrace(
        call_id=outcome.call_id,
        name=outcome.name,
        input=dict(outcome.args),
        is_error=outcome.is_error,
        code=outcome.code,
        duration_s=outcome.duration_s,
        evidence_ids=tuple(item.evidence_id for item in outcome.evidence),
        receipt_ids=tuple(receipt.receipt_id for receipt in outcome.receipts),
    )
