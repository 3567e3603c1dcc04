"""Several processes on one profile: one chain, one effect for one key, and nobody finishes what another is at."""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from tests.support.forks import Child, Forks
from tests.support.ledger_jobs import audit_faults, ledger_of, on_disk
from tests.support.process_jobs import wait_for_file

JOBS = "tests.support.process_jobs"


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks"), "tests.support.quicker", JOBS) as running:
        # Another user may not be able to read the modules.
        running.preload(running.run("tests.support.kill_jobs:modules_of_a_write"))
        yield running


def together(forks: Forks, job: str, processes: int, **arguments: Any) -> list[Any]:
    children = [forks.start(f"{JOBS}:{job}", others=processes, **arguments) for _ in range(processes)]
    return [child.result() for child in children]


def texts(folder: Path) -> list[str]:
    return [row[3] for row in on_disk(folder)["memories"]["default"]]


def slow_write(forks: Forks, folder: Path, where: str = "engine") -> tuple[Child, Path]:
    """A process that is in the middle of a write, and the file that lets it go on."""
    entered, go_on = folder / "entered", folder / "go-on"
    arguments = {"folder": str(folder), "text": "high water", "where": where}
    child = forks.start(f"{JOBS}:write_slowly", entered=str(entered), go_on=str(go_on), **arguments)
    wait_for_file(entered)
    return child, go_on


def test_a19_eight_processes_append_to_one_unbroken_chain(forks: Forks, tmp_path: Path) -> None:
    together(forks, "append", 8, folder=str(tmp_path), records=100)
    path = tmp_path / "storage" / "default" / "control.db"
    assert [fault for fault in audit_faults(path, tmp_path / "keys") if "chain" not in fault] == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*), max(seq) FROM audit").fetchone() == (800, 800)
    assert len(list((tmp_path / "keys").iterdir())) == 1


@pytest.mark.parametrize("attempt", range(5))
def test_processes_that_race_to_make_the_file_make_it_once(forks: Forks, tmp_path: Path, attempt: int) -> None:
    assert together(forks, "make", 6, folder=str(tmp_path)) == [1] * 6


def test_a73_two_processes_and_eighty_writes_have_eighty_receipts(forks: Forks, tmp_path: Path) -> None:
    children = [
        forks.start(f"{JOBS}:write_many", folder=str(tmp_path), name=name, writes=40, others=2) for name in "ab"
    ]
    told = [outcome for child in children for outcome in child.result()]
    receipts = [receipt for outcome in told for receipt in outcome["receipts"]]
    assert [outcome["message"] for outcome in told if outcome["is_error"]] == []
    assert len({receipt["receipt_id"] for receipt in receipts}) == 80
    ledger = ledger_of(tmp_path)
    assert sorted(ledger["receipts"], key=str) == sorted(receipts, key=str)
    assert (ledger["open"], ledger["audit"]) == ({}, [])
    assert len(texts(tmp_path)) == 40
    assert len(on_disk(tmp_path)["sources"]["default"]) == 40


SAME = {
    "memory_save": {"text": "The parrot is called Moss."},
    "kb_add_text": {"text": "The ferry sails at high water."},
    "kb_add_file": {"path": "tides.md"},
    "skill_upsert": {"name": "close-the-shop", "description": "How to close the shop", "body": "Lock the door."},
}


@pytest.mark.parametrize("tool", SAME)
def test_the_same_key_in_four_processes_is_one_effect_and_one_receipt(forks: Forks, tmp_path: Path, tool: str) -> None:
    data = tmp_path / "data" / "profiles" / "default"
    data.mkdir(parents=True)
    (data / "tides.md").write_text("# Tides\n\nHigh water at noon.\n")
    told = together(forks, "write_same", 4, folder=str(tmp_path), tool=tool, arguments=SAME[tool], times=13)
    outcomes = [outcome for outcomes in told for outcome in outcomes]
    assert len(outcomes) == 52
    assert [outcome["message"] for outcome in outcomes if outcome["is_error"]] == []
    (first, *others) = [outcome["receipts"] for outcome in outcomes]
    assert all(receipts == first for receipts in others)
    assert [receipt["result"]["operation"] for receipt in first] == ["added"]
    ledger = ledger_of(tmp_path)
    assert (ledger["receipts"], ledger["open"], ledger["audit"]) == (first, {}, [])


