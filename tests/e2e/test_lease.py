"""A notebook and a terminal on one profile: they take turns at its tables and its graph, and nobody loses a write."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forks import Child, Forks
from tests.support.ledger_jobs import ledger_of

JOBS = "tests.support.lease_jobs"
OWNED = ("db_import_records", "graph_upsert_triples")
FREE = ("memory_save", "kb_add_text", "skill_upsert")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks"), "tests.support.quicker", JOBS) as running:
        yield running


def wait_until_said(child: Child, text: str) -> None:
    while text not in child.printed():
        time.sleep(0.01)


@pytest.mark.parametrize("second", ["alternate", "alternate_blocking"])
def test_a73_two_processes_and_eighty_writes_to_tables_and_graph(forks: Forks, tmp_path: Path, second: str) -> None:
    jobs = [("alternate", "Ada"), (second, "Bo")]
    children = [
        forks.start(f"{JOBS}:{job}", folder=str(tmp_path), name=name, writes=40, others=2) for job, name in jobs
    ]
    told = [outcome for child in children for outcome in child.result()]
    assert [outcome["message"] for outcome in told if outcome["is_error"] or not outcome["right"]] == []
    receipts = [receipt for outcome in told for receipt in outcome["receipts"]]
    assert len({receipt["receipt_id"] for receipt in receipts}) == 80
    assert {receipt["result"]["status"] for receipt in receipts} == {"stored"}
    ledger = ledger_of(tmp_path)
    assert sorted(ledger["receipts"], key=str) == sorted(receipts, key=str)
    assert (ledger["open"], ledger["audit"]) == ({}, [])
    held = forks.run(f"{JOBS}:counts", folder=str(tmp_path))
    expected = {"alternate": {"rows": 40, "statements": 40}, "alternate_blocking": {"rows": 20, "statements": 20}}
    assert held == expected[second]


def test_an_open_notebook_lets_a_terminal_in_at_once(forks: Forks, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    notebook = forks.start(f"{JOBS}:use_and_stay", folder=str(tmp_path), stop=str(stop))
    wait_until_said(notebook, "used")
    told = forks.run(f"{JOBS}:write_all", folder=str(tmp_path))
    assert [name for name, outcome in told.items() if outcome["is_error"]] == []
    stop.touch()
    assert notebook.wait() == 0


def write_beside_a_holder(
    forks: Forks, folder: Path, *signals: int, wait_s: float = 5.0
) -> tuple[Child, dict[str, Any]]:
    holder = forks.start(f"{JOBS}:hold", folder=str(folder))
    wait_until_said(holder, "held")
    for number in signals:
        holder.signal(number)
    return holder, forks.run(f"{JOBS}:write_all", folder=str(folder), wait_s=wait_s)


def test_b24_who_cannot_have_the_lease_is_told_which_process_has_it_and_the_other_surfaces_serve(
    forks: Forks, tmp_path: Path
) -> None:
    holder, told = write_beside_a_holder(forks, tmp_path, signal.SIGSTOP, wait_s=0.3)
    assert [told[name]["is_error"] for name in FREE] == [False, False, False]
    for name in (*OWNED, "db_query_sql", "graph_stats"):
        message = told[name]["message"]
        assert f"process {holder.pid}, since 2" in message, told[name]
        assert f"is suspended. `kill -CONT {holder.pid}`" in message
    ledger = ledger_of(tmp_path)
    failed = {receipt["tool"]: receipt["result"] for receipt in ledger["receipts"] if receipt["tool"] in OWNED}
    assert {name: (result["status"], result["error"]["code"]) for name, result in failed.items()} == dict.fromkeys(
        OWNED, ("failed", "store_error.in_use")
    )
    assert (ledger["open"], ledger["audit"]) == ({}, [])
    holder.signal(signal.SIGKILL)
    holder.wait()
    assert forks.run(f"{JOBS}:write_all", folder=str(tmp_path))["db_import_records"]["is_error"] is False
    assert forks.run(f"{JOBS}:counts", folder=str(tmp_path)) == {"rows": 1, "statements": 1}


def test_the_death_of_the_holder_frees_the_lease(forks: Forks, tmp_path: Path) -> None:
    _, told = write_beside_a_holder(forks, tmp_path, signal.SIGKILL)
    assert [name for name, outcome in told.items() if outcome["is_error"]] == []


def test_surfaces_that_need_no_lease_take_none(forks: Forks, tmp_path: Path) -> None:
    forks.run("tests.support.process_jobs:write_many", folder=str(tmp_path), name="a", writes=2, others=1)
    assert not list(tmp_path.rglob("lease*"))
    arguments = {"text": "The parrot is called Moss.", "scope": "global"}
    forks.run("tests.support.ledger_jobs:call", folder=str(tmp_path), tool="memory_save", arguments=arguments)
    assert (tmp_path / "storage" / "_shared" / "memory.db").exists()
    assert not list(tmp_path.rglob("lease*"))
