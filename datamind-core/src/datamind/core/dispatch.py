"""The one gate: every tool call of every agent, loop, server and test passes ``dispatch``."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from datamind.core.arguments import read_arguments
from datamind.core.context import RequestContext, ToolContext
from datamind.core.errors import AccessDenied, ApprovalRequired, BudgetExceeded, DataMindError, ToolFailed
from datamind.core.hooks import Allow, AskUser, Deny, HookChain, PendingCall, Verdict
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome, bounded, outcome_of_error
from datamind.core.protocols.agent import ApprovalRequest, Approver
from datamind.core.receipts import SurfaceWriteResult
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
    outcome = await _checked(call, ctx, gate)
    return replace(outcome, duration_s=round(time.monotonic() - started, 6))


async def _checked(call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    try:
        spec = _permitted(call, ctx, gate.registry)
        args = read_arguments(call.arguments, max_bytes=spec.max_argument_bytes)
        pending = await _pending(spec, call.id, args, ctx, gate)
    except AccessDenied as error:
        await gate.recorder.record_decision("denied", call, ctx, code=error.code, detail=error.message)
        return outcome_of_error(call.id, call.name, error, denied=True)
    except DataMindError as error:
        return outcome_of_error(call.id, call.name, error, denied=not isinstance(error, BudgetExceeded))
    if pending.candidates is not None and not pending.candidates.ids:
        return ToolOutcome(call.id, spec.name, spec.surface, args, {"matched": 0})
    verdict = await gate.hooks.pre(pending, ctx, lambda args: _pending(spec, call.id, args, ctx, gate))
    outcome = await _decided(verdict, call, ctx, gate)
    return await _after(verdict.call, outcome, call, ctx, gate)


def _permitted(call: ToolCall, ctx: RequestContext, registry: ToolRegistry) -> ToolSpec:
    spec = registry.get(call.name)
    if spec is None:
        # No "did you mean": the reading side must not learn the names of write tools.
        raise AccessDenied(f"there is no tool {call.name[:80]!r} for this role", code="access_denied.unknown_tool")
    assert_access(spec, ctx.role)
    return spec


async def _pending(
    spec: ToolSpec, call_id: str, args: Mapping[str, Any], ctx: RequestContext, gate: Gate
) -> PendingCall:
    parsed = spec.parse(args)
    if spec.selector is None:
        return PendingCall(call_id, spec, args)
    candidates = await spec.selector.find(parsed, ToolContext(ctx, call_id, gate.sides.for_effect(spec.effect)))
    pinned = spec.selector.pin(args, candidates.ids) if candidates.ids else args
    return PendingCall(call_id, spec, pinned, candidates)


async def _decided(verdict: Verdict, call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    for name in verdict.rewritten_by:
        await gate.recorder.record_decision("rewritten", call, ctx, detail=name)
    match verdict.decision:
        case Deny(reason=reason, code=code):
            await gate.recorder.record_decision("denied", call, ctx, code=code, detail=reason)
            return outcome_of_error(call.id, call.name, AccessDenied(reason, code=code), denied=True)
        case AskUser() as ask:
            refused = await _asked(ask, verdict, call, ctx, gate)
            return refused or await _run(verdict.call, _granting(verdict.call, ctx), gate)
        case Allow():
            return await _run(verdict.call, ctx, gate)


def _granting(call: PendingCall, ctx: RequestContext) -> RequestContext:
    # What a person approved includes the paths of the call; opening them is still checked by descriptor.
    paths = (Path(path) for path in paths_of(call.args, call.spec.path_args))
    return replace(ctx, granted_paths=(*ctx.granted_paths, *(path for path in paths if path.is_absolute())))


async def _asked(ask: AskUser, verdict: Verdict, call: ToolCall, ctx: RequestContext, gate: Gate) -> ToolOutcome | None:
    await gate.recorder.record_decision("asked", call, ctx, detail=ask.reason)
    approved = False
    if gate.approver is not None:
        request = ApprovalRequest.of(verdict.call, ctx, ask)
        try:
            approved = await gate.approver.decide(request) is True
        except Exception as error:
            log.warning("the approver failed: %s", type(error).__name__)
    if approved:
        await gate.recorder.record_decision("approved", call, ctx)
        return None
    refusal = ApprovalRequired(f"{ask.reason}; a person must approve this call", hint="Nothing was changed.")
    await gate.recorder.record_decision("denied", call, ctx, code=refusal.code, detail=ask.reason)
    return outcome_of_error(call.id, call.name, refusal, denied=True)


async def _run(call: PendingCall, ctx: RequestContext, gate: Gate) -> ToolOutcome:
    spec = call.spec
    try:
        context = ToolContext(ctx, call.call_id, gate.sides.for_effect(spec.effect))
        output = await spec.handler(spec.parse(call.args), context)
    except BudgetExceeded:
        raise
    except DataMindError as error:
        return replace(outcome_of_error(call.call_id, spec.name, error), surface=spec.surface, args=call.args)
    except Exception as error:
        # A plugin's own exception: its text may quote data, so only the type is told; the log has the rest.
        log.exception("%s failed", spec.name)
        unexpected = ToolFailed(f"{spec.name} failed ({type(error).__name__})")
        return replace(outcome_of_error(call.call_id, spec.name, unexpected), surface=spec.surface, args=call.args)
    if isinstance(output, SurfaceWriteResult):
        unexpected = ToolFailed(f"{spec.name} returned a write without a receipt")
        return outcome_of_error(call.call_id, spec.name, unexpected)
    return _outcome(call, output)


def _outcome(call: PendingCall, output: ToolOutput) -> ToolOutcome:
    data, evidence, cut = bounded(output, call.spec.bound)
    failed = next((receipt for receipt in output.receipts if receipt.status == "failed"), None)
    error = failed.result.error if failed else None
    return ToolOutcome(
        call.call_id,
        call.spec.name,
        call.spec.surface,
        call.args,
        data,
        evidence,
        output.receipts,
        is_error=error is not None,
        code=error.code if error else "",
        message=error.message if error else "",
        truncated=cut,
    )


async def _after(
    pending: PendingCall, outcome: ToolOutcome, call: ToolCall, ctx: RequestContext, gate: Gate
) -> ToolOutcome:
    failed = await gate.hooks.post(pending, outcome, ctx)
    if not failed:
        return outcome
    detail = f"after the call: {', '.join(failed)}"
    await gate.recorder.record_decision("failed", call, ctx, code="access_denied.hook_failed", detail=detail)
    if outcome.receipts:
        return replace(outcome, data={**outcome.data, "hooks_failed": list(failed)})
    error = AccessDenied(f"the result is withheld: a hook failed {detail}", code="access_denied.hook_failed")
    return replace(outcome_of_error(call.id, call.name, error, denied=True), surface=outcome.surface, args=outcome.args)
