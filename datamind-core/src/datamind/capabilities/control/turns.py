"""One caller of an idempotency key at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from datamind.core.errors import Conflict

WAIT_S: Final = 30.0
POLL_S: Final = 0.05


class Turns:
    """Within this process whoever comes second waits, and finds the receipt of the first."""

    def __init__(self) -> None:
        self._locks: dict[str, anyio.Lock] = {}

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """The turn of one caller of ``key``.

        Raises:
            Conflict: The caller before does not end.
        """
        lock = self._locks.setdefault(key, anyio.Lock())
        with anyio.move_on_after(WAIT_S) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            raise still_running(key)
        try:
            yield
        finally:
            lock.release()
            if not lock.locked():
                self._locks.pop(key, None)


def still_running(key: str) -> Conflict:
    """What a caller is told when the first write of its key does not end."""
    return Conflict(f"the write of key {key[:80]!r} is still running.", code="conflict.running", retryable=True)
