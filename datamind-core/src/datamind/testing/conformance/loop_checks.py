"""What the tests of a loop have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from datamind.core.messages import Message, ModelRequest, ToolCall, Usage
from datamind.core.protocols.agent import AgentLoopProtocol, LoopTurn
from datamind.testing.models import Turn, calling

SYSTEM: Final = "Answer shortly."

PATIENCE_S: Final = 10.0
"""How long a test waits for something that should happen at once."""

_SPENDING: Final = Usage(input_tokens=10, output_tokens=5, cost_usd=1.0)


def endless(request: ModelRequest) -> Turn:
    """A model that calls a tool for as long as it has one."""
    if not request.tools:
        return Turn("Enough.", usage=Usage())
    return replace(calling("look", {"n": len(request.messages)}), usage=_SPENDING)


def results_of(*calls: ToolCall) -> Message:
    """A message with one empty result for each call."""
    blocks = [{"type": "tool_result", "call_id": call.id, "name": call.name, "content": "{}"} for call in calls]
    return Message.model_validate({"role": "tool", "blocks": blocks})


def model_usage(turns: int) -> Usage:
    """What a scripted model uses in so many turns."""
    return sum((Turn().usage for _ in range(turns)), Usage())


async def cancelled_when(loop: AgentLoopProtocol, turn: LoopTurn, moment: asyncio.Event) -> None:
    """Consume a turn and cancel the consumer when ``moment`` comes."""

    async def consume() -> None:
        async for _ in loop.stream_turn(turn):
            pass

    task = asyncio.ensure_future(consume())
    async with asyncio.timeout(PATIENCE_S):
        await moment.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    await let_others_run()


async def let_others_run() -> None:
    """Give a task that should have ended the chance to do what it must not."""
    for _ in range(50):
        await asyncio.sleep(0)


def assert_valid(messages: Sequence[Message]) -> None:
    """Fail unless each call has exactly one result, in order, in the very next message, and no result stands alone."""
    for before, message in zip([None, *messages], messages, strict=False):
        expected = [call.id for call in before.calls] if before and before.role == "assistant" else []
        assert [result.call_id for result in message.results] == expected, message
        assert (message.role == "tool") is bool(expected), message
        assert message.blocks, "a message is empty"
    assert not messages[-1].calls, "the last call has no result"
