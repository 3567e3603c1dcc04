"""What became of stores that were damaged or gone: kept in control.db, so that every process knows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from datamind.capabilities.control.database import ControlDB
from datamind.core.record import Instant, Record, now
from datamind.core.types import DataSurface

_UNDER_WAY: Final = "repairing."
_DONE: Final = "repair."


class Repair(Record):
    """One store that was filled again.

    Attributes:
        reason: What was found.
        moved_to: Where its files are now; empty when there were none.
        writes: How many writes are in it again.
        missing: Receipts of writes that could not be repeated, each with the reason.
    """

    surface: DataSurface
    at: Instant
    reason: str
    moved_to: str
    writes: int
    missing: dict[str, str]

    def __str__(self) -> str:
        kept = f" (its files are in {self.moved_to})" if self.moved_to else ""
        writes = "1 write was" if self.writes == 1 else f"{self.writes} writes were"
        text = f"{self.reason}{kept}; {writes} repeated from control.db on {self.at:%Y-%m-%d %H:%M}"
        if not self.missing:
            return text
        receipts = ", ".join(f"{receipt_id} ({reason})" for receipt_id, reason in list(self.missing.items())[:5])
        return f"{text}, {len(self.missing)} could not be and what they wrote is missing: {receipts}"


class RepairLog:
    """A store that is being filled again is not trusted until that is done."""

    def __init__(self, db: ControlDB) -> None:
        self._db = db

    async def begin(self, surface: DataSurface) -> None:
        """From now on the store is incomplete, also if this process dies."""
        await self._db.write(lambda db: _put(db, f"{_UNDER_WAY}{surface}", now().isoformat()))

    async def is_under_way(self, surface: DataSurface) -> bool:
        """Whether a repair began and did not end."""
        query = "SELECT 1 FROM meta WHERE key = ?"
        return await self._db.read(lambda db: db.execute(query, (f"{_UNDER_WAY}{surface}",)).fetchone()) is not None

    async def finish(self, repair: Repair) -> None:
        """The store is whole, but for what the repair says is missing."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM meta WHERE key = ?", (f"{_UNDER_WAY}{repair.surface}",))
            _put(db, f"{_DONE}{repair.at.isoformat()}.{repair.surface}", repair.model_dump_json())

        await self._db.write(work)

    async def all(self) -> Sequence[Repair]:
        """Every repair, oldest first."""
        query = "SELECT value FROM meta WHERE key GLOB ? ORDER BY key"
        rows = await self._db.read(lambda db: db.execute(query, (f"{_DONE}*",)).fetchall())
        return [Repair.model_validate(json.loads(row["value"])) for row in rows]


def _put(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
