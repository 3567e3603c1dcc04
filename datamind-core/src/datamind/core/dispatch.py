"""The one gate: every tool call of every agent, loop, server and test passes ``dispatch``."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from datamind.core.arguments import read_arguments
from datamind.core.context import AskedCall, RequestContext, ToolContext
from datamind.core.errors import AccessDenied, ApprovalRequired, BudgetExceeded, DataMindError, ToolFailed, unforeseen
from datamind.core.hooks import AskUser, Deny, HookChain, PendingCall, Revise, Verdict
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome, bounded, outcome_of_error
from datamind.core.protocols.agent import ApprovalRequest, Approver
from datamind.core.tools import ToolOutput, ToolRegistry, ToolSpec, assert_access, paths_of
from datamind.core.types import ToolEffect

log = logging.getLogger(__name__)


class DecisionRecorder(Protocol):
    """Where decisions other than a plain Allow are put on record."""

    async def record_decision(
        self, kind: str, call: ToolCall, ctx: RequestContext, *, code: str = "", detail: str = ""
    ) -> None:
        """Durable when it returns. ``kind`` is ``denied``, ``asked``, ``approved``, ``rewritten`` or ``failed``."""


@dataclass(frozen=True)
class Sides:
    """The two sides of the services; a handler is given the one of its tool's effect, and a pure tool none."""

    read: Any = None
    write: Any = None

    def for_effect(self, effect: ToolEffect) -> Any:
        """The side a handler of this effect may touch."""
        if effect is ToolEffect.PURE:
            return None
        return self.read if effect is ToolEffect.READ else self.write


@dataclass(frozen=True)
class Gate:
    """What one role's calls are checked against and run on."""

    registry: ToolRegistry
    hooks: HookChain
    sides: Sides
    recorder: DecisionRecorder
    approver: Approver | None = None


