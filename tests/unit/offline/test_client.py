"""The client as the loop sees it: guarantees G1 to G6, roles, and runs that always end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from datamind.core.messages import Message, ModelReply, ReplyDone, TextDelta, ToolCall
from datamind.core.messages import ToolResultBlock as Result
from datamind.core.protocols.models import ToolCallingModelClient
from datamind.plugins import PluginHost, ProviderKind
from datamind.testing.conformance.models import ModelClientConformance
from datamind.testing.models import Turn
from datamind_model_offline.client import OfflineModelClient, open_client
from tests.unit.offline.world import READS, WRITES, failed, found, request, row, run


class TestOfflineClient(ModelClientConformance):
    async def open_client(self, folder: Path, turns: Sequence[Turn]) -> ToolCallingModelClient:
        return await open_client(None, None)


async def ask(*messages: Message, **more) -> ModelReply:
    return await OfflineModelClient().complete(request(*messages, **more))


def answered(reply: ModelReply, content: str) -> list[Message]:
    """The reply with one result for each of its calls."""
    blocks = [Result(call_id=call.id, name=call.name, content=content) for call in reply.message.calls]
    return [reply.message, Message(role="tool", blocks=tuple(blocks))]


def test_it_says_what_it_is():
    client = OfflineModelClient()
    assert (client.name, client.model, client.extractive) == ("offline", "offline", True)


def test_the_plugin_registers_it():
    specs = [
        spec for spec in PluginHost().providers() if (spec.kind, spec.name) == (ProviderKind.MODEL_CLIENT, "offline")
    ]
    assert [spec.factory for spec in specs] == ["datamind_model_offline.client:open_client"]


async def test_g1_text_is_streamed_and_then_the_reply():
    question = Message.user("What is the limit?")
    deltas = [delta async for delta in OfflineModelClient().stream(request(question, holds=()))]
    assert [type(delta) for delta in deltas] == [TextDelta, ReplyDone]
    assert deltas[0].delta == deltas[1].reply.message.text
    assert deltas[1].reply.stop_reason == "end_turn"


async def test_g2_ids_are_new_to_the_whole_conversation():
    first = await ask(Message.user("Where do I live?"))
    history = [Message.user("Where do I live?"), *answered(first, "{}")]
    second = await ask(*history)
    ids = [call.id for reply in (first, second) for call in reply.message.calls]
    assert len(ids) >= 2
    assert len(set(ids)) == len(ids)
    assert all(ids)


async def test_g2_an_id_of_another_client_is_not_taken_again():
    taken = ToolCall(id="offline_7", name="memory_recall", arguments="{}")
    earlier = [
        Message.user("Hello?"),
        Message.assistant("", (taken,)),
        Message(role="tool", blocks=(Result(call_id=taken.id, name=taken.name, content="{}"),)),
        Message.assistant("No."),
    ]
    reply = await ask(*earlier, Message.user("Where do I live?"))
    assert [call.id for call in reply.message.calls] == ["offline_8"]


async def test_g4_complete_and_stream_agree():
    asked = request(Message.user("Where do I live?"))
    *_, last = [delta async for delta in OfflineModelClient().stream(asked)]
    assert last.reply == await OfflineModelClient().complete(asked)
    assert last.reply.stop_reason == "tool_calls"


async def test_g5_nothing_of_the_surfaces_is_in_the_reply():
    asked = request(Message.user("Where?"), holds=())
    marked = asked.model_copy(
        update={"surfaces": tuple(s.model_copy(update={"note": "canary"}) for s in asked.surfaces)}
    )
    assert "canary" not in (await OfflineModelClient().complete(marked)).model_dump_json()


async def test_g6_closing_stops_the_stream_and_the_client_goes_on():
    client = OfflineModelClient()
    stream = client.stream(request(Message.user("Why?"), holds=()))
    assert isinstance(await anext(stream), TextDelta)
    await stream.aclose()
    await client.aclose()
    await client.aclose()
    assert (await client.complete(request(Message.user("Why?"), holds=()))).message.text


async def test_the_same_request_gets_the_same_reply():
    asked = [Message.user("How many days of leave do I get, and who approves them?")]
    assert (await ask(*asked)).model_dump_json() == (await ask(*asked)).model_dump_json()


@pytest.mark.parametrize(("tools", "name"), [(WRITES, "memory_save"), (READS, "memory_recall")])
async def test_the_tools_decide_the_role(tools, name):
    reply = await ask(Message.user("I live in Oslo."), tools=tools)
    assert [call.name for call in reply.message.calls] == [name]


async def test_a_tool_of_a_plugin_does_not_make_a_writer_a_reader():
    reply = await ask(Message.user("I live in Oslo."), tools=(*WRITES, "db_remove_import", "tides_save_forecast"))
    assert [call.name for call in reply.message.calls] == ["memory_save"]


async def test_one_reading_tool_is_enough_to_be_a_reader():
    """A registry filled wrongly must not turn a question into a write."""
    reply = await ask(Message.user("I live in Oslo."), tools=(*WRITES, "memory_recall"))
    assert [call.name for call in reply.message.calls] == ["memory_recall"]


async def test_a83_the_last_turn_without_tools_answers_from_what_there_is():
    """Out of budget, the loop adds an instruction behind the results and takes the tools away."""
    question = Message.user("Who approves flights?")
    reply = await ask(question)
    history = [question, *answered(reply, json.dumps(found(row(1, "Flights are approved by Dana."))))]
    last = await ask(*history, Message.user("The budget is used up. Answer now."), tools=())
    assert last.message.text == "Flights are approved by Dana. [1]"
    assert not last.message.calls


async def test_the_last_turn_of_a_writer_says_what_was_done():
    question = Message.user("Remember that I live in Oslo.")
    reply = await ask(question, tools=WRITES)
    history = [question, *answered(reply, json.dumps({"status": "stored", "receipt_ids": ["rcpt_1.default"]}))]
    last = await ask(*history, Message.user("The budget is used up. Answer now."), tools=())
    assert last.message.text == "Saved to memory: “I live in Oslo.” (receipt rcpt_1.default)"


@pytest.mark.parametrize(
    "content", ["", "not json", "[]", "null", '{"results": 3}', '{"results": [1, {"cite": "x"}, {"content": 4}]}', "{"]
)
async def test_results_that_cannot_be_read_count_as_nothing(content):
    done = await run("Who approves flights?", dict.fromkeys(READS, content))
    assert done.text == "I found nothing about “Who approves flights?” in memory, the knowledge base and the skills."


async def test_a_tool_that_always_fails_is_named_and_not_asked_again():
    done = await run("Who approves flights?", dict.fromkeys(READS, failed("store_error", "the disk is gone")))
    assert done.text.count("could not be searched: the disk is gone") == 3
    assert done.names.count("memory_recall") == 1


async def test_no_user_message_asks_for_nothing():
    assert (await ask(Message.assistant("Hello."))).message.text == "There is no question to answer."


async def test_a_run_costs_nothing():
    assert (await ask(Message.user("Where?"))).usage.cost_usd == 0.0
