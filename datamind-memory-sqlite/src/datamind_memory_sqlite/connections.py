"""The writing and the reading connection: each used by one worker thread at a time, never by the event loop."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from datamind.core.durable import sync_folder
from datamind.core.errors import StoreError
from datamind_memory_sqlite.files import open_for_reading, open_for_writing, translated

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class _Connection:
    """A connection that is opened on first use and opened again after it broke."""

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._limiter = anyio.CapacityLimiter(1)
        # The limiter queues tasks; a task that is cancelled leaves it while its thread is still at work.
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    async def aclose(self) -> None:
        """Close it once the work in progress is done; may be called twice."""
        await run_sync(self._close)

    async def let_go(self) -> None:
        """Close it for now; the next use opens it again."""
        await run_sync(self._let_go)

    def _let_go(self) -> None:
        with self._lock:
            self._drop()

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _held(self, action: str) -> Iterator[None]:
        with self._lock, translated(self.path, action):
            if self._closed:
                raise StoreError(f"the memory store {str(self.path)!r} is closed", retryable=False)
            yield

    def _within(self, begin: str, end: str, connection: sqlite3.Connection, work: Work[T]) -> T:
        try:
            connection.execute(begin)
            result = work(connection)
            connection.execute(end)
        except BaseException:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except sqlite3.Error:  # closing rolls back too
                self._drop()
            raise
        return result


class WriteConnection(_Connection):
    """The connection that writes. Makes folder and file on first use."""

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        super().__init__(path, busy_timeout_s)
        self._unsynced: list[Path] = []

    async def run(self, work: Work[T]) -> T:
        """Run ``work`` in one immediate transaction; survives a power loss when it returns, but see ``sync``.

        Raises:
            StoreError: The engine failed; nothing of this transaction was written.
        """
        return await run_sync(self._run, work, limiter=self._limiter)

    async def write_anew(self) -> None:
        """Write the file again without what was deleted, and empty its log.

        Raises:
            StoreError: Another process is reading an older state of the file.
        """
        await run_sync(self._write_anew, limiter=self._limiter)

    def _write_anew(self) -> None:
        with self._held("written anew"):
            if self._connection is None:
                self._connection, folders = open_for_writing(self.path, self._busy_timeout_s)
                self._unsynced += folders
            self._connection.execute("VACUUM")
            ((busy, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if busy:
                raise StoreError(
                    f"another process is reading an older state of {str(self.path)!r}.",
                    code="store_error.busy",
                    hint="Let it end and try again.",
                )

    async def sync(self) -> None:
        """Make the entry of the file in its folder survive a power loss too."""
        await run_sync(self._sync, limiter=self._limiter)

    def _run(self, work: Work[T]) -> T:
        with self._held("written"):
            if self._connection is None:
                self._connection, folders = open_for_writing(self.path, self._busy_timeout_s)
                self._unsynced += folders
            return self._within("BEGIN IMMEDIATE", "COMMIT", self._connection, work)

    def _sync(self) -> None:
        with self._held("synced"):
            for folder in self._unsynced:  # SQLite syncs files, not the folder a database is made in
                sync_folder(folder)
            self._unsynced.clear()


class ReadConnection(_Connection):
    """The connection that cannot write."""

    async def run(self, work: Work[T], *, absent: T) -> T:
        """Run ``work`` on one snapshot; ``absent`` while there is no file.

        Raises:
            StoreError: The engine failed.
        """
        return await run_sync(self._run, work, absent, limiter=self._limiter)

    def _run(self, work: Work[T], absent: T) -> T:
        with self._held("read"):
            if self._connection is None:
                self._connection = open_for_reading(self.path, self._busy_timeout_s)
            if self._connection is None:
                return absent
            return self._within("BEGIN", "ROLLBACK", self._connection, work)
