"""What the scripts here share. They run with other environments: nothing but the standard library."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any


def taken(action: Callable[[], Any], *, count: int = 1, runs: int = 1) -> dict[str, float]:
    """Median wall and CPU seconds of an action that does ``count`` things."""
    wall, cpu = [], []
    for _ in range(runs):
        cpu_start, start = time.process_time(), time.perf_counter()
        action()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    return {"wall_s": median(wall), "cpu_s": median(cpu), "count": count}


def names(*distributions: str) -> str:
    return " + ".join(f"{name} {version(name)}" for name in distributions)


def report(name: str, settings: str, results: dict[str, dict[str, float]]) -> None:
    print(json.dumps({"name": name, "settings": settings, "results": results}))
