"""Opening memory.db: made aside and put in place whole, read without a way to write."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from datamind.core.errors import StoreError
from datamind.core.protocols.repair import damaged
from datamind.core.set_aside import mark
from datamind.core.types import new_id
from datamind_memory_sqlite import schema
from datamind_memory_sqlite.schema import check_schema, migrate
from datamind_memory_sqlite.words import refresh_words, words_are_current

_WRITER_PRAGMAS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # Without it macOS leaves what was synced in the cache of the drive.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    f"PRAGMA journal_size_limit = {64 << 20}",
)
_READER_PRAGMAS: Final = ("PRAGMA query_only = ON", f"PRAGMA mmap_size = {256 << 20}")
_READS: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_TRANSACTION}
)
_READABLE_PRAGMAS: Final = frozenset({"data_version", "user_version", "application_id"})
_DETAILS: Final = {
    sqlite3.SQLITE_BUSY: ("busy", "Another process is writing; try again."),
    sqlite3.SQLITE_FULL: ("disk_full", "Free some space and try again."),
    sqlite3.SQLITE_READONLY: ("read_only", "Check the permissions of the folder."),
    sqlite3.SQLITE_CANTOPEN: ("cannot_open", "Check the permissions of the folder."),
}


def open_for_writing(path: Path, busy_timeout_s: float) -> tuple[sqlite3.Connection, list[Path]]:
    """A connection, and the folders whose entries must be synced before the file survives a power loss."""
    folders = _make_folder(path.parent)
    if stored_version(path, busy_timeout_s) == 0:
        _create(path, busy_timeout_s)
    return _open_writer(path, busy_timeout_s), folders


def open_for_reading(path: Path, busy_timeout_s: float) -> sqlite3.Connection | None:
    """A connection that the engine and an authorizer keep from writing; None while there is no store to read."""
    if not path.exists():
        return None
    connection = _connect(path, "ro", busy_timeout_s)
    try:
        if check_schema(connection, path) == 0:
            connection.close()
            return None
        for pragma in _READER_PRAGMAS:
            connection.execute(pragma)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(_allow_reads)
    except BaseException:
        connection.close()
        raise
    return connection


def stored_version(path: Path, busy_timeout_s: float) -> int:
    """Schema version of the file, 0 if there is none; changes nothing.

    Raises:
        StoreError: See ``check_schema``.
    """
    if not path.exists():
        return 0
    with closing(_connect(path, "ro", busy_timeout_s)) as connection:
        return check_schema(connection, path)


def is_behind(path: Path, busy_timeout_s: float) -> bool:
    """Whether the file has an older schema, or words of another tokenizer; changes nothing.

    Raises:
        StoreError: See ``check_schema``.
    """
    if not path.exists():
        return False
    with closing(_connect(path, "ro", busy_timeout_s)) as connection:
        version = check_schema(connection, path)
        return 0 < version < len(schema.MIGRATIONS) or (version > 0 and not words_are_current(connection))


@contextmanager
def translated(path: Path, action: str) -> Iterator[None]:
    """Turn what sqlite3 and the file system raise into a StoreError with that as its cause."""
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error(path, action, error) from error
    except OSError as error:
        raise StoreError(f"{str(path)!r} could not be {action}: {error.strerror or error}") from error


def _store_error(path: Path, action: str, error: sqlite3.Error) -> StoreError:
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    message = f"{str(path)!r} could not be {action}: {error}"
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        mark(path)
        return damaged(message)
    detail, hint = _DETAILS.get(primary, ("", ""))
    code = f"{StoreError.default_code}.{detail}" if detail else None
    return StoreError(message, hint=hint, code=code)


def _make_folder(folder: Path) -> list[Path]:
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return [folder, *(part.parent for part in missing)]


def _create(path: Path, busy_timeout_s: float) -> None:
    """Make the file aside and link it into place, so that no process ever meets one that is half made."""
    aside = path.with_name(f"{path.name}.{new_id('new')}")
    try:
        _open_writer(aside, busy_timeout_s).close()
        with suppress(OSError):  # another process was first; or there are no links here, and it is made in place
            os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _open_writer(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    connection = _connect(path, "rwc", busy_timeout_s)
    try:
        for pragma in _WRITER_PRAGMAS:
            connection.execute(pragma)
        migrate(connection, path)
        refresh_words(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, mode: str, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,  # one thread at a time, not always the same one
    )


def _allow_reads(action: int, first: str | None, second: str | None, _database: str | None, _source: str | None) -> int:
    if action in _READS or (action == sqlite3.SQLITE_PRAGMA and first in _READABLE_PRAGMAS and second is None):
        return sqlite3.SQLITE_OK
    # FTS5 declares its table when it is first used; the file is open read-only all the same.
    is_declaration = action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
    return sqlite3.SQLITE_OK if is_declaration else sqlite3.SQLITE_DENY
