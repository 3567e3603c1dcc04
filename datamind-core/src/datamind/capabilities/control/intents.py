"""Intents: what is about to be written, so that a crash leaves nothing lost and nothing doubled."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import anyio.to_thread
from pydantic import BaseModel

from datamind.capabilities.control.audit import AuditChain, canonical_json
from datamind.capabilities.control.contents import ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.owners import Owner, is_alive
from datamind.capabilities.control.receipts import insert_receipt, receipt_of
from datamind.capabilities.control.turns import Turns
from datamind.core.context import RequestContext, WriteUnit
from datamind.core.errors import Conflict, StoreError
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult, new_receipt_id
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ToolSpec
from datamind.core.types import content_hash, derived_id

log = logging.getLogger(__name__)


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


class IntentLog:
    """intent → applied → committed | failed."""

    def __init__(self, profile: str, db: ControlDB, contents: ContentStore, audit: AuditChain, owner: Owner) -> None:
        self._profile = profile
        self._db = db
        self._contents = contents
        self._audit = audit
        self._owner = owner
        self.turns = Turns()

    async def propose(
        self, spec: ToolSpec, args: Any, planned: PlannedWrite, ctx: RequestContext, call_id: str, key: str
    ) -> Proposal:
        """Put the content of a write on disk, ahead of its intent.

        Raises:
            StoreError: There is no room for it.
        """
        hashed = ""
        if planned.content is not None:
            hashed = await anyio.to_thread.run_sync(self._contents.prepare, planned.content)
        source_id = planned.source.source_id if planned.source else ""
        asked = args.model_dump(mode="json") if isinstance(args, BaseModel) else dict(args)
        request_hash = content_hash(canonical_json([spec.name, asked, hashed, source_id, ctx.session]))
        return Proposal(spec, planned, ctx, call_id, key, request_hash, hashed)

    async def begin(self, proposal: Proposal) -> Intent | IngestReceipt | None:
        """Make the intent durable, or return the receipt that its key already has.

        A key whose write failed begins anew. One that a dead process left open is taken over. None: another process
        is at work on it.

        Raises:
            Conflict: The key was used for another call.
        """
        return await self._db.write(lambda db: self._begin(db, proposal))

    def _begin(self, db: sqlite3.Connection, new: Proposal) -> Intent | IngestReceipt | None:
        row = db.execute("SELECT * FROM intents WHERE idempotency_key = ?", (new.key,)).fetchone()
        if row is None:
            return self._insert(db, new, attempt=1)
        if row["request_hash"] != new.request_hash:
            raise Conflict(
                f"the idempotency key {new.key[:80]!r} was used for something else.", hint="Use a fresh key."
            )
        if row["state"] == "committed":
            return receipt_of(db, row["receipt_id"])
        if row["state"] == "failed":
            db.execute("DELETE FROM intents WHERE seq = ?", (row["seq"],))
            return self._insert(db, new, attempt=row["attempts"] + 1)
        if row["owner"] != self._owner.name and is_alive(self._owner.folder, row["owner"]):
            return None
        return self._take_over(db, row, new)

    def _insert(self, db: sqlite3.Connection, new: Proposal, attempt: int) -> Intent:
        planned, ctx = new.planned, new.request
        if planned.content is not None:
            self._contents.register(db, new.content_hash, planned.content)
        args = canonical_json(dict(planned.args))
        unit = WriteUnit(derived_id("unit", self._profile, new.key), new_receipt_id(self._profile), planned.content)
        values = {
            "unit_id": unit.unit_id,
            "idempotency_key": new.key,
            "request_hash": new.request_hash,
            "receipt_id": unit.receipt_id,
            "trace_id": ctx.trace_id,
            "call_id": new.call_id,
            "session": ctx.session,
            "tool": new.spec.name,
            "surface": new.spec.surface.value,
            "args": args,
            "content_hash": new.content_hash or None,
            "source": planned.source.model_dump_json() if planned.source else None,
            "state": "intent",
            "owner": self._owner.hold(),
            "attempts": attempt,
            "started_at": now().isoformat(),
        }
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        cursor = db.execute(f"INSERT INTO intents ({names}) VALUES ({marks})", tuple(values.values()))  # noqa: S608
        row = db.execute("SELECT * FROM intents WHERE seq = ?", (cursor.lastrowid,)).fetchone()
        intent = replace(_intent(row), unit=unit)
        hashes = {"args_hash": content_hash(args), "content_hash": new.content_hash}
        self._record(db, "intent", intent, role=ctx.role.value, attempt=attempt, **hashes)
        return intent

    def _take_over(self, db: sqlite3.Connection, row: sqlite3.Row, new: Proposal) -> Intent:
        # The same content, from the caller; and what the engine reported, if it did.
        db.execute(
            "UPDATE intents SET owner = ?, attempts = attempts + 1 WHERE seq = ?", (self._owner.hold(), row["seq"])
        )
        found = _intent(row)
        intent = replace(found, unit=replace(found.unit, content=new.planned.content))
        self._record(db, "intent", intent, role=new.request.role.value, attempt=row["attempts"] + 1)
        return intent

    async def applied(self, intent: Intent, result: SurfaceWriteResult) -> None:
        """Mark that the engine has committed; recovery can do without the mark, so it is not synced and may fail."""
        body = result.model_dump_json()
        mark = "UPDATE intents SET state = 'applied', result = ? WHERE unit_id = ?"
        try:
            await self._db.write_soft(lambda db: db.execute(mark, (body, intent.unit.unit_id)))
        except StoreError as error:
            log.warning("the mark of %s could not be set: %s", intent.unit.receipt_id, error)

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

    async def with_content(self, intent: Intent) -> Intent:
        """The intent with what was kept for it, unless the engine has it already.

        Raises:
            IntegrityError: It is missing or damaged.
        """
        if not intent.content_hash or intent.result is not None:
            return intent
        content = await self._db.read(lambda db: self._contents.read(db, intent.content_hash))
        return replace(intent, unit=replace(intent.unit, content=content))

    def _adopt(self, db: sqlite3.Connection) -> list[Intent]:
        rows = db.execute("SELECT * FROM intents WHERE state IN ('intent', 'applied') ORDER BY seq").fetchall()
        own, folder = self._owner.name, self._owner.folder
        orphans = [row for row in rows if row["owner"] != own and not is_alive(folder, row["owner"])]
        if orphans:
            owner = self._owner.hold()
            db.executemany("UPDATE intents SET owner = ? WHERE seq = ?", [(owner, row["seq"]) for row in orphans])
        return [_intent(row) for row in orphans]

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


def _intent(row: sqlite3.Row) -> Intent:
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
