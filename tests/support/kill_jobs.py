"""One write killed at every moment, and what its profile holds after the next start."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from datamind.capabilities.control import contents
from datamind.capabilities.control.sources import SourceLog
from datamind.capabilities.ingest import ledger
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.capabilities.sides import WriteSide
from datamind.core.types import Role
from datamind.testing.failpoints import Failpoints
from tests.support.forks import fork, wait_for
from tests.support.ledger_jobs import ledger_of, on_disk, open_in, request, say, spell

SINCE = "2026-03-01T08:00:00+00:00"
KEY = "the-write"
ALL_MOMENTS = "DATAMIND_TEST_KILLS" in os.environ
THOROUGHLY = ("memory_save", "kb_add_file replacing", "kb_add_path together") if ALL_MOMENTS else ("memory_save",)
"""Cases that are killed at every moment. The others are at one for each thing that the disk can look like."""

_DURABLE = re.compile("after (fsync|replace|link|unlink|rmdir|commit of )")
_SWEPT_LATER = {"blobs", "skills"}
"""Folders whose drafts another process could still be writing: what is an hour old is swept by the next write."""

_VARYING = ("receipt_id", "trace_id", "started_at", "completed_at")


@dataclass(frozen=True)
class Case:
    """A write, and what must be there before it.

    Attributes:
        before: Writes of earlier processes.
        files: Files of the profile, there from the start.
        changed: Files as they are when the write begins.
        selects: The tool finds what it means in the store, so a second call of it means nothing, or something else.
        fails_partly: One of its units is refused.
        has_key: The call has an idempotency key; units of one that has none may share a commit.
    """

    tool: str
    arguments: Mapping[str, Any]
    before: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    selects: bool = False
    has_key: bool = True
    fails_partly: bool = False


def _fact(value: str, **more: Any) -> dict[str, Any]:
    fact = {"subject": "user", "attribute": "residence", "value": value, "functional": True, "valid_from": SINCE}
    return {"text": f"I live in {value}.", "kind": "fact", **fact, **more}


_SKILL = {"name": "close-the-shop", "description": "How to close the shop", "body": "Lock the door."}
_SAVED = ("memory_save", {"text": "The parrot is called Moss.", "valid_from": SINCE})
_TEXT = "# Tides\n\nThe ferry sails at high water.\n"

CASES: dict[str, Case] = {
    "memory_save": Case(*_SAVED),
    "memory_save superseding": Case(
        "memory_save",
        _fact("Bergen", valid_from="2026-04-01T08:00:00+00:00"),
        before=(("memory_save", _fact("Oslo")),),
    ),
    "memory_save global": Case("memory_save", {**_SAVED[1], "scope": "global"}),
    "memory_update": Case(
        "memory_update",
        {"query": "parrot called", "text": "The parrot is called Fern.", "valid_from": "2026-04-01T08:00:00+00:00"},
        before=(_SAVED,),
        selects=True,
    ),
    "memory_forget": Case("memory_forget", {"query": "parrot called"}, before=(_SAVED,), selects=True),
    "kb_add_text": Case("kb_add_text", {"text": _TEXT, "title": "Tides"}),
    "kb_add_text large": Case("kb_add_text", {"text": "The tide turns twice a day.\n" * 200, "title": "Long"}),
    "kb_add_file": Case("kb_add_file", {"path": "tides.md"}, files={"tides.md": _TEXT}),
    "kb_add_file replacing": Case(
        "kb_add_file",
        {"path": "tides.md"},
        before=(("kb_add_file", {"path": "tides.md"}),),
        files={"tides.md": _TEXT},
        changed={"tides.md": _TEXT.replace("high", "low")},
    ),
    "kb_add_path": Case(
        "kb_add_path",
        {"path": "notes"},
        files={"notes/a.md": _TEXT, "notes/b.txt": "Bees sleep at night.", "notes/c.txt": "Cranes fly south."},
    ),
    "kb_add_path together": Case(
        "kb_add_path",
        {"path": "notes"},
        before=(("kb_add_path", {"path": "notes"}),),
        files={"notes/a.md": _TEXT, "notes/b.txt": "Bees sleep at night.", "notes/e.txt": "Eels migrate."},
        changed={"notes/a.md": _TEXT.replace("high", "low"), "notes/c.txt": "Cranes fly south.", "notes/d.txt": " "},
        has_key=False,
        fails_partly=True,
    ),
    "kb_delete": Case(
        "kb_delete", {"query": "Tides"}, before=(("kb_add_text", {"text": _TEXT, "title": "Tides"}),), selects=True
    ),
    "skill_upsert": Case("skill_upsert", _SKILL),
    "skill_upsert replacing": Case(
        "skill_upsert", {**_SKILL, "body": "Lock both doors."}, before=(("skill_upsert", _SKILL),)
    ),
    "skill_delete": Case("skill_delete", {"name": "close-the-shop"}, before=(("skill_upsert", _SKILL),), selects=True),
}


def modules_of_a_write() -> list[str]:
    """What every case imports on its way, so that a process that forks can have it already."""
    for name in CASES:
        with TemporaryDirectory() as folder:
            asyncio.run(prepare(name, folder))
            asyncio.run(write(name, folder))
    return [name for name in sys.modules if not name.startswith("encodings.")]


def kill_everywhere(case: str, folder: str) -> dict[str, Any]:
    """Kill the write of a case at each of its moments in turn."""
    trial = _Trial(case, Path(folder))
    chosen = trial.chosen()
    problems = [
        f"killed {trial.moments[number - 1]}: {problem}" for number in chosen for problem in trial.kill_write(number)
    ]
    return {"kills": len(chosen), "moments": [trial.moments[number - 1] for number in chosen], "problems": problems}


def kill_recovery(case: str, folder: str) -> dict[str, Any]:
    """Kill the write where an intent is left open, then the next start at each of its moments in turn."""
    trial = _Trial(case, Path(folder))
    kills, problems = 0, []
    for number in trial.open_moments():
        moments = trial.recovery_moments(number)
        for again in _durable(moments):
            kills += 1
            where = f"killed {trial.moments[number - 1]}, then {moments[again - 1]}"
            problems += [f"{where}: {problem}" for problem in trial.kill_recovery(number, again)]
    return {"kills": kills, "problems": problems}


class _Trial:
    """A case, its crash-free run, and copies of its profile that die."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.case = CASES[name]
        self.folder = folder
        self._numbers = count()
        self.base = folder / "base"
        self.base.mkdir(parents=True)
        self._run("prepare", self.base)
        self.known = len(ledger_of(self.base)["receipts"])
        log = folder / "moments.txt"
        outcome = self._run("write", self._copy(self.base), action="log", log=str(log), states=True)
        assert outcome["receipts"] and outcome["is_error"] == self.case.fails_partly, outcome
        self.moments = log.read_text().splitlines()
        self.states = outcome["states"]
        self.receipts = [steady(receipt) for receipt in outcome["receipts"]]

    def chosen(self) -> list[int]:
        """Moments of the write: all of them, or one for each thing the disk can look like."""
        return [*range(1, len(self.moments) + 1)] if self.name in THOROUGHLY else _durable(self.moments)

    def kill_write(self, number: int) -> list[str]:
        place = self._copy(self.base)
        status, acknowledged = self._die("write", place, number)
        problems = [] if status == -signal.SIGKILL else [f"it ended with {status}"]
        return problems + self._problems(place, acknowledged)

    def open_moments(self) -> list[int]:
        """A moment that leaves an intent open, and one when the engine has the write."""
        chosen: dict[tuple[str, bool], int] = {}
        for number in self.chosen():
            place = self._copy(self.base)
            self._die("write", place, number)
            state = next(iter(ledger_of(place)["open"].values()), "")
            chosen.setdefault((state, on_disk(place) == self.states[0]), number)
            shutil.rmtree(place)
        found = [number for (state, _), number in chosen.items() if state]
        return found if self.name in THOROUGHLY else found[-1:]

    def recovery_moments(self, number: int) -> list[str]:
        place, log = self._copy(self.base), self.folder / "recovery.txt"
        log.unlink(missing_ok=True)
        self._die("write", place, number)
        self._run("recover", place, action="log", log=str(log))
        return log.read_text().splitlines()

    def kill_recovery(self, number: int, again: int) -> list[str]:
        place = self._copy(self.base)
        _, acknowledged = self._die("write", place, number)
        status, _ = self._die("recover", place, again)
        problems = [] if status == -signal.SIGKILL else [f"the recovery ended with {status}"]
        return problems + self._problems(place, acknowledged)

    def _problems(self, place: Path, acknowledged: list[Any]) -> list[str]:
        told = self._run("recover_and_retry", place)
        problems = self._after_recovery(told["recovered"], acknowledged)
        problems += self._after_retry(told["retried"]) if self.case.has_key else self._after_another(told["retried"])
        drafts = [path.relative_to(place) for path in place.rglob(".*") if path.is_file()]
        problems += [f"{path} is left" for path in drafts if _SWEPT_LATER.isdisjoint(path.parts)]
        problems += [f"the lock file {path.name} is left" for path in place.rglob("*.lock")]
        shutil.rmtree(place)
        return problems

    def _after_recovery(self, told: Mapping[str, Any], acknowledged: list[Any]) -> list[str]:
        new = told["ledger"]["receipts"][self.known :]
        problems = [f"intent {key} is still open" for key in told["ledger"]["open"]] + told["ledger"]["audit"]
        if [steady(receipt) for receipt in new] != self.receipts[: len(new)]:
            problems.append(f"receipts {_brief(new)} instead of {_brief(self.receipts)}")
        if told["disk"] != self.states[min(len(new), len(self.states) - 1)]:
            problems.append(f"after {len(new)} receipts the stores hold {told['disk']}")
        return problems + [f"{known['receipt_id']} was acknowledged" for known in acknowledged if known not in new]

    def _after_retry(self, told: Mapping[str, Any]) -> list[str]:
        receipts, problems = [steady(receipt) for receipt in told["receipts"]], list(told["ledger"]["audit"])
        same = receipts == self.receipts and not told["is_error"]
        if not same and not (self.case.selects and not receipts and told["code"] in ("", "conflict")):
            problems.append(f"tried again with the same key: {_brief(receipts)} {told['message']}")
        if told["disk"] != self.states[-1]:
            problems.append(f"tried again with the same key, the stores hold {told['disk']}")
        return problems

    def _after_another(self, told: Mapping[str, Any]) -> list[str]:
        """A call without a key is another call: whatever was stored is there already."""
        receipts, problems = told["receipts"], list(told["ledger"]["audit"])
        if {receipt["source"]["uri"] for receipt in receipts} != {one["source"]["uri"] for one in self.receipts}:
            problems.append(f"called again: {_brief(receipts)} {told['message']}")
        if told["disk"] != self.states[-1]:
            problems.append(f"called again, the stores hold {told['disk']}")
        return problems

    def _die(self, job: str, place: Path, at: int) -> tuple[int, list[Any]]:
        out = self._out()
        status = wait_for(fork(f"{__name__}:{job}", {**self._arguments(job, place), "action": "kill", "at": at}, out))
        return status, [json.loads(line) for line in (out / "printed.txt").read_text().splitlines() if line[:1] == "{"]

    def _run(self, job: str, place: Path, **options: Any) -> Any:
        out = self._out()
        status = wait_for(fork(f"{__name__}:{job}", {**self._arguments(job, place), **options}, out))
        assert status == 0, (out / "printed.txt").read_text()
        return json.loads((out / "result.json").read_text())

    def _arguments(self, job: str, place: Path) -> dict[str, Any]:
        return {"folder": str(place)} if job == "recover" else {"case": self.name, "folder": str(place)}

    def _copy(self, source: Path) -> Path:
        return Path(shutil.copytree(source, self.folder / f"copy-{next(self._numbers)}"))

    def _out(self) -> Path:
        out = self.folder / f"out-{next(self._numbers)}"
        out.mkdir()
        return out


