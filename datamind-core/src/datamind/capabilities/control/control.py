"""One profile's control.db with everything that belongs to it."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from datamind.capabilities.control.answers import AnswerLog
from datamind.capabilities.control.audit import AuditChain
from datamind.capabilities.control.contents import ContentStore
from datamind.capabilities.control.conversations import ConversationLog
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.control.erasures import ErasureLog
from datamind.capabilities.control.intents import IntentLog
from datamind.capabilities.control.owners import Owner
from datamind.capabilities.control.receipts import ReceiptLog
from datamind.capabilities.control.repairs import RepairLog
from datamind.capabilities.control.sources import SourceLog
from datamind.capabilities.control.vectors import VectorCache
from datamind.capabilities.control.versions import VersionLog
from datamind.core.context import RequestContext
from datamind.core.durable import sync_folder
from datamind.core.errors import StoreError
from datamind.core.messages import ToolCall


class Control:
    """The ledger's memory of one profile. ``open_control`` makes one."""

    def __init__(self, profile: str, storage_dir: Path, key_folder: Path) -> None:
        self.profile = profile
        self.storage_dir = storage_dir
        self.db = ControlDB(storage_dir / "control.db")
        self.contents = ContentStore(storage_dir / "blobs")
        self.audit = AuditChain(key_folder)
        self.owner = Owner(storage_dir / "owners")
        self.intents = IntentLog(profile, self.db, self.contents, self.audit, self.owner)
        self.receipts = ReceiptLog(self.db)
        self.repairs = RepairLog(self.db)
        self.sources = SourceLog(self.db, self.contents)
        self.versions = VersionLog(self.db)
        self.answers = AnswerLog(self.db, self.audit)
        self.conversations = ConversationLog(self.db)
        self.vectors = VectorCache(self.db)
        self.erasures = ErasureLog(profile, self.db, self.contents, self.audit, self.owner)

    async def record_decision(
        self, kind: str, call: ToolCall, ctx: RequestContext, *, code: str = "", detail: str = ""
    ) -> None:
        """Put one decision of the gate on record; durable when it returns."""

        def append(connection: sqlite3.Connection) -> None:
            self.audit.append(
                connection,
                kind,
                trace_id=ctx.trace_id,
                tool=call.name[:80],
                role=ctx.role.value,
                session=ctx.session,
                call_id=call.id,
                code=code,
                detail=detail[:500],
            )

        await self.db.write(append)

    def close(self) -> None:
        """Close the file and give up ownership; may be called twice."""
        self.db.close()
        self.owner.release()


class NoRecord:
    """Puts no decision on record: ``hooks.audit_log = false``. Intents and outcomes of writes still are."""

    async def record_decision(
        self, kind: str, call: ToolCall, ctx: RequestContext, *, code: str = "", detail: str = ""
    ) -> None:
        """Nothing to do."""


def open_control(profile: str, storage_dir: Path, key_folder: Path) -> Control:
    """Open or create ``<storage_dir>/control.db``. Blocking, a few milliseconds.

    Raises:
        StoreError: The folder cannot be written, or the file is damaged or newer than this DataMind.
    """
    try:
        storage_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the storage folder {str(storage_dir)!r} cannot be made ({error.strerror})",
            retryable=False,
            hint="Set data.base_dir to a folder you can write.",
        ) from error
    if not os.access(storage_dir, os.W_OK):
        raise StoreError(
            f"the storage folder {str(storage_dir)!r} cannot be written",
            retryable=False,
            hint="Set data.base_dir to a folder you can write.",
        )
    if not (storage_dir / "control.db").exists():
        _sync_way_to(storage_dir)
    control = Control(profile, storage_dir, key_folder)
    control.db.create()
    control.db.write_now(_name_profile)
    return control


def _sync_way_to(storage_dir: Path) -> None:
    # What is synced in a folder is lost with it if a power loss takes the folder's own entry.
    for folder in (storage_dir.parent, storage_dir.parent.parent):
        with suppress(OSError):  # the user's folder may let nobody list it
            sync_folder(folder)


def _name_profile(connection: sqlite3.Connection) -> None:
    # The audit key is kept outside under this name, so a renamed or moved profile still finds it.
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('profile_uid', ?)", (secrets.token_hex(16),))
