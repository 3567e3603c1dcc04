"""Erasing: what control.db itself holds of what was forgotten, and which erasures have not come to their end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from datamind.capabilities.control.audit import AuditChain
from datamind.capabilities.control.contents import ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.owners import Owner, is_alive
from datamind.capabilities.control.receipts import insert_receipt
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult, new_receipt_id
from datamind.core.record import Record, now
from datamind.core.types import DataSurface, derived_id

_LISTED: Final = "IN (SELECT value FROM json_each(?))"
_MIN_NEEDLE: Final = 12
_NEEDLE: Final = 40


class ErasedCall(Record):
    """One deletion of an erasure, as it is repeated when its process died."""

    tool: str
    arguments: dict[str, Any]
    surface: DataSurface
    session: str = ""


class Erasure(Record):
    """What is to go.

    Attributes:
        receipts: Of the writes that gave it, in both ledgers.
        removals: Of the deletions that took it away.
        words: Texts of it: answers and turns that hold one go too. They are gone from here when it is done.
        keeps_removals: Whether a rebuilt store has to repeat the deletions of statements, because writes stay of
            which only a part was meant.
    """

    erase_id: str
    calls: tuple[ErasedCall, ...] = ()
    receipts: tuple[str, ...] = ()
    removals: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    keeps_removals: bool = False
    surfaces: tuple[DataSurface, ...] = ()


class ErasureLog:
    """The erasures of one profile, and the work on its control.db."""

    def __init__(self, profile: str, db: ControlDB, contents: ContentStore, audit: AuditChain, owner: Owner) -> None:
        self._profile = profile
        self._db = db
        self._contents = contents
        self._audit = audit
        self._owner = owner

    async def begin(self, erasure: Erasure) -> None:
        """From now on the next start finishes it, if this process dies."""
        values = (erasure.erase_id, erasure.model_dump_json(), now().isoformat())
        query = "INSERT OR REPLACE INTO erasures (erase_id, state, owner, plan, begun_at) VALUES (?, 'begun', ?, ?, ?)"
        await self._db.write(lambda db: db.execute(query, (values[0], self._owner.hold(), *values[1:])))

    async def end(self, erasure: Erasure, state: str) -> None:
        """``done``, or ``refused`` when not all of it may go; nothing of its words is kept."""
        query = "UPDATE erasures SET state = ?, plan = '{}' WHERE erase_id = ?"
        await self._db.write(lambda db: db.execute(query, (state, erasure.erase_id)))

    async def take_over(self) -> Sequence[Erasure]:
        """Those whose process died, oldest first, now this process's."""
        query = "SELECT * FROM erasures WHERE state = 'begun' ORDER BY begun_at"
        if not await self._db.read(lambda db: db.execute(query).fetchall()):
            return ()

        def adopt(db: sqlite3.Connection) -> list[Erasure]:
            rows = [row for row in db.execute(query) if not is_alive(self._owner.folder, row["owner"])]
            owner = self._owner.hold() if rows else ""
            db.executemany(
                "UPDATE erasures SET owner = ? WHERE erase_id = ?", [(owner, row["erase_id"]) for row in rows]
            )
            return [Erasure.model_validate_json(row["plan"]) for row in rows]

        return await self._db.write(adopt)

    async def purge(self, asked: Erasure) -> Sequence[str]:
        """Remove all that control.db holds of it in one transaction, then its files.

        Returns beginnings of the texts that no other source needs, by which a search through the files can tell.
        """

        def work(db: sqlite3.Connection) -> tuple[list[str], list[bytes]]:
            erasure = asked.model_copy(update={"source_ids": _source_ids(db, asked)})
            hashes = _content_hashes(db, erasure)
            texts = [self._contents.read_if_there(db, hashed) for hashed in hashes]
            traces = _trace_ids(db, erasure)
            _scrub_intents(db, erasure)
            _scrub_mentions(db, erasure)
            _scrub_versions(db, erasure)
            _scrub_sources(db, erasure)
            _scrub_receipts(db, erasure)
            self._contents.remove_unneeded(db, hashes)
            held = [_is_held(db, hashed) for hashed in hashes]
            _remove_answers(db, erasure, traces)
            db.execute("DELETE FROM embedding_cache")
            db.execute("UPDATE approvals SET args = '{}', candidates = '[]' WHERE state <> 'pending'")
            return hashes, [text for text, kept in zip(texts, held, strict=True) if text and not kept]

        hashes, texts = await self._db.write(work)
        await self._db.write(lambda db: self._contents.remove_files(db, hashes))
        await self._db.write(self._contents.remove_strays)
        return list(dict.fromkeys(needle for needle in map(_needle, texts) if needle))

    async def record(self, erasure: Erasure, surface: DataSurface, items: int) -> IngestReceipt:
        """The receipt of what was erased of one surface, and its audit record; nothing brings it back."""
        instant = now()
        receipt = IngestReceipt(
            receipt_id=new_receipt_id(self._profile),
            idempotency_key=f"{erasure.erase_id}/{surface}",
            trace_id=erasure.erase_id,
            tool="forget",
            source=None,
            started_at=instant,
            completed_at=instant,
            result=SurfaceWriteResult(surface=surface, operation="erased", status="stored", items_written=items),
            read_back="the files were written anew",
        )

        def work(db: sqlite3.Connection) -> None:
            insert_receipt(db, receipt, derived_id("unit", self._profile, receipt.idempotency_key))
            db.execute("INSERT OR IGNORE INTO erased_receipts VALUES (?)", (receipt.receipt_id,))
            self._audit.append(
                db,
                "erased",
                trace_id=erasure.erase_id,
                receipt_id=receipt.receipt_id,
                surface=surface.value,
                writes=len(erasure.receipts),
            )

        await self._db.write(work)
        return receipt

    async def write_anew(self) -> None:
        """Write control.db again without what was deleted, and empty its log.

        Raises:
            StoreError: Another process is reading an older state.
        """
        await self._db.vacuum()


