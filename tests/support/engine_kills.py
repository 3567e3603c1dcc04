"""Writes to the engines, killed with every process they have: before, within and after the engine's own commit."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import count, cycle
from pathlib import Path
from typing import Any

from datamind.agent import DataMind, build_datamind
from datamind.capabilities.ingest import ledger
from datamind.core.protocols.graph import TriplePattern
from datamind.core.types import Role
from datamind.plugins import ProviderKind
from datamind.testing.failpoints import children_of
from tests.support.forks import fork, wait_for
from tests.support.kill_jobs import KEY, Case, arm, steady, write_files
from tests.support.ledger_jobs import HOST, Agreeing, ledger_of, request, say, settings_in, spell

KB = "lancedb" if find_spec("datamind_kb_lancedb") else "memory"

_TABLE = {"people.csv": "id,name\n1,Ada\n2,Bo\n"}
_MORE = {"people.csv": "id,name\n2,Bea\n3,Cy\n"}
_IMPORT = ("db_import_csv", {"path": "people.csv"})
_TRIPLES = [{"subject": "Ada", "predicate": "knows", "object": "Bo"}]
_FACTS = "".join(f"<urn:s:{n % 30}> <urn:p:{n % 5}> <urn:s:{n}> .\n" for n in range(400))
_TEXT = "# Tides\n\nThe ferry sails at high water.\n"

CASES: dict[str, dict[str, Case]] = {
    "db": {
        "replace": Case("db_import_csv", {**_IMPORT[1], "if_exists": "replace"}, (_IMPORT,), _TABLE, _MORE),
        "append": Case(*_IMPORT, before=(_IMPORT,), files=_TABLE, changed=_MORE),
        "upsert": Case(
            "db_import_csv", {**_IMPORT[1], "if_exists": "upsert", "key": ["id"]}, (_IMPORT,), _TABLE, _MORE
        ),
        "records": Case(
            "db_import_records", {"records": [{"id": 3, "name": "Cy"}], "table": "people"}, (_IMPORT,), _TABLE
        ),
        "new table": Case(*_IMPORT, files=_TABLE),
        "drop": Case("db_drop_table", {"table": "people"}, (_IMPORT,), _TABLE, selects=True),
    },
    "graph": {
        "upsert": Case(
            "graph_upsert_triples",
            {"triples": [{"subject": "Bo", "predicate": "knows", "object": "Cy"}]},
            before=(("graph_upsert_triples", {"triples": _TRIPLES}),),
        ),
        "import": Case("graph_import_path", {"path": "facts.nt"}, files={"facts.nt": _FACTS}),
        "delete": Case("graph_delete", _TRIPLES[0], (("graph_upsert_triples", {"triples": _TRIPLES}),), selects=True),
    },
    "kb": {
        "text": Case("kb_add_text", {"text": _TEXT, "title": "Tides"}),
        "file": Case("kb_add_file", {"path": "tides.md"}, files={"tides.md": _TEXT}),
        "replace": Case(
            "kb_add_file",
            {"path": "tides.md"},
            before=(("kb_add_file", {"path": "tides.md"}),),
            files={"tides.md": _TEXT},
            changed={"tides.md": _TEXT.replace("high", "low")},
        ),
        "delete": Case(
            "kb_delete", {"query": "Tides"}, (("kb_add_text", {"text": _TEXT, "title": "Tides"}),), selects=True
        ),
    },
}


def kill_surface(surface: str, folder: str, kills: int, seed: int) -> dict[str, Any]:
    """Kill the writes of a surface in turn; every third time the recovery too.

    Returns the kills that hit, and how many writes were lost, doubled, or otherwise not as they should be.
    """
    dice = random.Random(seed)
    trials = [_Trial(surface, name, Path(folder) / name, dice) for name in list(CASES[surface])[:kills]]
    found: dict[str, Any] = {"kills": 0, "lost": 0, "doubled": 0, "problems": []}
    for trial in cycle(trials):
        if found["kills"] >= kills:
            return found
        told = trial.kill(in_recovery=found["kills"] % 3 == 2)
        for name, value in told.items():
            found[name] += value
    raise AssertionError


class _Trial:
    """A case, its crash-free run, and copies of its profile that die."""

    def __init__(self, surface: str, name: str, folder: Path, dice: random.Random) -> None:
        self._what = {"surface": surface, "name": name}
        self._selects = CASES[surface][name].selects
        self._folder = folder
        self._dice = dice
        self._numbers = count()
        self._base = folder / "base"
        self._base.mkdir(parents=True)
        self._run("prepare", self._base)
        self._known = len(ledger_of(self._base)["receipts"])
        log = folder / "moments.txt"
        told = self._run("write", self._copy(self._base), action="log", log=str(log), look=True)
        assert told["receipts"] and not told["is_error"], told
        self._receipts = [_told(receipt) for receipt in told["receipts"]]
        self._old, self._new, self._seconds = told["before"], told["after"], told["seconds"]
        assert self._old != self._new
        self._moments = log.read_text().splitlines()
        self._left: list[int] = []

    def kill(self, *, in_recovery: bool) -> dict[str, Any]:
        """One write killed, in turn at a moment of this process and at any time within the write."""
        place = self._copy(self._base)
        if self._dice.random() < 0.5:
            how: dict[str, Any] = {"action": "kill", "at": self._moment()}
        else:
            how = {"after_s": self._dice.random() * self._seconds, "spares_children": self._dice.random() < 0.5}
        status, acknowledged = self._die("write", place, **how)
        kills = int(status == -signal.SIGKILL)
        if in_recovery:
            again = {"after_s": self._dice.random() * self._seconds, "spares_children": self._dice.random() < 0.5}
            status, _ = self._die("recover", place, **again)
            kills += status == -signal.SIGKILL
        problems = self._checked(place, acknowledged)
        label = f"{self._what['surface']} {self._what['name']}, {how}: "
        lost, doubled = (sum(text.startswith(kind) for text in problems) for kind in ("lost", "doubled"))
        return {"kills": kills, "lost": lost, "doubled": doubled, "problems": [label + text for text in problems]}

    def _moment(self) -> int:
        if not self._left:
            self._left = list(range(1, len(self._moments) + 1))
            self._dice.shuffle(self._left)
        return self._left.pop()

    def _checked(self, place: Path, acknowledged: list[Any]) -> list[str]:
        told = self._run("recover_and_retry", place)
        first, second = told["recovered"], told["retried"]
        new = first["ledger"]["receipts"][self._known :]
        problems = [f"intent {key} is still open" for key in first["ledger"]["open"]]
        problems += first["ledger"]["audit"] + second["ledger"]["audit"]
        problems += [f"lost: receipt {one['receipt_id']}" for one in acknowledged if one not in new]
        problems += _differences(first["held"], self._new if new else self._old, "the next start")
        problems += _differences(second["held"], self._new, "the same call again")
        again = [_told(receipt) for receipt in second["receipts"]]
        if again != self._receipts and not (self._selects and not again):
            problems.append(f"other receipts: {again} {second['message']}")
        shutil.rmtree(place)
        return problems

    def _die(self, job: str, place: Path, **how: Any) -> tuple[int, list[Any]]:
        out = self._out()
        status = wait_for(fork(f"{__name__}:{job}", {**self._arguments(place), **how}, out))
        return status, [json.loads(line) for line in (out / "printed.txt").read_text().splitlines() if line[:1] == "{"]

    def _run(self, job: str, place: Path, **options: Any) -> Any:
        out = self._out()
        status = wait_for(fork(f"{__name__}:{job}", {**self._arguments(place), **options}, out))
        assert status == 0, (out / "printed.txt").read_text()
        return json.loads((out / "result.json").read_text())

    def _arguments(self, place: Path) -> dict[str, Any]:
        return {**self._what, "folder": str(place)}

    def _copy(self, source: Path) -> Path:
        return Path(shutil.copytree(source, self._folder / f"copy-{next(self._numbers)}"))

    def _out(self) -> Path:
        out = self._folder / f"out-{next(self._numbers)}"
        out.mkdir()
        return out


async def prepare(surface: str, name: str, folder: str) -> None:
    """The profile as the write finds it."""
    case = CASES[surface][name]
    write_files(Path(folder), case.files)
    system = await open_with_engines(folder)
    for number, (tool, arguments) in enumerate(case.before):
        outcome = await system.call(tool, arguments, role=Role.STORE, ctx=request(system, f"before-{number}"))
        assert not outcome.is_error and outcome.receipts, outcome
    await system.aclose()
    write_files(Path(folder), case.changed)


async def write(
    surface: str,
    name: str,
    folder: str,
    action: str = "",
    at: int = 0,
    log: str = "",
    look: bool = False,
    after_s: float = -1.0,
    spares_children: bool = False,
) -> dict[str, Any]:
    """The write of a case; its receipt is told at once, as an application would show it."""
    arm(action, at, log, with_children=True)
    system = await open_with_engines(folder)
    before = await held(system, surface) if look else None
    if after_s >= 0:
        _kill_within_the_handler(after_s, spares_children)
    began = time.monotonic()
    outcome = await _call(system, CASES[surface][name])
    seconds = time.monotonic() - began
    told = spell(outcome)
    for receipt in told["receipts"]:
        say(json.dumps(receipt))
    after = await held(system, surface) if look else None
    await system.aclose()
    return {**told, "before": before, "after": after, "seconds": seconds}


async def recover(surface: str, name: str, folder: str, after_s: float, spares_children: bool) -> None:
    """The next start after a crash, killed too."""
    _kill_within_the_handler(after_s, spares_children)
    await (await open_with_engines(folder)).aclose()


async def recover_and_retry(surface: str, name: str, folder: str) -> dict[str, Any]:
    """The next start after a crash, and the same call again with the same key."""
    system = await open_with_engines(folder)
    recovered = {"held": await held(system, surface), "ledger": ledger_of(folder)}
    outcome = await _call(system, CASES[surface][name])
    retried = {**spell(outcome), "held": await held(system, surface), "ledger": ledger_of(folder)}
    await system.aclose()
    return {"recovered": recovered, "retried": retried}


async def held(system: DataMind, surface: str) -> list[str]:
    """What a surface holds, read through the product: a line for each piece, with the number of its receipts."""
    return sorted(await {"db": _tables, "graph": _statements, "kb": _chunks}[surface](system))


async def _tables(system: DataMind) -> list[str]:
    lines = []
    for table in await system.services.read.db.tables():
        page = await system.services.read.db.query(f'SELECT * FROM "{table.name}"', offset=0, limit=1000)
        lines.append(f"table {table.name} of {len(table.receipt_ids)} receipts")
        lines += [f"{table.name} {json.dumps(row)}" for row in page.result.rows]
    return lines


async def _statements(system: DataMind) -> list[str]:
    await system.services.read.graph.stats()
    store = (await system.services.hub.open(ProviderKind.GRAPH_STORE)).read_view()
    page = await store.statements(TriplePattern(), limit=1000)
    by = await store.asserted_by(page.triples)
    told = zip(page.triples, by, strict=True)
    return [f"{triple!r} of {len(receipts)} receipts" for triple, receipts in told]


async def _chunks(system: DataMind) -> list[str]:
    store = (await system.services.hub.open(ProviderKind.KB_STORE)).read_view()
    lines = []
    for document in (await store.documents(limit=100)).documents:
        lines.append(f"document {document.document_id} {document.title}")
        lines += [f"{chunk.chunk_id} {chunk.text}" for chunk in await store.chunks(document.document_id)]
    return lines


async def open_with_engines(folder: str) -> DataMind:
    """A system on real engines, whose person agrees to everything."""
    return await build_datamind(settings_in(folder, kb={"backend": KB}), host=HOST, approver=Agreeing())


async def _call(system: DataMind, case: Case) -> Any:
    return await system.call(case.tool, case.arguments, role=Role.STORE, ctx=request(system, KEY))


def _kill_within_the_handler(after_s: float, spares_children: bool) -> None:
    """Once a write has begun, end this process after some time, whatever it does then; first those that it started."""
    complete = ledger.IngestLedger._complete

    async def completing(*args: Any, **kwargs: Any) -> Any:
        threading.Thread(target=_end, args=(after_s, spares_children), daemon=True).start()
        await asyncio.sleep(0)
        return await complete(*args, **kwargs)

    ledger.IngestLedger._complete = completing  # type: ignore[method-assign]


def _end(after_s: float, spares_children: bool) -> None:
    time.sleep(after_s)
    for pid in () if spares_children else children_of(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _told(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """A receipt without what another run gives another value."""
    told: dict[str, Any] = json.loads(json.dumps(steady(receipt)).replace(receipt["receipt_id"], "the receipt"))
    return {**told, "result": {**told["result"], "version": ""}, "read_back": ""}


def _differences(found: list[str], expected: list[str], when: str) -> list[str]:
    lost = [line for line in expected if line not in found]
    doubled = [line for line in found if line not in expected or found.count(line) > expected.count(line)]
    return [f"lost at {when}: {lost}"] * bool(lost) + [f"doubled at {when}: {doubled}"] * bool(doubled)
