"""Processes that are killed: at each moment of each kind of write, at random, and while they recover."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datamind.capabilities.control.intents import IntentLog
from datamind.core.types import Role
from tests.assurance.figures import Figure
from tests.e2e.test_kill_at_random import kill_at_random
from tests.e2e.test_kill_writes import RECOVERIES
from tests.support.engine_kills import open_with_engines
from tests.support.forks import Forks, fork, wait_for
from tests.support.kill_jobs import CASES
from tests.support.ledger_jobs import request

JOBS = "tests.support.kill_jobs"
ENGINES = "tests.support.engine_kills"
POINTS = 25
ENGINE_KILLS = 100
RANDOM_KILLS = 60
MAX_RECOVERY_S = 5.0

KINDS = {
    "text": ("kb_add_text",),
    "file": ("kb_add_file", "kb_add_path"),
    "memory": ("memory_save", "memory_update"),
    "skill": ("skill_upsert",),
    "delete": ("kb_delete", "memory_forget", "skill_delete"),
    "revert": ("revert",),
    "erase": ("erase",),
}
"""By kind, how the names of its cases begin."""


def figures(folder: Path) -> Iterator[Figure]:
    """Every kill is a SIGKILL of a real process; the profile is then opened, and the same call made again."""
    with Forks(folder / "forks", "tests.support.quicker", JOBS) as forks:
        forks.preload(forks.run(f"{JOBS}:modules_of_a_write"))
        yield from _each_moment(forks, folder)
        yield from _recoveries(forks, folder)
        yield _at_random(forks, folder)
    with Forks(folder / "engines", "tests.support.quicker", ENGINES) as forks:
        forks.preload(["datamind_graph_rdflib.store", "datamind_db_duckdb.dialect", "datamind_kb_lancedb.store"])
        yield from _engines(forks, folder)
        yield _recovery_time(forks, folder)


def _each_moment(forks: Forks, folder: Path) -> Iterator[Figure]:
    for kind, beginnings in KINDS.items():
        cases = [case for case in CASES if case.startswith(beginnings)]
        told = [forks.run(f"{JOBS}:kill_everywhere", case=case, folder=str(folder / case)) for case in cases]
        points = sum(found["kills"] for found in told)
        problems = [problem for found in told for problem in found["problems"]]
        value = f"{points - len(problems)} of {points} points survived, {len(cases)} writes"
        yield Figure(f"killed at every moment: {kind}", value, points >= POINTS and not problems, problems)


def _recoveries(forks: Forks, folder: Path) -> Iterator[Figure]:
    told = [forks.run(f"{JOBS}:kill_recovery", case=case, folder=str(folder / f"again {case}")) for case in RECOVERIES]
    kills = sum(found["kills"] for found in told)
    problems = [problem for found in told for problem in found["problems"]]
    yield Figure("killed while recovering", f"{kills - len(problems)} of {kills} survived", not problems, problems)


def _at_random(forks: Forks, folder: Path) -> Figure:
    place = folder / "at-random"
    place.mkdir()
    kill_at_random(forks, place, kills=RANDOM_KILLS)
    return Figure("killed at random beside one that writes on", f"{RANDOM_KILLS} kills, 0 lost, 0 doubled")


def _engines(forks: Forks, folder: Path) -> Iterator[Figure]:
    for surface in ("db", "graph", "kb"):
        place = str(folder / surface)
        found = forks.run(f"{ENGINES}:kill_surface", surface=surface, folder=place, kills=ENGINE_KILLS, seed=20260301)
        value = f"{found['kills']} kills at random, {found['lost']} lost, {found['doubled']} doubled"
        yield Figure(f"killed with its engine: {surface}", value, not found["problems"], found["problems"])


def _recovery_time(forks: Forks, folder: Path) -> Figure:
    """Of imports that were large: the next start, until it may be asked."""
    taken: dict[str, float] = {}
    for number, (surface, rows) in enumerate({"db": 200_000, "graph": 50_000, "kb": 256}.items()):
        place = folder / f"large-{number}"
        told: dict[str, Any] = forks.run(f"{__name__}:killed_import", surface=surface, rows=rows, folder=str(place))
        taken[f"{rows:,} of {surface}"] = told["seconds"]
    value = "; ".join(f"{what} {seconds:.2f} s" for what, seconds in taken.items())
    return Figure("recovery before any reader is admitted", value, max(taken.values()) <= MAX_RECOVERY_S)


def killed_import(surface: str, rows: int, folder: str) -> dict[str, Any]:
    """Kill a large import when the engine has it, and time the next start."""
    place = Path(folder)
    home = place / "data/profiles/default"
    home.mkdir(parents=True)
    tool, arguments = _large(surface, rows, home)
    out = place / "out"
    out.mkdir()
    args = {"folder": folder, "tool": tool, "arguments": arguments}
    status = wait_for(fork(f"{__name__}:die_when_applied", args, out))
    assert status == -9, (status, (out / "printed.txt").read_text())
    again = place / "again"
    again.mkdir()
    assert wait_for(fork(f"{__name__}:start", {"folder": folder}, again)) == 0, (again / "printed.txt").read_text()
    return {"seconds": json.loads((again / "result.json").read_text())}


def _large(surface: str, rows: int, home: Path) -> tuple[str, dict[str, Any]]:
    if surface == "db":
        (home / "rows.csv").write_text("id,name\n" + "".join(f"{n},name {n}\n" for n in range(rows)))
        return "db_import_csv", {"path": "rows.csv"}
    if surface == "graph":
        (home / "facts.nt").write_text(
            "".join(f"<urn:s:{n}> <urn:p:{n % 7}> <urn:s:{n // 2}> .\n" for n in range(rows))
        )
        return "graph_import_path", {"path": "facts.nt"}
    (home / "notes").mkdir()
    for number in range(rows):
        (home / "notes" / f"{number}.md").write_text(f"# Note {number}\n\nThe buoy {number} is green.\n" * 20)
    return "kb_add_path", {"path": "notes"}


async def die_when_applied(folder: str, tool: str, arguments: dict[str, Any]) -> None:
    """Write, and be killed before the receipt."""

    async def die(self: IntentLog, *args: Any, **options: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    system = await open_with_engines(folder)
    IntentLog.finish_all = IntentLog.finish = die  # type: ignore[method-assign, assignment]
    await system.call(tool, arguments, role=Role.STORE, ctx=request(system))


async def start(folder: str) -> float:
    """Seconds until a question may be asked."""
    began = time.monotonic()
    system = await open_with_engines(folder)
    await system.surfaces()
    seconds = time.monotonic() - began
    await system.aclose()
    return seconds
