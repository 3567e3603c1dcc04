"""Jobs of several processes on one profile, and of one that is interrupted or has no room."""

from __future__ import annotations

import json
import os
import resource
import time
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from datamind.agent import DataMind
from datamind.capabilities.control import schema
from datamind.capabilities.control.control import open_control
from datamind.capabilities.control.database import ControlDB
from datamind.capabilities.memory import service, tools
from datamind.core.errors import DataMindError
from datamind.core.types import Role
from tests.support.kill_jobs import CASES, KEY, arm
from tests.support.ledger_jobs import open_in, request, say, spell
from tests.support.path_jobs import become_nobody


def meet(folder: str, others: int) -> None:
    """Wait until this many processes are here."""
    (Path(folder) / f"here-{os.getpid()}").touch()
    while len(list(Path(folder).glob("here-*"))) < others:
        time.sleep(0.001)


def wait_for_file(path: str | Path) -> None:
    """Wait until a file is there."""
    while not Path(path).exists():
        time.sleep(0.005)


def append(folder: str, records: int, others: int) -> None:
    """Append records to one chain, each in a transaction of its own."""
    control = open_control("default", Path(folder) / "storage" / "default", Path(folder) / "keys")
    meet(folder, others)
    for number in range(records):
        control.db.write_now(
            lambda db, number=number: control.audit.append(db, "tested", trace_id="trace_1", number=number)
        )
    control.close()


def make(folder: str, others: int) -> int:
    """Open a file that is not there yet at the same moment as the others, with a second version to reach."""
    schema.MIGRATIONS = (*schema.MIGRATIONS, "CREATE TABLE later (x); INSERT INTO later VALUES (1)")  # type: ignore[misc]
    meet(folder, others)
    db = ControlDB(Path(folder) / "control.db")
    db.create()
    rows = db.read_now(lambda connection: connection.execute("SELECT count(*) FROM later").fetchone()[0])
    db.close()
    return int(rows)


async def write_many(folder: str, name: str, writes: int, others: int) -> list[dict[str, Any]]:
    """Documents and memories of one process."""
    system = await open_in(folder)
    meet(folder, others)
    told = []
    for number in range(writes // 2):
        text = f"{name} says {number}"
        told.append(spell(await system.call("kb_add_text", {"text": text}, role=Role.STORE)))
        told.append(spell(await system.call("memory_save", {"text": text}, role=Role.STORE)))
    await system.aclose()
    return told


async def write_until(folder: str, name: str, stop: str) -> None:
    """Writes of every kind with keys of their own, until a file is there; each is told before and after."""
    system = await open_in(folder)
    say("ready")
    for number in count():
        if Path(stop).exists():
            break
        tool = ("memory_save", "kb_add_text", "skill_upsert")[number % 3]
        arguments: dict[str, Any] = {"text": f"{name} says {number}"}
        if tool == "skill_upsert":
            arguments = {"name": f"skill-{name}-{number}", "description": f"From {name}", "body": f"Do {number}."}
        say(json.dumps({"key": f"{name}-{number}"}))
        told = spell(await system.call(tool, arguments, role=Role.STORE, ctx=request(system, f"{name}-{number}")))
        say(json.dumps({"key": f"{name}-{number}", **told}))
    await system.aclose()


async def write_same(folder: str, tool: str, arguments: dict[str, Any], times: int, others: int) -> list[Any]:
    """The same call with the same key, many times at once."""
    system = await open_in(folder)
    meet(folder, others)
    told: list[Any] = []

    async def write() -> None:
        told.append(spell(await system.call(tool, arguments, role=Role.STORE, ctx=request(system, "the-key"))))

    async with anyio.create_task_group() as tasks:
        for _ in range(times):
            tasks.start_soon(write)
    await system.aclose()
    return told


async def write_slowly(folder: str, text: str, where: str, entered: str, go_on: str) -> None:
    """A memory that waits for a file, while it is planned or within the engine; Ctrl-C may come meanwhile."""

    async def wait() -> None:
        Path(entered).touch()
        while not Path(go_on).exists():
            await anyio.sleep(0.005)

    plan, save = tools._plan_save, service.MemoryWrites.save

    async def slow_plan(args: Any, ctx: Any) -> Any:
        await wait()
        async for unit in plan(args, ctx):
            yield unit

    async def slow_save(self: Any, draft: Any) -> Any:
        await wait()
        return await save(self, draft)

    if where == "plan":
        tools._plan_save = slow_plan
    else:
        service.MemoryWrites.save = slow_save  # type: ignore[method-assign]
    system = await open_in(folder)
    try:
        await system.call("memory_save", {"text": text}, role=Role.STORE, ctx=request(system, "the-key"))
        say("returned")
    finally:
        await system.aclose()


async def open_and_write(folder: str, as_nobody: bool = False) -> dict[str, Any]:
    """A memory, of another user if need be; what is said if there is none."""
    if as_nobody:
        become_nobody()
    try:
        system = await open_in(folder)
        try:
            told = spell(await system.call("memory_save", {"text": "high water"}, role=Role.STORE))
        finally:
            await system.aclose()
    except DataMindError as error:
        return {"code": error.code, "message": str(error)}
    return told


async def write_with_little_room(
    case: str, folder: str, max_file_bytes: int = 0, full_at: int = 0, log: str = ""
) -> dict[str, Any]:
    """The write of a case in a process whose files cannot grow beyond a size, or whose disk is full at a moment.

    Also what its own readers see before and after. ``log`` names a file for the moments there are.
    """
    if max_file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    arm("full" if full_at else "log" if log else "", full_at, log)
    try:
        system = await open_in(folder)
    except DataMindError as error:
        return {"is_error": True, "code": error.code, "message": str(error), "receipts": [], "seen": [[], []]}
    before = await _readable(system)
    ctx = request(system, KEY)
    outcome = await system.call(CASES[case].tool, CASES[case].arguments, role=Role.STORE, ctx=ctx)
    after = await _readable(system)
    await system.aclose()
    return {**spell(outcome), "seen": [before, after]}


async def _readable(system: DataMind) -> list[str]:
    found = []
    for tool, arguments in (("kb_search", {"query": "tide water bees cranes"}), ("memory_list", {})):
        outcome = await system.call(tool, arguments, role=Role.RETRIEVE)
        found += sorted(item.content for item in outcome.evidence)
    skill = await system.call("skill_get", {"name": "close-the-shop"}, role=Role.RETRIEVE)
    return found + [item.content for item in skill.evidence]


def fill(folder: str, leave_bytes: int) -> None:
    """Fill a small file system but for some bytes."""
    state = os.statvfs(folder)
    with (Path(folder) / "ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, state.f_bavail * state.f_frsize - leave_bytes))
