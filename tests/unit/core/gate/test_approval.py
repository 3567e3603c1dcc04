"""AskUser: who may say yes, to what, and what runs then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from datamind.capabilities.hooks.access import AccessHook
from datamind.core.context import RequestContext, ToolContext
from datamind.core.dispatch import Gate, Sides, dispatch
from datamind.core.hooks import Allow, AskUser, Candidates, Deny, PendingCall, Rewrite
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.protocols.agent import ApprovalRequest
from datamind.core.tools import Selector, ToolSpec
from datamind.core.types import Role, ToolEffect
from datamind.testing.fakes import DecisionLog, RecordingHook, ScriptedApprover
from datamind.testing.gates import make_gate, make_request, make_tool

TEXTS = {"m1": "the canary sings", "m2": "the canary flies", "m3": "a sparrow"}
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "ids": {"type": "array", "items": {"type": "string"}}},
    "additionalProperties": False,
}


class AsksAboutMany:
    """Asks when a selector means several things, as core's own access hook does."""

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Any:
        count = len(call.candidates.ids) if call.candidates else 0
        return AskUser(f"{call.spec.name} matches {count} things") if count > 1 else Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        return None


class Forgetting:
    """A destructive tool with a selector over three texts."""

    def __init__(self) -> None:
        self.ran: list[Mapping[str, Any]] = []

        async def find(args: Mapping[str, Any], ctx: ToolContext) -> Candidates:
            ids = args.get("ids") or [key for key, text in TEXTS.items() if args.get("query", "") in text]
            return Candidates(tuple(ids), tuple(TEXTS[key] for key in ids))

        async def work(args: Mapping[str, Any]) -> Mapping[str, Any]:
            self.ran.append(args)
            return {"forgotten": len(args["ids"])}

        self.spec: ToolSpec = make_tool(
            "forget",
            work,
            effect=ToolEffect.DESTRUCTIVE,
            schema=SCHEMA,
            selector=Selector(find, lambda args, ids: {"ids": list(ids)}),
        )


async def forget(gate: Gate, arguments: Mapping[str, Any]) -> ToolOutcome:
    return await dispatch(ToolCall.of("forget", arguments), make_request(Role.STORE), gate)


def gate_of(tool: Forgetting, *hooks: Any, **parts: Any) -> Gate:
    return make_gate(tool.spec, role=Role.STORE, hooks=[AsksAboutMany(), *hooks], **parts)


async def test_a_selector_that_finds_nothing_runs_nothing() -> None:
    tool = Forgetting()
    outcome = await forget(gate_of(tool), {"query": "ostrich"})
    assert (tool.ran, outcome.is_error, outcome.data, outcome.receipts) == ([], False, {"matched": 0}, ())
    approver = ScriptedApprover([True])
    await forget(gate_of(tool, RecordingHook(AskUser("sure?")), approver=approver), {"query": "ostrich"})
    assert approver.requests == [], "nobody is asked about nothing"


async def test_a_selector_that_finds_one_thing_runs_on_that_id() -> None:
    tool, hook = Forgetting(), RecordingHook()
    outcome = await forget(gate_of(tool, hook), {"query": "sparrow"})
    assert tool.ran == [{"ids": ["m3"]}] == [outcome.args]
    assert hook.before[0].args == {"ids": ["m3"]}, "hooks decide on the ids, not on the words"


async def test_several_matches_tell_the_model_a_count_and_the_person_what_they_are() -> None:
    tool, log, approver = Forgetting(), DecisionLog(), ScriptedApprover([False])
    outcome = await forget(gate_of(tool, recorder=log, approver=approver), {"query": "canary"})
    assert (tool.ran, outcome.code) == ([], "approval_required")
    assert "2" in outcome.message
    assert approver.requests[0].candidates == ("the canary sings", "the canary flies")
    assert approver.requests[0].arguments == {"ids": ["m1", "m2"]}
    told = outcome.to_text() + repr(outcome) + "".join(record.detail for record in log.records)
    assert "sings" not in told and "flies" not in told
    assert log.kinds == ["asked", "denied"]


async def test_without_an_approver_the_call_is_refused() -> None:
    tool = Forgetting()
    outcome = await forget(gate_of(tool), {"query": "canary"})
    assert (tool.ran, outcome.denied, outcome.code) == ([], True, "approval_required")


async def test_yes_runs_the_stored_call() -> None:
    tool, log, approver = Forgetting(), DecisionLog(), ScriptedApprover([True])
    outcome = await forget(gate_of(tool, recorder=log, approver=approver), {"query": "canary"})
    assert tool.ran == [{"ids": ["m1", "m2"]}] == [approver.requests[0].arguments]
    assert (outcome.is_error, len(outcome.receipts)) == (False, 1)
    assert log.kinds == ["asked", "approved"]


