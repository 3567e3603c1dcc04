"""Cancelled turns: nothing more starts, what was written is known, the conversation goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from datamind.agent import DataMind
from datamind.core.events import DoneEvent
from datamind.core.messages import Message, ModelRequest
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.tools import ToolSpec
from datamind.core.types import DataSurface, Role, ToolEffect
from datamind.plugins import hookimpl
from datamind.testing.conformance.loop_checks import assert_valid
from datamind.testing.models import ScriptedModel, Turn, call_of
from tests.support.scripted import Entry, open_scripted

PATIENCE_S = 10.0


class SlowWrite:
    """A write tool of a plugin: it says when it has begun, and commits when it is told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.committed: list[str] = []

        async def handler(args: Any, ctx: Any) -> SurfaceWriteResult:
            self.begun.set()
            await self.go_on.wait()
            self.committed.append(args["text"])
            return SurfaceWriteResult(surface=DataSurface.MEMORY, operation="added", status="stored", items_written=1)

        @hookimpl
        def register(services: Any) -> list[ToolSpec]:
            schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
            return [ToolSpec("slow_save", "Save slowly.", schema, handler, ToolEffect.WRITE, DataSurface.MEMORY)]

        self.entry = Entry("slow", datamind_register_tools=register)


def two_writes() -> Turn:
    return Turn("On it.", calls=[call_of("slow_save", {"text": text}) for text in ("first", "second")])


async def run(system: DataMind, how: str, **options: Any) -> None:
    if how == "ingest":
        await system.ingest("Keep both.", session="s", **options)
    else:
        async for _ in system.stream("Keep both.", role=Role.STORE, session="s"):
            pass


async def leave_by_task(work: Callable[[], Any], moment: asyncio.Event, then: Callable[[], None]) -> None:
    task = asyncio.ensure_future(work())
    async with asyncio.timeout(PATIENCE_S):
        await moment.wait()
        task.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        then()
        await asyncio.wait([task])
    assert task.cancelled()


async def leave_by_scope(work: Callable[[], Any], moment: asyncio.Event, then: Callable[[], None]) -> None:
    """As servers built on anyio cancel: the scope cancels again at every wait."""

    async def when_it_comes() -> None:
        await moment.wait()
        tasks.cancel_scope.cancel()
        for _ in range(20):
            await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            with anyio.CancelScope(shield=True):
                await when_it_comes()
                then()


LEAVES = [leave_by_task, leave_by_scope]


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("how", ["ingest", "stream"])
async def test_b2_a_write_that_is_cancelled_after_it_began_is_recorded_and_told(
    tmp_path: Path, how: str, leave: Any
) -> None:
    slow, model = SlowWrite(), ScriptedModel([two_writes()])
    async with open_scripted(tmp_path, model, slow.entry) as system:
        await leave(lambda: run(system, how), slow.begun, slow.go_on.set)
        assert slow.committed == ["first"], "what was past its intent finishes, the next one does not start"
        assert len(model.requests) == 1
        (receipt,) = await system.receipts.latest()
        assert (receipt.tool, receipt.status) == ("slow_save", "stored")
        await check_that_it_goes_on(system, model, receipt.receipt_id)


async def check_that_it_goes_on(system: DataMind, model: ScriptedModel, receipt_id: str) -> None:
    model.add("Yes, the first.")
    result = await system.ingest("hi", session="s")
    assert result.answer == "Yes, the first."
    sent = model.requests[-1].messages
    assert_valid(sent)
    assert [message.text for message in sent if message.role == "user"] == ["Keep both.", "hi"]
    first, second = (json.loads(block.content) for message in sent for block in message.results)
    assert (first["status"], first["receipt_ids"]) == ("stored", [receipt_id])
    assert second["error"]["code"] == "interrupted"


@pytest.mark.parametrize("leave", LEAVES)
async def test_b2_the_receipt_is_found_though_the_caller_gave_a_key(tmp_path: Path, leave: Any) -> None:
    slow, model = SlowWrite(), ScriptedModel([two_writes()])
    async with open_scripted(tmp_path, model, slow.entry) as system:
        await leave(lambda: run(system, "ingest", idempotency_key="k1"), slow.begun, slow.go_on.set)
        (receipt,) = await system.receipts.latest()
        await check_that_it_goes_on(system, model, receipt.receipt_id)


