"""The HookChain: order, precedence, rewrites, and failing closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from datamind.core.context import RequestContext
from datamind.core.dispatch import Gate, dispatch
from datamind.core.hooks import (
    MAX_REWRITES,
    Allow,
    AskUser,
    Deny,
    HookChain,
    NamedHook,
    PendingCall,
    Rewrite,
    ToolHook,
)
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.tools import ToolSpec
from datamind.core.types import Role, ToolEffect
from datamind.testing.fakes import DecisionLog, RecordingHook, ScriptedApprover
from datamind.testing.gates import make_gate, make_request, make_tool

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "top_k": {"type": "integer", "minimum": 1}},
    "required": ["q"],
    "additionalProperties": False,
}


class Deciding:
    """A hook whose decision is any function of the call."""

    def __init__(self, decide: Callable[[PendingCall], Any], name: str = "", trail: list[str] | None = None) -> None:
        self._decide = decide
        self._name = name
        self._trail = trail if trail is not None else []
        self.seen: list[Mapping[str, Any]] = []
        self.ended: list[ToolOutcome] = []

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Any:
        self.seen.append(dict(call.args))
        self._trail.append(self._name)
        decision = self._decide(call)
        return await decision if asyncio.iscoroutine(decision) else decision

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        self.ended.append(outcome)


def raising(error: Exception) -> Callable[[PendingCall], Any]:
    def decide(call: PendingCall) -> Any:
        raise error

    return decide


class Sensor:
    """A tool that remembers the arguments it ran with."""

    def __init__(self, effect: ToolEffect = ToolEffect.READ) -> None:
        self.ran: list[Mapping[str, Any]] = []
        self.spec: ToolSpec = make_tool("look", self._work, effect=effect, schema=SCHEMA)

    async def _work(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        self.ran.append(args)
        return {"found": 1, "secret": "the stored text"}


def gate_of(sensor: Sensor, *hooks: ToolHook, **parts: Any) -> Gate:
    role = Role.STORE if sensor.spec.writes else Role.RETRIEVE
    return make_gate(sensor.spec, role=role, hooks=hooks, **parts)


async def look(gate: Gate, arguments: str = '{"q": "a"}') -> ToolOutcome:
    role = Role.STORE if gate.registry["look"].writes else Role.RETRIEVE
    return await dispatch(ToolCall(id="call_1", name="look", arguments=arguments), make_request(role), gate)


async def test_lower_order_goes_first_and_ties_go_by_name() -> None:
    trail: list[str] = []
    hooks = [(7, "b"), (7, "a"), (-1, "z"), (0, "m")]
    named = [NamedHook(name, order, Deciding(lambda call: Allow(), name, trail)) for order, name in hooks]
    pending = PendingCall("call_1", Sensor().spec, {"q": "a"})
    await HookChain(named).pre(pending, make_request(), raising(AssertionError()))  # type: ignore[arg-type]
    assert trail == ["z", "m", "a", "b"]


async def test_a_later_deny_wins_over_an_earlier_question() -> None:
    sensor, approver = Sensor(), ScriptedApprover([True])
    gate = gate_of(sensor, RecordingHook(AskUser("sure?")), RecordingHook(Deny("never")), approver=approver)
    outcome = await look(gate)
    assert (outcome.denied, outcome.code, outcome.message) == (True, "access_denied.hook", "never")
    assert (sensor.ran, approver.requests) == ([], [])


async def test_a_deny_stops_the_chain_and_a_later_allow_does_not_lift_a_question() -> None:
    last = RecordingHook()
    sensor = Sensor()
    assert (await look(gate_of(sensor, RecordingHook(Deny("no")), last))).denied
    assert last.before == []
    outcome = await look(gate_of(sensor, RecordingHook(AskUser("sure?")), last))
    assert (outcome.code, sensor.ran) == ("approval_required", [])


async def test_a_rewrite_is_seen_by_every_hook_and_is_what_runs() -> None:
    first, last = Deciding(lambda call: Allow()), Deciding(lambda call: Allow())
    rewriting = Deciding(lambda call: Rewrite({**call.args, "top_k": 2}, "fewer"))
    log, sensor = DecisionLog(), Sensor()
    outcome = await look(gate_of(sensor, first, rewriting, last, recorder=log))
    assert not outcome.is_error
    assert first.seen == [{"q": "a"}, {"q": "a", "top_k": 2}]
    assert last.seen == [{"q": "a", "top_k": 2}]
    assert sensor.ran == [outcome.args] == [{"q": "a", "top_k": 2}]
    assert log.kinds == ["rewritten"]


async def test_a_rewrite_does_not_get_past_a_hook_that_denies_its_arguments() -> None:
    guard = Deciding(lambda call: Deny("too many") if call.args.get("top_k", 1) > 1 else Allow())
    sensor = Sensor()
    outcome = await look(gate_of(sensor, guard, Deciding(lambda call: Rewrite({**call.args, "top_k": 9}, "more"))))
    assert (outcome.denied, sensor.ran) == (True, [])


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"q": 1},
        {"q": "a", "top_k": 0},
        {"q": "a", "approved": True},
        None,
        ["q"],
        "q",
        {"q": {1, 2}},
        {"q": "\ud800"},
        {"q": float("nan")},
        {1: 2, "q": "a"},
    ],
)
async def test_a_rewrite_to_invalid_arguments_denies(args: Any) -> None:
    sensor, log = Sensor(), DecisionLog()
    outcome = await look(gate_of(sensor, Deciding(lambda call: Rewrite(args, "worse")), recorder=log))
    assert (outcome.denied, outcome.code, sensor.ran) == (True, "access_denied.hook_failed", [])
    assert log.kinds[-1] == "denied"


async def test_a_hook_that_changes_the_arguments_in_place_denies() -> None:
    def meddle(call: PendingCall) -> Allow:
        call.args["top_k"] = 50  # type: ignore[index]
        return Allow()

    sensor = Sensor()
    outcome = await look(gate_of(sensor, RecordingHook(), Deciding(meddle)))
    assert (outcome.denied, outcome.code, sensor.ran) == (True, "access_denied.hook_failed", [])


async def test_hooks_that_undo_one_another_end_in_a_denial() -> None:
    up = Deciding(lambda call: Rewrite({"q": "a", "top_k": call.args.get("top_k", 0) + 1}, "one more"))
    sensor = Sensor()
    outcome = await look(gate_of(sensor, up))
    assert (outcome.code, sensor.ran) == ("access_denied.rewrite_loop", [])
    assert len(up.seen) == MAX_REWRITES + 1


async def test_a_rewrite_that_changes_nothing_is_an_allow() -> None:
    sensor, log = Sensor(), DecisionLog()
    outcome = await look(gate_of(sensor, Deciding(lambda call: Rewrite(call.args, "same")), recorder=log))
    assert (outcome.is_error, len(sensor.ran), log.kinds) == (False, 1, [])


async def _never(call: PendingCall) -> None:
    await asyncio.Event().wait()


async def _ignores_its_limit(call: PendingCall) -> Allow:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return Allow()
    return Allow()


@pytest.mark.parametrize(
    "decide",
    [
        raising(RuntimeError("password=hunter2-canary")),
        raising(KeyError("canary")),
        _never,
        _ignores_its_limit,
        lambda call: None,
        lambda call: True,
        lambda call: Allow,
        lambda call: "allow",
        lambda call: asyncio.sleep(0, None),
    ],
)
async def test_a12_a67_a_hook_that_fails_denies_and_is_on_record(decide: Callable[[PendingCall], Any]) -> None:
    sensor, log = Sensor(), DecisionLog()
    gate = gate_of(sensor, recorder=log)
    hooks = HookChain([NamedHook("broken", 0, Deciding(decide))], timeout_s=0.05)
    outcome = await look(Gate(gate.registry, hooks, gate.sides, log))
    assert (outcome.denied, outcome.is_error, outcome.code) == (True, True, "access_denied.hook_failed")
    assert sensor.ran == []
    assert [(record.kind, record.code) for record in log.records] == [("denied", "access_denied.hook_failed")]
    assert "canary" not in outcome.to_text() + log.records[0].detail
    assert "broken" in outcome.message


async def test_a51_a_denial_is_an_error_result() -> None:
    outcome = await look(gate_of(Sensor(), RecordingHook(Deny("not today", "access_denied.policy"))))
    assert outcome.is_error
    assert outcome.to_text() == '{"error": {"code": "access_denied.policy", "message": "not today"}}'


async def test_post_runs_once_for_a_call_that_ran_failed_or_was_denied() -> None:
    async def fails(args: Mapping[str, Any]) -> Mapping[str, Any]:
        raise ValueError("canary")

    for tool, decision in (
        (make_tool("look"), Allow()),
        (make_tool("look", fails), Allow()),
        (make_tool("look"), Deny("no")),
        (make_tool("look"), AskUser("sure?")),
    ):
        hook = RecordingHook(decision)
        outcome = await look(make_gate(tool, hooks=[hook]))
        assert [replace(seen, duration_s=outcome.duration_s) for _, seen in hook.after] == [outcome]


class _RaisesAfter:
    async def pre(self, call: PendingCall, ctx: RequestContext) -> Allow:
        return Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        raise RuntimeError("canary")


async def test_a_failing_post_withholds_what_a_read_found() -> None:
    sensor, log = Sensor(), DecisionLog()
    outcome = await look(gate_of(sensor, _RaisesAfter(), recorder=log))
    assert (outcome.is_error, outcome.code, outcome.data, outcome.evidence) == (
        True,
        "access_denied.hook_failed",
        {},
        (),
    )
    assert len(sensor.ran) == 1
    assert "secret" not in outcome.to_text() and "canary" not in outcome.to_text()
    assert [(record.kind, record.code) for record in log.records] == [("failed", "access_denied.hook_failed")]


async def test_a_failing_post_keeps_the_receipts_of_a_write() -> None:
    outcome = await look(gate_of(Sensor(ToolEffect.WRITE), _RaisesAfter()))
    assert not outcome.is_error
    assert len(outcome.receipts) == 1
    assert outcome.data["hooks_failed"] == ["hook_0"]


async def test_every_post_runs_though_one_before_it_failed() -> None:
    last = RecordingHook()
    await look(gate_of(Sensor(), _RaisesAfter(), last))
    assert len(last.after) == 1
