"""Two processes write to one profile without a pause; again and again one is killed, and another takes its place."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.forks import Child, Forks
from tests.support.ledger_jobs import ledger_of, on_disk

JOBS = "tests.support.process_jobs"
KILLS = 12


def said(child: Child) -> list[Any]:
    return [json.loads(line) for line in child.printed().splitlines() if line[:1] == "{" and line[-1:] == "}"]


def wait_until_it_writes(child: Child, writes: int) -> None:
    while sum("receipts" in line for line in said(child)) < writes:
        time.sleep(0.002)


def test_a74_processes_killed_at_random_moments_beside_one_that_lives(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with Forks(tmp_path_factory.mktemp("forks"), "tests.support.quicker", JOBS) as forks:
        forks.preload(forks.run("tests.support.kill_jobs:modules_of_a_write"))
        kill_at_random(forks, tmp_path_factory.mktemp("profile"), KILLS)


def kill_at_random(forks: Forks, folder: Path, kills: int) -> None:
    """Kill one of two writers so many times; afterwards everything that was told is there, once."""
    names, dice = count(), random.Random(20260301)
    stop = folder / "stop"

    def start() -> Child:
        return forks.start(f"{JOBS}:write_until", folder=str(folder), name=f"w{next(names)}", stop=str(stop))

    working, all_of_them = [start(), start()], []
    all_of_them += working
    for number in range(kills):
        victim = working.pop(number % 2)
        wait_until_it_writes(victim, 1)
        time.sleep(dice.random() * 0.03)
        victim.signal(signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
        working.append(start())
        all_of_them.append(working[-1])
    for child in working:
        wait_until_it_writes(child, 1)
    stop.touch()
    assert [child.wait() for child in working] == [0, 0]
    assert forks.run(f"{JOBS}:open_and_write", folder=str(folder))["is_error"] is False
    check(folder, all_of_them, kills)


def check(folder: Path, children: list[Child], kills: int) -> None:
    lines = [line for child in children for line in said(child)]
    told = {line["key"]: line for line in lines if "receipts" in line}
    begun = {line["key"] for line in lines}
    ledger, disk = ledger_of(folder), on_disk(folder)
    receipts = {receipt["idempotency_key"].rpartition("#")[0]: receipt for receipt in ledger["receipts"]}
    assert (ledger["open"], ledger["audit"]) == ({}, [])
    assert [line["message"] for line in told.values() if line["is_error"]] == []
    assert Counter(receipt["idempotency_key"] for receipt in ledger["receipts"]).most_common(1)[0][1] == 1
    assert {key: line["receipts"] for key, line in told.items()} == {key: [receipts[key]] for key in told}
    ours = {key: receipt for key, receipt in receipts.items() if key in begun}
    assert {(receipt["result"]["operation"], receipt["result"]["status"]) for receipt in ours.values()} == {
        ("added", "stored")
    }
    kinds = Counter(receipt["tool"] for receipt in ours.values())
    surfaces = Counter(row[0] for row in disk["sources"]["default"])
    assert len(disk["memories"]["default"]) == kinds["memory_save"] + 1, "and the one at the end"
    assert (surfaces["kb"], surfaces["skills"]) == (kinds["kb_add_text"], kinds["skill_upsert"])
    assert len(disk["skills"]) == kinds["skill_upsert"]
    assert len(begun) - len(told) <= kills, "only what was killed is untold"
    assert list((folder / "storage" / "default" / "owners").iterdir()) == []
