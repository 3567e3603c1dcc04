"""One process at a time has the graph open; who waits is let in between two calls."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

import anyio

from datamind.core.errors import StoreError

_POLL_S: Final = 0.02


class Hold:
    """A lock file with the process id of its holder, and a second one that waiters share."""

    def __init__(self, folder: Path, wait_s: float) -> None:
        self._lock_path = folder / "lock"
        self._queue_path = folder / "waiting"
        self._wait_s = wait_s
        self._descriptor: int | None = None

    async def take(self) -> None:
        """Wait for the lock.

        Raises:
            StoreError: Another process kept it for longer than the wait.
        """
        if self.is_wanted():
            # Whoever has just let go gives those who waited the first chance.
            await anyio.sleep(2 * _POLL_S)
        if self._try():
            return
        queue = os.open(self._queue_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(queue, fcntl.LOCK_SH)
            await self._wait()
        finally:
            os.close(queue)

    async def _wait(self) -> None:
        deadline = time.monotonic() + self._wait_s
        while not self._try():
            if time.monotonic() > deadline:
                raise StoreError(
                    f"the graph is in use by {self._holder()}.",
                    code="store_error.in_use",
                    retryable=True,
                    hint="Try again when it is done, or stop it.",
                )
            await anyio.sleep(_POLL_S)

    def _try(self) -> bool:
        descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return True

    def _holder(self) -> str:
        try:
            number = self._lock_path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            number = ""
        return f"process {number}" if number.isdecimal() else "another process"

    def is_wanted(self) -> bool:
        """Whether someone waits for the lock now."""
        try:
            queue = os.open(self._queue_path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(queue)
        return False

    def let_go(self) -> None:
        """Give the lock up."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
