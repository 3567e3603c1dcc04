"""A full disk at every point of a write: a failed receipt or a clear error, nothing half there, and it opens again."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forks import Forks
from tests.support.ledger_jobs import on_disk
from tests.support.process_jobs import fill

JOBS = "tests.support.process_jobs"
KILL_JOBS = "tests.support.kill_jobs"
WRITES = ("memory_save superseding", "kb_add_text large", "kb_add_path", "skill_upsert replacing")
KIB = 1024
MOMENTS = ("before fsync", "before replace", "before commit", "before sync", "before read-back")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks"), "tests.support.quicker", JOBS, KILL_JOBS) as running:
        running.preload(running.run(f"{KILL_JOBS}:modules_of_a_write"))
        yield running


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("no file system can be mounted here; the test with a limit on file sizes covers it")
    yield place
    subprocess.run(["umount", place], check=True)


class Trial:
    """One write in profiles that are copies of each other, with less and less room."""

    def __init__(self, forks: Forks, case: str, folder: Path) -> None:
        self.forks, self.case, self.folder = forks, case, folder
        self.base = folder / "base"
        self.base.mkdir()
        forks.run(f"{KILL_JOBS}:prepare", case=case, folder=str(self.base))
        self.before = on_disk(self.base)
        clean = self.copy("clean")
        told = forks.run(f"{KILL_JOBS}:write", case=case, folder=str(clean), states=True)
        self.states = told["states"]
        shutil.rmtree(clean)

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(self.base, self.folder / name))

    def check(self, place: Path, told: dict[str, Any]) -> str:
        """Fails unless all is well; returns how the write ended."""
        statuses = [receipt["result"]["status"] for receipt in told["receipts"]]
        if told["is_error"]:
            assert told["code"].partition(".")[0] in ("store_error", "config_invalid", "integrity_error"), told
            assert told["message"]
            assert "\n" not in told["message"]
        else:
            assert on_disk(place) == self.states[-1]
        if set(statuses) == {"failed"}:
            assert told["seen"][0] == told["seen"][1], "a failed write is seen"
        self.check_next_start(place, told["receipts"], statuses)
        return str(told["code"]) if told["is_error"] else "stored"

    def check_next_start(self, place: Path, receipts: list[Any], statuses: list[str]) -> None:
        seen = self.forks.run(f"{KILL_JOBS}:recover_and_retry", case=self.case, folder=str(place))
        recovered, retried = seen["recovered"], seen["retried"]
        assert (recovered["ledger"]["open"], recovered["ledger"]["audit"]) == ({}, [])
        assert all(receipt in recovered["ledger"]["receipts"] for receipt in receipts)
        assert _is_between(recovered["disk"], self.states[0], self.states[-1])
        if set(statuses) == {"failed"}:
            assert recovered["disk"] == self.states[0], "a failed write has left something"
        assert not _refused(recovered) & _resting_on(recovered), "a failed write has left something"
        assert (retried["is_error"], retried["ledger"]["audit"]) == (False, []), retried["message"]
        # What was applied and not acknowledged has its receipt from the start before: never `unchanged`.
        assert {receipt["result"]["status"] for receipt in retried["receipts"]} == {"stored"}
        assert retried["disk"] == self.states[-1]


def _refused(seen: dict[str, Any]) -> set[str]:
    return {one["receipt_id"] for one in seen["ledger"]["receipts"] if one["result"]["status"] == "failed"}


def _resting_on(seen: dict[str, Any]) -> set[str]:
    """Receipts that what can be found rests on."""
    return set(seen["ledger"]["held"])


def _is_between(found: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether every document of a folder is as it was or as it should be, and everything else is one of the two."""
    rows = found["sources"]["default"]
    known = [*before["sources"]["default"], *after["sources"]["default"]]
    others = [{**state, "sources": {}} for state in (found, before, after)]
    return all(row in known for row in rows) and others[0] in others[1:]


@pytest.mark.parametrize("case", WRITES)
def test_files_that_cannot_grow(forks: Forks, tmp_path: Path, case: str) -> None:
    trial = Trial(forks, case, tmp_path)
    ends = []
    for number, limit in enumerate((0.5, 4, 12, 20, 28, 36, 44, 60, 92, 4096)):
        place = trial.copy(str(number))
        told = forks.run(
            f"{JOBS}:write_with_little_room", case=case, folder=str(place), max_file_bytes=int(limit * KIB)
        )
        ends.append(trial.check(place, told))
        shutil.rmtree(place)
    assert ends[-1] == "stored"
    assert len(set(ends)) > 1, "the limit was never reached"


@pytest.mark.parametrize("case", WRITES)
def test_a_small_file_system_that_is_full(forks: Forks, small_disk: Path, case: str) -> None:
    trial = Trial(forks, case, small_disk)
    ends = []
    for number, room in enumerate((0, 8, 20, 28, 36, 44, 52, 60, 84, 132, 196, 768)):
        place = trial.copy(str(number))
        fill(str(small_disk), room * KIB)
        told = forks.run(f"{JOBS}:write_with_little_room", case=case, folder=str(place))
        (small_disk / "ballast").unlink()
        ends.append(trial.check(place, told))
        shutil.rmtree(place)
    assert ends[-1] == "stored"
    assert len(set(ends)) > 1, "the disk was never full"


@pytest.mark.parametrize("case", WRITES)
def test_no_room_at_each_moment_in_turn(forks: Forks, tmp_path: Path, case: str) -> None:
    full_at_each_moment(forks, tmp_path, case)


def full_at_each_moment(forks: Forks, folder: Path, case: str) -> int:
    """How many moments of a write found the disk full; each ended as it should."""
    trial = Trial(forks, case, folder)
    log = folder / "moments.txt"
    forks.run(f"{JOBS}:write_with_little_room", case=case, folder=str(trial.copy("counted")), log=str(log))
    ends = []
    for number, moment in enumerate(log.read_text().splitlines(), 1):
        if not moment.startswith(MOMENTS):
            continue
        place = trial.copy(str(number))
        told = forks.run(f"{JOBS}:write_with_little_room", case=case, folder=str(place), full_at=number)
        ends.append(trial.check(place, told))
        shutil.rmtree(place)
    assert "store_error.disk_full" in ends
    return len(ends)