async def prepare(case: str, folder: str) -> None:
    """The profile as the write finds it."""
    wanted = CASES[case]
    write_files(Path(folder), wanted.files)
    system = await open_in(folder)
    for number, (tool, arguments) in enumerate(wanted.before):
        outcome = await system.call(tool, arguments, role=Role.STORE, ctx=request(system, f"before-{number}"))
        assert not outcome.is_error and outcome.receipts, outcome
    await system.aclose()
    write_files(Path(folder), wanted.changed)


async def write(
    case: str, folder: str, action: str = "", at: int = 0, log: str = "", states: bool = False
) -> dict[str, Any]:
    """The write of a case; every receipt is told at once, as an application would show it."""
    arm(action, at, log)
    system = await open_in(folder)
    seen = [on_disk(folder)] if states else []

    def progress(done: int, label: str) -> None:
        if states:
            seen.append(on_disk(folder))

    ctx = request(system, KEY if CASES[case].has_key else "", progress=progress)
    outcome = await system.call(CASES[case].tool, CASES[case].arguments, role=Role.STORE, ctx=ctx)
    told = spell(outcome)
    for receipt in told["receipts"]:
        say(json.dumps(receipt))
    await system.aclose()
    return {**told, "states": seen}


async def recover(folder: str, action: str = "", at: int = 0, log: str = "") -> None:
    """The next start after a crash."""
    arm(action, at, log)
    await (await open_in(folder)).aclose()


