"""The file and its processes: kills, locks, and an event loop that is never held."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from datamind.core.errors import StoreError
from datamind.core.protocols.database import DatabaseDialect, TableImport
from datamind.engine_host import EngineRequest
from datamind.testing.database_data import load, load_table, make_table_import, rows
from datamind.testing.providers import ProviderTarget
from datamind_db_duckdb.engine import open_engine

TARGET = ProviderTarget(
    "db.dialect", "datamind_db_duckdb.dialect:open_dialect", "datamind_db_duckdb.options:DuckDBOptions"
)
GENERATIONS = 2_000


def generation(number: int) -> bytes:
    return b"g,n\n" + b"".join(b"%d,%d\n" % (number, row) for row in range(GENERATIONS))


def import_of(number: int, mode: str) -> TableImport:
    return make_table_import("t", generation(number), uri="file:t.csv", mode=mode, unit_id=f"unit_{number}")


async def replace_for_ever(folder: str, mode: str) -> None:
    """What the child process does until it is killed: every replacement that returned is printed."""
    database = await TARGET.open(Path(folder))
    if mode == "append":
        await load_table(database, "t", "g,n\n-1,0\n", uri="file:other.csv")
    number = 0
    while True:
        await load(database, import_of(number, mode), generation(number))
        print(number, flush=True)
        number += 1


def start_replacing(folder: Path, mode: str) -> subprocess.Popen[str]:
    code = f"import asyncio, {__name__} as m; asyncio.run(m.replace_for_ever({str(folder)!r}, {mode!r}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize(("mode", "delay_s"), [("replace", 0.0), ("replace", 0.15), ("append", 0.05), ("append", 0.15)])
async def test_a74_kill_during_replacing_leaves_one_whole_generation(tmp_path: Path, mode: str, delay_s: float) -> None:
    child = await asyncio.to_thread(start_replacing, tmp_path, mode)
    try:
        assert child.stdout is not None
        await asyncio.to_thread(child.stdout.readline)
        await asyncio.sleep(delay_s)
    finally:
        child.kill()
    output, _ = await asyncio.to_thread(child.communicate)
    acknowledged = max([0, *map(int, output.split())])
    database = await TARGET.open(tmp_path)
    try:
        ((number, least, count),) = await rows(database, "SELECT max(g), min(g), count(*) FROM t WHERE g >= 0")
        assert number == least
        assert count == GENERATIONS
        assert number >= acknowledged
        again = await load(database, import_of(number, mode), generation(number))
        assert again.status in ("created", "appended", "renewed", "replaced")
        assert await rows(database, "SELECT count(*) FROM t WHERE g >= 0") == [[GENERATIONS]]
        assert await rows(database, "SELECT count(*) FROM t WHERE g < 0") == [[int(mode == "append")]]
    finally:
        await database.aclose()


async def test_c30_the_owner_is_killed_after_a_commit_and_all_is_there(tmp_path: Path) -> None:
    database = await TARGET.open(tmp_path)
    try:
        await load_table(database, "t", "a,b\n1,x\n2,y\n")
        await load_table(database, "t", "a,b\n2,z\n", mode="upsert", key=("a",))
        await load_table(database, "r", "a\n7\n8\n")
        await load_table(database, "r", "a\n9\n", mode="replace")
        for pid in children_of(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        assert await rows(database, "SELECT a, b FROM t ORDER BY a") == [[1, "x"], [2, "z"]]
        assert await rows(database, "SELECT a FROM r") == [[9]]
        assert (await load_table(database, "t", "a,b\n3,w\n")).status == "appended"
    finally:
        await database.aclose()


async def test_a57_the_event_loop_is_not_held_by_a_large_import(tmp_path: Path) -> None:
    content = b"id,name,amount\n" + b"".join(b"%d,customer %d,%d.50\n" % (n, n % 500, n) for n in range(200_000))
    database = await TARGET.open(tmp_path)
    lags: list[float] = []
    works: list[float] = []
    probe = asyncio.create_task(measure(lags, works))
    try:
        outcome = await load_table(database, "t", content)
        assert outcome.rows == 200_000
        await asyncio.gather(*(read_all(database) for _ in range(3)))
    finally:
        probe.cancel()
        await database.aclose()
    assert len(lags) > 10
    # On a loaded machine the loop waits for its turn; what it does itself at one go is what would hold it.
    assert max(works) < 0.25
    assert max(lags) < 5


async def test_a_file_that_is_refused_is_not_kept_open(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(path) as foreign:
        foreign.execute("CREATE TABLE theirs (n INTEGER)")
    engine = open_engine({"path": str(path), "config": {}})
    with pytest.raises(StoreError) as refused:
        engine.operations["tables"](EngineRequest({}, (memoryview(b"{}"),)))
    assert refused.value.code == "store_error.foreign_file"
    # An instance that is open refuses another configuration.
    with duckdb.connect(path, config={"threads": "1"}) as foreign:
        assert foreign.execute("SELECT count(*) FROM theirs").fetchall() == [(0,)]


async def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    database = await TARGET.open(tmp_path)
    await load_table(database, "t", "a\n1\n")
    await database.aclose()
    (folder,) = tmp_path.rglob("db")
    assert {path.name for path in folder.iterdir()} <= {"data.duckdb", "data.duckdb.wal"}
    assert children_of(os.getpid()) == []


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


async def measure(lags: list[float], works: list[float]) -> None:
    while True:
        before, worked = time.perf_counter(), time.thread_time()
        await asyncio.sleep(0.01)
        lags.append(time.perf_counter() - before - 0.01)
        works.append(time.thread_time() - worked)


async def read_all(database: DatabaseDialect) -> None:
    await rows(database, "SELECT * FROM t", limit=1_000)
