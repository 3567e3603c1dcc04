"""What the areas share: how time is taken and what a row of the table holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

RUNS = 5


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