def _source_ids(db: sqlite3.Connection, erasure: Erasure) -> tuple[str, ...]:
    """Of what was asked for, and of all that nothing but these writes gave."""
    rows = db.execute(
        "SELECT source_id FROM sources WHERE NOT EXISTS"
        " (SELECT 1 FROM json_each(receipt_ids) WHERE value NOT IN (SELECT value FROM json_each(?)))",
        (json.dumps(erasure.receipts),),
    )
    return tuple(dict.fromkeys((*erasure.source_ids, *(row["source_id"] for row in rows))))


def _content_hashes(db: sqlite3.Connection, erasure: Erasure) -> list[str]:
    named = json.dumps([*erasure.receipts, *erasure.removals])
    rows = db.execute(f"SELECT content_hash FROM intents WHERE receipt_id {_LISTED}", (named,)).fetchall()  # noqa: S608
    sources = json.dumps(erasure.source_ids)
    rows += db.execute(f"SELECT content_hash FROM sources WHERE source_id {_LISTED}", (sources,)).fetchall()  # noqa: S608
    return list(dict.fromkeys(row["content_hash"] for row in rows if row["content_hash"]))


def _is_held(db: sqlite3.Connection, hashed: str) -> bool:
    return db.execute("SELECT 1 FROM contents WHERE content_hash = ?", (hashed,)).fetchone() is not None


def _scrub_intents(db: sqlite3.Connection, erasure: Erasure) -> None:
    gone = list(erasure.receipts)
    kept = [] if not erasure.keeps_removals else list(erasure.removals)
    db.execute(
        "UPDATE intents SET args = '{}', source = NULL, content_hash = NULL, result = NULL"  # noqa: S608
        f" WHERE receipt_id {_LISTED}",
        (json.dumps(gone),),
    )
    db.executemany("INSERT OR IGNORE INTO erased_receipts VALUES (?)", [(one,) for one in gone])
    rows = db.execute(
        f"SELECT seq, receipt_id, surface, args FROM intents WHERE receipt_id {_LISTED}",  # noqa: S608
        (json.dumps(erasure.removals),),
    ).fetchall()
    for row in rows:
        if row["surface"] == DataSurface.GRAPH and row["receipt_id"] not in kept and _names_statements(row["args"]):
            args: dict[str, Any] = {}
            db.execute("INSERT OR IGNORE INTO erased_receipts VALUES (?)", (row["receipt_id"],))
        else:
            args = json.loads(row["args"])
            # What would bring it back, where the tool keeps that.
            args |= {"restorable": False} if "restorable" in args else {}
            args |= {"previous": None} if "previous" in args else {}
        query = "UPDATE intents SET args = ?, content_hash = NULL WHERE seq = ?"
        db.execute(query, (json.dumps(args, sort_keys=True, separators=(",", ":")), row["seq"]))


def _scrub_mentions(db: sqlite3.Connection, erasure: Erasure) -> None:
    """Of writes of documents and skills that name one of these, such as what brings a version back.

    Nothing repeats them: both surfaces are filled again from the sources.
    """
    query = f"SELECT document_id, source_id FROM sources WHERE source_id {_LISTED}"  # noqa: S608
    names = {name for row in db.execute(query, (json.dumps(erasure.source_ids),)) for name in row}
    scrub = (
        "UPDATE intents SET args = '{}', source = NULL WHERE surface IN ('kb', 'skills')"
        " AND state IN ('committed', 'failed') AND instr(args, ?)"
    )
    db.executemany(scrub, [(name,) for name in names])


