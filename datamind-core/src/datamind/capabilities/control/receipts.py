"""Receipts: written once, in the transaction that ends their intent."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from datamind.capabilities.control.database import ControlDB
from datamind.core.receipts import IngestReceipt
from datamind.core.types import DataSurface

_REVERT_KEY: Final = re.compile(r"(?:[^/]+/)?undo/(rcpt_[^/]+)/")
_TABLE_WRITES: Final = """
SELECT seq, json_extract(body, '$.result.ids[0]'), json_extract(body, '$.result.operation') FROM receipts
WHERE seq > ? AND surface = 'db' AND status IN ('stored', 'partial') AND json_array_length(body, '$.result.ids') > 0
ORDER BY seq
"""


class ReceiptLog:
    """The receipts of one profile, newest first. Written by the ledger alone."""

    def __init__(self, db: ControlDB) -> None:
        self._db = db
        self._tables: dict[str, str] = {}
        self._tables_to = 0

    async def latest(self, *, limit: int = 20, offset: int = 0, surface: str = "") -> Sequence[IngestReceipt]:
        """A page, newest first."""
        where, values = ("WHERE surface = ?", [surface]) if surface else ("", [])
        query = f"SELECT body FROM receipts {where} ORDER BY seq DESC LIMIT ? OFFSET ?"  # noqa: S608 - constants only
        return await self._db.read(lambda db: _receipts(db.execute(query, (*values, limit, offset))))

    async def last_stored(self, surface: DataSurface, *, limit: int) -> Sequence[str]:
        """Ids of the latest writes that changed a surface, newest first."""
        query = (
            "SELECT receipt_id FROM receipts WHERE surface = ? AND status IN ('stored', 'partial')"
            " AND receipt_id NOT IN (SELECT receipt_id FROM erased_receipts)"
            " ORDER BY seq DESC LIMIT ?"
        )
        return await self._db.read(lambda db: [row[0] for row in db.execute(query, (surface, limit))])

    async def count(self) -> int:
        """How many there are."""
        return await self._db.read(lambda db: int(db.execute("SELECT count(*) FROM receipts").fetchone()[0]))

    async def get(self, receipt_id: str) -> IngestReceipt | None:
        """One receipt, or None."""
        query = "SELECT body FROM receipts WHERE receipt_id = ?"
        found = await self._db.read(lambda db: _receipts(db.execute(query, (receipt_id,))))
        return found[0] if found else None

    async def starting_with(self, prefix: str, *, limit: int = 2) -> Sequence[str]:
        """Ids that begin with ``prefix``, in order; two are enough to see that it is not unique."""
        query = "SELECT receipt_id FROM receipts WHERE substr(receipt_id, 1, ?) = ? ORDER BY receipt_id LIMIT ?"
        return await self._db.read(lambda db: [row[0] for row in db.execute(query, (len(prefix), prefix, limit))])

    async def tables(self) -> Sequence[str]:
        """The tables that the receipts of writes leave; no engine is asked."""
        rows = await self._db.read(lambda db: db.execute(_TABLE_WRITES, (self._tables_to,)).fetchall())
        for seq, table, operation in rows:
            if seq > self._tables_to:  # not what another task has seen meanwhile
                self._tables_to = seq
                self._tables.pop(table.casefold(), None)
                if operation != "deleted":
                    self._tables[table.casefold()] = table
        return list(self._tables.values())

    async def of_files(self, surface: DataSurface) -> Sequence[IngestReceipt]:
        """What files gave to a surface, in the order it was written."""
        query = (
            "SELECT body FROM receipts WHERE surface = ? AND status IN ('stored', 'partial')"
            " AND json_extract(body, '$.source.kind') = 'file' ORDER BY seq"
        )
        return await self._db.read(lambda db: _receipts(db.execute(query, (surface,))))

    async def of_source(self, names: Sequence[str], source_ids: Sequence[str] = ()) -> Sequence[IngestReceipt]:
        """The writes of sources with one of these uris or ids, in the order they were written."""
        query = (
            "SELECT body FROM receipts WHERE json_extract(body, '$.source.uri') IN (SELECT value FROM json_each(?1))"
            " OR source_id IN (SELECT value FROM json_each(?2)) ORDER BY seq"
        )
        asked = (json.dumps(list(names)), json.dumps([*names, *source_ids]))
        return await self._db.read(lambda db: _receipts(db.execute(query, asked)))

    async def of_id(self, surface: DataSurface, name: str) -> Sequence[IngestReceipt]:
        """The writes of a surface that name this id, in the order they were written."""
        query = (
            "SELECT body FROM receipts WHERE surface = ? AND EXISTS"
            " (SELECT 1 FROM json_each(body, '$.result.ids') WHERE value = ?) ORDER BY seq"
        )
        return await self._db.read(lambda db: _receipts(db.execute(query, (surface, name))))

    async def sessions_of(self, surface: DataSurface) -> Sequence[str]:
        """The conversations in which something was written to a surface."""
        query = "SELECT DISTINCT session FROM intents WHERE surface = ? AND session <> ''"
        return await self._db.read(lambda db: [row[0] for row in db.execute(query, (surface,))])

    async def of_trace(self, trace_id: str) -> Sequence[IngestReceipt]:
        """All receipts of one request, in the order they were written."""
        query = "SELECT body FROM receipts WHERE trace_id = ? ORDER BY seq"
        return await self._db.read(lambda db: _receipts(db.execute(query, (trace_id,))))

    async def of_key(self, idempotency_key: str) -> IngestReceipt | None:
        """The receipt of the write with this key, as the ledger keeps it; None for one that has none."""
        query = (
            "SELECT body FROM receipts WHERE receipt_id = (SELECT receipt_id FROM intents WHERE idempotency_key = ?)"
        )
        found = await self._db.read(lambda db: _receipts(db.execute(query, (idempotency_key,))))
        return found[0] if found else None

    async def reverted_by(self, receipt_id: str) -> str:
        """The receipt of the write that took this one back and is in force itself, or an empty string."""
        query = "SELECT reverted_by FROM receipts WHERE receipt_id = ?"
        row = await self._db.read(lambda db: db.execute(query, (receipt_id,)).fetchone())
        return str(row["reverted_by"] or "") if row else ""

    async def arguments_of(self, receipt_id: str) -> Mapping[str, Any]:
        """What the write of a receipt was made from, as its intent keeps it; empty if it has none."""
        query = "SELECT args FROM intents WHERE receipt_id = ?"
        row = await self._db.read(lambda db: db.execute(query, (receipt_id,)).fetchone())
        return dict(json.loads(row["args"])) if row else {}

    async def session_of(self, receipt_id: str) -> str:
        """The conversation in which it was written, or an empty string."""
        query = "SELECT session FROM intents WHERE receipt_id = ?"
        row = await self._db.read(lambda db: db.execute(query, (receipt_id,)).fetchone())
        return str(row["session"]) if row else ""

    async def traces(self, *, limit: int) -> Sequence[tuple[str, str]]:
        """The time of the last receipt and the trace id of the latest requests that wrote something, newest first."""
        query = (
            "SELECT max(completed_at), trace_id FROM receipts WHERE status IN ('stored', 'partial')"
            " GROUP BY trace_id ORDER BY max(seq) DESC LIMIT ?"
        )
        return await self._db.read(lambda db: [(row[0], row[1]) for row in db.execute(query, (limit,))])


def insert_receipt(db: sqlite3.Connection, receipt: IngestReceipt, unit_id: str) -> None:
    """Add a receipt in the open transaction; adding the same one again changes nothing."""
    db.execute(
        "INSERT INTO receipts (receipt_id, unit_id, trace_id, tool, surface, status, source_id, completed_at, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            receipt.receipt_id,
            unit_id,
            receipt.trace_id,
            receipt.tool,
            receipt.result.surface.value,
            receipt.status,
            receipt.source.source_id if receipt.source else None,
            receipt.completed_at.isoformat(),
            receipt.model_dump_json(),
        ),
    )


def revert_key(receipt_id: str, part: int, turn: int) -> str:
    """The key of a call that takes a write back: a repeat after a crash goes on with it.

    Args:
        receipt_id: What is taken back.
        part: Its number, where that takes more than one call.
        turn: How often it was taken back and restored before.
    """
    return f"undo/{receipt_id}/{part}" + (f".{turn}" if turn else "")


def reverted_in(idempotency_key: str) -> str:
    """The receipt that the write with this key took back, or an empty string."""
    found = _REVERT_KEY.match(idempotency_key)
    return found[1] if found else ""


def mark_reverted(db: sqlite3.Connection, receipt: IngestReceipt) -> None:
    """Say on a receipt that it was taken back; what that one had taken back is in force again."""
    reverted = reverted_in(receipt.idempotency_key)
    if not reverted or receipt.status not in ("stored", "partial") or receipt.result.operation == "none":
        return
    db.execute("UPDATE receipts SET reverted_by = ? WHERE receipt_id = ?", (receipt.receipt_id, reverted))
    db.execute("UPDATE receipts SET reverted_by = NULL WHERE reverted_by = ?", (reverted,))


def receipt_of(db: sqlite3.Connection, receipt_id: str) -> IngestReceipt:
    """The receipt of a committed intent."""
    row = db.execute("SELECT body FROM receipts WHERE receipt_id = ?", (receipt_id,)).fetchone()
    return IngestReceipt.model_validate_json(row["body"])


def _receipts(rows: Iterable[sqlite3.Row]) -> list[IngestReceipt]:
    return [IngestReceipt.model_validate_json(row["body"]) for row in rows]
