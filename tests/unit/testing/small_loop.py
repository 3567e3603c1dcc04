"""A loop written from the Protocol alone, in steps that a test can break one at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

from datamind.agent.base import LoopParts, LoopTurn
from datamind.core.dispatch import dispatch
from datamind.core.errors import DataMindError
from datamind.core.events import AgentEvent, DoneEvent, ErrorEvent, TextEvent, ToolResultEvent, ToolUseEvent
from datamind.core.evidence import InferenceResult
from datamind.core.messages import (
    Message,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    ToolCall,
    ToolResultBlock,
    Usage,
)


class SmallLoop:
    def __init__(self, parts: LoopParts) -> None:
        self.parts = parts

    async def run_turn(self, turn: LoopTurn):
        return await SmallRun(self, turn).run()

    async def stream_turn(self, turn: LoopTurn) -> AsyncIterator[AgentEvent]:
        queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        task = asyncio.ensure_future(self.produce(turn, queue))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            await self.stop(task)

    async def stop(self, task) -> None:
        task.cancel()
        await asyncio.wait([task])

    async def produce(self, turn: LoopTurn, queue) -> None:
        try:
            result = await SmallRun(self, turn, queue.put_nowait).run()
        except DataMindError as error:
            await self.end(queue, ErrorEvent(code=error.code, message=str(error)))
        else:
            done = DoneEvent(
                iterations=result.iterations, stop_reason=result.stop_reason, usage=result.usage, result=result
            )
            await self.end(queue, done)

    async def end(self, queue, event: AgentEvent) -> None:
        queue.put_nowait(event)
        queue.put_nowait(None)

    async def call(self, call: ToolCall, turn: LoopTurn):
        return await dispatch(call, turn.ctx, self.parts.gate)

    def is_alone(self, call: ToolCall) -> bool:
        spec = self.parts.gate.registry.get(call.name)
        return spec is not None and spec.writes

    def blocks(self, calls: list[ToolCall], outcomes) -> list[ToolResultBlock]:
        return [
            ToolResultBlock(
                call_id=call.id,
                name=call.name,
                content=outcome.to_text() if outcome else '{"error": "it did not run to its end"}',
                is_error=outcome is None or outcome.is_error,
            )
            for call, outcome in zip(calls, outcomes, strict=True)
        ]

    def mend(self, history) -> list[Message]:
        mended: list[Message] = []
        for message in history:
            if message.role == "tool":
                continue
            mended.append(message)
            if message.calls:
                mended.append(
                    Message(role="tool", blocks=tuple(self.blocks(list(message.calls), [None] * len(message.calls))))
                )
        return mended

    async def finish(self, run: SmallRun, reason: str) -> str:
        reply = await run.ask(tools=(), until=run.started + self.parts.config.wall_clock_s)
        return reply.message.text if reply else reason


class SmallRun:
    def __init__(self, loop: SmallLoop, turn: LoopTurn, emit=lambda event: None) -> None:
        self.loop, self.turn, self.emit = loop, turn, emit
        self.config = loop.parts.config
        self.started = time.monotonic()
        self.before = loop.mend(turn.history)
        self.usage, self.iterations, self.calls_made, self.stop = Usage(), 0, 0, ""

    @property
    def work_until(self) -> float:
        return self.started + self.config.wall_clock_s - self.config.reserve_s

    async def run(self) -> InferenceResult:
        said = self.turn.transcript
        said.append(self.turn.message)
        answer = None
        while answer is None:
            if reason := self.stop or self.limit():
                self.stop = reason
                answer = await self.loop.finish(self, reason)
                said.append(Message.assistant(answer))
                break
            tools = self.loop.parts.gate.registry.definitions()
            reply = await self.ask(tools, self.work_until)
            if reply is None:
                continue
            said.append(reply.message)
            if reply.message.calls:
                said.append(Message(role="tool", blocks=tuple(await self.run_calls(list(reply.message.calls)))))
            else:
                answer = reply.message.text
        return InferenceResult(
            answer=answer,
            history=(*self.before, *said),
            iterations=self.iterations,
            stop_reason=self.stop or "end_turn",
            usage=self.usage,
        )

    def limit(self) -> str:
        used, config = self.usage, self.config
        reached = {
            "max_turns": self.iterations >= config.max_turns,
            "max_tool_calls": self.calls_made >= config.max_tool_calls,
            "max_input_tokens": used.input_tokens > (config.max_input_tokens or 1e9),
            "max_output_tokens": used.output_tokens > (config.max_output_tokens or 1e9),
            "max_cost": (used.cost_usd or 0) > (config.max_cost_usd or 1e9),
            "wall_clock": time.monotonic() >= self.work_until,
        }
        return next((reason for reason, is_reached in reached.items() if is_reached), "")

    async def ask(self, tools, until: float) -> ModelReply | None:
        request = ModelRequest(
            system=self.loop.parts.system, messages=(*self.before, *self.turn.transcript), tools=tuple(tools)
        )
        reply = None
        try:
            async with asyncio.timeout(until - time.monotonic()):
                async with aclosing(self.loop.parts.client.stream(request)) as deltas:
                    async for delta in deltas:
                        if isinstance(delta, TextDelta):
                            self.emit(TextEvent(delta=delta.delta))
                        elif isinstance(delta, ReplyDone):
                            reply = delta.reply
        except TimeoutError:
            return None
        self.usage += reply.usage
        self.iterations += 1
        return reply

    async def run_calls(self, calls: list[ToolCall]) -> list[ToolResultBlock]:
        left = self.config.max_tool_calls - self.calls_made
        allowed, refused = calls[:left], calls[left:]
        self.calls_made += len(allowed)
        for call in allowed:
            self.emit(ToolUseEvent(id=call.id, name=call.name, input=_input(call)))
        tasks: dict[str, asyncio.Task] = {}
        try:
            async with asyncio.timeout(self.work_until - time.monotonic()), asyncio.TaskGroup() as group:
                for call in allowed:
                    tasks[call.id] = group.create_task(self.loop.call(call, self.turn))
                    if self.loop.is_alone(call):
                        await tasks[call.id]
        except TimeoutError:
            pass
        ended = [task.result() if (task := tasks.get(c.id)) and not task.cancelled() else None for c in allowed]
        blocks = self.loop.blocks(allowed, ended)
        for block in blocks:
            preview = block.content[:400]
            self.emit(ToolResultEvent(id=block.call_id, name=block.name, is_error=block.is_error, preview=preview))
        return [*blocks, *self.loop.blocks(refused, [None] * len(refused))]


def _input(call: ToolCall) -> dict:
    import json

    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
