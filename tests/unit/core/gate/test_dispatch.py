"""The one gate: what it lets through, what it answers instead, and that it never raises."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from datamind.core.context import RequestContext, ToolContext
from datamind.core.dispatch import Gate, Sides, dispatch
from datamind.core.errors import AccessDenied, BudgetExceeded, NotFound, StoreError
from datamind.core.hooks import AskUser, Candidates, Deny, HookChain, Rewrite
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.tools import Selector, ToolOutput, ToolRegistry, ToolSpec
from datamind.core.types import DataSurface, Role, ToolEffect
from datamind.testing.fakes import DecisionLog, RecordingHook, ScriptedApprover
from datamind.testing.gates import make_gate, make_request, make_tool

CANARY = "canary-3f9c"


def spec_with(handler: Any, effect: ToolEffect = ToolEffect.READ, **declared: Any) -> ToolSpec:
    return replace(make_tool("look", effect=effect), handler=handler, **declared)


async def call(gate: Gate, name: str = "look", arguments: str = "{}", *, role: Role | None = None) -> ToolOutcome:
    if role is None:
        role = Role.STORE if any(tool.writes for tool in gate.registry.values()) else Role.RETRIEVE
    return await dispatch(ToolCall(id="call_1", name=name, arguments=arguments), make_request(role), gate)


@pytest.mark.parametrize(
    "name",
    [
        "Memory_Save",
        "MEMORY_SAVE",
        "memory_save ",
        " memory_save",
        "memory_save\u200b",
        "m\u0435mory_save",
        "memory-save",
        "\uff4demory_save",
        "memory_\u017fave",
        "memory_save\x00",
        "memory_sav",
        "",
        "x" * 100_000,
        "\ud800",
        "memory_save;",
    ],
)
async def test_names_match_exactly(name: str) -> None:
    log = DecisionLog()
    gate = make_gate(make_tool("memory_save", effect=ToolEffect.WRITE), role=Role.STORE, recorder=log)
    outcome = await call(gate, name)
    assert (outcome.denied, outcome.code) == (True, "access_denied.unknown_tool")
    assert [(record.kind, record.code) for record in log.records] == [("denied", "access_denied.unknown_tool")]
    assert len(outcome.message) < 200
    assert "memory_save" not in outcome.message.replace(repr(name[:80]), ""), "the names of tools are not offered"


@pytest.mark.parametrize("effect", list(ToolEffect))
async def test_the_second_wall_holds_for_a_registry_that_was_filled_wrongly(effect: ToolEffect) -> None:
    ran: list[str] = []

    async def work(args: Mapping[str, Any]) -> Mapping[str, Any]:
        ran.append("ran")
        return {}

    tool = make_tool("look", work, effect=effect)
    for role in Role:
        log = DecisionLog()
        gate = Gate(ToolRegistry([tool]), HookChain(), Sides(), log)
        outcome = await call(gate, role=role)
        allowed = tool.access in role.access
        assert (outcome.denied, outcome.code) == ((False, "") if allowed else (True, "access_denied.role"))
        assert (len(ran) == 1) is allowed
        assert log.kinds == ([] if allowed else ["denied"])
        ran.clear()


async def test_a_handler_is_given_the_side_of_its_effect_and_a_pure_one_none() -> None:
    given: list[Any] = []

    async def handler(args: Any, ctx: ToolContext) -> ToolOutput:
        given.append(ctx.side)
        return ToolOutput()

    for effect in ToolEffect:
        spec = spec_with(handler, effect, receipted=True)
        role = Role.STORE if spec.writes else Role.RETRIEVE
        await call(make_gate(spec, role=role, sides=Sides("the read side", "the write side")))
    assert given == [None, "the read side", "the write side", "the write side"]


@pytest.mark.parametrize("arguments", ['{"q":"a', "[]", '{"q": 1}', "", '{"q":"a","q":"b"}', '{"q":"\\ud800"}', "nul"])
async def test_b7_what_does_not_validate_is_an_error_result_and_runs_nothing(arguments: str) -> None:
    ran: list[Any] = []

    async def work(args: Mapping[str, Any]) -> Mapping[str, Any]:
        ran.append(args)
        return {}

    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    outcome = await call(make_gate(make_tool("look", work, schema=schema)), arguments=arguments)
    assert outcome.is_error and outcome.denied and outcome.code.startswith("arguments_invalid")
    assert ran == []


async def test_b7_no_text_is_enough_where_the_schema_requires_nothing() -> None:
    outcome = await call(make_gate(make_tool("look")), arguments="")
    assert (outcome.is_error, outcome.data) == (False, {"echo": {}})


async def test_the_argument_bound_of_the_tool_holds_for_models_and_for_rewrites() -> None:
    tool = make_tool("look", max_argument_bytes=40)
    outcome = await call(make_gate(tool), arguments=json.dumps({"q": "x" * 40}))
    assert outcome.code == "arguments_invalid.size"
    grown = RecordingHook(Rewrite({"q": "x" * 40}, "more"))
    assert (await call(make_gate(tool, hooks=[grown]))).code == "access_denied.hook_failed"


class Leaky(Exception):
    def __str__(self) -> str:
        return CANARY


async def _raises(args: Any, ctx: ToolContext) -> ToolOutput:
    raise Leaky(CANARY)


async def _recurses(args: Any, ctx: ToolContext) -> ToolOutput:
    return await _recurses(args, ctx)


async def _returns(value: Any) -> Any:
    return value


WRITTEN = SurfaceWriteResult(surface=DataSurface.KB, operation="added", status="stored")
UNUSABLE: list[Any] = [None, {}, "text", 7, [ToolOutput()], ToolOutput, WRITTEN]


@pytest.mark.parametrize("effect", [ToolEffect.READ, ToolEffect.WRITE])
@pytest.mark.parametrize(
    "handler",
    [_raises, _recurses, lambda args, ctx: ToolOutput(), lambda args: None]
    + [lambda args, ctx, value=value: _returns(value) for value in UNUSABLE]
    + [
        lambda args, ctx: _returns(ToolOutput(data=None)),  # type: ignore[arg-type]
        lambda args, ctx: _returns(ToolOutput(data={("a", "b"): 1})),  # type: ignore[dict-item]
        lambda args, ctx: _returns(ToolOutput(evidence=(1,))),  # type: ignore[arg-type]
    ],
)
async def test_whatever_a_handler_does_the_answer_is_an_outcome(
    handler: Any, effect: ToolEffect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "datamind")
    role = Role.STORE if effect is ToolEffect.WRITE else Role.RETRIEVE
    outcome = await call(make_gate(spec_with(handler, effect, receipted=True), role=role))
    assert (outcome.is_error, outcome.code, outcome.surface) == (True, "tool_failed", DataSurface.KB)
    assert CANARY not in outcome.to_text() + repr(outcome)


@pytest.mark.parametrize("where", ["validate", "find", "pin"])
async def test_whatever_validation_and_selector_do_the_answer_is_an_outcome(where: str) -> None:
    def explode(*_: Any) -> Any:
        raise Leaky(CANARY)

    async def explode_later(*_: Any) -> Any:
        raise Leaky(CANARY)

    async def find(args: Any, ctx: ToolContext) -> Candidates:
        return Candidates(("a",), ("a",))

    ran: list[Any] = []

    async def work(args: Mapping[str, Any]) -> Mapping[str, Any]:
        ran.append(args)
        return {}

    parts: dict[str, dict[str, Any]] = {
        "validate": {"validate": explode},
        "find": {"selector": Selector(explode_later, lambda args, ids: args)},
        "pin": {"selector": Selector(find, explode)},
    }
    outcome = await call(make_gate(make_tool("look", work, **parts[where])))
    assert (outcome.is_error, outcome.denied, outcome.code, ran) == (True, True, "tool_failed", [])
    assert CANARY not in outcome.to_text()


async def test_an_invalid_schema_of_a_plugin_is_an_outcome_too() -> None:
    outcome = await call(make_gate(make_tool("look", schema={"type": "no such type"})), arguments='{"q": 1}')
    assert (outcome.is_error, outcome.denied) == (True, True)


async def test_a_foreseen_error_keeps_its_code_and_hint() -> None:
    async def handler(args: Any, ctx: ToolContext) -> ToolOutput:
        raise NotFound("there is no document 'x'", hint="kb_list_documents shows them.")

    outcome = await call(make_gate(spec_with(handler)))
    assert (outcome.code, outcome.denied) == ("not_found", False)
    assert "kb_list_documents shows them." in outcome.message


async def test_a_denial_by_the_handler_is_on_record() -> None:
    async def handler(args: Any, ctx: ToolContext) -> ToolOutput:
        raise AccessDenied("the file is a link", code="path_denied.link")

    log = DecisionLog()
    outcome = await call(make_gate(spec_with(handler), recorder=log))
    assert (outcome.is_error, outcome.code) == (True, "path_denied.link")
    assert [(record.kind, record.code) for record in log.records] == [("denied", "path_denied.link")]


@pytest.mark.parametrize("where", ["handler", "find"])
async def test_budget_errors_propagate(where: str) -> None:
    async def spent(*_: Any) -> Any:
        raise BudgetExceeded("max_cost", "the money is spent")

    selecting = make_tool("look", selector=Selector(spent, lambda args, ids: args))
    spec = spec_with(spent) if where == "handler" else selecting
    with pytest.raises(BudgetExceeded):
        await call(make_gate(spec))


async def test_cancellation_propagates() -> None:
    begun = asyncio.Event()

    async def handler(args: Any, ctx: ToolContext) -> ToolOutput:
        begun.set()
        await asyncio.Event().wait()
        return ToolOutput()

    task = asyncio.ensure_future(call(make_gate(spec_with(handler))))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class BrokenRecord(DecisionLog):
    """Cannot put decisions of some kinds on record, as when the disk is full."""

    def __init__(self, *kinds: str, error: Exception | None = None) -> None:
        super().__init__()
        self._kinds = kinds
        self._error = error or StoreError("the disk is full")

    async def record_decision(self, kind: str, *args: Any, **fields: Any) -> None:
        if kind in self._kinds:
            raise self._error
        await super().record_decision(kind, *args, **fields)


@pytest.mark.parametrize("error", [StoreError("the disk is full"), OSError(CANARY)])
@pytest.mark.parametrize(("kind", "decision"), [("asked", AskUser("sure?")), ("approved", AskUser("sure?"))])
async def test_a20_what_cannot_be_put_on_record_does_not_run(kind: str, decision: Any, error: Exception) -> None:
    hook = RecordingHook(decision)
    tool = make_tool("look", effect=ToolEffect.WRITE)
    recorder = BrokenRecord(kind, error=error)
    gate = make_gate(tool, role=Role.STORE, hooks=[hook], recorder=recorder, approver=ScriptedApprover([True]))
    outcome = await call(gate)
    assert (outcome.is_error, outcome.denied, outcome.receipts) == (True, True, ())
    assert CANARY not in outcome.to_text()


async def test_a20_a_rewrite_that_cannot_be_put_on_record_does_not_run() -> None:
    tool = make_tool("look", effect=ToolEffect.WRITE)
    gate = make_gate(
        tool, role=Role.STORE, hooks=[RecordingHook(Rewrite({"q": 1}, "x"))], recorder=BrokenRecord("rewritten")
    )
    outcome = await call(gate)
    assert (outcome.is_error, outcome.denied, outcome.receipts) == (True, True, ())


@pytest.mark.parametrize("hooks", [[], [RecordingHook(Deny("no"))], [RecordingHook(AskUser("sure?"))]])
async def test_a_refusal_stays_one_when_the_record_fails(hooks: list[RecordingHook]) -> None:
    name = "look" if hooks else "no_such_tool"
    outcome = await call(make_gate(make_tool("look"), hooks=hooks, recorder=BrokenRecord("denied")), name)
    assert outcome.denied and outcome.code in ("access_denied.unknown_tool", "access_denied.hook", "approval_required")


async def test_receipts_are_not_lost_when_the_record_fails_after_the_write() -> None:
    class RaisesAfter(RecordingHook):
        async def post(self, *_: Any) -> None:
            raise RuntimeError

    tool = make_tool("look", effect=ToolEffect.WRITE)
    outcome = await call(make_gate(tool, role=Role.STORE, hooks=[RaisesAfter()], recorder=BrokenRecord("failed")))
    assert len(outcome.receipts) == 1


async def test_the_outcome_holds_json_values_whatever_the_handler_returned() -> None:
    data = {"day": date(2026, 5, 1), "n": float("nan"), "rows": ({"x": b"1"},), 3: "three", "half": "a\ud800b"}

    async def handler(args: Any, ctx: ToolContext) -> ToolOutput:
        return ToolOutput(data=data)  # type: ignore[arg-type]

    outcome = await call(make_gate(spec_with(handler)))
    assert outcome.data == {"day": "2026-05-01", "n": None, "rows": [{"x": "b'1'"}], "3": "three", "half": "a?b"}
    assert json.loads(outcome.to_text()) == outcome.data
    json.dumps(outcome.data, allow_nan=False).encode("utf-8")


async def test_the_request_and_not_the_arguments_says_whose_it_is() -> None:
    seen: list[RequestContext] = []

    async def handler(args: Any, ctx: ToolContext) -> ToolOutput:
        seen.append(ctx.request)
        return ToolOutput()

    ctx = make_request(profile="tenant_a", session="s1")
    await dispatch(ToolCall.of("look", {"profile": "tenant_b", "session": "s2"}), ctx, make_gate(spec_with(handler)))
    assert seen == [ctx]


async def test_the_outcome_says_how_long_it_took() -> None:
    assert (await call(make_gate(make_tool("look")))).duration_s >= 0.0
