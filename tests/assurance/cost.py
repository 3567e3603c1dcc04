"""What a small durable write costs beside few and beside very many receipts."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.assurance.figures import Figure
from tests.support.systems import open_system, write

RECEIPTS = (10, 10_000, 1_000_000)
WRITES = 200
MAX_P50_MS = 15.0
MAX_RATIO = 2.0

_SEED = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
"""
_COPIES = {
    "intents": {"unit_id", "idempotency_key", "receipt_id", "trace_id"},
    "receipts": {"receipt_id", "unit_id", "trace_id"},
    "audit": {"trace_id", "receipt_id", "hash"},
}
"""By table, the columns that differ from row to row."""


def figures(folder: Path) -> Iterator[Figure]:
    """On a real disk: in memory a sync costs nothing."""
    taken: dict[int, float] = {}
    for receipts in RECEIPTS:
        with tempfile.TemporaryDirectory(prefix="datamind-cost-") as place:
            taken[receipts], opened_s = asyncio.run(_measure(Path(place), receipts))
        value = f"p50 {taken[receipts]:.1f} ms of {WRITES}; opened in {opened_s:.2f} s"
        yield Figure(f"a small durable write beside {receipts:,} receipts", value, taken[receipts] <= MAX_P50_MS)
    ratio = taken[RECEIPTS[-1]] / taken[RECEIPTS[0]]
    yield Figure(f"{RECEIPTS[-1]:,} receipts beside {RECEIPTS[0]}", f"{ratio:.2f} x", ratio <= MAX_RATIO)


async def _measure(folder: Path, receipts: int) -> tuple[float, float]:
    """Milliseconds of the middle write, and seconds until the profile was open."""
    async with open_system(folder) as system:
        await write(system, "memory_save", text="The first of many.")
    _seed(folder / "storage" / "default" / "control.db", receipts - 1)
    began = time.monotonic()
    async with open_system(folder) as system:
        await system.surfaces()
        opened_s = time.monotonic() - began
        taken = []
        for number in range(WRITES):
            began = time.monotonic()
            outcome = await write(system, "memory_save", text=f"The buoy {number} is green.")
            taken.append(time.monotonic() - began)
            assert outcome.receipts
            assert not outcome.is_error
    return statistics.median(taken) * 1000, opened_s


def _seed(control: Path, count: int) -> None:
    """Copies of the one write, each under ids of its own."""
    with sqlite3.connect(control) as db:
        for table, own in _COPIES.items():
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "seq"]
            values = [f"{name} || '-' || n.i" if name in own else f"{table}.{name}" for name in names]
            db.execute(
                f"{_SEED} INSERT INTO {table} ({', '.join(names)})"
                f" SELECT {', '.join(values)} FROM n, {table} WHERE {table}.seq = 1",
                {"count": count},
            )
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    os.sync()  # or the seeded pages would still be on their way to the disk while the writes are timed
