"""The tests of model clients."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.core.errors import AnswerInvalid, ModelError, ModelOverloaded
from datamind.core.messages import (
    Message,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ReplyDone,
    ResetDelta,
    SurfaceStatus,
    TextDelta,
    ToolDefinition,
)
from datamind.core.protocols.models import TextModelClient, ToolCallingModelClient
from datamind.testing.conformance.base import Conformance
from datamind.testing.models import Turn, call_of, calling

_CANARY: Final = "canary-7d1f"
_TOOL: Final = ToolDefinition(name="search", description="Finds.", input_schema={"type": "object", "properties": {}})
_WORDS: Final = "Both gateways restart at night, and 网关 too."


class ModelClientConformance(Conformance):
    """Tests of ToolCallingModelClient.

    Capabilities: ``scripted`` (``open_client`` can make it say given turns) and ``wire`` (it sends requests
    somewhere; ``sent`` tells what).

    Troubleshooting: a wire client is driven by a server on the loopback interface that plays the turns; a turn
    with ``cut_after`` closes the connection before the stop event, one with ``error`` answers with that failure.
    """

    protocols = (ToolCallingModelClient,)
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"scripted", "wire"})

    async def open_client(self, folder: Path, turns: Sequence[Turn]) -> ToolCallingModelClient:
        """The client; with ``scripted`` it says these turns, one a request."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_client")

    async def sent(self, client: ToolCallingModelClient) -> bytes:
        """With ``wire``: everything that left the process."""
        raise NotImplementedError(f"{type(self).__name__} needs a sent")

    async def stopped(self, client: ToolCallingModelClient) -> int:
        """With ``scripted``: how many requests were stopped before their end; waits until that is known."""
        raise NotImplementedError(f"{type(self).__name__} needs a stopped")

    @asynccontextmanager
    async def _opened(self, folder: Path, *turns: Turn) -> AsyncIterator[ToolCallingModelClient]:
        client = await self.open_client(folder, turns)
        try:
            yield client
        finally:
            await client.aclose()

    async def test_it_says_what_it_is(self, tmp_path: Path) -> None:
        """Name and model are shown in every result."""
        async with self._opened(tmp_path) as client:
            assert isinstance(client, ToolCallingModelClient)
            assert client.name
            assert client.model
            assert isinstance(client.extractive, bool)

    async def test_g1_a_stream_ends_with_exactly_one_reply(self, tmp_path: Path) -> None:
        """And the text that was streamed, and not withdrawn, is the text of the reply."""
        async with self._opened(tmp_path, Turn(text=_WORDS)) as client:
            deltas = await deltas_of(client, request())
            assert [delta for delta in deltas if isinstance(delta, ReplyDone)] == [deltas[-1]]
            reply = reply_of(deltas)
            assert streamed_text(deltas) == reply.message.text
            assert reply.message.role == "assistant"
            if "scripted" in self.capabilities:
                assert (reply.message.text, reply.stop_reason) == (_WORDS, "end_turn")

    async def test_g1_c27_a_stream_that_is_cut_raises(self, tmp_path: Path) -> None:
        """At the start, within the text, and within a call."""
        self.need("scripted")
        call = Turn(text=_WORDS, calls=[call_of("search", {"q": "gateway"})], cut_after=2)
        for turn in (Turn(text=_WORDS, cut_after=0), Turn(text=_WORDS, cut_after=1), call):
            async with self._opened(tmp_path, turn) as client:
                with pytest.raises(ModelError):
                    await deltas_of(client, request())

    async def test_g1_a_service_that_fails_raises_a_model_error(self, tmp_path: Path) -> None:
        """Of the tree of DataMind, from ``stream`` and from ``complete``."""
        self.need("scripted")
        down = Turn(error=ModelOverloaded("the service is busy"))
        async with self._opened(tmp_path, *[down] * 12) as client:
            with pytest.raises(ModelError):
                await deltas_of(client, request())
            with pytest.raises(ModelError):
                await client.complete(request())

    async def test_g2_b5_call_ids_are_unique_and_not_empty(self, tmp_path: Path) -> None:
        """Also when the wire leaves them out, repeats them, or repeats those of an earlier reply."""
        self.need("scripted")
        for ids in (("", ""), ("a", "a"), ("a", "b")):
            turn = Turn(calls=[call_of("search", {"q": n}, call_id=wire_id) for n, wire_id in enumerate(ids)])
            async with self._opened(tmp_path, turn, turn) as client:
                first = (await client.complete(request())).message
                again = (await client.complete(request(first))).message
                seen = [call.id for call in (*first.calls, *again.calls)]
                assert all(seen), ids
                assert len(set(seen)) == 4, ids
                assert [json.loads(call.arguments) for call in first.calls] == [{"q": 0}, {"q": 1}]

    async def test_g3_b7_arguments_are_passed_on_as_they_arrived(self, tmp_path: Path) -> None:
        """Cut off, repeated keys, empty, odd spaces and escapes."""
        self.need("scripted")
        for text in (
            '{"q": "a',
            '{"q": 1, "q": 2}',
            '{ "q" :  1.0 }',
            '{"q": "\\u7f51\\u5173"}',
            '{"q": NaN}',
            "",
            "[1]",
        ):
            async with self._opened(tmp_path, calling("search", text)) as client:
                (call,) = (await client.complete(request())).message.calls
                assert (call.name, call.arguments) == ("search", text)

    async def test_g4_complete_returns_the_reply_of_the_stream(self, tmp_path: Path) -> None:
        """Text, calls, stop reason and usage."""
        turn = Turn(text=_WORDS, calls=[call_of("search", {"q": "gateway"}, call_id="a")])
        async with self._opened(tmp_path / "one", turn) as client:
            streamed = reply_of(await deltas_of(client, request()))
        async with self._opened(tmp_path / "two", turn) as client:
            assert await client.complete(request()) == streamed

    async def test_g5_nothing_of_the_surfaces_leaves_the_process(self, tmp_path: Path) -> None:
        """By what was really sent."""
        self.need("wire")
        async with self._opened(tmp_path, Turn(text=_WORDS)) as client:
            await deltas_of(client, request())
            sent = await self.sent(client)
            assert b"gateway" in sent
            assert _CANARY.encode() not in sent

    async def test_g6_b16_closing_the_iterator_stops_the_request(self, tmp_path: Path) -> None:
        """After the first delta; the client works on afterwards."""
        self.need("scripted")
        async with self._opened(tmp_path, Turn(text=_WORDS * 200), Turn(text=_WORDS)) as client:
            stream: Any = client.stream(request())
            assert isinstance(await anext(stream), TextDelta)
            await stream.aclose()
            assert await self.stopped(client) == 1
            assert (await client.complete(request())).message.text == _WORDS

    async def test_g6_aclose_may_be_called_twice(self, tmp_path: Path) -> None:
        """And before anything was asked."""
        async with self._opened(tmp_path) as client:
            await client.aclose()