async def dispatch(call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    """Check and run one call; the answer is always one outcome.

    1 the tool is in the role's registry and the role holds its access; 2 the arguments are complete, strict and
    schema-valid; 3 the HookChain allows the final arguments; 4 the handler runs; 5 the HookChain sees the outcome.
    Only cancellation and BudgetExceeded propagate.
    """
    started = time.monotonic()
    try:
        outcome = await _checked(call, ctx, gate)
    except BudgetExceeded:
        raise
    except AccessDenied as error:
        await _record(gate, "denied", call, ctx, code=error.code, detail=error.message)
        outcome = outcome_of_error(call.id, call.name, error, denied=True)
    except DataMindError as error:
        # Such as a decision that could not be put on record: then nothing runs.
        outcome = outcome_of_error(call.id, call.name, error, denied=True)
    except Exception as error:
        outcome = outcome_of_error(call.id, call.name, _unforeseen(call.name, error), denied=True)
    return replace(outcome, duration_s=round(time.monotonic() - started, 6))


async def _checked(call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    spec = _permitted(call, ctx, gate.registry)
    args = read_arguments(call.arguments, max_bytes=spec.max_argument_bytes)
    asked = AskedCall(spec.parse(args), next(ctx.ordinals)) if spec.recall else None

    async def revise(args: Mapping[str, Any]) -> PendingCall:
        # Through the strict reader again: a hook's arguments are held to what a model's are.
        text = json.dumps(dict(args))
        revised = read_arguments(text, max_bytes=spec.max_argument_bytes)
        return await _pending(spec, call.id, revised, ctx, gate, asked)

    pending = await _pending(spec, call.id, args, ctx, gate, asked)
    if _means_nothing(pending):
        return _nothing_matched(pending)
    verdict = await gate.hooks.pre(pending, ctx, revise)
    outcome = await _decided(verdict, call, ctx, gate, revise)
    return await _after(verdict.call, outcome, call, ctx, gate)


def _permitted(call: ToolCall, ctx: RequestContext, registry: ToolRegistry) -> ToolSpec:
    spec = registry.get(call.name)
    if spec is None or (spec.for_application and not ctx.by_application):
        # No "did you mean": the reading side must not learn the names of write tools.
        raise AccessDenied(f"there is no tool {call.name[:80]!r} for this role", code="access_denied.unknown_tool")
    assert_access(spec, ctx.role)
    return spec


async def _pending(
    spec: ToolSpec, call_id: str, args: Mapping[str, Any], ctx: RequestContext, gate: Gate, asked: AskedCall | None
) -> PendingCall:
    parsed = spec.parse(args)
    context = ToolContext(ctx, call_id, gate.sides.for_effect(spec.effect), asked=asked)
    destroyed = await spec.destroys(parsed, context) if spec.destroys else None
    if spec.selector is None:
        return PendingCall(call_id, spec, args, destroyed=destroyed)
    # First: what a repeat selects is not there any more, or something else is.
    recalled = await _recalled(spec, context)
    candidates = None if recalled else await spec.selector.find(parsed, context)
    if candidates is not None and not candidates.ids:
        recalled = await _recalled(spec, context)  # the same call may have run meanwhile
    if recalled or candidates is None:
        return PendingCall(call_id, spec, args, recalled=recalled)
    pinned = spec.selector.pin(args, candidates.ids) if candidates.ids else args
    return PendingCall(call_id, spec, pinned, candidates, asked=asked, destroyed=destroyed)


async def _recalled(spec: ToolSpec, context: ToolContext) -> ToolOutput | None:
    return await spec.recall(context.asked, context) if spec.recall and context.asked else None


def _means_nothing(call: PendingCall) -> bool:
    return call.candidates is not None and not call.candidates.ids


def _nothing_matched(call: PendingCall) -> ToolOutcome:
    return ToolOutcome(call.call_id, call.spec.name, call.spec.surface, call.args, {"matched": 0})


async def _decided(verdict: Verdict, call: ToolCall, ctx: RequestContext, gate: Gate, revise: Revise) -> ToolOutcome:
    for name in verdict.rewritten_by:
        await gate.recorder.record_decision("rewritten", call, ctx, detail=name)
    match verdict.decision:
        case Deny() as deny:
            return await _denied(deny, verdict.call, call, ctx, gate)
        case AskUser() as ask if verdict.call.recalled is None:
            refused = await _asked(ask, verdict, call, ctx, gate) or await _changed(verdict, call, ctx, gate, revise)
            return refused or await _run(verdict.call, call, _granting(verdict.call, ctx), gate)
        case _:
            return await _run(verdict.call, call, ctx, gate)


async def _denied(deny: Deny, pending: PendingCall, call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    await _record(gate, "denied", call, ctx, code=deny.code, detail=deny.reason)
    return _failed(pending, AccessDenied(deny.reason, code=deny.code), denied=True)


def _granting(call: PendingCall, ctx: RequestContext) -> RequestContext:
    # What a person approved includes the paths of the call; opening them is still checked by descriptor.
    paths = (Path(path) for path in paths_of(call.args, call.spec.path_args))
    return replace(ctx, granted_paths=(*ctx.granted_paths, *(path for path in paths if path.is_absolute())))


async def _asked(ask: AskUser, verdict: Verdict, call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome | None:
    await gate.recorder.record_decision("asked", call, ctx, detail=ask.reason)
    approved = False
    if gate.approver is not None:
        # A copy: what runs is the stored call, whatever becomes of the one that was shown.
        shown = replace(verdict.call, args=deepcopy(dict(verdict.call.args)))
        try:
            approved = await gate.approver.decide(ApprovalRequest.of(shown, ctx, ask)) is True
        except Exception as error:
            log.warning("the approver failed: %s", type(error).__name__)
    if approved:
        await gate.recorder.record_decision("approved", call, ctx)
        return None
    refusal = ApprovalRequired(f"{ask.reason}; a person must approve this call", hint="Nothing was changed.")
    await _record(gate, "denied", call, ctx, code=refusal.code, detail=ask.reason)
    return _failed(verdict.call, refusal, denied=True)


async def _changed(
    approved: Verdict, call: ToolCall, ctx: RequestContext, gate: Gate, revise: Revise
) -> ToolOutcome | None:
    """A person may take minutes: every hook is asked again, and only the call that was approved may run."""
    again = await gate.hooks.pre(approved.call, ctx, revise)
    if isinstance(again.decision, Deny):
        return await _denied(again.decision, approved.call, call, ctx, gate)
    if again.rewritten_by:
        deny = Deny("the call is no longer the one that was approved", "access_denied.changed")
        return await _denied(deny, approved.call, call, ctx, gate)
    return None


async def _run(pending: PendingCall, call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    spec = pending.spec
    if _means_nothing(pending):  # what a rewrite made of it
        return _nothing_matched(pending)
    if pending.recalled is not None:
        return _outcome(pending, pending.recalled)
    try:
        context = ToolContext(ctx, pending.call_id, gate.sides.for_effect(spec.effect), asked=pending.asked)
        output = await spec.handler(spec.parse(pending.args), context)
        if not isinstance(output, ToolOutput):
            what = "a write without a receipt" if spec.writes else f"a {type(output).__name__} instead of a ToolOutput"
            return _failed(pending, ToolFailed(f"{spec.name} returned {what}"))
        return _outcome(pending, output)
    except BudgetExceeded:
        raise
    except AccessDenied as error:
        # Such as a path that only turned out to be a link when it was opened.
        await _record(gate, "denied", call, ctx, code=error.code, detail=error.message)
        return _failed(pending, error)
    except DataMindError as error:
        return _failed(pending, error)
    except Exception as error:
        return _failed(pending, _unforeseen(spec.name, error))


def _unforeseen(name: str, error: Exception) -> DataMindError:
    # A plugin's own exception: its text may quote data, so only the type is told; the log has the rest.
    log.error("%s failed", name, exc_info=error)
    return unforeseen(name, error)


def _failed(pending: PendingCall, error: DataMindError, *, denied: bool = False) -> ToolOutcome:
    outcome = outcome_of_error(pending.call_id, pending.spec.name, error, denied=denied)
    return replace(outcome, surface=pending.spec.surface, args=pending.args)


def _outcome(pending: PendingCall, output: ToolOutput) -> ToolOutcome:
    spec = pending.spec
    data, evidence, cut = bounded(output, spec.bound, offset=_page_start(pending))
    failed = next((receipt for receipt in output.receipts if receipt.status == "failed"), None)
    error = failed.result.error if failed else None
    return ToolOutcome(
        pending.call_id,
        spec.name,
        spec.surface,
        pending.args,
        data,
        evidence,
        output.receipts,
        is_error=error is not None,
        code=error.code if error else "",
        message=error.message if error else "",
        truncated=cut,
        max_chars=spec.bound.max_chars,
        notices=output.notices,
    )


def _page_start(pending: PendingCall) -> int | None:
    """Where the page starts that a tool was asked for; None for a tool without pages."""
    offset = pending.args.get("offset", 0) if "offset" in pending.spec.input_schema.get("properties", {}) else None
    return offset if isinstance(offset, int) else None


async def _after(
    pending: PendingCall, outcome: ToolOutcome, call: ToolCall, ctx: RequestContext, gate: Gate
) -> ToolOutcome:
    failed = await gate.hooks.post(pending, outcome, ctx)
    if not failed:
        return outcome
    detail = f"after the call: {', '.join(failed)}"
    await _record(gate, "failed", call, ctx, code="access_denied.hook_failed", detail=detail)
    if outcome.receipts:
        return replace(outcome, data={**outcome.data, "hooks_failed": list(failed)})
    error = AccessDenied(f"the result is withheld: a hook failed {detail}", code="access_denied.hook_failed")
    return _failed(pending, error, denied=True)


async def _record(gate: Gate, kind: str, call: ToolCall, ctx: RequestContext, *, code: str, detail: str) -> None:
    """Put on record what holds anyway: a refusal stays one, and receipts are not lost, when the record fails."""
    try:
        await gate.recorder.record_decision(kind, call, ctx, code=code, detail=detail)
    except Exception:
        log.exception("a decision on %s could not be put on record", call.name[:80])
