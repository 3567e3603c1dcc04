"""control.db: one writing and one read-only connection, each used by one worker thread at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from datamind.capabilities.control.schema import migrate
from datamind.core.errors import DataMindError, StoreError

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_TIMEOUT_S = 30.0


class ControlDB:
    """The file, with transactions that never block the event loop.

    ``write`` commits with synchronous=FULL: durable when it returns. ``write_soft`` survives the death of the
    process but not a power loss; it is for marks that recovery can do without.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()

    async def write(self, work: Work[T]) -> T:
        """Run ``work`` in one immediate transaction; durable when this returns."""
        return await anyio.to_thread.run_sync(self.write_now, work)

    async def write_soft(self, work: Work[T]) -> T:
        """Run ``work`` in one immediate transaction that a power loss may take back."""
        return await anyio.to_thread.run_sync(self.write_now, work, False)

    async def read(self, work: Work[T]) -> T:
        """Run ``work`` on a connection that cannot write."""
        return await anyio.to_thread.run_sync(self.read_now, work)

    def write_now(self, work: Work[T], durable: bool = True) -> T:
        """``write`` for code that already runs in a worker thread."""
        with self._write_lock, _translated(self.path):
            connection = self._open_writer()
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def read_now(self, work: Work[T]) -> T:
        """``read`` for code that already runs in a worker thread."""
        with self._read_lock, _translated(self.path):
            if self._reader is None:
                self._reader = _connect(f"{self.path.absolute().as_uri()}?mode=ro")
            return work(self._reader)

    def create(self) -> None:
        """Make or migrate the file; called once before anything else."""
        with self._write_lock, _translated(self.path):
            self._open_writer()

    def close(self) -> None:
        """Close both connections; may be called twice."""
        with self._write_lock, self._read_lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._reader = self._writer = None

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            connection = _connect(f"{self.path.absolute().as_uri()}?mode=rwc")
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


class _translated:
    """Turns exceptions of sqlite3 and of the file system into StoreError and lets everything else pass."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error | OSError) and not isinstance(error, DataMindError):
            raise StoreError(
                f"control.db cannot be used ({error})", hint="`datamind doctor` shows which store and why."
            ) from error
