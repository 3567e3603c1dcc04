"""The talk with one started child: requests, answers, and what a broken talk means."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from datamind.core.errors import DataMindError, LimitExceeded, StoreError
from datamind.core.shielded import finish_despite_cancel
from datamind.engine_host.failures import read_failure
from datamind.engine_host.frames import MAX_HEADER_BYTES, MAX_PART_BYTES, Frame, FrameError, FrameTooLarge, encode
from datamind.engine_host.messages import EngineReply
from datamind.engine_host.process import Child, ChildGone
from datamind.engine_host.requests import Request, make_request
from datamind.engine_host.spec import EngineSpec

logger = logging.getLogger(__name__)

_STOP_S: Final = 1.0
_PATIENCE_S: Final = 1.0  # between the end of the channel and the end of the process


class Budget:
    """Seconds of waiting for the engine; what the caller does meanwhile is not counted."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raises TimeoutError when they are spent."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with asyncio.timeout(self._left):
                yield
        finally:
            if self._left is not None:
                self._left -= loop.time() - started


class Session:
    """A child whose engine is up. Whoever breaks the talk, by time, death, form or cancellation, ends the child."""

    def __init__(self, spec: EngineSpec, child: Child) -> None:
        self._spec = spec
        self._child = child
        self._open: int | None = None

    @classmethod
    async def start(cls, spec: EngineSpec) -> Self:
        """Start a child and have it make the engine.

        Raises:
            LimitExceeded: Not within ``start_s``, or not within its memory.
            StoreError: No process, no such factory, or the factory failed or died.
            DataMindError: What else the factory raised.
        """
        session = cls(spec, await Child.spawn(spec))
        try:
            await session._boot()
        except BaseException:
            await finish_despite_cancel(session.end())
            raise
        return session

    async def _boot(self) -> None:
        spec = self._spec
        boot = {
            "name": spec.name,
            "factory": spec.factory,
            "options": dict(spec.options),
            "limits": vars(spec.limits),
            "max_bytes": spec.max_frame_bytes,
        }
        request = make_request(spec, 0, "start", boot)
        budget = Budget(spec.start_s)
        try:
            await self.send(request, budget)
        except ChildGone:
            raise self._child.cause_of_death("start") from None
        await self.answer(request, budget)

    @property
    def alive(self) -> bool:
        """Whether it can be asked again, as far as is known."""
        return self._child.alive

    async def send(self, request: Request, budget: Budget) -> None:
        """Send a request.

        Raises:
            ChildGone: The engine has not begun it.
            LimitExceeded: The time is up.
        """
        async with self._watch(request.operation, budget):
            await self._child.send(request.buffers, request.fds)
        self._open = request.id

    async def answer(self, request: Request, budget: Budget) -> EngineReply:
        """The one answer to the request that was sent."""
        reply = await self._next(request, budget, ("end",), self._spec.max_frame_bytes)
        assert reply is not None  # the kind says so
        return reply

    async def part(self, request: Request, budget: Budget) -> EngineReply | None:
        """The next part, or None after the last."""
        reply = await self._next(request, budget, ("part", "end"), MAX_PART_BYTES)
        return None if self._open is None else reply

    async def stop(self, request: Request) -> None:
        """Have the engine end a stream that is left early; does nothing for one that has ended."""
        budget = Budget(_STOP_S)
        try:
            if self._open == request.id and self.alive:
                await self._send_stop(request, budget)
                while await self.part(request, budget) is not None:
                    pass
        except (DataMindError, ChildGone) as error:
            logger.debug("engine %r did not stop %r in order: %s", self._spec.name, request.operation, error)

    async def _send_stop(self, request: Request, budget: Budget) -> None:
        async with self._watch(request.operation, budget):
            await self._child.send(encode({"id": request.id, "stop": True}, max_bytes=MAX_HEADER_BYTES))

    async def close(self, request_id: int) -> None:
        """Have the engine flush and its process end, within ``close_s``."""
        request = make_request(self._spec, request_id, "close", {})
        budget = Budget(self._spec.close_s)
        try:
            await self.send(request, budget)
            await self.answer(request, budget)
            await self._child.ended(_PATIENCE_S)
        except (DataMindError, ChildGone) as error:
            logger.warning("engine %r did not close in order: %s", self._spec.name, error)

    async def end(self) -> None:
        """Kill the child unless it is gone, and leave nothing of it."""
        await self._child.reap()

    def cause_of_death(self, operation: str) -> DataMindError:
        """What a child died of that ended by itself."""
        return self._child.cause_of_death(operation)

    async def _next(self, request: Request, budget: Budget, kinds: Sequence[str], max_bytes: int) -> EngineReply | None:
        try:
            async with self._watch(request.operation, budget):
                frame = await self._child.receive(max_bytes)
                answer = self._read(frame, request, kinds)
        except ChildGone:
            raise self._child.cause_of_death(request.operation) from None
        if frame.header["kind"] != "part":
            self._open = None
        if frame.header.get("last"):
            self._child.kill()
        if isinstance(answer, DataMindError):
            raise answer
        return answer

    def _read(self, frame: Frame, request: Request, kinds: Sequence[str]) -> EngineReply | DataMindError:
        header = frame.header
        if header.get("id") != request.id:
            raise FrameError("it answers another request")
        kind = header.get("kind")
        if kind == "error":
            return read_failure(header.get("error"))
        if kind not in kinds:
            raise FrameError(f"it is no {' or '.join(kinds)}")
        return EngineReply(header.get("value"), frame.payloads)

    @asynccontextmanager
    async def _watch(self, operation: str, budget: Budget) -> AsyncIterator[None]:
        where = f"engine {self._spec.name!r} in {operation!r}"
        try:
            async with budget.running():
                yield
        except ChildGone:
            await self._child.ended(_PATIENCE_S)  # a kill now could hide what it is dying of
            self._child.kill()
            raise
        except BaseException as error:
            self._child.kill()
            match error:
                case TimeoutError():
                    raise self._too_slow(operation, budget) from None
                case FrameTooLarge():
                    raise LimitExceeded(
                        f"{where}: the answer is too large: {error}", code="limit_exceeded.size"
                    ) from None
                case FrameError():
                    raise StoreError(
                        f"{where}: the answer is broken: {error}", code="store_error.protocol", retryable=False
                    ) from None
            raise

    def _too_slow(self, operation: str, budget: Budget) -> LimitExceeded:
        return LimitExceeded(
            f"engine {self._spec.name!r} did not finish {operation!r} within {budget.seconds:g} s and was stopped",
            code="limit_exceeded.time",
        )
