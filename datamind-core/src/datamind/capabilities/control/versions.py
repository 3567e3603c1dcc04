"""What a write changed about the versions of documents, and how that is taken back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.sources import VERSION_JSON, StoredSource, keep_ended, next_revision
from datamind.core.errors import Conflict, changed_since
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface


@dataclass(frozen=True, slots=True)
class Restoration:
    """What taking a write back does to documents.

    Attributes:
        back: Versions that become the active ones again, exactly as they were.
        gone: Active versions of documents that had none before.
    """

    back: tuple[StoredSource, ...] = ()
    gone: tuple[StoredSource, ...] = ()

    @property
    def document_ids(self) -> tuple[str, ...]:
        """All that change, each once."""
        return tuple(one.document_id for one in (*self.back, *self.gone))

    def as_json(self) -> dict[str, Any]:
        """For an intent."""
        return {"back": [_version_json(one) for one in self.back], "gone": [_version_json(one) for one in self.gone]}

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Restoration:
        """From an intent."""
        return cls(tuple(map(_version, kept["back"])), tuple(map(_version, kept["gone"])))


class VersionLog:
    """The versions that writes ended or brought back. Written by ``SourceLog``, and here for a revert."""

    def __init__(self, db: ControlDB) -> None:
        self._db = db

    async def reverting(self, surface: DataSurface, receipt_id: str) -> Restoration:
        """What taking this write back would do.

        Raises:
            Conflict: ``conflict.changed_since``: a later write changed one of its documents.
        """
        return await self._db.read(lambda db: _reverting(db, surface, receipt_id))

    async def restore(self, surface: DataSurface, change: Restoration, receipt_id: str) -> None:
        """Make ``back`` active and end ``gone``, in one transaction; again, it changes nothing."""
        await self._db.write(lambda db: _restore(db, surface, change, receipt_id))


def _reverting(db: sqlite3.Connection, surface: str, receipt_id: str) -> Restoration:
    query = "SELECT * FROM changed_versions WHERE surface = ? AND receipt_id = ?"
    changes = db.execute(query, (surface, receipt_id)).fetchall()
    changed = {row["document_id"] for row in changes}
    back, gone = [], []
    for row in changes:
        current = _current(db, surface, row["document_id"])
        if not _is_as_left(current, row["after"], receipt_id):
            raise _changed_since(db, surface, row["document_id"], current, receipt_id)
        if row["before"] is not None:
            back.append(_version(json.loads(row["before"])))
        elif current is not None:
            gone.append(current)
    gone += [one for one in _begun_by(db, surface, receipt_id) if one.document_id not in changed]
    if not back and not gone and (by := _ended_by(db, surface, receipt_id)):
        raise changed_since(receipt_id, by)
    return Restoration(tuple(back), tuple(gone))


def _is_as_left(current: StoredSource | None, after: str | None, receipt_id: str) -> bool:
    if after is None:
        return current is not None and current.receipt_ids[-1:] == (receipt_id,)
    left = json.loads(after)
    return _version_json(current) == left if left and current else not left and current is None


def _changed_since(
    db: sqlite3.Connection, surface: str, document_id: str, current: StoredSource | None, receipt_id: str
) -> Conflict:
    query = (
        "SELECT c.receipt_id FROM changed_versions AS c JOIN receipts AS r ON r.receipt_id = c.receipt_id"
        " WHERE c.surface = ? AND c.document_id = ? AND r.reverted_by IS NULL AND r.seq >"
        " (SELECT seq FROM receipts WHERE receipt_id = ?) ORDER BY r.tool LIKE '%restore', r.seq DESC LIMIT 1"
    )
    row = db.execute(query, (surface, document_id, receipt_id)).fetchone()
    by = row["receipt_id"] if row else "".join(current.receipt_ids[-1:]) if current else ""
    return changed_since(receipt_id, by)


def _ended_by(db: sqlite3.Connection, surface: str, receipt_id: str) -> str:
    """The last write in force that ended a version which this receipt began, or an empty string."""
    query = (
        "SELECT c.receipt_id FROM changed_versions AS c JOIN receipts AS r ON r.receipt_id = c.receipt_id"
        " WHERE c.surface = ? AND json_extract(c.before, '$.receipt_ids[#-1]') = ? AND r.reverted_by IS NULL"
        " ORDER BY r.tool LIKE '%restore', r.seq DESC LIMIT 1"
    )
    row = db.execute(query, (surface, receipt_id)).fetchone()
    return str(row["receipt_id"]) if row else ""


def _current(db: sqlite3.Connection, surface: str, document_id: str) -> StoredSource | None:
    query = f"SELECT {VERSION_JSON} AS version FROM sources WHERE surface = ? AND document_id = ? AND state = 'active'"  # noqa: S608
    row = db.execute(query, (surface, document_id)).fetchone()
    return _version(json.loads(row["version"])) if row else None


def _begun_by(db: sqlite3.Connection, surface: str, receipt_id: str) -> list[StoredSource]:
    query = (
        f"SELECT {VERSION_JSON} AS version FROM sources WHERE surface = ? AND state = 'active'"  # noqa: S608
        " AND instr(receipt_ids, ?) AND json_extract(receipt_ids, '$[#-1]') = ?"
    )
    return [_version(json.loads(row["version"])) for row in db.execute(query, (surface, receipt_id, receipt_id))]


def _restore(db: sqlite3.Connection, surface: str, change: Restoration, receipt_id: str) -> None:
    after: dict[str, str] = {one.document_id: json.dumps(_version_json(one)) for one in change.back}
    after |= {one.document_id: "null" for one in change.gone}
    revision, instant = next_revision(db, surface), now().isoformat()
    keep_ended(db, surface, dict.fromkeys(after, receipt_id), after=after)
    db.executemany(
        "INSERT OR IGNORE INTO changed_versions VALUES (?, ?, ?, NULL, ?)",
        [(surface, receipt_id, document_id, left) for document_id, left in after.items()],
    )
    db.executemany(
        "UPDATE sources SET state = ?, ended_at = ?, end_receipt_id = ?, revision = ?"
        " WHERE surface = ? AND document_id = ? AND state = 'active'",
        [
            ("deleted" if left == "null" else "replaced", instant, receipt_id, revision, surface, document_id)
            for document_id, left in after.items()
        ],
    )
    db.executemany(
        "INSERT OR REPLACE INTO sources (document_id, source_id, surface, uri, content_hash, source, title,"
        " metadata, receipt_ids, state, added_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?)",
        [_row(one, surface, revision) for one in change.back],
    )


def _row(one: StoredSource, surface: str, revision: int) -> Sequence[object]:
    source = one.source
    return (
        one.document_id,
        source.source_id,
        surface,
        source.uri,
        one.content_hash,
        source.model_dump_json(),
        one.title,
        json.dumps(dict(one.metadata)),
        json.dumps(list(one.receipt_ids)),
        one.added_at.isoformat(),
        revision,
    )


def _version_json(one: StoredSource) -> dict[str, Any]:
    return {
        "document_id": one.document_id,
        "source": one.source.model_dump(mode="json"),
        "content_hash": one.content_hash,
        "title": one.title,
        "metadata": dict(one.metadata),
        "receipt_ids": list(one.receipt_ids),
        "added_at": one.added_at.isoformat(),
    }


def _version(kept: Mapping[str, Any]) -> StoredSource:
    return StoredSource(
        kept["document_id"],
        SourceRef.model_validate_json(json.dumps(kept["source"])),
        kept["content_hash"],
        kept["title"],
        kept["metadata"],
        tuple(kept["receipt_ids"]),
        "active",
        datetime.fromisoformat(kept["added_at"]),
        0,
    )
