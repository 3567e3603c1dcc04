"""A real SIGKILL at every moment of every write, and at every moment of the recovery that follows.

Nothing acknowledged is lost, nothing is there twice, what was begun is finished exactly once with the receipt that a
run without a crash would have given, and the audit chain is whole. ``nox -s crash`` kills at more moments than the
ordinary run, which takes one for each thing that the disk can look like.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forks import Child, Forks
from tests.support.kill_jobs import ALL_MOMENTS, CASES

JOBS = "tests.support.kill_jobs"

# One write of each surface, those with the most steps: a kill costs two processes.
RECOVERIES = (
    "memory_save superseding",
    "memory_save global",
    "kb_add_file replacing",
    "skill_upsert replacing",
    "kb_add_path together",
)
JOBS_IN_ORDER = [("kill_everywhere", case) for case in CASES] + [("kill_recovery", case) for case in RECOVERIES]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """In memory where that can be had: what a killed process wrote is there, whether it was synced or not."""
    memory = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="datamind-kill-", dir=memory if memory.is_dir() else None))
    yield place
    shutil.rmtree(place, ignore_errors=True)  # a job that was started ahead may still be writing


class Trials:
    """The jobs in the order of the tests, with one more at work than is asked for."""

    def __init__(self, forks: Forks, folder: Path) -> None:
        self._forks = forks
        self._folder = folder
        self._jobs = JOBS_IN_ORDER
        self._started: dict[tuple[str, str], Child] = {}

    def of(self, *job: str) -> dict[str, Any]:
        """What one job found."""
        place = self._jobs.index(job)  # type: ignore[arg-type]
        for name, case in self._jobs[place : place + 2]:
            if (name, case) not in self._started:
                folder = str(self._folder / name / case)
                self._started[name, case] = self._forks.start(f"{JOBS}:{name}", case=case, folder=folder)
        return self._started[job].result()  # type: ignore[index]


@pytest.fixture(scope="module")
def trials(folder: Path) -> Iterator[Trials]:
    with Forks(folder / "forks", "tests.support.quicker", JOBS) as forks:
        forks.preload(forks.run(f"{JOBS}:modules_of_a_write"))
        yield Trials(forks, folder)


def test_a74_writes_killed_at_any_moment_are_not_begun_or_finished_once(trials: Trials) -> None:
    told = {case: trials.of("kill_everywhere", case) for case in CASES}
    assert {case: found["problems"] for case, found in told.items() if found["problems"]} == {}
    kills = sum(found["kills"] for found in told.values())
    moments = {moment for found in told.values() for moment in found["moments"]}
    print(f"{len(told)} writes: {kills} kills at {len(moments)} kinds of moment")
    assert kills >= (200 if ALL_MOMENTS else 100)
    assert len(moments) >= (25 if ALL_MOMENTS else 20)


def test_recoveries_killed_at_any_moment_are_finished_by_the_next(trials: Trials) -> None:
    told = {case: trials.of("kill_recovery", case) for case in RECOVERIES}
    assert {case: found["problems"] for case, found in told.items() if found["problems"]} == {}
    print(f"{sum(found['kills'] for found in told.values())} kills during recovery")
