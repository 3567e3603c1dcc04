"""control.db on its way from one profile to another: a copy of one moment, a look at one that came, its adoption."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from datamind.capabilities.control.control import Control
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.schema import check_file, objects_at, objects_of
from datamind.core.errors import SourceUnreadable, StoreError

_PAGES: Final = 4096
_KEY: Final = "audit_key."
_NAMES: Final = "former_profiles"


@dataclass(frozen=True, slots=True)
class KeptBlob:
    """Content that lies beside control.db, by its hash."""

    content_hash: str
    size: int


def copy_now(source: Path, target: Path) -> None:
    """A copy as of one moment, also while others write; what was erased is not in its free pages. Blocking.

    Raises:
        StoreError: It cannot be read, or the disk is full.
    """
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(target, isolation_level=None)) as new,
        ):
            old.backup(new, pages=_PAGES)
            new.execute("PRAGMA journal_mode = DELETE")
            new.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(f"{str(source)!r} cannot be copied ({error}).", hint="Check the space on the disk.") from error


def blobs_of(copy: Path) -> Sequence[KeptBlob]:
    """What lies beside it. Blocking."""
    query = "SELECT content_hash, size FROM contents WHERE body IS NULL ORDER BY content_hash"
    with closing(sqlite3.connect(copy)) as connection:
        return [KeptBlob(*row) for row in connection.execute(query)]


def ledger_counts(copy: Path) -> Mapping[str, int]:
    """Receipts, answers and audit records. Blocking."""
    with closing(sqlite3.connect(copy)) as connection:
        return {
            noun: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - constants
            for noun, table in (("receipts", "receipts"), ("answers", "answers"), ("audit_records", "audit"))
        }


def check_came(path: Path) -> None:
    """Look at a control.db that came from elsewhere. Blocking.

    Raises:
        StoreError: A newer DataMind wrote it.
        SourceUnreadable: It is damaged, or holds more than DataMind makes: a view or trigger would run unasked.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)) as db:
            check_file(db, path)
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            is_ours = version > 0 and objects_of(db) == objects_at(version)
            is_whole = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            if is_ours and is_whole and db.execute("SELECT 1 FROM meta WHERE key = 'profile_uid'").fetchone():
                return
    except sqlite3.Error:
        pass
    raise SourceUnreadable(
        "the control.db of the export is not one that DataMind made", code="source_unreadable.damaged_export"
    )


async def adopt(control: Control, former: str, digest: str) -> None:
    """Make a control.db that came from elsewhere this profile's own.

    The audit chain goes on, with a key of this profile; an approval that was given elsewhere is none here.
    """

    def work(db: sqlite3.Connection) -> None:
        key, epoch = _value(db, "profile_uid"), int(_value(db, "audit_epoch") or 0)
        last = db.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        names = [name for name in _names(db) if name != former]
        _put(db, f"{_KEY}{epoch}", key)
        _put(db, "profile_uid", secrets.token_hex(16))
        _put(db, "audit_epoch", str(epoch + 1))
        _put(db, _NAMES, json.dumps([*names, former]))
        db.execute("UPDATE approvals SET state = 'expired' WHERE state IN ('pending', 'approved')")
        control.audit.append(
            db,
            "imported",
            trace_id="",
            former_profile=former,
            export=digest,
            last_record=last["seq"] if last else 0,
            last_hash=last["hash"] if last else "",
        )

    await control.db.write(work)


async def former_names(db: ControlDB) -> Sequence[str]:
    """What the profile was called where it was exported, oldest first."""
    return await db.read(_names)


async def audit_keys(db: ControlDB) -> Sequence[str]:
    """Names of the keys that its audit chain was signed with, oldest first."""
    query = "SELECT value FROM meta WHERE key GLOB ? ORDER BY CAST(substr(key, ?) AS INTEGER)"

    def read(connection: sqlite3.Connection) -> Sequence[str]:
        former = [row["value"] for row in connection.execute(query, (f"{_KEY}*", len(_KEY) + 1))]
        return [*former, _value(connection, "profile_uid")]

    return await db.read(read)


def _names(db: sqlite3.Connection) -> list[str]:
    return list(json.loads(_value(db, _NAMES) or "[]"))


def _value(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row["value"]) if row else ""


def _put(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