class TextModelConformance(Conformance):
    """Tests of TextModelClient."""

    protocols = (TextModelClient,)

    async def open_client(self, folder: Path, answers: Sequence[str]) -> TextModelClient:
        """The client over a model that says these answers, one a request."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_client")

    async def test_without_a_schema_the_text_is_the_model_s_own(self, tmp_path: Path) -> None:
        """JSON or not."""
        client = await self.open_client(tmp_path, [_WORDS])
        assert isinstance(client, TextModelClient)
        assert await client.generate_text("Answer.", "Which?") == _WORDS

    async def test_g1_a82_with_a_schema_the_answer_is_valid_or_an_error(self, tmp_path: Path) -> None:
        """The same wrong answer may be given as often as the client asks."""
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        client = await self.open_client(tmp_path, ['{"n": 3}'])
        assert json.loads(await client.generate_text("Answer.", "How many?", schema=schema)) == {"n": 3}
        for wrong in ("three", '{"n": "3"}', '{"n": 3', "{}", "[3]"):
            client = await self.open_client(tmp_path, [wrong] * 5)
            with pytest.raises(AnswerInvalid):
                await client.generate_text("Answer.", "How many?", schema=schema)


def request(*earlier: Message) -> ModelRequest:
    """A request with one tool; an assistant's message before it has its results."""
    messages = [Message.user("Which gateway?")]
    for message in earlier:
        results = [{"type": "tool_result", "call_id": c.id, "name": c.name, "content": "{}"} for c in message.calls]
        messages += [message, Message(role="tool", blocks=results)]
    surface = SurfaceStatus(surface=_CANARY, available=False, note=_CANARY)
    return ModelRequest(system="Answer shortly.", messages=tuple(messages), tools=(_TOOL,), surfaces=(surface,))


async def deltas_of(client: ToolCallingModelClient, asked: ModelRequest) -> list[ModelDelta]:
    """Everything a stream yields."""
    return [delta async for delta in client.stream(asked)]


def reply_of(deltas: Sequence[ModelDelta]) -> ModelReply:
    """The reply a stream ended with."""
    assert isinstance(deltas[-1], ReplyDone)
    return deltas[-1].reply


def streamed_text(deltas: Sequence[ModelDelta]) -> str:
    """Text that was streamed and not withdrawn."""
    text = ""
    for delta in deltas:
        if isinstance(delta, ResetDelta):
            text = ""
        elif isinstance(delta, TextDelta):
            text += delta.delta
    return text