async def recover_and_retry(case: str, folder: str) -> dict[str, Any]:
    """The next start after a crash, and the same call again with the same key."""
    system = await open_in(folder)
    recovered = _seen(folder)
    ctx = request(system, KEY if CASES[case].has_key else "")
    outcome = await system.call(CASES[case].tool, CASES[case].arguments, role=Role.STORE, ctx=ctx)
    retried = {**spell(outcome), **_seen(folder)}
    scope = CASES[case].arguments.get("scope", "profile")
    await system.call("memory_save", {"text": "Life goes on.", "scope": scope}, role=Role.STORE)
    await system.aclose()
    return {"recovered": recovered, "retried": retried}


def _seen(folder: str) -> dict[str, Any]:
    return {"disk": on_disk(folder), "ledger": ledger_of(folder)}


def arm(action: str, at: int, log: str, *, with_children: bool = False) -> None:
    """Let something happen at a moment of this process; at none when no action is given."""
    if not action:
        return
    points = Failpoints(action, at, Path(log) if log else None, with_children=with_children)  # type: ignore[arg-type]
    points.arm()
    points.around(contents.ContentStore, "prepare", "content prepared")
    points.around(ledger.IngestLedger, "_apply", "handler")
    points.around(ledger, "write_together", "writing together")
    points.around(MemoryVectorStore, "put_documents", "engine commit of the KB")
    points.around(SourceLog, "put_all", "sources registered")
    points.around(WriteSide, "sync", "sync")
    points.around(ledger.IngestLedger, "_read_back", "read-back")


def _durable(moments: list[str]) -> list[int]:
    return [1, *(number for number, moment in enumerate(moments, 1) if _DURABLE.match(moment))]


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Files of the profile."""
    for name, text in files.items():
        path = folder / "data" / "profiles" / "default" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def steady(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """A receipt without what differs between two runs."""
    told = {key: value for key, value in receipt.items() if key not in _VARYING}
    if not receipt["idempotency_key"].startswith(KEY):
        told["idempotency_key"] = receipt["idempotency_key"].rpartition("#")[2]  # the rest names the request
    return told


def _brief(receipts: list[Any]) -> list[str]:
    return [f"{receipt['tool']} {receipt['result']['operation']} {receipt['result']['status']}" for receipt in receipts]