def test_a_write_of_a_living_process_is_left_to_it(forks: Forks, tmp_path: Path) -> None:
    child, go_on = slow_write(forks, tmp_path)
    assert forks.run(f"{JOBS}:open_and_write", folder=str(tmp_path))["receipts"][0]["result"]["status"] == "stored"
    assert list(ledger_of(tmp_path)["open"].values()) == ["intent"]
    assert texts(tmp_path) == ["high water"], "the other process has saved the same text, and only that"
    go_on.touch()
    assert child.wait() == 0
    ledger = ledger_of(tmp_path)
    assert [receipt["result"]["status"] for receipt in ledger["receipts"]] == ["stored", "unchanged"]
    assert (ledger["open"], ledger["audit"]) == ({}, [])


def test_a_write_of_a_killed_process_is_finished_by_the_next(forks: Forks, tmp_path: Path) -> None:
    child, _ = slow_write(forks, tmp_path)
    child.signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert list(ledger_of(tmp_path)["open"].values()) == ["intent"]
    assert len(list((tmp_path / "storage" / "default" / "owners").iterdir())) == 1
    forks.run(f"{JOBS}:open_and_write", folder=str(tmp_path))
    ledger = ledger_of(tmp_path)
    assert [receipt["result"]["status"] for receipt in ledger["receipts"]] == ["stored", "unchanged"]
    assert (ledger["open"], ledger["audit"]) == ({}, [])
    assert list((tmp_path / "storage" / "default" / "owners").iterdir()) == []


def test_a_stopped_process_is_alive(forks: Forks, tmp_path: Path) -> None:
    child, go_on = slow_write(forks, tmp_path)
    child.signal(signal.SIGSTOP)
    forks.run(f"{JOBS}:open_and_write", folder=str(tmp_path))
    assert list(ledger_of(tmp_path)["open"].values()) == ["intent"]
    go_on.touch()
    child.signal(signal.SIGCONT)
    assert child.wait() == 0
    assert ledger_of(tmp_path)["open"] == {}


def test_a75_ctrl_c_after_the_intent_lets_the_write_finish(forks: Forks, tmp_path: Path) -> None:
    child, go_on = slow_write(forks, tmp_path)
    child.signal(signal.SIGINT)
    go_on.touch()
    assert child.wait() == 130
    assert "returned" not in child.printed()
    ledger = ledger_of(tmp_path)
    assert [receipt["result"]["status"] for receipt in ledger["receipts"]] == ["stored"]
    assert (ledger["open"], ledger["audit"]) == ({}, [])
    assert texts(tmp_path) == ["high water"]


def test_a75_ctrl_c_before_the_intent_leaves_nothing(forks: Forks, tmp_path: Path) -> None:
    child, _ = slow_write(forks, tmp_path, where="plan")
    child.signal(signal.SIGINT)
    assert child.wait() == 130
    ledger = ledger_of(tmp_path)
    assert (ledger["receipts"], ledger["open"], ledger["audit"]) == ([], {}, [])
    assert texts(tmp_path) == []


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("closed", ["storage", "storage/default", "keys"])
def test_a_folder_of_another_user_is_one_clear_line(forks: Forks, made: bool, closed: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="datamind-test-"))
    try:
        folder.chmod(0o755)
        if made:
            forks.run(f"{JOBS}:open_and_write", folder=str(folder))
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 65534, 65534)
        (folder / closed).mkdir(parents=True, exist_ok=True)
        os.chown(folder / closed, 0, 0)
        (folder / closed).chmod(0o555)
        if closed == "keys":
            for key in (folder / closed).iterdir():
                os.chown(key, 0, 0)
        said = forks.run(f"{JOBS}:open_and_write", folder=str(folder), as_nobody=True)
    finally:
        rmtree(folder)
    if closed == "storage" and made:
        assert said["code"] == "", "what it needs is below, and that is its own"
        return
    assert said["code"] in ("config_invalid", "store_error", "store_error.audit_key", "store_error.read_only"), said
    assert "\n" not in said["message"]
    assert closed.partition("/")[0] in said["message"]
