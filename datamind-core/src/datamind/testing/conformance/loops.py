"""The tests of an agent loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from datamind.agent.base import AgentLoopConfig, LoopParts
from datamind.core.dispatch import Gate
from datamind.core.errors import ModelOverloaded, NotFound
from datamind.core.events import AgentEvent, DoneEvent, ErrorEvent, TextEvent, ToolResultEvent, ToolUseEvent
from datamind.core.hooks import Deny
from datamind.core.messages import Message, ModelRequest, ToolCall
from datamind.core.protocols.agent import AgentLoopProtocol, LoopTurn
from datamind.core.results import StopReason
from datamind.core.types import Role, ToolEffect
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.conformance.loop_checks import (
    PATIENCE_S,
    SYSTEM,
    assert_valid,
    cancelled_when,
    endless,
    let_others_run,
    model_usage,
    results_of,
)
from datamind.testing.fakes import RecordingHook
from datamind.testing.gates import make_gate, make_request, make_tool
from datamind.testing.models import Script, ScriptedModel, Turn, call_of, calling


class LoopConformance(ProviderConformance):
    """Tests of AgentLoopProtocol.

    Troubleshooting: the factory returns a class that is called with LoopParts; a loop that is made otherwise
    overrides ``open_loop``. A run that reaches a limit asks the model once more, without tools, for its answer.
    """

    protocols = (AgentLoopProtocol,)
    kind = ProviderKind.AGENT_LOOP

    async def open_loop(self, folder: Path, parts: LoopParts) -> AgentLoopProtocol:
        """The loop under test around this model and this gate."""
        make_loop = await self.open_provider(folder)
        loop: AgentLoopProtocol = make_loop(parts)
        return loop

    async def run(
        self, folder: Path, model: ScriptedModel, gate: Gate, config: AgentLoopConfig | None = None, **turn: Any
    ) -> list[AgentEvent]:
        """The events of one turn."""
        role = Role.STORE if any(tool.writes for tool in gate.registry.values()) else Role.RETRIEVE
        loop = await self.open_loop(folder, LoopParts(role, model, gate, SYSTEM, config or AgentLoopConfig()))
        assert isinstance(loop, AgentLoopProtocol)
        asked = LoopTurn(make_request(role), Message.user("Which gateway?"), **turn)
        async with asyncio.timeout(PATIENCE_S):
            return [event async for event in loop.stream_turn(asked)]

    async def test_g1_a_stream_ends_in_exactly_one_done_or_error(self, tmp_path: Path) -> None:
        """After an answer, after tools, after a model that fails at once or in the middle."""
        scripts: list[tuple[list[Script], type[AgentEvent]]] = [
            (["It restarts."], DoneEvent),
            ([calling("look"), "It restarts."], DoneEvent),
            ([Turn("It re", cut_after=1)], ErrorEvent),
            ([calling("look"), ModelOverloaded("the service is busy")], ErrorEvent),
        ]
        for script, last in scripts:
            events = await self.run(tmp_path, ScriptedModel(script), make_gate(make_tool("look")))
            ends = [event for event in events if isinstance(event, DoneEvent | ErrorEvent)]
            assert ends == [events[-1]]
            assert isinstance(ends[0], last), script

    async def test_g1_the_events_tell_the_run_in_order(self, tmp_path: Path) -> None:
        """Text, call, result, text; and the result says what was streamed."""
        model = ScriptedModel([Turn("Let me look.", calls=[call_of("look", {"q": "网关"})]), "It restarts."])
        events = await self.run(tmp_path, model, make_gate(make_tool("look")))
        assert [event.type for event in events] == ["text", "tool_use", "tool_result", "text", "done"]
        text, use, result, answer, done = events
        assert isinstance(text, TextEvent) and text.delta == "Let me look."
        assert isinstance(use, ToolUseEvent) and (use.name, use.input) == ("look", {"q": "网关"})
        assert isinstance(result, ToolResultEvent) and (result.id, result.is_error) == (use.id, False)
        assert isinstance(answer, TextEvent) and answer.delta == "It restarts."
        assert isinstance(done, DoneEvent) and done.result.answer == "It restarts."
        assert (done.iterations, done.stop_reason) == (2, "end_turn")
        assert done.usage == model_usage(2)

    async def test_g1_run_turn_gives_the_same_result_and_raises_the_same_error(self, tmp_path: Path) -> None:
        """Without the events."""
        gate = make_gate(make_tool("look"))
        scripts: list[list[Script]] = [[calling("look"), "It restarts."], [ModelOverloaded("the service is busy")]]
        for script in scripts:
            parts = LoopParts(Role.RETRIEVE, ScriptedModel(script), gate, SYSTEM)
            loop = await self.open_loop(tmp_path, parts)
            turn = LoopTurn(make_request(), Message.user("Which gateway?"))
            streamed = (await self.run(tmp_path, ScriptedModel(script), gate))[-1]
            try:
                result = await loop.run_turn(turn)
            except ModelOverloaded as error:
                assert isinstance(streamed, ErrorEvent) and streamed.code == error.code
            else:
                assert isinstance(streamed, DoneEvent) and result.answer == streamed.result.answer

    async def test_g2_every_call_goes_through_the_gate(self, tmp_path: Path) -> None:
        """A hook sees each call before, and once after, and what it denies does not run."""
        ran: list[Mapping[str, Any]] = []

        async def look(args: Mapping[str, Any]) -> Mapping[str, Any]:
            ran.append(args)
            return {}

        for hook, expected in ((RecordingHook(), 2), (RecordingHook(Deny("not today")), 0)):
            ran.clear()
            calls = [call_of("look", {"n": n}) for n in range(2)]
            model = ScriptedModel([Turn(calls=calls), "Done."])
            events = await self.run(tmp_path, model, make_gate(make_tool("look", look), hooks=[hook]))
            seen = {call.call_id for call in hook.before}
            assert [len(ran), len(seen), len(hook.after)] == [expected, 2, 2]
            failed = [event.is_error for event in events if isinstance(event, ToolResultEvent)]
            assert failed == [expected == 0] * 2

    async def test_g2_a_tool_of_the_other_role_does_not_run(self, tmp_path: Path) -> None:
        """Nor one that does not exist."""
        ran: list[str] = []

        async def erase(args: Mapping[str, Any]) -> Mapping[str, Any]:
            ran.append("erase")
            return {}

        gate = make_gate(make_tool("look"), make_tool("erase", erase, effect=ToolEffect.DESTRUCTIVE))
        model = ScriptedModel([Turn(calls=[call_of("erase"), call_of("no_such_tool")]), "Done."])
        events = await self.run(tmp_path, model, gate)
        assert ran == []
        assert [event.is_error for event in events if isinstance(event, ToolResultEvent)] == [True, True]
        assert isinstance(events[-1], DoneEvent)

    async def test_g2_a59_reads_of_one_reply_run_at_once(self, tmp_path: Path) -> None:
        """Each waits until the others have begun."""
        begun: set[int] = set()
        all_begun = asyncio.Event()

        async def look(args: Mapping[str, Any]) -> Mapping[str, Any]:
            begun.add(args["n"])
            if len(begun) == 3:
                all_begun.set()
            await all_begun.wait()
            return {}

        model = ScriptedModel([Turn(calls=[call_of("look", {"n": n}) for n in range(3)]), "Done."])
        events = await self.run(tmp_path, model, make_gate(make_tool("look", look)))
        assert isinstance(events[-1], DoneEvent)
        assert begun == {0, 1, 2}

    async def test_g2_writes_run_one_after_another_in_call_order(self, tmp_path: Path) -> None:
        """One ends before the next begins."""
        seen: list[tuple[str, int]] = []

        async def save(args: Mapping[str, Any]) -> Mapping[str, Any]:
            seen.append(("begin", args["n"]))
            for _ in range(5):
                await asyncio.sleep(0)
            seen.append(("end", args["n"]))
            return {}

        model = ScriptedModel([Turn(calls=[call_of("save", {"n": n}) for n in (2, 0, 1)]), "Done."])
        gate = make_gate(make_tool("save", save, effect=ToolEffect.WRITE), role=Role.STORE)
        await self.run(tmp_path, model, gate)
        assert seen == [(step, n) for n in (2, 0, 1) for step in ("begin", "end")]

    async def test_g3_b1_each_call_has_exactly_one_result_in_call_order(self, tmp_path: Path) -> None:
        """Slow, failing, denied by a wall, malformed, and a good one."""

        async def look(args: Mapping[str, Any]) -> Mapping[str, Any]:
            if args.get("fail"):
                raise NotFound("nothing here")
            for _ in range(args["wait"]):
                await asyncio.sleep(0)
            return {"waited": args["wait"]}

        calls = [
            call_of("look", {"wait": 9}),
            call_of("look", {"fail": True}),
            call_of("no_such_tool"),
            call_of("look", '{"wait": 1'),
            call_of("look", {"wait": 0}),
        ]
        model = ScriptedModel([Turn(calls=calls), "Done."])
        events = await self.run(tmp_path, model, make_gate(make_tool("look", look)))
        assert_valid(model.requests[-1].messages)
        results = model.requests[-1].messages[-1].results
        assert [result.is_error for result in results] == [False, True, True, True, False]
        assert ['"waited": 9' in results[0].content, '"waited": 0' in results[4].content] == [True, True]
        assert [e.id for e in events if isinstance(e, ToolResultEvent)] == [result.call_id for result in results]

    async def test_g3_b7_a_call_with_malformed_arguments_is_answered_and_not_run(self, tmp_path: Path) -> None:
        """Cut off, repeated keys, NaN, no object, missing what the schema needs."""
        schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        ran: list[Mapping[str, Any]] = []

        async def look(args: Mapping[str, Any]) -> Mapping[str, Any]:
            ran.append(args)
            return {}

        for text in ('{"q": "a', '{"q": "a", "q": "b"}', '{"q": NaN}', '["q"]', "", "{}"):
            model = ScriptedModel([calling("look", text), "Done."])
            events = await self.run(tmp_path, model, make_gate(make_tool("look", look, schema=schema)))
            assert [event.is_error for event in events if isinstance(event, ToolResultEvent)] == [True], text
            assert isinstance(events[-1], DoneEvent)
        assert ran == []

    async def test_g4_every_limit_ends_in_an_answer_with_its_reason(self, tmp_path: Path) -> None:
        """A model that would go on for ever."""
        limits: list[tuple[StopReason, AgentLoopConfig]] = [
            ("max_turns", AgentLoopConfig(max_turns=2)),
            ("max_tool_calls", AgentLoopConfig(max_tool_calls=2)),
            ("max_input_tokens", AgentLoopConfig(max_input_tokens=25)),
            ("max_output_tokens", AgentLoopConfig(max_output_tokens=12)),
            ("max_cost", AgentLoopConfig(max_cost_usd=2.5)),
        ]
        for reason, config in limits:
            model = ScriptedModel(endless)
            done = (await self.run(tmp_path, model, make_gate(make_tool("look")), config))[-1]
            assert isinstance(done, DoneEvent), done
            assert (done.stop_reason, done.result.answer) == (reason, "Enough.")
            assert done.stop_reason in get_args(StopReason)
            assert_valid(done.result.history)

    async def test_g4_a84_time_runs_out_in_an_answer_too(self, tmp_path: Path) -> None:
        """While the model is silent, and while a tool does not return."""

        async def never(*_: object) -> Mapping[str, Any]:
            await asyncio.Event().wait()
            return {}

        def silent(request: ModelRequest) -> Turn:
            return Turn("It restarts.", pause=never) if request.tools else Turn("Enough.")

        def waiting(request: ModelRequest) -> Turn:
            return calling("look") if request.tools else Turn("Enough.")

        config = AgentLoopConfig(wall_clock_s=PATIENCE_S / 2, reserve_s=PATIENCE_S / 2 - 0.1)
        for script in (silent, waiting):
            done = (await self.run(tmp_path, ScriptedModel(script), make_gate(make_tool("look", never)), config))[-1]
            assert isinstance(done, DoneEvent), done
            assert (done.stop_reason, done.result.answer) == ("wall_clock", "Enough.")
            assert_valid(done.result.history)

    async def test_g4_a83_calls_left_over_at_a_limit_are_answered(self, tmp_path: Path) -> None:
        """More calls in one reply than the run has left: none is without a result, none runs beyond the limit."""
        ran: list[int] = []

        async def look(args: Mapping[str, Any]) -> Mapping[str, Any]:
            ran.append(args["n"])
            return {}

        model = ScriptedModel([Turn(calls=[call_of("look", {"n": n}) for n in range(4)]), "Enough."])
        config = AgentLoopConfig(max_tool_calls=2)
        done = (await self.run(tmp_path, model, make_gate(make_tool("look", look)), config))[-1]
        assert isinstance(done, DoneEvent) and done.stop_reason == "max_tool_calls"
        assert sorted(ran) == [0, 1]
        assert_valid(model.requests[-1].messages)
        assert_valid(done.result.history)

    async def test_g5_a75_after_cancellation_nothing_more_starts(self, tmp_path: Path) -> None:
        """Within the first of two writes: the second does not begin and the model is not asked again."""
        began: list[int] = []
        in_first, released = asyncio.Event(), asyncio.Event()

        async def save(args: Mapping[str, Any]) -> Mapping[str, Any]:
            began.append(args["n"])
            in_first.set()
            await released.wait()
            return {}

        model = ScriptedModel([Turn(calls=[call_of("save", {"n": n}) for n in range(2)]), "Done."])
        gate = make_gate(make_tool("save", save, effect=ToolEffect.WRITE), role=Role.STORE)
        loop = await self.open_loop(tmp_path, LoopParts(Role.STORE, model, gate, SYSTEM))
        turn = LoopTurn(make_request(Role.STORE), Message.user("Save it."))
        await cancelled_when(loop, turn, in_first)
        released.set()
        await let_others_run()
        assert began == [0]
        assert len(model.requests) == 1
        await self._goes_on(loop, turn, model)
        assert began == [0]

    async def _goes_on(self, loop: AgentLoopProtocol, turn: LoopTurn, model: ScriptedModel) -> None:
        kept = (*turn.history, *turn.transcript)
        after = replace(turn, message=Message.user("And now?"), history=kept, transcript=[])
        events = [event async for event in loop.stream_turn(after)]
        assert isinstance(events[-1], DoneEvent), events[-1]
        assert_valid(model.requests[-1].messages)

    async def test_g5_cancelling_stops_the_stream_of_the_model(self, tmp_path: Path) -> None:
        """And leaves a conversation that can go on."""
        asked = asyncio.Event()

        async def pause() -> None:
            asked.set()
            await asyncio.Event().wait()

        model = ScriptedModel([Turn("It restarts.", pause=pause), "Done."])
        parts = LoopParts(Role.RETRIEVE, model, make_gate(make_tool("look")), SYSTEM)
        loop = await self.open_loop(tmp_path, parts)
        turn = LoopTurn(make_request(), Message.user("Which gateway?"))
        await cancelled_when(loop, turn, asked)
        assert (len(model.requests), model.stopped) == (1, 1)
        await self._goes_on(loop, turn, model)

    async def test_g5_b1_a_broken_history_is_mended_before_it_is_sent(self, tmp_path: Path) -> None:
        """A call without a result, a result without a call, two results for one call."""
        call, other = ToolCall(id="a", name="look"), ToolCall(id="b", name="look")
        broken = (
            (Message.assistant("", (call, other)), results_of(call)),
            (Message.assistant("", (call,)),),
            (results_of(call), Message.assistant("Hm.")),
            (Message.assistant("", (call,)), results_of(call, call)),
        )
        for messages in broken:
            model = ScriptedModel(["Done."])
            history = (Message.user("Before."), *messages)
            events = await self.run(tmp_path, model, make_gate(make_tool("look")), history=history)
            assert isinstance(events[-1], DoneEvent)
            assert_valid(model.requests[0].messages)
            assert model.requests[0].messages[-1] == Message.user("Which gateway?")
