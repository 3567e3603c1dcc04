"""Stored sources: the texts every surface was filled from, so that a surface can be rebuilt and a citation re-read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio.to_thread

from datamind.capabilities.control.contents import ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface

Metadata = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class StoredSource:
    """One version of one document, with the hash of its stored text.

    Attributes:
        state: ``active``, ``replaced`` by a later version, or ``deleted``; the text is held in every state.
        revision: Grows with every change of a surface's sources.
    """

    document_id: str
    source: SourceRef
    content_hash: str
    title: str
    metadata: Metadata
    receipt_ids: tuple[str, ...]
    state: str
    added_at: datetime
    revision: int


class SourceLog:
    """Which sources a surface holds. A volatile store is rebuilt from here."""

    def __init__(self, db: ControlDB, contents: ContentStore) -> None:
        self._db = db
        self._contents = contents

    async def put(
        self,
        surface: DataSurface,
        document_id: str,
        source: SourceRef,
        text: str,
        receipt_id: str,
        *,
        title: str,
        metadata: Metadata,
    ) -> bool:
        """Make this version the active one of its document and keep its text.

        Returns whether this receipt ended another version, now or before the process died.
        """
        content = text.encode("utf-8")
        hashed = await anyio.to_thread.run_sync(self._contents.prepare, content)

        def work(db: sqlite3.Connection) -> bool:
            self._contents.register(db, hashed, content)
            row = db.execute(
                "SELECT receipt_ids, state FROM sources WHERE surface = ? AND source_id = ?",
                (surface, source.source_id),
            ).fetchone()
            receipts = json.loads(row["receipt_ids"]) if row and row["state"] == "active" else []
            if receipt_id not in receipts:
                receipts.append(receipt_id)
            revision, instant = _next_revision(db, surface), now().isoformat()
            db.execute(
                "UPDATE sources SET state = 'replaced', ended_at = ?, end_receipt_id = ?, revision = ?"
                " WHERE surface = ? AND document_id = ? AND state = 'active' AND source_id != ?",
                (instant, receipt_id, revision, surface, document_id, source.source_id),
            )
            db.execute(
                "INSERT OR REPLACE INTO sources (document_id, source_id, surface, uri, content_hash, source, title,"
                " metadata, receipt_ids, state, added_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?)",
                (
                    document_id,
                    source.source_id,
                    surface,
                    source.uri,
                    hashed,
                    source.model_dump_json(),
                    title,
                    json.dumps(dict(metadata)),
                    json.dumps(receipts),
                    instant,
                    revision,
                ),
            )
            ended = "SELECT 1 FROM sources WHERE surface = ? AND document_id = ? AND end_receipt_id = ?"
            return db.execute(ended, (surface, document_id, receipt_id)).fetchone() is not None

        return await self._db.write(work)

    async def end(self, surface: DataSurface, document_ids: Sequence[str], receipt_id: str) -> int:
        """Mark documents deleted; returns how many this receipt has ended, now or before."""

        def work(db: sqlite3.Connection) -> int:
            revision, instant = _next_revision(db, surface), now().isoformat()
            db.executemany(
                "UPDATE sources SET state = 'deleted', ended_at = ?, end_receipt_id = ?, revision = ?"
                " WHERE surface = ? AND document_id = ? AND state = 'active'",
                [(instant, receipt_id, revision, surface, document_id) for document_id in document_ids],
            )
            query = "SELECT count(*) FROM sources WHERE surface = ? AND state = 'deleted' AND end_receipt_id = ?"
            return int(db.execute(query, (surface, receipt_id)).fetchone()[0])

        return await self._db.write(work)

    async def active(self, surface: DataSurface, *, after_revision: int = 0) -> Sequence[StoredSource]:
        """Active sources changed after a revision, by revision; 0 means all."""
        query = "SELECT * FROM sources WHERE surface = ? AND state = 'active' AND revision > ? ORDER BY revision, uri"
        return await self._rows(query, (surface, after_revision))

    async def ended_documents(self, surface: DataSurface, *, after_revision: int) -> Sequence[str]:
        """Documents without an active version that lost it after a revision."""
        query = (
            "SELECT DISTINCT document_id FROM sources AS gone WHERE surface = ? AND revision > ? AND state = 'deleted'"
            " AND NOT EXISTS (SELECT 1 FROM sources WHERE surface = gone.surface AND state = 'active'"
            " AND document_id = gone.document_id)"
        )
        rows = await self._db.read(lambda db: db.execute(query, (surface, after_revision)).fetchall())
        return [row["document_id"] for row in rows]

    async def current(self, surface: DataSurface, document_id: str) -> StoredSource | None:
        """The active version of a document, or None."""
        query = "SELECT * FROM sources WHERE surface = ? AND document_id = ? AND state = 'active'"
        found = await self._rows(query, (surface, document_id))
        return found[0] if found else None

    async def get(self, source_id: str) -> Sequence[StoredSource]:
        """One source on every surface that has or had it."""
        return await self._rows("SELECT * FROM sources WHERE source_id = ?", (source_id,))

    async def text(self, content_hash: str) -> str:
        """The stored text of a source.

        Raises:
            IntegrityError: It is missing or damaged.
        """
        content = await self._db.read(lambda db: self._contents.read(db, content_hash))
        return content.decode("utf-8")

    def counts_now(self) -> dict[str, int]:
        """Active sources by surface. Blocking, for planning."""
        query = "SELECT surface, count(*) AS n FROM sources WHERE state = 'active' GROUP BY surface"
        return self._db.read_now(lambda db: {row["surface"]: row["n"] for row in db.execute(query)})

    async def revision(self, surface: DataSurface) -> int:
        """The latest revision of a surface; 0 when it never held anything."""
        query = "SELECT max(revision) AS top FROM sources WHERE surface = ?"
        return await self._db.read(lambda db: db.execute(query, (surface,)).fetchone()["top"] or 0)

    async def _rows(self, query: str, values: tuple[object, ...]) -> Sequence[StoredSource]:
        return await self._db.read(lambda db: [_stored(row) for row in db.execute(query, values)])


def _next_revision(db: sqlite3.Connection, surface: str) -> int:
    top = db.execute("SELECT max(revision) AS top FROM sources WHERE surface = ?", (surface,)).fetchone()["top"]
    return int(top or 0) + 1


def _stored(row: sqlite3.Row) -> StoredSource:
    return StoredSource(
        row["document_id"],
        SourceRef.model_validate_json(row["source"]),
        row["content_hash"],
        row["title"],
        json.loads(row["metadata"]),
        tuple(json.loads(row["receipt_ids"])),
        row["state"],
        datetime.fromisoformat(row["added_at"]),
        row["revision"],
    )
