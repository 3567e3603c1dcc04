"""A CSV of a million rows through the whole system, with ledger and reject counting, beside DuckDB's own reader."""

from __future__ import annotations

import asyncio
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
from measure import Taken, middle, run_peer

from datamind.agent import build_datamind
from datamind.config import Settings
from datamind.core.types import Role

ROWS = 1_000_000
RUNS = 5
GOAL = 0.5
GOAL_OF_PEER = 0.2
AGGREGATE = "SELECT code, count(*), sum(amount) FROM t GROUP BY code ORDER BY 3 DESC LIMIT 20"


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    text: str

    def __str__(self) -> str:
        return self.text


def rows() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(measure(Path(folder)))


async def measure(folder: Path) -> list[Line]:
    clean, ragged = folder / "clean.csv", folder / "ragged.csv"
    write(clean, bad=0)
    write(ragged, bad=100)
    taken: dict[str, list[float]] = {"clean": [], "ragged": [], "raw": [], "aggregate": [], "raw aggregate": []}
    lags: list[float] = []
    wholes: list[Taken] = []
    for run in range(RUNS):
        raw_file = folder / f"raw{run}.duckdb"
        taken["raw"].append(await asyncio.to_thread(raw_import, clean, raw_file))
        taken["raw aggregate"].append(await asyncio.to_thread(raw_query, raw_file))
        raw_file.unlink()
        for name, path in (("clean", clean), ("ragged", ragged)):
            before = cpu_s()
            imported, queried = await ours(folder / f"{name}{run}", path, lags)
            taken[name].append(imported)
            if name == "clean":
                wholes.append(Taken(imported, cpu_s() - before, ROWS))
            taken["aggregate"].append(queried)
    peer = await asyncio.to_thread(run_peer, "db", folder)
    speed = {name: ROWS / median(times) for name, times in taken.items()}
    return [
        Line(f"{'raw read_csv into a file':<44} {speed['raw']:>10,.0f} rows/s"),
        row("CSV end to end", speed["clean"], speed["raw"]),
        Line(peer.beside("CSV", middle(wholes), max_ratio=GOAL_OF_PEER)),
        Line(f"  {peer}"),
        row("CSV with 100 ragged lines, each told", speed["ragged"], speed["raw"]),
        Line(
            f"{'aggregate':<44} {median(taken['aggregate']) * 1000:>8.0f} ms  raw "
            f"{median(taken['raw aggregate']) * 1000:.0f} ms"
        ),
        Line(
            f"{'event loop lag p99 / max':<44} {percentile(lags) * 1000:>8.1f} / {max(lags) * 1000:.1f} ms  goal 50 ms"
        ),
        Line(f"{'most memory of this process / of a child':<44} {rss('SELF'):>8.0f} / {rss('CHILDREN'):.0f} MB"),
    ]


def write(path: Path, *, bad: int) -> None:
    rng = random.Random(1)
    every = ROWS // bad if bad else ROWS + 1
    with path.open("w", encoding="utf-8") as file:
        file.write("id,name,amount,day,code,note\n")
        for number in range(ROWS):
            more = ",more" if number % every == every - 1 else ""
            file.write(
                f"{number},customer {number % 5000},{rng.randint(0, 99999) / 100:.2f},"
                f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d},{number % 90000:05d},"
                f'"note, {rng.randint(0, 10**6)}"{more}\n'
            )


def raw_import(path: Path, file: Path) -> float:
    start = time.perf_counter()
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM read_csv(?)", [str(path)])
    return time.perf_counter() - start


def raw_query(file: Path) -> float:
    with duckdb.connect(str(file)) as connection:
        start = time.perf_counter()
        connection.execute(AGGREGATE).fetchall()
        return time.perf_counter() - start


async def ours(folder: Path, path: Path, lags: list[float]) -> tuple[float, float]:
    settings = Settings(data={"base_dir": folder}, hooks={"audit_key": folder / "keys"})
    probe = asyncio.create_task(watch(lags))
    async with await build_datamind(settings, enable=["db"]) as system:
        start = time.perf_counter()
        stored = await system.ingest(path)
        imported = time.perf_counter() - start
        assert stored.receipts[0].result.items_written >= ROWS - 100, stored
        start = time.perf_counter()
        found: Any = await system.call(
            "db_query_sql", {"sql": AGGREGATE.replace(" t ", f' "{path.stem}" ')}, role=Role.RETRIEVE
        )
        queried = time.perf_counter() - start
        assert not found.is_error, found.message
    probe.cancel()
    return imported, queried


async def watch(lags: list[float]) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - before - 0.005)


def row(what: str, speed: float, raw: float) -> Line:
    ratio = speed / raw
    verdict = "met" if ratio >= GOAL else "MISSED"
    return Line(f"{what:<44} {speed:>10,.0f} rows/s  {ratio:.2f} x raw  goal {GOAL:g} x {verdict}")


def cpu_s() -> float:
    """Of this process and of its children that have ended, which a closed system's have."""
    used = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def percentile(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def rss(whose: str) -> float:
    return resource.getrusage(getattr(resource, f"RUSAGE_{whose}")).ru_maxrss / 1024
