"""Whose turn it is: one request at a time, in the order in which they were made."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Final

from datamind.core.errors import DataMindError, LimitExceeded, StoreError

_OWN_STREAM_S: Final = 1.0


class Turns:
    """A fair lock that knows its holder. ``async with turns`` waits for as long as it takes."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None

    @property
    def mine(self) -> bool:
        """Whether the running task is at work: it has a stream that it left open."""
        return self._holder is not None and self._holder is asyncio.current_task()

    async def take(self, operation: str, wait_s: float | None) -> None:
        """Wait for the turn, so long at most.

        Raises:
            LimitExceeded: Others were at work for so long; nothing was begun.
            StoreError: The task itself is, and would wait for ever.
        """
        mine = self.mine  # a stream that was dropped ends soon, one that is still open never
        try:
            async with asyncio.timeout(_OWN_STREAM_S if mine else wait_s):
                await self.__aenter__()
        except TimeoutError:
            raise self._busy(operation, wait_s, mine=mine) from None

    def give_back(self) -> None:
        """End the turn."""
        self._holder = None
        self._lock.release()

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._holder = asyncio.current_task()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.give_back()

    def _busy(self, operation: str, wait_s: float | None, *, mine: bool) -> DataMindError:
        if mine:
            return StoreError(
                f"engine {self._engine!r} is busy with a stream of this task and cannot begin {operation!r}",
                code="store_error.busy",
                retryable=False,
                hint="Finish or close the stream first.",
            )
        return LimitExceeded(
            f"engine {self._engine!r} was busy for {wait_s:g} s and has not begun {operation!r}",
            code="limit_exceeded.time",
            retryable=True,
        )
