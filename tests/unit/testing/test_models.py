"""The scripted model says what it is told, and goes wrong as it is told."""

from __future__ import annotations

import asyncio

import pytest

from datamind.core.errors import ModelOverloaded, ModelStreamError
from datamind.core.messages import Message, ModelRequest, ReplyDone, ResetDelta, TextDelta, ThinkingDelta
from datamind.testing.models import ScriptedModel, Turn, call_of, calling


def request(text: str = "Which?") -> ModelRequest:
    return ModelRequest(system="Answer.", messages=(Message.user(text),))


async def test_it_answers_in_order_and_keeps_the_requests():
    model = ScriptedModel(["one"]).add(Turn("two"), lambda asked: f"three, {asked.messages[0].text}")
    said = [(await model.complete(request(text))).message.text for text in ("a", "b", "c")]
    assert said == ["one", "two", "three, c"]
    assert [asked.messages[0].text for asked in model.requests] == ["a", "b", "c"]
    assert model.remaining == 0


async def test_a_script_that_has_run_out_says_how_often_it_was_asked():
    model = ScriptedModel(["one"])
    await model.complete(request())
    with pytest.raises(AssertionError, match="2 times"):
        await model.complete(request())


async def test_a_function_answers_for_ever():
    model = ScriptedModel(lambda asked: asked.messages[0].text.upper())
    assert [(await model.complete(request("x"))).message.text for _ in range(3)] == ["X"] * 3


async def test_thinking_and_withdrawn_text_are_streamed_before_the_answer():
    turn = Turn("The real answer, which is long.", thinking="hm", withdrawn="A first attempt.")
    deltas = [delta async for delta in ScriptedModel([turn]).stream(request())]
    assert [type(delta) for delta in deltas] == [ThinkingDelta, TextDelta, ResetDelta, TextDelta, TextDelta, ReplyDone]
    assert deltas[-1].reply.message.text == "The real answer, which is long."


async def test_errors_come_at_once_or_after_some_deltas():
    busy = ModelOverloaded("busy")
    with pytest.raises(ModelOverloaded):
        await ScriptedModel([busy]).complete(request())
    seen = []
    with pytest.raises(ModelOverloaded):
        async for delta in ScriptedModel([Turn("x" * 64, cut_after=2, error=busy)]).stream(request()):
            seen.append(delta)
    assert len(seen) == 2
    with pytest.raises(ModelStreamError):
        await ScriptedModel([Turn("x" * 64, cut_after=2)]).complete(request())


async def test_a_pause_can_be_waited_for_and_cancelled():
    asked = asyncio.Event()

    async def pause():
        asked.set()
        await asyncio.Event().wait()

    model = ScriptedModel([Turn("never", pause=pause)])
    task = asyncio.ensure_future(model.complete(request()))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.stopped == 1


async def test_b5_ids_are_kept_while_they_are_good():
    calls = [call_of("a", call_id="x"), call_of("b", {"n": 1}, call_id="x"), call_of("c")]
    reply = await ScriptedModel([Turn(calls=calls)]).complete(request())
    ids = [call.id for call in reply.message.calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert [call.arguments for call in reply.message.calls] == ["{}", '{"n": 1}', "{}"]
    assert reply.stop_reason == "tool_calls"


async def test_stop_reason_and_arguments_can_be_anything():
    turn = Turn(calls=calling("a", '{"n": ').calls, stop_reason="max_tokens")
    reply = await ScriptedModel([turn]).complete(request())
    assert (reply.stop_reason, reply.message.calls[0].arguments) == ("max_tokens", '{"n": ')
