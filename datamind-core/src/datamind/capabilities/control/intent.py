"""One intent as control.db keeps it, and what makes two calls the same."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from datamind.capabilities.control.audit import canonical_json
from datamind.core.context import RequestContext, WriteUnit
from datamind.core.errors import Conflict
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ToolSpec
from datamind.core.types import content_hash


@dataclass(frozen=True, slots=True)
class Intent:
    """One intent as stored.

    Attributes:
        content_hash: Of the content kept for it, or empty; ``unit`` holds the bytes themselves once they are read.
        result: What the engine reported, once the step was applied.
    """

    unit: WriteUnit
    idempotency_key: str
    trace_id: str
    call_id: str
    session: str
    tool: str
    args: dict[str, Any]
    source: SourceRef | None
    started_at: datetime
    content_hash: str = ""
    result: SurfaceWriteResult | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A write that is about to be begun.

    Attributes:
        request_hash: Over what the caller asked for. What the plan adds on its own, such as the time, is not in it.
        content_hash: Of content that is prepared already, or empty.
    """

    spec: ToolSpec
    planned: PlannedWrite
    request: RequestContext
    call_id: str
    key: str
    request_hash: str
    content_hash: str


def request_hash(spec: ToolSpec, args: Any, session: str, *, content: str = "", source_id: str = "") -> str:
    """What a key stands for: the tool, its arguments, the content they name, and the session."""
    asked = args.model_dump(mode="json") if isinstance(args, BaseModel) else dict(args)
    return content_hash(canonical_json([spec.name, asked, content, source_id, session]))


def intent_row(db: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    """The intent of a key, whatever its state."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM intents WHERE idempotency_key = ?", (key,)).fetchone()
    return row


def call_rows(db: sqlite3.Connection, call_key: str) -> list[sqlite3.Row]:
    """The intents of one call, oldest first: its units have its key, the later ones with ``.1``, ``.2`` … behind it."""
    key = "idempotency_key"
    later = f"{key} BETWEEN ?1 || '.' AND ?1 || '.:' AND NOT instr(substr({key}, length(?1) + 1), '#')"
    return db.execute(f"SELECT * FROM intents WHERE {key} = ?1 OR ({later}) ORDER BY seq", (call_key,)).fetchall()  # noqa: S608


def check_same_request(row: sqlite3.Row, hashed: str) -> None:
    """Raises: Conflict: The key was used for another call."""
    if row["request_hash"] != hashed:
        key = row["idempotency_key"][:80]
        raise Conflict(f"the idempotency key {key!r} was used for something else.", hint="Use a fresh key.")


def intent_of(row: sqlite3.Row) -> Intent:
    """The intent in a row, without its content."""
    return Intent(
        WriteUnit(row["unit_id"], row["receipt_id"], None),
        row["idempotency_key"],
        row["trace_id"],
        row["call_id"],
        row["session"],
        row["tool"],
        json.loads(row["args"]),
        SourceRef.model_validate_json(row["source"]) if row["source"] else None,
        datetime.fromisoformat(row["started_at"]),
        row["content_hash"] or "",
        SurfaceWriteResult.model_validate_json(row["result"]) if row["result"] else None,
    )
