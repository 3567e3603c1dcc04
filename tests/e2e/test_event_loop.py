"""The event loop runs on while engines are at work. The limit is asserted by the probe that watches each test here."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from datamind.testing.lag import LIMIT_S, LagProbe
from tests.support.systems import open_system, read, status, write

SALES = b"id,name,amount\n" + b"".join(b"%d,customer %d,%d.50\n" % (n, n % 500, n) for n in range(200_000))
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

COLD = """
import asyncio, json, pathlib, sys
from datamind.agent import build_datamind
from datamind.config import Settings
from datamind.core.types import Role
from datamind.testing.lag import LagProbe

WRITES = {
    "kb_add_text": {"text": "The ferry sails at high water."},
    "db_import_records": {"records": [{"a": 1}], "table": "t"},
    "graph_upsert_triples": {"triples": [{"subject": "a", "predicate": "b", "object": "c"}]},
}


async def main():
    lags = {}
    base = pathlib.Path(sys.argv[1])
    async with LagProbe() as probe:
        system = await build_datamind(Settings(data={"base_dir": base}, hooks={"audit_key": base / "keys"}))
    lags["build"] = probe.longest_s
    for tool, arguments in WRITES.items():
        async with LagProbe() as probe:
            assert not (await system.call(tool, arguments, role=Role.STORE)).is_error
        lags[tool] = probe.longest_s
    for question in ("When does the ferry sail?", "How many rows are in t?"):
        async with LagProbe() as probe:
            await system.query(question)
        lags[question] = probe.longest_s
    await system.aclose()
    print(json.dumps(lags))


asyncio.run(main())
"""


def put(folder: Path, name: str, content: bytes) -> str:
    path = folder / "data/profiles/default" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return name


async def test_a57_200k_rows_are_imported_and_read_without_holding_the_loop(tmp_path: Path, lag: LagProbe) -> None:
    async with open_system(tmp_path) as system:
        assert status(await write(system, "db_import_csv", path=put(tmp_path, "sales.csv", SALES))) == "stored"
        found = await read(system, "db_query_sql", sql="SELECT count(*), max(id) FROM sales")
        assert json.loads(found.evidence[0].content)["rows"] == [[200_000, 199_999]]
        await read(system, "db_query_sql", sql="SELECT * FROM sales", limit=10_000)
        await read(system, "db_describe_table", table="sales")
    assert lag.beats > 10


async def test_a57_a_folder_of_1000_files_is_stored_without_holding_the_loop(tmp_path: Path, lag: LagProbe) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(1_000):
        (folder / f"{number:04}.md").write_text(
            f"# Buoy {number}\n\n" + f"Buoy {number} is moored off the weir.\n\n" * 12
        )
    async with open_system(tmp_path, kb={"backend": "lancedb"}) as system:
        first = await system.ingest(folder)
        assert (first.status, len({receipt.receipt_id for receipt in first.receipts})) == ("stored", 1_000)
        assert (await system.ingest(folder)).status == "unchanged"
    assert lag.beats > 100


async def test_a25_six_endless_statements_are_interrupted_and_other_surfaces_answer_meanwhile(tmp_path: Path) -> None:
    async with open_system(tmp_path, db={"dialect": "duckdb", "query_timeout_s": 0.5}) as system:
        await write(system, "db_import_records", records=[{"a": 1}], table="t")
        running = [asyncio.create_task(read(system, "db_query_sql", sql=ENDLESS)) for _ in range(6)]
        assert status(await write(system, "memory_save", text="The parrot is called Moss.")) == "stored"
        outcomes = await asyncio.gather(*running)
        assert {outcome.code for outcome in outcomes} == {"limit_exceeded.time"}
        found = await read(system, "db_query_sql", sql="SELECT a FROM t")
        assert json.loads(found.evidence[0].content)["rows"] == [[1]]


async def test_a68_a_clique_of_25_is_walked_within_its_bounds(tmp_path: Path) -> None:
    names = [f"node {n}" for n in range(25)]
    triples = [
        {"subject": one, "predicate": "linked_to", "object": other} for one in names for other in names if one != other
    ]
    async with open_system(tmp_path) as system:
        assert status(await write(system, "graph_upsert_triples", triples=triples)) == "stored"
        found = await read(system, "graph_traverse", start=["node 3"], hops=4, limit=50)
        assert len(found.evidence) == 50
        assert found.data["cut"]["results"] > 0


async def test_a23_thirty_six_upserts_at_once_in_two_systems_are_all_kept(tmp_path: Path) -> None:
    async with open_system(tmp_path) as first, open_system(tmp_path) as second:
        writes = [
            write(
                (first, second)[n % 2],
                "graph_upsert_triples",
                triples=[{"subject": f"item {n}", "predicate": "part_of", "object": "hub"}],
            )
            for n in range(36)
        ]
        assert [status(outcome) for outcome in await asyncio.gather(*writes)] == ["stored"] * 36
        for system in (first, second):
            assert (await read(system, "graph_stats")).data["statements"] == 36


async def test_a3_a_query_then_an_import_then_a_query_in_one_process(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        found = await read(system, "db_query_sql", sql="SELECT 1 AS one")
        assert json.loads(found.evidence[0].content)["rows"] == [[1]]
        assert status(await write(system, "db_import_csv", path=put(tmp_path, "t.csv", b"a\n1\n2\n"))) == "stored"
        found = await read(system, "db_query_sql", sql="SELECT sum(a) FROM t")
        assert json.loads(found.evidence[0].content)["rows"] == [[3]]


def test_b22_the_first_use_of_every_engine_in_a_process_does_not_hold_the_loop(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COLD, str(tmp_path)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    lags = json.loads(ran.stdout)
    print("\n".join(f"{name}: {lag * 1e3:.0f} ms" for name, lag in lags.items()))
    assert {name: lag for name, lag in lags.items() if lag > LIMIT_S} == {}