async def test_a13_what_a_call_does_follows_from_its_arguments() -> None:
    asked: list[Any] = []

    async def destroys(args: Mapping[str, Any], ctx: ToolContext) -> Candidates:
        asked.append((args, ctx.side))
        ids = tuple(args.get("ids", ()))
        return Candidates(ids, tuple(TEXTS[key] for key in ids))

    tool = make_tool("save", effect=ToolEffect.WRITE, schema=SCHEMA, destroys=destroys)
    seen, approver = RecordingHook(), ScriptedApprover([False])
    gate = make_gate(
        tool, role=Role.STORE, hooks=[AccessHook(), seen], approver=approver, sides=Sides("reads", "writes")
    )
    plain = await dispatch(ToolCall.of("save", {"query": "x"}), make_request(Role.STORE), gate)
    assert (plain.is_error, approver.requests, asked) == (False, [], [({"query": "x"}, "writes")])
    refused = await dispatch(ToolCall.of("save", {"ids": ["m1"]}), make_request(Role.STORE), gate)
    assert (refused.code, refused.receipts) == ("approval_required", ())
    assert [call.effect for call in seen.before] == [ToolEffect.WRITE, ToolEffect.DESTRUCTIVE]
    assert [(one.effect, one.candidates) for one in approver.requests] == [("destructive", ("the canary sings",))]
    assert "sings" not in refused.to_text()


async def test_a13_a_rewrite_is_weighed_again() -> None:
    async def destroys(args: Mapping[str, Any], ctx: ToolContext) -> Candidates:
        return Candidates(("m1",), ("one",)) if args.get("ids") else Candidates((), ())

    tool = make_tool("save", effect=ToolEffect.WRITE, schema=SCHEMA, destroys=destroys)
    worse = _Once(RecordingHook(Rewrite({"ids": ["m1"]}, "all of it")))
    gate = make_gate(tool, role=Role.STORE, hooks=[worse, AccessHook()])
    outcome = await dispatch(ToolCall.of("save", {}), make_request(Role.STORE), gate)
    assert (outcome.denied, outcome.code) == (True, "approval_required")


class Answering:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def decide(self, request: ApprovalRequest) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize("answer", [False, None, "yes", "True", 1, 1.0, [True], object(), RuntimeError("gone")])
async def test_only_true_approves(answer: Any) -> None:
    tool, log = Forgetting(), DecisionLog()
    outcome = await forget(gate_of(tool, recorder=log, approver=Answering(answer)), {"query": "canary"})
    assert (tool.ran, outcome.code, log.kinds) == ([], "approval_required", ["asked", "denied"])


@pytest.mark.parametrize("key", ["approved", "_role", "role", "profile", "confirm_destructive", "session", "receipted"])
@pytest.mark.parametrize("value", [True, "store", "_shared"])
async def test_a10_a21_no_argument_approves_or_moves_a_call(key: str, value: Any) -> None:
    tool = Forgetting()
    outcome = await forget(gate_of(tool), {"query": "canary", key: value})
    assert (tool.ran, outcome.denied, outcome.code) == ([], True, "arguments_invalid")


class _Late:
    """Allows at first and, once the person was asked, decides otherwise."""

    def __init__(self, approver: ScriptedApprover, late: Any) -> None:
        self._approver = approver
        self._late = late

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Any:
        return self._late if self._approver.requests else Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        return None


@pytest.mark.parametrize("late", [Deny("the table is locked now"), Rewrite({"ids": ["m3"]}, "another one")])
async def test_b38_after_approval_every_hook_is_asked_again(late: Any) -> None:
    tool, log, approver = Forgetting(), DecisionLog(), ScriptedApprover([True])
    gate = gate_of(tool, _Late(approver, late), recorder=log, approver=approver)
    outcome = await forget(gate, {"query": "canary"})
    assert (tool.ran, outcome.denied) == ([], True)
    assert log.kinds[-1] == "denied"


async def test_a_rewrite_after_the_selector_is_selected_again() -> None:
    tool = Forgetting()
    other = RecordingHook(Rewrite({"query": "sparrow"}, "narrower"))
    narrowed = await forget(gate_of(tool, _Once(other)), {"query": "canary"})
    assert (tool.ran, narrowed.is_error) == ([{"ids": ["m3"]}], False)
    nothing = await forget(gate_of(tool, _Once(RecordingHook(Rewrite({"query": "ostrich"}, "none")))), {"query": "c"})
    assert (len(tool.ran), nothing.data, nothing.receipts) == (1, {"matched": 0}, ())


class _Once:
    """Gives another hook's decision the first time, and allows from then on."""

    def __init__(self, hook: RecordingHook) -> None:
        self._hook = hook

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Any:
        return await self._hook.pre(call, ctx) if not self._hook.before else Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        return None


async def test_the_approved_call_is_not_what_the_approver_made_of_it() -> None:
    class Meddling(ScriptedApprover):
        async def decide(self, request: ApprovalRequest) -> bool:
            request.arguments["ids"].append("m3")
            return await super().decide(request)

    tool = Forgetting()
    await forget(gate_of(tool, approver=Meddling([True])), {"query": "canary"})
    assert tool.ran == [{"ids": ["m1", "m2"]}]
