"""One engine in one child process, asked one request at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from datamind.core.errors import InputInvalid, StoreError
from datamind.core.shielded import finish_despite_cancel
from datamind.engine_host.messages import EngineReply, Payload
from datamind.engine_host.process import ChildGone
from datamind.engine_host.requests import Request, make_request
from datamind.engine_host.session import Budget, Session
from datamind.engine_host.spec import EngineSpec
from datamind.engine_host.turns import Turns

logger = logging.getLogger(__name__)

Hold = Callable[[], AbstractAsyncContextManager[object]]


@asynccontextmanager
async def open_engine(spec: EngineSpec, *, while_running: Hold | None = None) -> AsyncIterator[EngineHost]:
    """An engine, closed at the end. Its child starts with the first call.

    Args:
        spec: Which engine, and what it may use.
        while_running: Makes a context that is entered before a child starts and left once it is gone, such as a
            lease on the files the engine owns. It may be entered in one task and left in another.
    """
    host = EngineHost(spec, while_running=while_running)
    try:
        yield host
    finally:
        await host.aclose()


class EngineHost:
    """Runs an engine where it can neither hold the event loop nor outlive its limits.

    G1  The child shares nothing with this process: it is started afresh and never forked from it, in a session and
        process group of its own, with named environment variables and no descriptor but its channel, its output and
        those passed with a request.
    G2  The child dies when this process dies, whatever it is doing.
    G3  The limits of the spec hold before a line of the engine is run.
    G4  JSON and bytes cross, and nothing that runs code. What arrives is checked in size, nesting, id and kind before
        it is used; a child that breaks this is killed.
    G5  Requests are served one at a time, in the order in which they were made.
    G6  Past its deadline a request ends with ``limit_exceeded.time``: at most ``deadline_s`` of waiting for its turn,
        then at most ``deadline_s`` of work, after which the child and its group are killed. Starting a child has a
        limit of its own. The next request starts a new child.
    G7  A child that dies meanwhile is a retryable StoreError, and for a write the outcome is then unknown. With
        ``retry`` the request is made once more. A child that died before it had the request had not begun: then it
        is made once more in any case.
    G8  An engine that runs out of memory is ``limit_exceeded.memory``, whether Python, C++ or Rust found none; its
        child is replaced.
    G9  An engine's error arrives as a DataMindError of one line; a library's own as StoreError, not retryable, with
        its first line. The traceback is in the log.
    G10 Cancelling a caller kills the child. With ``interruptible=False`` a request that has been sent is first
        answered; the cancellation is raised then.
    G11 A stream that is not read stops the child: no more than one part waits there, and what the channel holds.
        Leaving a stream early ends the operation between two parts; after a second without one, the child is killed.
    G12 The event loop is held for a few milliseconds at most, whatever the size of requests and answers.
    G13 With ``idle_s`` the child is closed after so long without work; what ``while_running`` holds is held exactly
        as long as a child lives.
    G14 ``aclose`` flushes the engine, takes no longer than ``close_s`` and some seconds for the kill, may be called
        twice, and leaves no process, descriptor or task.
    G15 What a child prints never holds it up and is logged at debug level, redacted, 64 KiB of it.

    This is no sandbox against machine code: a child that was taken over has the rights of its user. It bounds what
    an engine uses and keeps what it was not given out of it. Belongs to the event loop it was first used in.
    """

    def __init__(self, spec: EngineSpec, *, while_running: Hold | None = None) -> None:
        self._spec = spec
        self._while_running = while_running
        self._hold: AbstractAsyncContextManager[object] | None = None
        self._session: Session | None = None
        self._turns = Turns(spec.name)
        self._retiring = asyncio.Lock()
        self._requests = 0
        self._closed = False
        self._idle_timer: asyncio.TimerHandle | None = None
        self._idle_close: asyncio.Task[None] | None = None

    async def call(
        self,
        operation: str,
        args: Mapping[str, Any] | None = None,
        *,
        payloads: Sequence[Payload] = (),
        fds: Sequence[int] = (),
        deadline_s: float | None,
        retry: bool = False,
        interruptible: bool = True,
    ) -> EngineReply:
        """One request and its answer (G5-G10).

        Args:
            operation: One the engine lists.
            args: Strict JSON, 256 KiB at most.
            payloads: Contiguous buffers, 64 at most; unchanged until the call returns.
            fds: Open descriptors for the child to read, 16 at most; they stay the caller's to close.
            deadline_s: None waits for ever.
            retry: The operation only reads: ask again if the child dies. Not with ``fds``, whose offset has moved.
            interruptible: False for an operation that writes.

        Raises:
            LimitExceeded: ``.time``, ``.memory`` or ``.size``.
            InputInvalid: The request cannot be sent.
            StoreError: The engine failed, died, broke the protocol, does not start, or this host is closed.
            DataMindError: Whatever else the engine raised.
        """
        if retry and fds:
            raise InputInvalid(f"{operation!r} cannot be retried with descriptors: their offset has moved")
        request = self._request(operation, args, payloads, fds)
        async with self._turn(operation, deadline_s):
            await self._running()
            work = self._perform(request, deadline_s, retry=retry)
            return await (work if interruptible else finish_despite_cancel(work))

    async def stream(
        self,
        operation: str,
        args: Mapping[str, Any] | None = None,
        *,
        payloads: Sequence[Payload] = (),
        fds: Sequence[int] = (),
        deadline_s: float | None,
    ) -> AsyncGenerator[EngineReply, None]:
        """One request and its answer in parts of 1 MiB at most, as the engine makes them (G5-G11).

        The stream has the engine to itself until it is finished or closed: whoever may leave it early holds it in
        ``contextlib.aclosing``.

        Args:
            operation: One the engine lists.
            args: As in ``call``, and so the rest.
            payloads: As in ``call``.
            fds: As in ``call``.
            deadline_s: Of waiting for the engine; the time between two parts that the caller takes does not count.

        Raises:
            DataMindError: As in ``call``, also after some parts.
        """
        request = self._request(operation, args, payloads, fds, stream=True)
        budget = Budget(deadline_s)
        async with self._turn(operation, deadline_s):
            session = await self._begin(request, budget)
            try:
                while (part := await session.part(request, budget)) is not None:
                    yield part
            finally:
                await session.stop(request)

    async def pause(self) -> None:
        """End the child, and give its memory back, once what was asked is answered; the next request starts another."""
        self._cancel_idle_timer()
        await self._close_idle()

    async def aclose(self) -> None:
        """End the child (G14). Queued requests are refused, the one at work has ``close_s`` to finish."""
        self._closed = True
        self._cancel_idle_timer()
        try:
            # Its own task is not waited for: a stream that was left open there would never end.
            if not self._turns.mine:
                async with asyncio.timeout(self._spec.close_s), self._turns:
                    await self._end_in_order()
        except TimeoutError:
            logger.warning("engine %r was still at work when it was closed; it is killed", self._spec.name)
        finally:
            await finish_despite_cancel(self._retire())
        if self._idle_close is not None:
            await asyncio.wait([self._idle_close])

    async def _perform(self, request: Request, deadline_s: float | None, *, retry: bool) -> EngineReply:
        try:
            return await self._ask(request, deadline_s)
        except StoreError as error:
            if not retry or error.code != "store_error.engine_died":
                raise
            logger.info("%s; it is asked again", error)
        return await self._ask(request, deadline_s)

    async def _ask(self, request: Request, deadline_s: float | None) -> EngineReply:
        budget = Budget(deadline_s)
        session = await self._begin(request, budget)
        return await session.answer(request, budget)

    async def _begin(self, request: Request, budget: Budget) -> Session:
        """The session that has the request. A child found dead had not begun it, so another may be given it."""
        session = await self._running()
        try:
            await session.send(request, budget)
        except ChildGone:
            session = await self._running()
            try:
                await session.send(request, budget)
            except ChildGone:
                raise session.cause_of_death(request.operation) from None
        return session

    async def _running(self) -> Session:
        if self._session is not None and not self._session.alive:
            await finish_despite_cancel(self._retire())
        return self._session or await self._start()

    async def _start(self) -> Session:
        session = None
        self._refuse_if_closed("start")
        await self._enter_hold()
        try:
            session = self._session = await Session.spawn(self._spec)
            self._refuse_if_closed("start")  # meanwhile, by an `aclose` that saw no child yet
            await session.boot()
        except BaseException:
            await finish_despite_cancel(self._retire() if session else self._leave_hold())
            raise
        return session

    async def _enter_hold(self) -> None:
        if self._while_running is not None:
            hold = self._while_running()
            await hold.__aenter__()
            self._hold = hold

    async def _leave_hold(self) -> None:
        hold, self._hold = self._hold, None
        if hold is not None:
            await hold.__aexit__(None, None, None)

    async def _end_in_order(self) -> None:
        if self._session is not None and self._session.alive:
            self._requests += 1
            await self._session.close(self._requests)
        await finish_despite_cancel(self._retire())

    async def _retire(self) -> None:
        async with self._retiring:
            session, self._session = self._session, None
            if session is not None:
                try:
                    await session.end()
                finally:
                    await self._leave_hold()

    def _request(
        self,
        operation: str,
        args: Mapping[str, Any] | None,
        payloads: Sequence[Payload],
        fds: Sequence[int],
        *,
        stream: bool = False,
    ) -> Request:
        if operation == "close":
            raise InputInvalid(f"engine {self._spec.name!r}: 'close' is not called but done by aclose()")
        self._requests += 1
        return make_request(
            self._spec, self._requests, operation, args or {}, payloads=payloads, fds=fds, stream=stream
        )

    @asynccontextmanager
    async def _turn(self, operation: str, wait_s: float | None) -> AsyncIterator[None]:
        self._refuse_if_closed(operation)
        await self._turns.take(operation, wait_s)
        self._cancel_idle_timer()
        try:
            self._refuse_if_closed(operation)
            yield
        finally:
            try:
                if self._session is not None and not self._session.alive:
                    await finish_despite_cancel(self._retire())
            finally:
                self._turns.give_back()
                self._set_idle_timer()

    def _refuse_if_closed(self, operation: str) -> None:
        if self._closed:
            raise StoreError(
                f"engine {self._spec.name!r} is closed and cannot begin {operation!r}",
                code="store_error.closed",
                retryable=False,
            )

    def _set_idle_timer(self) -> None:
        if self._spec.idle_s is not None and self._session is not None and not self._closed:
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(self._spec.idle_s, self._begin_idle_close)

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _begin_idle_close(self) -> None:
        self._idle_close = asyncio.get_running_loop().create_task(self._close_idle())

    async def _close_idle(self) -> None:
        async with self._turns:
            await self._end_in_order()
