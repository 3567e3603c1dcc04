"""Twenty writers in two processes: none is told that the database is locked, and every row is there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.forks import Forks
from tests.support.ledger_jobs import ledger_of, on_disk
from tests.support.systems import open_system, read

JOB = "tests.support.writer_jobs:write_rows"


def test_b23_twenty_writers_of_fifty_rows_in_two_processes(tmp_path: Path) -> None:
    with Forks(tmp_path / "forks", "tests.support.quicker", JOB.partition(":")[0]) as forks:
        children = [
            forks.start(JOB, folder=str(tmp_path), name=name, writers=10, rows=50, others=2) for name in ("Ada", "Bo")
        ]
        assert [fault for child in children for fault in child.result()] == []
    texts = [row[3] for row in on_disk(tmp_path)["memories"]["default"]]
    assert len(texts) == len(set(texts)) == 1_000
    assert asyncio.run(rows_of(tmp_path)) == [[1_000, 1_000]]
    ledger = ledger_of(tmp_path)
    assert (len(ledger["receipts"]), ledger["open"], ledger["audit"]) == (20, {}, [])


async def rows_of(folder: Path) -> Any:
    async with open_system(folder) as system:
        found = await read(system, "db_query_sql", sql="SELECT count(*), count(DISTINCT (writer, n)) FROM log")
    return json.loads(found.evidence[0].content)["rows"]
