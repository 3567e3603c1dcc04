"""Answers with their evidence, so that they can be traced and verified later."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from datamind.capabilities.control.audit import AuditChain
from datamind.capabilities.control.database import ControlDB
from datamind.core.evidence import Evidence, InferenceResult
from datamind.core.record import Instant, Record, now
from datamind.core.types import content_hash


class StoredAnswer(Record):
    """An answer as it was given."""

    trace_id: str
    session: str
    question: str
    answered_at: Instant
    result: InferenceResult


class AnswerLog:
    """Every answer of a profile."""

    def __init__(self, db: ControlDB, audit: AuditChain) -> None:
        self._db = db
        self._audit = audit

    async def add(self, question: str, session: str, result: InferenceResult) -> None:
        """Keep an answer; the history is left out, conversations have it."""
        body = result.model_copy(update={"history": ()}).model_dump_json()

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT OR REPLACE INTO answers (trace_id, session, question, answered_at, body)"
                " VALUES (?, ?, ?, ?, ?)",
                (result.trace_id, session, question, now().isoformat(), body),
            )
            for number, item in enumerate(result.evidence, 1):
                _add_evidence(db, result.trace_id, number, item)
            self._audit.append(
                db,
                "answered",
                trace_id=result.trace_id,
                session=session,
                answer_hash=content_hash(result.answer),
                evidence=len(result.evidence),
                citations=len(result.citations),
            )

        # An answer is not an acknowledged write: a power loss may take its record, never a receipt's.
        await self._db.write_soft(work)

    async def get(self, trace_id: str) -> StoredAnswer | None:
        """The answer of a request, or None."""
        row = await self._db.read(
            lambda db: db.execute("SELECT * FROM answers WHERE trace_id = ?", (trace_id,)).fetchone()
        )
        return _answer(row) if row else None

    async def latest(self, *, limit: int = 20) -> Sequence[StoredAnswer]:
        """The newest first."""
        query = "SELECT * FROM answers ORDER BY seq DESC LIMIT ?"
        return await self._db.read(lambda db: [_answer(row) for row in db.execute(query, (limit,))])

    async def citing(self, receipt_id: str) -> Sequence[str]:
        """Trace ids of the answers whose evidence rests on a receipt."""
        query = "SELECT DISTINCT trace_id FROM evidence_receipts WHERE receipt_id = ?"
        return await self._db.read(lambda db: [row["trace_id"] for row in db.execute(query, (receipt_id,))])

    async def with_evidence(self, evidence_id: str) -> Sequence[str]:
        """Trace ids of the answers that showed a piece of evidence."""
        query = "SELECT trace_id FROM answer_evidence WHERE evidence_id = ?"
        return await self._db.read(lambda db: [row["trace_id"] for row in db.execute(query, (evidence_id,))])


def _add_evidence(db: sqlite3.Connection, trace_id: str, number: int, item: Evidence) -> None:
    db.execute(
        "INSERT OR REPLACE INTO answer_evidence (evidence_id, trace_id, number, body) VALUES (?, ?, ?, ?)",
        (item.evidence_id, trace_id, number, item.model_dump_json()),
    )
    db.executemany(
        "INSERT OR IGNORE INTO evidence_receipts (receipt_id, evidence_id, trace_id) VALUES (?, ?, ?)",
        [(receipt_id, item.evidence_id, trace_id) for receipt_id in item.receipt_ids],
    )


def _answer(row: sqlite3.Row) -> StoredAnswer:
    return StoredAnswer(
        trace_id=row["trace_id"],
        session=row["session"],
        question=row["question"],
        answered_at=row["answered_at"],
        result=InferenceResult.model_validate_json(row["body"]),
    )