def _names_statements(args: str) -> bool:
    return any(not str(one).startswith("rcpt_") for one in json.loads(args).get("ids", ()))


def _scrub_versions(db: sqlite3.Connection, erasure: Erasure) -> None:
    """What would bring earlier versions back, as the changes and the reverts of them hold it."""
    listed = (json.dumps(erasure.source_ids),)
    for side in ("before", "after"):
        named = f"json_extract({side}, '$.source.source_id') {_LISTED}"
        db.execute(f"DELETE FROM changed_versions WHERE {named}", listed)  # noqa: S608
    db.execute(
        "UPDATE intents SET args = '{}' WHERE tool IN ('kb_restore', 'skill_restore')"
        " AND EXISTS (SELECT 1 FROM json_each(?) AS one WHERE instr(args, one.value))",
        listed,
    )


def _scrub_sources(db: sqlite3.Connection, erasure: Erasure) -> None:
    listed = (json.dumps(erasure.source_ids),)
    instant = now().isoformat()
    documents = f"SELECT document_id FROM sources WHERE source_id {_LISTED}"  # noqa: S608
    db.execute(f"DELETE FROM changed_versions WHERE document_id IN ({documents})", listed)  # noqa: S608
    db.execute(
        "UPDATE sources SET title = '', metadata = '{}', content_hash = '', uri = 'erased:' || source_id,"  # noqa: S608
        " source = json_set(source, '$.uri', 'erased:' || source_id),"
        f" ended_at = coalesce(ended_at, '{instant}'), state = 'deleted' WHERE source_id {_LISTED}",
        listed,
    )


def _scrub_receipts(db: sqlite3.Connection, erasure: Erasure) -> None:
    rows = db.execute(
        f"SELECT seq, body FROM receipts WHERE receipt_id {_LISTED}",  # noqa: S608
        (json.dumps([*erasure.receipts, *erasure.removals]),),
    ).fetchall()
    db.executemany("UPDATE receipts SET body = ? WHERE seq = ?", [(_scrubbed(row["body"]), row["seq"]) for row in rows])


def _scrubbed(body: str) -> str:
    receipt = json.loads(body)
    result = receipt["result"]
    result |= {"revert": "none", "detected": {}}
    if result["surface"] == DataSurface.GRAPH:
        result["ids"] = [one for one in result["ids"] if one.startswith("rcpt_")]
    if receipt["source"]:
        receipt["source"]["uri"] = f"erased:{receipt['source']['source_id']}"
    return json.dumps(receipt, separators=(",", ":"))


def _trace_ids(db: sqlite3.Connection, erasure: Erasure) -> list[str]:
    """The requests that wrote it, and those whose answers rest on it or hold a text of it."""
    receipts, sources = json.dumps(erasure.receipts), json.dumps(erasure.source_ids)
    found = {row[0] for row in db.execute(f"SELECT trace_id FROM intents WHERE receipt_id {_LISTED}", (receipts,))}  # noqa: S608
    query = f"SELECT trace_id FROM evidence_receipts WHERE receipt_id {_LISTED}"  # noqa: S608
    found |= {row[0] for row in db.execute(query, (receipts,))}
    query = f"SELECT trace_id FROM answer_evidence WHERE json_extract(body, '$.source.source_id') {_LISTED}"  # noqa: S608
    found |= {row[0] for row in db.execute(query, (sources,))}
    for text in _as_stored(erasure.words):
        query = "SELECT trace_id FROM answers WHERE instr(question, ?1) OR instr(body, ?1)"
        found |= {row[0] for row in db.execute(query, (text,))}
    return sorted(found)


def _remove_answers(db: sqlite3.Connection, erasure: Erasure, traces: Sequence[str]) -> None:
    listed = (json.dumps(traces),)
    for table in ("answers", "answer_evidence", "evidence_receipts", "conversations"):
        db.execute(f"DELETE FROM {table} WHERE trace_id {_LISTED}", listed)  # noqa: S608
    for text in _as_stored(erasure.words):
        db.execute("DELETE FROM conversations WHERE instr(messages, ?)", (text,))


def _as_stored(words: Iterable[str]) -> Iterable[str]:
    """Texts as they are, and as they stand in JSON."""
    return dict.fromkeys(form for word in words for form in (word, json.dumps(word, ensure_ascii=False)[1:-1]))


def _needle(content: bytes) -> str:
    """The beginning of the longest line of a text; empty where it has none by which it could be told."""
    text = content.decode("utf-8", "ignore")
    line = max((line.strip() for line in text.splitlines()), key=len, default="")[:_NEEDLE]
    return line if len(line) >= _MIN_NEEDLE else ""
