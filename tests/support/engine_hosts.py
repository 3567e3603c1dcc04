"""Hosts of the engines in `tests.support.engines`, and what the system says of processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datamind.engine_host import EngineHost, EngineSpec


def bench(factory: str = "Bench", **changes: Any) -> EngineSpec:
    """The spec of an engine of `tests.support.engines`."""
    return EngineSpec("bench", f"tests.support.engines:{factory}", **changes)


async def pid_of(host: EngineHost) -> int:
    return int((await host.call("pid", deadline_s=10, retry=True)).value)


def is_running(pid: int) -> bool:
    """Whether a process exists and is not just waiting to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


def children() -> set[int]:
    """Children of this process, zombies too."""
    own = str(os.getpid())
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == own:
            found.add(int(path.parent.name))
    return found


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def until(condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.01)


def lines(journal: Path) -> list[str]:
    return journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
