"""control.db: one writing and one read-only connection, each used by one worker thread at a time."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

import anyio.to_thread

from datamind.capabilities.control.schema import check_file, migrate
from datamind.core.errors import DataMindError, IntegrityError, StoreError

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_TIMEOUT_S = 30.0
_POLL_S: Final = 0.01
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_CAUSES: Final = {
    sqlite3.SQLITE_BUSY: ("busy", "Another process is writing; try again."),
    sqlite3.SQLITE_FULL: ("disk_full", "Free some space and try again."),
    sqlite3.SQLITE_READONLY: ("read_only", "Check the permissions of the folder."),
    sqlite3.SQLITE_CANTOPEN: ("read_only", "Check the permissions of the folder."),
}


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
                self._roll_back(connection)
                raise
            return result

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:  # closing rolls back too
            connection.close()
            self._writer = None

    def read_now(self, work: Work[T]) -> T:
        """``read`` for code that already runs in a worker thread."""
        with self._read_lock, _translated(self.path):
            if self._reader is None:
                self._reader = _connect(f"{self.path.absolute().as_uri()}?mode=ro")
            return work(self._reader)

    async def vacuum(self) -> None:
        """Write the file again without what was deleted, and empty its log.

        Raises:
            StoreError: Another process is reading an older state.
        """
        await anyio.to_thread.run_sync(self._vacuum)

    def _vacuum(self) -> None:
        with self._write_lock, self._read_lock, _translated(self.path):
            connection = self._open_writer()
            connection.execute("VACUUM")
            ((busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if busy:
                raise StoreError(
                    f"another process is reading an older state of {str(self.path)!r}.",
                    code="store_error.busy",
                    hint="Let it end and try again.",
                )

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
            self._check()
            connection = _connect(f"{self.path.absolute().as_uri()}?mode=rwc")
            try:
                _use_wal(connection)
                migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer

    def _check(self) -> None:
        # On a connection that cannot write: opening a file for writing alone may change it.
        if self.path.exists() and self.path.stat().st_size:
            with closing(_connect(f"{self.path.absolute().as_uri()}?mode=ro")) as connection:
                check_file(connection, self.path)


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    # SQLite does not wait here when several processes make one file at the same moment.
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)
        else:
            return


class _translated:
    """Turns exceptions of sqlite3 and of the file system into StoreError and lets everything else pass."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error | OSError) and not isinstance(error, DataMindError):
            raise _store_error(self._path, error) from error


def _store_error(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    primary = _primary_code(error)
    if primary in _DAMAGED:
        return IntegrityError(f"{str(path)!r} is damaged ({error}).", hint="Restore it from a backup.")
    detail, hint = _CAUSES.get(primary, ("", "`datamind doctor` shows which store and why."))
    code = f"{StoreError.default_code}.{detail}" if detail else None
    return StoreError(f"{str(path)!r} cannot be used ({error}).", code=code, hint=hint)


def _primary_code(error: sqlite3.Error | OSError) -> int:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF
    full, read_only = error.errno in _FULL, error.errno in _READ_ONLY
    return sqlite3.SQLITE_FULL if full else sqlite3.SQLITE_READONLY if read_only else 0
