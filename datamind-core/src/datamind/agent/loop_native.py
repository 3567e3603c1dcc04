"""The default loop: one run in a task of its own, its events handed over one by one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from datamind.agent.base import AgentEvent, LoopParts, LoopTurn
from datamind.agent.run import AgentRun
from datamind.core.context import bind_request
from datamind.core.errors import DataMindError
from datamind.core.events import ErrorEvent
from datamind.core.evidence import InferenceResult
from datamind.core.logging import redactor
from datamind.core.receipts import StoreResult
from datamind.core.shielded import finish_despite_cancel

log = logging.getLogger(__name__)

_WAITING_EVENTS = 256


class NativeLoop:
    """Runs turns against any ToolCallingModelClient."""

    def __init__(self, parts: LoopParts) -> None:
        self._parts = parts

    async def run_turn(self, turn: LoopTurn) -> InferenceResult | StoreResult:
        """One turn without events; errors are raised."""

        async def ignore(event: AgentEvent) -> None:
            return None

        with bind_request(turn.ctx):
            return await AgentRun(self._parts, turn, ignore).run()

    async def stream_turn(self, turn: LoopTurn) -> AsyncIterator[AgentEvent]:
        """Events of one turn; the last is ``done`` or ``error``. Closing the iterator cancels the run."""
        # A task of its own: a cancel scope must not be left open across a yield.
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue(_WAITING_EVENTS)
        task = asyncio.ensure_future(self._produce(turn, events))
        try:
            while (event := await events.get()) is not None:
                yield event
        finally:
            task.cancel()
            # A write past its intent is recorded first, whoever cancels the waiting.
            await finish_despite_cancel(_ended(task))

    async def _produce(self, turn: LoopTurn, events: asyncio.Queue[AgentEvent | None]) -> None:
        with bind_request(turn.ctx):
            try:
                await AgentRun(self._parts, turn, events.put).run()
            except DataMindError as error:
                await events.put(ErrorEvent(code=error.code, message=redactor.text(str(error))))
            except Exception as error:
                log.exception("the run failed")
                await events.put(ErrorEvent(code="error", message=f"the run failed ({type(error).__name__})"))
        await events.put(None)


async def _ended(task: asyncio.Future[None]) -> None:
    await asyncio.wait({task})


async def open_loop(ctx: Any, options: Any) -> type[NativeLoop]:
    """The provider `native`: the loop's class; the builder makes one for each role."""
    return NativeLoop
