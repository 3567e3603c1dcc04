"""One write killed at every moment, and what its profile holds after the next start."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datamind.capabilities.control.contents import ContentStore
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
_VARYING = ("receipt_id", "trace_id", "started_at", "completed_at")


@dataclass(frozen=True)
class Case:
    """A write, and what must be there before it.

    Attributes:
        before: Writes of earlier processes.
        files: Files of the profile, there from the start.
        changed: Files as they are when the write begins.
        selects: The tool finds what it means in the store, so a second call of it finds nothing.
    """

    tool: str
    arguments: Mapping[str, Any]
    before: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    selects: bool = False


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
    "kb_add_text large": Case("kb_add_text", {"text": "The tide turns twice a day.\n" * 10_000, "title": "Long"}),
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
    "kb_delete": Case(
        "kb_delete", {"query": "Tides"}, before=(("kb_add_text", {"text": _TEXT, "title": "Tides"}),), selects=True
    ),
    "skill_upsert": Case("skill_upsert", _SKILL),
    "skill_upsert replacing": Case(
        "skill_upsert", {**_SKILL, "body": "Lock both doors."}, before=(("skill_upsert", _SKILL),)
    ),
    "skill_delete": Case("skill_delete", {"name": "close-the-shop"}, before=(("skill_upsert", _SKILL),), selects=True),
}


def kill_everywhere(case: str, folder: str) -> dict[str, Any]:
    """Kill the write of a case at each of its moments in turn."""
    trial = _Trial(CASES[case], Path(folder))
    problems = [
        f"killed {moment}: {problem}"
        for number, moment in enumerate(trial.moments, 1)
        for problem in trial.kill_write(number)
    ]
    return {"kills": len(trial.moments), "moments": trial.moments, "problems": problems}


def kill_recovery(case: str, folder: str) -> dict[str, Any]:
    """Kill the write where an intent is left open, then the next start at each of its moments in turn."""
    trial = _Trial(CASES[case], Path(folder))
    kills, problems = 0, []
    for number in trial.open_moments():
        for again, moment in enumerate(trial.recovery_moments(number), 1):
            kills += 1
            where = f"killed {trial.moments[number - 1]}, then {moment}"
            problems += [f"{where}: {problem}" for problem in trial.kill_recovery(number, again)]
    return {"kills": kills, "problems": problems}


class _Trial:
    """A case, its crash-free run, and copies of its profile that die."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.folder = folder
        self._numbers = iter(range(1_000_000))
        self.base = folder / "base"
        self.base.mkdir(parents=True)
        self._run("prepare", self.base)
        self.before = ledger_of(self.base)
        clean, self.log = self._copy(self.base), folder / "moments.txt"
        outcome = self._run("write", clean, action="log", log=str(self.log), states=True)
        self.moments = self.log.read_text().splitlines()
        self.states = outcome["states"]
        self.receipts = [_steady(receipt) for receipt in outcome["receipts"]]
        assert outcome["receipts"] and not outcome["is_error"], outcome

    def kill_write(self, number: int) -> list[str]:
        place = self._copy(self.base)
        status, acknowledged = self._die("write", place, number)
        problems = [] if status == -signal.SIGKILL else [f"it ended with {status}"]
        self._run("recover", place)
        problems += self._problems(place, acknowledged)
        shutil.rmtree(place)
        return problems

    def open_moments(self) -> list[int]:
        """The first and the last moment that leave an intent open, and the first after the engine has the write."""
        chosen: dict[str, int] = {}
        for number in range(1, len(self.moments) + 1):
            place = self._copy(self.base)
            self._die("write", place, number)
            state = ",".join(sorted(set(ledger_of(place)["keys"].values())))
            chosen.setdefault(f"{state} {on_disk(place) == self.states[0]}", number)
            shutil.rmtree(place)
        return [number for state, number in chosen.items() if "intent" in state or "applied" in state]

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
        self._run("recover", place)
        problems += self._problems(place, acknowledged)
        shutil.rmtree(place)
        return problems

    def _problems(self, place: Path, acknowledged: list[Any]) -> list[str]:
        ledger, disk = ledger_of(place), on_disk(place)
        new = ledger["receipts"][len(self.before["receipts"]) :]
        problems = [f"intent {key} is still open" for key in ledger["open"]]
        problems += [f"owner file {name} is left" for name in ledger["owners"]]
        problems += ledger["audit"]
        problems += [f"{path} is left" for path in _drafts(place)]
        if [_steady(receipt) for receipt in new] != self.receipts[: len(new)]:
            problems.append(f"receipts {_brief(new)} instead of {_brief(self.receipts)}")
        if disk != self.states[min(len(new), len(self.states) - 1)]:
            problems.append(f"after {len(new)} receipts the stores hold {disk}")
        problems += [
            f"the acknowledged {receipt['receipt_id']} is lost" for receipt in acknowledged if receipt not in new
        ]
        return problems + self._retried(place)

    def _retried(self, place: Path) -> list[str]:
        outcome = self._run("write", place)
        receipts = [_steady(receipt) for receipt in outcome["receipts"]]
        problems = []
        if outcome["is_error"] or (receipts != self.receipts and not (self.case.selects and not receipts)):
            problems.append(f"tried again with the same key: {_brief(receipts)} {outcome['message']}")
        if on_disk(place) != self.states[-1]:
            problems.append(f"tried again with the same key, the stores hold {on_disk(place)}")
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
        name = next(name for name, case in CASES.items() if case is self.case)
        return {"folder": str(place)} if job == "recover" else {"case": name, "folder": str(place)}

    def _copy(self, source: Path) -> Path:
        return Path(shutil.copytree(source, self.folder / f"copy-{next(self._numbers)}"))

    def _out(self) -> Path:
        out = self.folder / f"out-{next(self._numbers)}"
        out.mkdir()
        return out


