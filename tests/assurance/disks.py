"""Disks that are full at each step of a write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.assurance.figures import Figure
from tests.integration.test_ledger_full_disk import WRITES, full_at_each_moment
from tests.support.forks import Forks

JOBS = "tests.support.process_jobs"
KILL_JOBS = "tests.support.kill_jobs"


def figures(folder: Path) -> Iterator[Figure]:
    """A failed receipt or a clear error, nothing half there, stores that open again, and the retry stores."""
    with Forks(folder / "forks", "tests.support.quicker", JOBS, KILL_JOBS) as forks:
        forks.preload(forks.run(f"{KILL_JOBS}:modules_of_a_write"))
        steps = 0
        for case in WRITES:
            place = folder / case
            place.mkdir()
            steps += full_at_each_moment(forks, place, case)
    yield Figure("full disk", f"{steps} of {steps} steps survived, {len(WRITES)} writes")
