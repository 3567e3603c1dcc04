"""From what a run did to what it returns; the status of a write comes from receipts, never from words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from datamind.agent.base import LoopParts, LoopTurn
from datamind.core.evidence import InferenceResult
from datamind.core.lazy_pattern import lazy_pattern
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import IngestReceipt, StoreResult, overall_status
from datamind.core.results import Notice, StopReason, ToolTrace
from datamind.core.types import DataSurface, Role

if TYPE_CHECKING:
    from datamind.agent.run import AgentRun

_CLAIMS_WRITE = lazy_pattern(
    r"\b(saved|stored|remembered|noted|recorded|added|updated|deleted|removed|forgotten|imported|written|created"
    r"|replaced|kept|logged|done)\b|\b(?:i['’]ll|i will|i shall) (?:remember|keep)\b"
    r"|已经?(?:[为為帮幫给給]你|[为為帮幫给給]您|成功|全部|都)*"
    r"(?:保存|存储|儲存|存入|记录|記錄|记住|記住|记下|記下|添加|新增|更新|修改|删除|刪除|移除|忘记|忘記|导入|匯入|写入|寫入)"
    r"|(?:记住|記住|记下|記下|保存|存|存好|添加|更新|删除|刪除|删|导入|写入)了|存好了|完成了",
    re.IGNORECASE,
)
_NO_CLAIM = lazy_pattern(
    r"\b(not|nothing|no(?! problem)|never|none|cannot|\w+n['’]t|failed|unable|should|can|could|would|may|might|shall be"
    r"|will be|to be|whether|if)\b|\byou(?:['’]ve| have| just)?\s*\Z"
    r"|没|沒|未(?![来來])|无法|無法|不能|不会|不會|如果|是否",
    re.IGNORECASE,
)
_NOTHING_AFTER = lazy_pattern(r"\s*(nothing|none|no)\b", re.IGNORECASE)
_PART = lazy_pattern(r"(?:(?!\b(?:but|however|though)\b|但)[^.!?。！？;；\n])+[?？]?", re.IGNORECASE)


def make_result(
    parts: LoopParts, turn: LoopTurn, run: AgentRun, answer: str, stop_reason: StopReason
) -> InferenceResult | StoreResult:
    """The result of a run, by role."""
    shared: dict[str, Any] = {
        "surfaces_used": surfaces_used(run.calls.outcomes),
        "tool_trace": tuple(trace_of(outcome) for outcome in run.calls.outcomes),
        "history": run.messages,
        "iterations": run.budget.turns,
        "stop_reason": stop_reason,
        "usage": run.budget.usage,
        "model": parts.client.model,
        "extractive": parts.client.extractive,
        "trace_id": turn.ctx.trace_id,
        "duration_s": round(run.duration_s, 4),
    }
    notices = (*parts.notices, *run.notices, *_cost_notice(run), *notices_of(run.calls.outcomes))
    if parts.role is Role.STORE:
        return make_store_result(answer, run.calls.outcomes, notices=notices, **shared)
    evidence = run.calls.evidence
    resolved = evidence.resolve(answer)
    return InferenceResult(
        answer=resolved.text,
        evidence=tuple(evidence.evidence),
        citations=resolved.citations,
        claims=resolved.claims,
        notices=(*notices, *resolved.notices),
        **shared,
    )


def make_store_result(
    answer: str, outcomes: Sequence[ToolOutcome], *, refused: bool | None = None, **shared: Any
) -> StoreResult:
    """A StoreResult whose status is computed from receipts alone; with ``refused`` a success is a partial one.

    Left out, ``refused`` is whether a hook, a path rule or a person refused a write.
    """
    if refused is None:
        refused = any(_is_refused_write(outcome) for outcome in outcomes)
    result = StoreResult(status="nothing_written", answer=answer, **shared)
    return with_receipts(result, receipts_of(outcomes), refused=refused)


def with_receipts(result: StoreResult, receipts: Sequence[IngestReceipt], *, refused: bool = False) -> StoreResult:
    """The result with these receipts and the status and flags that follow from them."""
    status = overall_status(receipt.result for receipt in receipts)
    if refused and status in ("stored", "unchanged"):
        status = "partial"
    claims = status in ("nothing_written", "failed") and claims_write(result.answer)
    update = {"status": status, "receipts": tuple(receipts), "flags": ("unreceipted_claim",) if claims else ()}
    return result.model_copy(update=update)


def _is_refused_write(outcome: ToolOutcome) -> bool:
    # Malformed arguments and names that do not exist are the model's own affair: it may have tried again.
    refused = outcome.code.partition(".")[0] in ("access_denied", "path_denied", "approval_required")
    return refused and outcome.surface is not None and not outcome.receipts


def _cost_notice(run: AgentRun) -> list[Notice]:
    if not run.budget.cost_is_unknown:
        return []
    message = "agent.max_cost_usd could not be held: the price of a model call is not known"
    return [Notice(code="max_cost.unknown", message=message)]


def claims_write(answer: str) -> bool:
    """Whether the words say that something was written, and neither deny it nor ask."""
    return any(_is_claim(part, match) for part in _PART.findall(answer) for match in _CLAIMS_WRITE.finditer(part))


def _is_claim(part: str, match: re.Match[str]) -> bool:
    after = part[match.end() :]
    if _NO_CLAIM.search(part[: match.start()]) or _NOTHING_AFTER.match(after):
        return False
    asks = part.endswith(("?", "？")) and "," not in after and "，" not in after
    return not asks


def receipts_of(outcomes: Sequence[ToolOutcome]) -> tuple[IngestReceipt, ...]:
    """Every receipt once, in the order of the writes."""
    found = {receipt.receipt_id: receipt for outcome in outcomes for receipt in outcome.receipts}
    return tuple(found.values())


def notices_of(outcomes: Sequence[ToolOutcome]) -> tuple[Notice, ...]:
    """What the calls have to say to the reader, of each kind the last word."""
    return tuple({notice.code: notice for outcome in outcomes for notice in outcome.notices}.values())


def surfaces_used(outcomes: Sequence[ToolOutcome]) -> tuple[DataSurface, ...]:
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