async def prepare(case: str, folder: str) -> None:
    """The profile as the write finds it."""
    wanted = CASES[case]
    _write_files(Path(folder), wanted.files)
    system = await open_in(folder)
    for number, (tool, arguments) in enumerate(wanted.before):
        outcome = await system.call(tool, arguments, role=Role.STORE, ctx=request(system, f"before-{number}"))
        assert not outcome.is_error and outcome.receipts, outcome
    await system.aclose()
    _write_files(Path(folder), wanted.changed)


async def write(
    case: str, folder: str, action: str = "", at: int = 0, log: str = "", states: bool = False
) -> dict[str, Any]:
    """The write of a case; every receipt is told at once, as an application would show it."""
    _arm(action, at, log)
    system = await open_in(folder)
    seen = [on_disk(folder)] if states else []

    def progress(done: int, label: str) -> None:
        if states:
            seen.append(on_disk(folder))

    ctx = request(system, KEY, progress=progress)
    outcome = await system.call(CASES[case].tool, CASES[case].arguments, role=Role.STORE, ctx=ctx)
    told = spell(outcome)
    for receipt in told["receipts"]:
        say(json.dumps(receipt))
    await system.aclose()
    return {**told, "states": seen}


async def recover(folder: str, action: str = "", at: int = 0, log: str = "") -> None:
    """The next start after a crash."""
    _arm(action, at, log)
    await (await open_in(folder)).aclose()


def _arm(action: str, at: int, log: str) -> None:
    if not action:
        return
    points = Failpoints(action, at, Path(log) if log else None)  # type: ignore[arg-type]
    points.arm()
    points.around(ContentStore, "prepare", "content prepared")
    points.around(ledger, "_apply", "handler")
    points.around(MemoryVectorStore, "put_document", "engine commit of the KB")
    points.around(SourceLog, "put", "sources registered")
    points.around(WriteSide, "sync", "sync")
    points.around(ledger.IngestLedger, "_read_back", "read-back")


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / "data" / "profiles" / "default" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _drafts(place: Path) -> list[str]:
    found = [path for path in place.rglob(".*") if path.is_file()]
    return [str(path.relative_to(place)) for path in [*found, *place.rglob("memory.db.new_*")]]


def _steady(receipt: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in receipt.items() if key not in _VARYING}


def _brief(receipts: list[Any]) -> list[str]:
    return [f"{receipt['tool']} {receipt['result']['operation']} {receipt['result']['status']}" for receipt in receipts]


if __name__ == "__main__":  # a look at one case: python -m tests.support.kill_jobs FOLDER CASE
    import sys

    print(json.dumps(kill_everywhere(sys.argv[2], sys.argv[1]), indent=1))
    asyncio.set_event_loop(None)
