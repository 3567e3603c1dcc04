"""Intents: what is about to be written, so that a crash leaves nothing lost and nothing doubled."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import anyio.to_thread

from datamind.capabilities.control.audit import AuditChain, canonical_json
from datamind.capabilities.control.contents import INLINE_BYTES, ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.intent import (
    Intent,
    Proposal,
    call_rows,
    check_same_request,
    intent_of,
    intent_row,
    request_hash,
)
from datamind.capabilities.control.owners import Owner, is_alive
from datamind.capabilities.control.receipts import insert_receipt, mark_reverted, receipt_of
from datamind.capabilities.control.turns import Turns
from datamind.core.context import RequestContext, WriteUnit
from datamind.core.errors import StoreError
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult, new_receipt_id
from datamind.core.record import now
from datamind.core.tools import PlannedWrite, ToolSpec
from datamind.core.types import DataSurface, content_hash, derived_id

log = logging.getLogger(__name__)

_APPLIED: Final = (
    "surface = ? AND state IN ('committed', 'applied') AND receipt_id NOT IN (SELECT receipt_id FROM erased_receipts)"
)


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
            prepare, content = self._contents.prepare, planned.content
            # A small one is hashed and no more.
            small = len(content) <= INLINE_BYTES
            hashed = prepare(content) if small else await anyio.to_thread.run_sync(prepare, content)
        elif planned.file is not None:
            hashed = await anyio.to_thread.run_sync(self._contents.prepare_file, planned.file)
        source_id = planned.source.source_id if planned.source else ""
        # What a selector found is no part of what was asked for: a repeat may find something else.
        named = {} if spec.selector else {"content": hashed, "source_id": source_id}
        return Proposal(spec, planned, ctx, call_id, key, request_hash(spec, args, ctx.session, **named), hashed)

    async def begin(self, proposal: Proposal) -> Intent | IngestReceipt | None:
        """Make the intent durable, or return the receipt that its key already has.

        A key whose write failed begins anew. One that a dead process left open is taken over. None: another process
        is at work on it.

        Raises:
            Conflict: The key was used for another call.
        """
        return (await self.begin_all([proposal]))[0]

    async def begin_all(self, proposals: Sequence[Proposal]) -> list[Intent | IngestReceipt | None]:
        """``begin`` for each of them, all in one transaction."""
        return await self._db.write(lambda db: [self._begin(db, proposal) for proposal in proposals])

    def _begin(self, db: sqlite3.Connection, new: Proposal) -> Intent | IngestReceipt | None:
        row = intent_row(db, new.key)
        if row is None:
            return self._insert(db, new, attempt=1)
        check_same_request(row, new.request_hash)
        if row["state"] == "failed":
            db.execute("DELETE FROM intents WHERE seq = ?", (row["seq"],))
            return self._insert(db, new, attempt=row["attempts"] + 1)
        return self._go_on(db, row, new.request)

    async def keys_of(self, call_key: str, hashed: str) -> tuple[str, ...]:
        """The keys under which a call is on record; none if a write of it failed, for it begins anew then.

        Raises:
            Conflict: They were used for another call.
        """
        rows = await self._db.read(lambda db: call_rows(db, call_key))
        for row in rows:
            check_same_request(row, hashed)
        return () if any(row["state"] == "failed" for row in rows) else tuple(row["idempotency_key"] for row in rows)

    async def resume(self, key: str, ctx: RequestContext) -> Intent | IngestReceipt | None:
        """What became of a key that is on record; like ``begin``, for a call whose plan is not known any more."""

        def resume(db: sqlite3.Connection) -> Intent | IngestReceipt | None:
            row = intent_row(db, key)
            return None if row is None else self._go_on(db, row, ctx)

        return await self._db.write(resume)

    def _go_on(self, db: sqlite3.Connection, row: sqlite3.Row, ctx: RequestContext) -> Intent | IngestReceipt | None:
        if row["state"] in ("committed", "failed"):
            return receipt_of(db, row["receipt_id"])
        if row["owner"] != self._owner.name and is_alive(self._owner.folder, row["owner"]):
            return None
        return self._take_over(db, row, ctx)

    def _insert(self, db: sqlite3.Connection, new: Proposal, attempt: int) -> Intent:
        planned, ctx = new.planned, new.request
        kept = planned.file if planned.content is None else planned.content
        if kept is not None:
            self._contents.register(db, new.content_hash, kept)
        args, started_at = canonical_json(dict(planned.args)), now()
        unit = WriteUnit(
            derived_id("unit", self._profile, new.key), new_receipt_id(self._profile), planned.content, planned.file
        )
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
            "started_at": started_at.isoformat(),
        }
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        db.execute(f"INSERT INTO intents ({names}) VALUES ({marks})", tuple(values.values()))  # noqa: S608
        intent = Intent(
            unit,
            new.key,
            ctx.trace_id,
            new.call_id,
            ctx.session,
            new.spec.name,
            json.loads(args),
            planned.source,
            started_at,
            new.content_hash,
        )
        hashes = {"args_hash": content_hash(args), "content_hash": new.content_hash}
        self._record(db, "intent", intent, role=ctx.role.value, attempt=attempt, **hashes)
        return intent

    def _take_over(self, db: sqlite3.Connection, row: sqlite3.Row, ctx: RequestContext) -> Intent:
        db.execute(
            "UPDATE intents SET owner = ?, attempts = attempts + 1 WHERE seq = ?", (self._owner.hold(), row["seq"])
        )
        intent = intent_of(row)
        self._record(db, "intent", intent, role=ctx.role.value, attempt=row["attempts"] + 1)
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
        return (await self.finish_all([(intent, result, read_back)]))[0]

    async def finish_all(self, ends: Sequence[tuple[Intent, SurfaceWriteResult, str]]) -> list[IngestReceipt]:
        """``finish`` for each of them, all in one transaction."""
        completed_at = now()
        return await self._db.write(lambda db: [self._finish(db, *end, completed_at) for end in ends])

    def _finish(
        self, db: sqlite3.Connection, intent: Intent, result: SurfaceWriteResult, read_back: str, completed_at: datetime
    ) -> IngestReceipt:
        receipt = IngestReceipt(
            receipt_id=intent.unit.receipt_id,
            idempotency_key=intent.idempotency_key,
            trace_id=intent.trace_id,
            tool=intent.tool,
            source=intent.source,
            started_at=intent.started_at,
            completed_at=completed_at,
            result=result,
            read_back=read_back,
        )
        insert_receipt(db, receipt, intent.unit.unit_id)
        mark_reverted(db, receipt)
        state = "failed" if result.status in ("failed", "denied") else "committed"
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

    async def has_applied(self, surface: DataSurface) -> bool:
        """Whether any write of a surface has reached its store."""
        query = f"SELECT 1 FROM intents WHERE {_APPLIED} LIMIT 1"  # noqa: S608 - constants only
        return await self._db.read(lambda db: db.execute(query, (surface,)).fetchone()) is not None

    async def applied_to(self, surface: DataSurface) -> Sequence[Intent]:
        """The writes of a surface that have reached its store, oldest first, as they were before they did."""
        query = f"SELECT * FROM intents WHERE {_APPLIED} ORDER BY seq"  # noqa: S608 - constants only
        rows = await self._db.read(lambda db: db.execute(query, (surface,)).fetchall())
        return [replace(intent_of(row), result=None) for row in rows]

    async def with_content(self, intent: Intent) -> Intent:
        """The intent with what was kept for it, unless it has it, or the engine does.

        Raises:
            IntegrityError: It is missing or damaged.
        """
        has_content = intent.unit.content is not None or intent.unit.file is not None
        if not intent.content_hash or has_content or intent.result is not None:
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
        return [intent_of(row) for row in orphans]

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
