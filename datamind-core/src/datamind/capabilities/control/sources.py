"""Stored sources: the texts every surface was filled from, so that a surface can be rebuilt and a citation re-read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import anyio.to_thread

from datamind.capabilities.control.contents import ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface

Metadata = Mapping[str, str | int | float | bool]
VERSION_JSON = (
    "json_object('document_id', document_id, 'source', json(source), 'content_hash', content_hash, 'title', title,"
    " 'metadata', json(metadata), 'receipt_ids', json(receipt_ids), 'added_at', added_at)"
)
"""A version in a row of ``sources``, as ``changed_versions`` keeps it."""


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
    ended_at: datetime | None = None


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
        version = StoredSource(document_id, source, "", title, metadata, (receipt_id,), "active", now(), 0)
        return bool(await self.put_all(surface, [(version, text)]))

    async def put_all(self, surface: DataSurface, versions: Sequence[tuple[StoredSource, str]]) -> Set[str]:
        """Make these versions the active ones of their documents, in one transaction, and keep their texts.

        Args:
            versions: Each of another document, with its text; its first receipt is that of the write.

        Returns the documents of which that receipt ended another version, now or before the process died.
        """
        return await anyio.to_thread.run_sync(self._put_all, surface, versions)

    def _put_all(self, surface: DataSurface, versions: Sequence[tuple[StoredSource, str]]) -> Set[str]:
        contents = [text.encode("utf-8") for _, text in versions]
        hashes = list(map(self._contents.prepare, contents))

        def work(db: sqlite3.Connection) -> Set[str]:
            self._contents.register_all(db, zip(hashes, contents, strict=True))
            return _put(db, surface, [version for version, _ in versions], hashes)

        return self._db.write_now(work)

    async def end(self, surface: DataSurface, document_ids: Sequence[str], receipt_id: str) -> int:
        """Mark documents deleted; returns how many this receipt has ended, now or before."""

        def work(db: sqlite3.Connection) -> int:
            revision, instant = next_revision(db, surface), now().isoformat()
            keep_ended(db, surface, dict.fromkeys(document_ids, receipt_id), after=dict.fromkeys(document_ids, "null"))
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

    async def currents(self, surface: DataSurface, document_ids: Sequence[str]) -> Mapping[str, StoredSource]:
        """The active versions of those of the documents that have one, by id."""
        query = (
            "SELECT * FROM sources WHERE surface = ? AND state = 'active'"
            " AND document_id IN (SELECT value FROM json_each(?))"
        )
        found = await self._rows(query, (surface, json.dumps(document_ids)))
        return {version.document_id: version for version in found}

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

    async def saved(self, surface: DataSurface) -> Sequence[tuple[object, ...]]:
        """Everything that is known of a surface's sources, for ``restore``."""
        query = "SELECT * FROM sources WHERE surface = ?"
        return await self._db.read(lambda db: [tuple(row) for row in db.execute(query, (surface,))])

    async def restore(self, surface: DataSurface, saved: Sequence[tuple[object, ...]]) -> None:
        """What was known before writes were repeated: when each version came and went is no other time for that."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM sources WHERE surface = ?", (surface,))
            if saved:
                marks = ", ".join("?" * len(saved[0]))
                db.executemany(f"INSERT INTO sources VALUES ({marks})", saved)  # noqa: S608 - marks only

        await self._db.write(work)

    async def named(self, names: Sequence[str]) -> Sequence[StoredSource]:
        """Every version, whatever its state, whose uri, source id, document id or title is one of these."""
        query = (
            "SELECT * FROM sources WHERE uri IN (SELECT value FROM json_each(?1))"
            " OR source_id IN (SELECT value FROM json_each(?1)) OR document_id IN (SELECT value FROM json_each(?1))"
            " OR title IN (SELECT value FROM json_each(?1)) ORDER BY revision"
        )
        return await self._rows(query, (json.dumps([name for name in names if name]),))

    def counts_now(self) -> dict[str, int]:
        """Active sources by surface. Blocking, for planning."""
        query = "SELECT surface, count(*) AS n FROM sources WHERE state = 'active' GROUP BY surface"
        return self._db.read_now(lambda db: {row["surface"]: row["n"] for row in db.execute(query)})

    async def revision(self, surface: DataSurface) -> int:
        """The latest revision of a surface; 0 when it never held anything."""
        query = "SELECT max(revision) AS top FROM sources WHERE surface = ?"
        return await self._db.read(lambda db: db.execute(query, (surface,)).fetchone()["top"] or 0)

    async def _rows(self, query: str, values: tuple[object, ...]) -> Sequence[StoredSource]:
        return await self._db.read(lambda db: [stored_of(row) for row in db.execute(query, values)])


def next_revision(db: sqlite3.Connection, surface: str) -> int:
    """The number of the change that is about to be made."""
    top = db.execute("SELECT max(revision) AS top FROM sources WHERE surface = ?", (surface,)).fetchone()["top"]
    return int(top or 0) + 1


def _put(db: sqlite3.Connection, surface: str, versions: Sequence[StoredSource], hashes: Sequence[str]) -> Set[str]:
    receipt_of = {version.document_id: version.receipt_ids[0] for version in versions}
    named = json.dumps(list(receipt_of))
    same = json.dumps([version.source.source_id for version in versions])
    held = db.execute(
        "SELECT source_id, receipt_ids FROM sources WHERE surface = ? AND state = 'active'"
        " AND source_id IN (SELECT value FROM json_each(?))",
        (surface, same),
    )
    receipts = {row["source_id"]: json.loads(row["receipt_ids"]) for row in held}
    others = db.execute(
        "SELECT document_id FROM sources WHERE surface = ? AND state = 'active'"
        " AND document_id IN (SELECT value FROM json_each(?)) AND source_id NOT IN (SELECT value FROM json_each(?))",
        (surface, named, same),
    ).fetchall()
    revision, instant = next_revision(db, surface), now().isoformat()
    if others or receipts:
        keep_ended(db, surface, receipt_of)
    db.executemany(
        "UPDATE sources SET state = 'replaced', ended_at = ?, end_receipt_id = ?, revision = ?"
        " WHERE surface = ? AND state = 'active' AND document_id = ?",
        [(instant, receipt_of[row["document_id"]], revision, surface, row["document_id"]) for row in others],
    )
    db.executemany(
        "INSERT OR REPLACE INTO sources (document_id, source_id, surface, uri, content_hash, source, title,"
        " metadata, receipt_ids, state, added_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?)",
        [
            (
                version.document_id,
                version.source.source_id,
                surface,
                version.source.uri,
                hashed,
                version.source.model_dump_json(),
                version.title,
                json.dumps(dict(version.metadata)) if version.metadata else "{}",
                _receipts_json((*receipts.get(version.source.source_id, ()), version.receipt_ids[0])),
                instant,
                revision,
            )
            for version, hashed in zip(versions, hashes, strict=True)
        ],
    )
    return _ended(db, surface, receipt_of)


@lru_cache(maxsize=16)
def _receipts_json(receipt_ids: tuple[str, ...]) -> str:
    return json.dumps([one for one in dict.fromkeys(receipt_ids) if one])


def _ended(db: sqlite3.Connection, surface: str, receipt_of: Mapping[str, str]) -> Set[str]:
    query = (
        "SELECT document_id, receipt_id FROM changed_versions WHERE surface = ?"
        " AND receipt_id IN (SELECT value FROM json_each(?))"
    )
    rows = db.execute(query, (surface, json.dumps(list(set(receipt_of.values())))))
    return {row["document_id"] for row in rows if row["receipt_id"] == receipt_of.get(row["document_id"])}


def keep_ended(
    db: sqlite3.Connection,
    surface: str,
    receipt_of: Mapping[str, str],
    *,
    after: Mapping[str, str | None] | None = None,
) -> None:
    """Keep the active versions of documents as they are, ahead of the receipt of each that ends or changes them.

    Args:
        after: What each has afterwards, where that is not a version that the receipt writes.
    """
    db.executemany(
        f"INSERT OR IGNORE INTO changed_versions SELECT surface, ?1, document_id, {VERSION_JSON}, ?4 FROM sources"  # noqa: S608
        " WHERE surface = ?2 AND document_id = ?3 AND state = 'active' AND (?4 IS NOT NULL"
        " OR json_extract(receipt_ids, '$[#-1]') IS NOT ?1)",
        [
            (receipt_id, surface, document_id, (after or {}).get(document_id))
            for document_id, receipt_id in receipt_of.items()
        ],
    )


def stored_of(row: sqlite3.Row) -> StoredSource:
    """The version in a row."""
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
        datetime.fromisoformat(row["ended_at"]) if row["ended_at"] else None,
    )
