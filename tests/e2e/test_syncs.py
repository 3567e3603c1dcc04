"""Counted by the system: what a receipt rests on was synced before the receipt was printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support import sync_jobs, traces

# What is written and not synced because nothing rests on it.
RESTS_ON_NOTHING = re.compile(
    r"-shm$"  # SQLite's shared memory is made anew from the log
    r"|/lease(\.waiting)?$|/owners(/|$)"  # locks: held by what is open, not by what is in them
    r"|/oxigraph/(LOG|LOCK|IDENTITY|OPTIONS)"  # what the engine says about itself
    r"|/oxigraph/(\d+\.sst|MANIFEST-\d+)$"  # merged from others, which stay until the engine has synced and named it
    r"|/graph/names\.db(-wal)?$"  # made anew from the graph where it is behind
    r"|/latest_version_hint\.json$"  # empty, of zeros, old or wrong: the newest version is found all the same
    r"|/#\d+$"  # has no name, so it is gone with its process
)
GLOBAL = 1  # the number of the write to the profile of global memories
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[traces.Seen]:
    if not shutil.which("strace"):
        assert not os.environ.get("CI"), "strace is missing"
        pytest.skip("strace is missing")
    folder = tmp_path_factory.mktemp("traced")
    sync_jobs.write_files(folder / "base")
    command = traces.strace(folder / "trace", sys.executable, "-m", sync_jobs.__name__, str(folder / "base"))
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode and "Operation not permitted" in ran.stderr:
        pytest.skip("strace may not trace here")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return list(traces.read(folder / "trace", folder / "base", RESTS_ON_NOTHING))


def test_nothing_that_a_receipt_rests_on_is_unsynced(seen: list[traces.Seen]) -> None:
    receipts = [one for one in seen if one.line.startswith("receipt ")]
    assert [one.line.split()[1] for one in receipts] == [tool for tool, _ in sync_jobs.WRITES]
    unsynced = {
        f"{number} {one.line}": sorted(path for path in one.unsynced if "_shared" not in path or number == GLOBAL)
        for number, one in enumerate(receipts)
    }
    assert {line: paths for line, paths in unsynced.items() if paths} == {}


RESTS_ON = {
    "memory_": r"/memory\.db-wal$",
    "kb_": r"/kb/" if sync_jobs.KB == "lancedb" else r"/control\.db-wal$",
    "skill_": r"/skills?(/|$)",
    "db_": r"/db/data\.duckdb(\.wal)?$",
    "graph_": r"/graph/oxigraph/\d+\.(log|sst)$",
}


def test_every_write_syncs_its_store_and_the_ledger(seen: list[traces.Seen]) -> None:
    for one in seen:
        kind, _, tool = one.line.partition(" ")
        if kind == "receipt":
            counted: Counter[str] = Counter()
            for path, times in one.syncs.items():
                counted["ledger"] += times * path.endswith("/control.db-wal")
                counted["store"] += times * any(
                    tool.startswith(start) and bool(re.search(rests, path)) for start, rests in RESTS_ON.items()
                )
            print(f"{tool}: {sum(one.syncs.values())} syncs, {counted['store']} store, {counted['ledger']} ledger")
            assert counted["store"] >= 1, (tool, one.syncs)
            assert counted["ledger"] >= 2, (tool, one.syncs)