class SlowRead:
    """A read tool of a plugin that waits for ever from its second call on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ran = 0

        async def handler(args: Any, ctx: Any) -> Any:
            from datamind.core.tools import ToolOutput

            self.ran += 1
            if args["n"]:
                self.begun.set()
                await asyncio.Event().wait()
            return ToolOutput({"n": args["n"]})

        @hookimpl
        def register(services: Any) -> list[ToolSpec]:
            schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
            return [ToolSpec("slow_read", "Read slowly.", schema, handler, ToolEffect.READ, DataSurface.MEMORY)]

        self.entry = Entry("slow", datamind_register_tools=register)


@pytest.mark.parametrize("leave", LEAVES)
async def test_b1_after_a_cancel_during_the_second_of_two_reads_the_conversation_goes_on(
    tmp_path: Path, leave: Any
) -> None:
    slow = SlowRead()
    model = ScriptedModel([Turn(calls=[call_of("slow_read", {"n": n}) for n in (0, 1)])])
    async with open_scripted(tmp_path, model, slow.entry) as system:
        await leave(lambda: system.query("Which?", session="s"), slow.begun, lambda: None)
        assert len(model.requests) == 1
        model.add("Hello.")
        result = await system.query("hi", session="s")
        assert result.answer == "Hello."
        assert_valid(model.requests[-1].messages)
        assert [message.text for message in model.requests[-1].messages if message.role == "user"] == ["Which?", "hi"]


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("how", ["query", "stream"])
async def test_a_cancel_during_the_model_stream_stops_it(tmp_path: Path, how: str, leave: Any) -> None:
    asked = asyncio.Event()

    async def pause() -> None:
        asked.set()
        await asyncio.Event().wait()

    async def work() -> None:
        if how == "query":
            await system.query("Which?", session="s")
        else:
            async for _ in system.stream("Which?", session="s"):
                pass

    model = ScriptedModel([Turn("Never.", pause=pause)])
    async with open_scripted(tmp_path, model) as system:
        await leave(work, asked, lambda: None)
        assert (len(model.requests), model.stopped) == (1, 1)
        model.add("Hello.")
        assert (await system.query("hi", session="s")).answer == "Hello."
        assert_valid(model.requests[-1].messages)


async def test_a_reader_that_stops_listening_stops_the_run(tmp_path: Path) -> None:
    slow = SlowRead()
    model = ScriptedModel([Turn("Let me look.", calls=[call_of("slow_read", {"n": 0})]), "Never heard."])
    async with open_scripted(tmp_path, model, slow.entry) as system:
        async with aclosing(system.stream("Which?", session="s")) as events:
            async for event in events:
                if event.type == "tool_use":
                    break
        asked = len(model.requests)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(model.requests) == asked, "no further model call"
        model.add("Hello.")
        last = [event async for event in system.stream("hi", session="s")][-1]
        assert isinstance(last, DoneEvent)
        assert_valid(model.requests[-1].messages)


async def test_a_failed_turn_is_kept_too(tmp_path: Path) -> None:
    from datamind.core.errors import ModelOverloaded

    model = ScriptedModel([Turn(calls=[call_of("memory_list")]), ModelOverloaded("busy"), "Hello."])
    async with open_scripted(tmp_path, model) as system:
        with pytest.raises(ModelOverloaded):
            await system.query("Which?", session="s")
        assert (await system.query("hi", session="s")).answer == "Hello."
        sent = model.requests[-1].messages
        assert_valid(sent)
        assert [message.role for message in sent] == ["user", "assistant", "tool", "user"]


async def test_between_the_tools_and_the_next_model_call_a_cancel_stops_too(tmp_path: Path) -> None:
    """The consumer leaves on the result of the tool, before the model is asked again."""
    asked: list[ModelRequest] = []

    def script(request: ModelRequest) -> Turn:
        asked.append(request)
        return Turn(calls=[call_of("memory_list")]) if len(asked) == 1 else Turn("Never.")

    async with open_scripted(tmp_path, ScriptedModel(script)) as system:
        task: asyncio.Task[None]

        async def work() -> None:
            async for event in system.stream("Which?", session="s"):
                if event.type == "tool_use":
                    asyncio.current_task().cancel()  # type: ignore[union-attr]

        task = asyncio.ensure_future(work())
        await asyncio.wait([task])
        assert task.cancelled()
        history: tuple[Message, ...] = await system.conversations.history("s", Role.RETRIEVE, turns=5)
        assert_valid(history)
        assert len(asked) == 1
