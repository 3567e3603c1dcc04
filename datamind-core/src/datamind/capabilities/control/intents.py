"""Intents: what is about to be written, so that a crash leaves nothing lost and nothing doubled."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import anyio

from datamind.capabilities.control.audit import AuditChain, canonical_json
from datamind.capabilities.control.contents import ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.owners import Owner, is_alive
from datamind.core.context import RequestContext, WriteUnit
from datamind.core.errors import Conflict
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult, new_receipt_id
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ToolSpec
from datamind.core.types import content_hash, derived_id

WAIT_FOR_TWIN_S = 30.0
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Intent:
    """One intent as stored.

    Attributes:
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
    result: SurfaceWriteResult | None = None


class IntentLog:
    """intent → applied → committed | failed."""

    def __init__(self, profile: str, db: ControlDB, contents: ContentStore, audit: AuditChain, owner: Owner) -> None:
        self._profile = profile
        self._db = db
        self._contents = contents
        self._audit = audit
        self._owner = owner

    async def begin(
        self, spec: ToolSpec, planned: PlannedWrite, ctx: RequestContext, call_id: str, key: str
    ) -> Intent | IngestReceipt:
        """Make the intent durable, or return the receipt that this key already has.

        A second caller of one key waits for the first. A key whose write failed may be tried again.

        Raises:
            Conflict: The key was used for another call, or its first write does not end.
        """
        hashed = None
        if planned.content is not None:
            hashed = await anyio.to_thread.run_sync(self._contents.prepare, planned.content)
        deadline = anyio.current_time() + WAIT_FOR_TWIN_S
        while True:
            found = await self._db.write(lambda db: self._begin(db, spec, planned, ctx, call_id, key, hashed))
            if found is not None:
                return found
            if anyio.current_time() > deadline:
                raise Conflict(f"the write of key {key!r} is still running", code="conflict.running", retryable=True)
            await anyio.sleep(_POLL_S)

    def _begin(
        self,
        db: sqlite3.Connection,
        spec: ToolSpec,
        planned: PlannedWrite,
        ctx: RequestContext,
        call_id: str,
        key: str,
        hashed: str | None,
    ) -> Intent | IngestReceipt | None:
        args = canonical_json(dict(planned.args))
        request_hash = content_hash(canonical_json([spec.name, args, hashed, ctx.session]))
        row = db.execute("SELECT * FROM intents WHERE idempotency_key = ?", (key,)).fetchone()
        if row is not None:
            if row["request_hash"] != request_hash:
                raise Conflict(f"the idempotency key {key!r} was used for something else", hint="Use a fresh key.")
            if row["state"] == "committed":
                return _receipt(db, row["receipt_id"])
            if row["state"] != "failed" and self._someone_works_on(row["owner"]):
                return None
            return self._again(db, row)
        if hashed is not None and planned.content is not None:
            self._contents.register(db, hashed, planned.content)
        unit = WriteUnit(derived_id("unit", self._profile, key), new_receipt_id(self._profile), planned.content)
        intent = Intent(
            unit, key, ctx.trace_id, call_id, ctx.session, spec.name, dict(planned.args), planned.source, now()
        )
        db.execute(
            "INSERT INTO intents (unit_id, idempotency_key, request_hash, receipt_id, trace_id, call_id, session,"
            " tool, surface, args, content_hash, source, state, owner, started_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'intent', ?, ?)",
            (
                unit.unit_id,
                key,
                request_hash,
                unit.receipt_id,
                ctx.trace_id,
                call_id,
                ctx.session,
                spec.name,
                spec.surface.value,
                args,
                hashed,
                planned.source.model_dump_json() if planned.source else None,
                self._owner.hold(),
                intent.started_at.isoformat(),
            ),
        )
        self._record(db, "intent", intent, role=ctx.role.value, args_hash=content_hash(args), content_hash=hashed or "")
        return intent

    def _someone_works_on(self, owner: str) -> bool:
        return owner == self._owner.name or is_alive(self._owner.folder, owner)

    def _again(self, db: sqlite3.Connection, row: sqlite3.Row) -> Intent:
        failed = row["state"] == "failed"
        receipt_id = new_receipt_id(self._profile) if failed else row["receipt_id"]
        db.execute(
            "UPDATE intents SET state = 'intent', result = NULL, owner = ?, attempts = attempts + 1, receipt_id = ?"
            " WHERE seq = ?",
            (self._owner.hold(), receipt_id, row["seq"]),
        )
        found = self._read(db, row)
        intent = replace(found, unit=replace(found.unit, receipt_id=receipt_id), result=None)
        self._record(db, "intent", intent, attempt=row["attempts"] + 1)
        return intent

    async def applied(self, intent: Intent, result: SurfaceWriteResult) -> None:
        """Mark that the engine has committed; recovery can do without the mark, so it is not synced."""
        body = result.model_dump_json()
        await self._db.write_soft(
            lambda db: db.execute(
                "UPDATE intents SET state = 'applied', result = ? WHERE unit_id = ?", (body, intent.unit.unit_id)
            )
        )

    async def finish(self, intent: Intent, result: SurfaceWriteResult, read_back: str) -> IngestReceipt:
        """Store the receipt, the end of the intent and its audit record in one transaction."""
        receipt = IngestReceipt(
            receipt_id=intent.unit.receipt_id,
            idempotency_key=intent.idempotency_key,
            trace_id=intent.trace_id,
            tool=intent.tool,
            source=intent.source,
            started_at=intent.started_at,
            completed_at=now(),
            result=result,
            read_back=read_back,
        )
        state = "failed" if result.status in ("failed", "denied") else "committed"

        def commit(db: sqlite3.Connection) -> None:
            insert_receipt(db, receipt, intent.unit.unit_id)
            db.execute("UPDATE intents SET state = ?, result = NULL WHERE unit_id = ?", (state, intent.unit.unit_id))
            self._record(
                db,
                "outcome",
                intent,
                status=result.status,
                operation=result.operation,
                items=result.items_written,
                code=result.error.code if result.error else "",
            )

        await self._db.write(commit)
        return receipt

    async def refuse(
        self, spec: ToolSpec, result: SurfaceWriteResult, ctx: RequestContext, call_id: str, key: str
    ) -> IngestReceipt:
        """Put a unit that could not be planned on record; there is nothing to redo, so no intent."""
        instant = now()
        receipt = IngestReceipt(
            receipt_id=new_receipt_id(self._profile),
            idempotency_key=key,
            trace_id=ctx.trace_id,
            tool=spec.name,
            source=None,
            started_at=instant,
            completed_at=instant,
            result=result,
        )

        def record(db: sqlite3.Connection) -> None:
            insert_receipt(db, receipt, derived_id("unit", self._profile, key))
            self._audit.append(
                db,
                "refused",
                trace_id=ctx.trace_id,
                receipt_id=receipt.receipt_id,
                tool=spec.name,
                session=ctx.session,
                call_id=call_id,
                code=result.error.code if result.error else "",
            )

        await self._db.write(record)
        return receipt

    async def open_intents(self) -> Sequence[Intent]:
        """Intents whose owner is gone, oldest first, now owned by this process."""
        return await self._db.write(self._adopt)

    def has_open_intents(self) -> bool:
        """Whether any intent is not finished, whoever owns it. Blocking, well under a millisecond."""
        query = "SELECT 1 FROM intents WHERE state IN ('intent', 'applied') LIMIT 1"
        return self._db.read_now(lambda db: db.execute(query).fetchone()) is not None

    def _adopt(self, db: sqlite3.Connection) -> list[Intent]:
        rows = db.execute("SELECT * FROM intents WHERE state IN ('intent', 'applied') ORDER BY seq").fetchall()
        orphans = [row for row in rows if not self._someone_works_on(row["owner"])]
        if orphans:
            owner = self._owner.hold()
            db.executemany("UPDATE intents SET owner = ? WHERE seq = ?", [(owner, row["seq"]) for row in orphans])
        return [self._read(db, row) for row in orphans]

    def _read(self, db: sqlite3.Connection, row: sqlite3.Row) -> Intent:
        content = self._contents.read(db, row["content_hash"]) if row["content_hash"] else None
        return Intent(
            WriteUnit(row["unit_id"], row["receipt_id"], content),
            row["idempotency_key"],
            row["trace_id"],
            row["call_id"],
            row["session"],
            row["tool"],
            json.loads(row["args"]),
            SourceRef.model_validate_json(row["source"]) if row["source"] else None,
            datetime.fromisoformat(row["started_at"]),
            SurfaceWriteResult.model_validate_json(row["result"]) if row["result"] else None,
        )

    def _record(self, db: sqlite3.Connection, kind: str, intent: Intent, **fields: Any) -> None:
        self._audit.append(
            db,
            kind,
            trace_id=intent.trace_id,
            receipt_id=intent.unit.receipt_id,
            tool=intent.tool,
            session=intent.session,
            call_id=intent.call_id,
            source_id=intent.source.source_id if intent.source else "",
            **fields,
        )


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


def _receipt(db: sqlite3.Connection, receipt_id: str) -> IngestReceipt:
    row = db.execute("SELECT body FROM receipts WHERE receipt_id = ?", (receipt_id,)).fetchone()
    return IngestReceipt.model_validate_json(row["body"])
