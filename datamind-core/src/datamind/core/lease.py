"""The lease of a profile: which process has the engines that one process must own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from datamind.core.errors import StoreError
from datamind.core.lock_file import LockFile
from datamind.core.shielded import finish_despite_cancel

log = logging.getLogger(__name__)

WAIT_S: Final = 5.0
IDLE_S: Final = 2.0
_POLL_S: Final = 0.02  # of who waits
_LOOK_S: Final = 0.05  # of who has it and is idle
_TURN_S: Final = 0.25  # a busy holder keeps it so long before it gives way: closing and opening costs some 50 ms

Close = Callable[[], Awaitable[None]]


class Lease:
    """Held while engines of a profile are at work, so that several processes can take turns.

    G1  While a ``use`` lasts, no other Lease on the same folder is held, in this process or another.
    G2  It is taken by the first use, and given up after ``idle_s`` without one; at once if another waits, and by a
        holder at work after a quarter of a second, between two uses.
    G3  Before it is given up every engine that has joined is closed.
    G4  A use that cannot have it within ``wait_s`` raises ``store_error.in_use``, which names the holder; nothing was
        begun.
    G5  The death of the holder frees it. A holder that is suspended keeps it.
    G6  ``aclose`` waits for the uses in progress, gives it up and leaves no timer; a use after it is refused, and so is
        one that still waits for another holder.

    Belongs to the event loop it was first used in.

    Attributes:
        url: Where this process serves, if it does: what a process is told that cannot have the lease.
    """

    def __init__(self, folder: Path, *, wait_s: float = WAIT_S, idle_s: float = IDLE_S) -> None:
        self.url = ""
        self._folder = folder
        self._file = LockFile(folder / "lease")
        self._wait_s = wait_s
        self._idle_s = idle_s
        self._closers: list[Close] = []
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._entrance = asyncio.Lock()
        self._gate = asyncio.Lock()
        self._taken_at = 0.0
        self._left_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None
        self._closed = False

    def join(self, close: Close) -> None:
        """Have an engine closed whenever the lease is given up.

        Args:
            close: Closes the engine's files; does nothing if they are closed. The next use opens them again.
        """
        self._closers.append(close)

    async def leave(self, close: Close) -> None:
        """Close an engine for good; the last one gives the lease up."""
        await finish_despite_cancel(self._take_leave(close))

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Hold the lease for one piece of work (G1-G4). It is the first thing taken: before any lock of an engine.

        Raises:
            StoreError: ``store_error.in_use``, ``store_error.closed``, or the lock file cannot be written.
        """
        scope = _SCOPE.get()
        if scope is not None and await scope.enter(self):
            self._users += 1  # for a task that outlives the scope
        else:
            await self._enter()
        try:
            yield
        finally:
            self._leave()

    async def aclose(self) -> None:
        """Give it up (G6); may be called twice."""
        self._closed = True
        self._stop_timer()
        await self._unused.wait()
        await finish_despite_cancel(self._rest())

    async def _enter(self) -> None:
        deadline = time.monotonic() + self._wait_s
        async with self._entrance:
            while self._users and self._is_due():
                await self._soon_unused()
            async with self._gate:
                self._refuse_if_closed()
                if not self._users and self._is_due():
                    await finish_despite_cancel(self._give_up())
                if not self._file.held:
                    await self._take(deadline)
                    self._refuse_if_closed()  # closed meanwhile: who closes it gives up what was taken
                self._users += 1
                self._unused.clear()
                self._stop_timer()

    def _leave(self) -> None:
        self._users -= 1
        if self._users:
            return
        self._unused.set()
        self._left_at = time.monotonic()
        if not self._closed:
            self._look_soon()

    def _is_due(self) -> bool:
        """Whether a holder at work must give way."""
        return self._file.held and time.monotonic() - self._taken_at >= _TURN_S and self._file.is_wanted()

    async def _soon_unused(self) -> None:
        # Whoever waits in the other process may have left meanwhile.
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._unused.wait()
        except TimeoutError:
            return

    async def _take(self, deadline: float) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._file.is_wanted():
                await asyncio.sleep(2 * _POLL_S)  # those who waited have the first chance
            if not self._file.try_take(self.url):
                await self._wait_for_it(deadline)
        except OSError as error:
            raise StoreError(f"the lease of {str(self._folder)!r} cannot be taken ({error.strerror})") from error
        self._taken_at = time.monotonic()

    async def _wait_for_it(self, deadline: float) -> None:
        self._file.queue_up()
        try:
            while not self._file.try_take(self.url):
                if time.monotonic() > deadline:
                    raise self._in_use()
                await asyncio.sleep(_POLL_S)
        finally:
            self._file.leave_queue()

    def _in_use(self) -> StoreError:
        holder = self._file.holder()
        what = f"the tables and the graph of profile {self._folder.name!r} are in use by"
        if holder is None:
            return _in_use(f"{what} another process", "Try again when it is done.")
        since = holder.since.strftime("%Y-%m-%d %H:%M:%S %z")
        who = f"{what} process {holder.pid}, since {since}"
        if holder.url:
            return _in_use(who, f"Ask through its server, {holder.url} - or stop it.")
        if holder.is_suspended:
            ways = f"`kill -CONT {holder.pid}` lets it go on, `kill -KILL {holder.pid}` ends it"
            return _in_use(f"{who}, which is suspended", f"{ways}; what it acknowledged stays.")
        return _in_use(who, f"Try again when it is done, or end it: `kill {holder.pid}`.")

    def _look_soon(self) -> None:
        self._stop_timer()
        wait_s = min(_LOOK_S, self._idle_s)
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._users:
            return
        if time.monotonic() - self._left_at >= self._idle_s or self._file.is_wanted():
            self._resting = asyncio.get_running_loop().create_task(self._rest())
        else:
            self._look_soon()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _rest(self) -> None:
        async with self._gate:
            if not self._users:
                await self._give_up()

    async def _take_leave(self, close: Close) -> None:
        async with self._gate:
            if close in self._closers:
                self._closers.remove(close)
                await close()
            if not self._closers and not self._users:
                await self._give_up()

    async def _give_up(self) -> None:
        if not self._file.held:
            return
        for close in self._closers:
            try:
                await close()
            except Exception:
                log.exception("an engine of %s did not close", self._folder.name)
        self._file.let_go()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreError(f"profile {self._folder.name!r} is closed", code="store_error.closed", retryable=False)


class _Scope:
    """Leases that are kept until all of a write is done."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._kept: set[Lease] = set()
        self._entering = asyncio.Lock()
        self._closed = False  # a task or timer that was made within may run after it

    async def enter(self, lease: Lease) -> bool:
        """Whether the scope keeps the lease; one that is closed, or was while it waited, keeps nothing more."""
        async with self._entering:
            if self._is_open() and lease not in self._kept:
                await lease._enter()
                if self._is_open():
                    self._stack.callback(lease._leave)
                    self._kept.add(lease)
                else:
                    lease._leave()
            return self._is_open()

    def _is_open(self) -> bool:
        return not self._closed

    async def aclose(self) -> None:
        self._closed = True
        await self._stack.aclose()


_SCOPE: ContextVar[_Scope | None] = ContextVar("datamind_lease_scope", default=None)


@asynccontextmanager
async def keeping_leases() -> AsyncIterator[None]:
    """What is used within is kept to the end: a write, its sync and its reading back are seen as one by others."""
    scope = _Scope()
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)
        await scope.aclose()


def _in_use(message: str, hint: str) -> StoreError:
    return StoreError(message, code="store_error.in_use", retryable=True, hint=hint)
