"""What the areas share: how time is taken and what a row of the table holds."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

RUNS = 5
PEER_TIMEOUT_S = 600


@dataclass(frozen=True)
class Row:
    """One line of the table; times in seconds, ratio = ours / peer's."""

    what: str
    ours_s: float
    peer: str
    peer_s: float
    max_ratio: float

    def __str__(self) -> str:
        ratio = self.ours_s / self.peer_s
        verdict = "met" if ratio <= self.max_ratio else "MISSED"
        return (
            f"{self.what:<24} {self.ours_s * 1000:>9.1f} ms {self.peer:<24} {self.peer_s * 1000:>9.1f} ms "
            f"{ratio:>6.2f} x  goal {self.max_ratio:g} x {verdict}"
        )


def medians_s(actions: Sequence[Callable[[], object]]) -> list[float]:
    """Median wall time of each action, run in turn so that a slow moment of the machine meets all of them."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(RUNS):
        for action, taken in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            taken.append(time.perf_counter() - start)
    return [median(taken) for taken in times]


@dataclass
class Taken:
    """What something took for ``count`` items. CPU seconds are those of this process."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    count: int = 1


@contextmanager
def taking(count: int = 1) -> Iterator[Taken]:
    """Fills in what the block took, at its end."""
    taken = Taken(count=count)
    cpu, wall = time.process_time(), time.perf_counter()
    yield taken
    taken.cpu_s, taken.wall_s = time.process_time() - cpu, time.perf_counter() - wall


def middle(runs: Sequence[Taken]) -> Taken:
    """The median of several runs of one thing."""
    return Taken(median(run.wall_s for run in runs), median(run.cpu_s for run in runs), runs[0].count)


@dataclass(frozen=True)
class Peer:
    """What a script of ``peers/`` measured, by name; ``missing`` says why it did not."""

    name: str
    settings: str = ""
    results: Mapping[str, Taken] = field(default_factory=dict)
    missing: str = ""

    def __str__(self) -> str:
        return f"peer {self.name}: {self.missing or self.settings}"

    def beside(self, what: str, ours: Taken, *, max_ratio: float | None = None) -> str:
        """The row below ours: what the peer took for each item, and our share of that; below 1 we are faster.

        A goal is met or missed by CPU time, which holds better than wall time on a shared machine.
        """
        theirs = self.results.get(what)
        if theirs is None:
            return f"  {what}: not measured, {self.missing or f'{self.name} has no such thing'}"
        wall, cpu = (
            (mine / ours.count) / (other / theirs.count)
            for mine, other in ((ours.wall_s, theirs.wall_s), (ours.cpu_s, theirs.cpu_s))
        )
        goal = "" if max_ratio is None else f"  goal {max_ratio:.3g} x {'met' if cpu <= max_ratio else 'MISSED'}"
        return (
            f"  {f'{what}: {self.name}':<56} {theirs.count / theirs.cpu_s:>9,.1f}/CPU s  "
            f"{theirs.wall_s / theirs.count * 1000:>9.3f} ms each  ours / theirs: {wall:.3f} x, CPU {cpu:.3f} x{goal}"
        )


def run_peer(script: str, folder: Path, *, environment: str = "peers") -> Peer:
    """Runs ``peers/<script>.py FOLDER`` with the Python of that environment of ``nox -s bench``.

    The script reads what it needs from the folder and prints, as its last line, JSON with ``name`` (with version),
    ``settings`` and ``results``: for each name ``wall_s``, ``cpu_s`` and ``count``.
    """
    python = os.environ.get(f"DATAMIND_BENCH_{environment.upper()}")
    if python is None:
        return Peer(script, missing=f"the environment bench-{environment} is not installed; nox -s bench does it")
    command = [python, str(Path(__file__).parent / "peers" / f"{script}.py"), str(folder)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PEER_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Peer(script, missing=f"it took longer than {PEER_TIMEOUT_S} s")
    if run.returncode:
        return Peer(script, missing=f"it failed: {(run.stderr.strip() or 'no message').splitlines()[-1][:300]}")
    said = json.loads(run.stdout.splitlines()[-1])
    results = {what: Taken(**taken) for what, taken in said["results"].items()}
    return Peer(said["name"], said["settings"], results)
