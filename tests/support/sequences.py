"""Writes, reverts and erasures of all surfaces in any order, beside a model of what must be seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datamind.agent import DataMind
from datamind.core.errors import Conflict, DataMindError
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import StoreResult
from tests.support.engine_kills import KB
from tests.support.erase_jobs import places
from tests.support.ledger_jobs import Agreeing
from tests.support.systems import open_system, read, write

_LETTERS = "bcdfghjklmnpqrstvwxz"
_NAMES = ("alder", "birch")


@dataclass
class Written:
    """A receipt, and what its object held before and after it."""

    receipt_id: str
    place: tuple[str, str]
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_final: bool = False

    @property
    def added(self) -> set[str]:
        return set(self.after) - set(self.before)


@dataclass
class Model:
    """By object, the canaries that must be seen, and the writes that led there."""

    held: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    log: list[Written] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)

    def seen(self) -> set[str]:
        return {canary for held in self.held.values() for canary in held}

    def put(self, receipt_id: str, place: tuple[str, str], after: tuple[str, ...], *, is_final: bool = False) -> None:
        self.log.append(Written(receipt_id, place, self.held.get(place, ()), after, is_final))
        self.held[place] = after

    def is_last(self, written: Written) -> bool:
        return next(one for one in reversed(self.log) if one.place == written.place) is written


async def run_sequence(folder: Path, seed: int, steps: int = 10) -> list[str]:
    """What was left behind, or went with it, in one random sequence; empty when all is as it must be."""
    dice, model, problems = random.Random(seed), Model(), []
    (folder / "data/profiles/default").mkdir(parents=True)
    async with open_system(folder, kb={"backend": KB}, approver=Agreeing()) as system:
        for number in range(steps):
            what = await _step(system, folder, model, dice)
            found = await _seen(system)
            if found != model.seen():
                left, gone = sorted(found - model.seen()), sorted(model.seen() - found)
                problems.append(f"seed {seed}, step {number}, {what}: left behind {left}, lost {gone}")
                return problems
    async with open_system(folder, kb={"backend": KB}, approver=Agreeing()) as system:
        if await _seen(system) != model.seen():
            problems.append(f"seed {seed}: another start sees something else")
    for canary in model.erased:
        problems += [f"seed {seed}: {canary}, which was erased, is in {place}" for place in places(folder, canary)]
    return problems


async def _step(system: DataMind, folder: Path, model: Model, dice: random.Random) -> str:
    kind = dice.choice(["add"] * 5 + ["delete"] * 2 + ["revert"] * 4 + ["erase"])
    written = dice.choice([one for one in model.log[-6:] if not one.is_final] or [None])
    if kind == "revert" and written:
        return await _revert(system, model, written)
    if kind == "erase" and written and written.added and written.added <= set(model.held[written.place]):
        return await _erase(system, model, written)
    place = dice.choice(list(_ADDS)), dice.choice(_NAMES)
    if kind == "delete" and model.held.get(place):
        return await _delete(system, model, place)
    return await _add(system, folder, model, place, "".join(dice.choices(_LETTERS, k=16)))


async def _add(system: DataMind, folder: Path, model: Model, place: tuple[str, str], canary: str) -> str:
    surface, name = place
    outcome = await _ADDS[surface](system, folder, name, canary)
    (receipt,) = outcome.receipts
    assert receipt.status == "stored", outcome
    before = model.held.get(place, ())
    model.put(receipt.receipt_id, place, (canary,) if surface in ("kb", "skills") else (*before, canary))
    return f"add to {place}"


async def _delete(system: DataMind, model: Model, place: tuple[str, str]) -> str:
    surface, name = place
    outcome = await _DELETES[surface](system, name)
    assert outcome.receipts, outcome
    assert not outcome.is_error, outcome
    for receipt in outcome.receipts:
        model.put(receipt.receipt_id, place, ())
    return f"delete {place}"


async def _revert(system: DataMind, model: Model, written: Written) -> str:
    what = f"revert {written.receipt_id} of {written.place}"
    try:
        result: StoreResult = await system.revert(written.receipt_id)
    except Conflict as conflict:
        if conflict.code == "conflict.not_kept":  # as the receipt said
            assert written.place[0] in ("graph", "db"), (what, conflict)
            return f"{what}: {conflict}"
        assert not model.is_last(written) or _is_reverted(model, written), (what, conflict)
        return f"{what}: {conflict}"
    except DataMindError as error:
        return f"{what}: {error}"
    if result.status == "unchanged":
        return what
    assert result.status == "stored", (what, result)
    now = model.held.get(written.place, ())
    # What is not the last write of its place is one of many memories, rows or statements: the others stay.
    others = tuple(one for one in now if one not in written.added)
    taken = tuple(one for one in written.before if one not in written.after)
    after = written.before if model.is_last(written) else (*others, *taken)
    model.put(result.receipts[0].receipt_id, written.place, after)
    return what


async def _erase(system: DataMind, model: Model, written: Written) -> str:
    plan = await system.plan_forget(receipts=[written.receipt_id])
    result = await system.forget(plan, erase=True)
    assert result.status == "stored", result
    after = tuple(one for one in model.held[written.place] if one not in written.added)
    model.erased |= written.added
    for one in model.log:
        one.is_final |= one.place == written.place  # other versions of it are erased too, so nothing brings them back
    model.put(result.receipts[0].receipt_id, written.place, after, is_final=True)
    return f"erase {written.receipt_id} of {written.place}"


def _is_reverted(model: Model, written: Written) -> bool:
    return model.held.get(written.place, ()) == written.before


async def _seen(system: DataMind) -> set[str]:
    """Every canary on a read path."""
    text = "\n".join([part async for part in _texts(system)])
    return {word for word in text.replace("\n", " ").split() if len(word) == 16 and set(word) <= set(_LETTERS)}


async def _texts(system: DataMind) -> Any:
    for name in _NAMES:
        for item in (await read(system, "kb_search", query=name, top_k=20)).evidence:
            yield item.content
        skill = await read(system, "skill_get", name=name)
        for item in skill.evidence:
            yield item.content
        walked = await read(system, "graph_neighbors", entity=name)
        for item in walked.evidence:
            yield item.content
        rows = await read(system, "db_query_sql", sql=f"SELECT ' ' || v || ' ' AS v FROM {name}")
        for item in rows.evidence:
            for row in item.table().rows:
                yield row[0]
    for item in (await read(system, "memory_list", limit=100)).evidence:
        yield item.content


async def _add_document(system: DataMind, folder: Path, name: str, canary: str) -> ToolOutcome:
    (folder / "data/profiles/default" / f"{name}.md").write_text(f"# {name}\n\nThe {name} bears {canary} today.\n")
    return await write(system, "kb_add_file", path=f"{name}.md")


async def _add_memory(system: DataMind, folder: Path, name: str, canary: str) -> ToolOutcome:
    return await write(system, "memory_save", text=f"The {name} was {canary} once.")


async def _add_triple(system: DataMind, folder: Path, name: str, canary: str) -> ToolOutcome:
    triple = {"subject": name, "predicate": "bears", "object": canary, "object_type": "literal"}
    return await write(system, "graph_upsert_triples", triples=[triple])


async def _add_row(system: DataMind, folder: Path, name: str, canary: str) -> ToolOutcome:
    return await write(system, "db_import_records", table=name, records=[{"v": canary}])


async def _add_skill(system: DataMind, folder: Path, name: str, canary: str) -> ToolOutcome:
    return await write(system, "skill_upsert", name=name, description=f"How to {name}", body=f"Say {canary} twice.")


_Add = Callable[[DataMind, Path, str, str], Any]
_ADDS: dict[str, _Add] = {
    "kb": _add_document,
    "memory": _add_memory,
    "graph": _add_triple,
    "db": _add_row,
    "skills": _add_skill,
}
_DELETES: dict[str, Callable[[DataMind, str], Any]] = {
    "kb": lambda system, name: write(system, "kb_delete", source=f"{name}.md"),
    "memory": lambda system, name: write(system, "memory_forget", query=f"{name} once"),
    "graph": lambda system, name: write(system, "graph_delete", subject=name),
    "db": lambda system, name: write(system, "db_drop_table", table=name),
    "skills": lambda system, name: write(system, "skill_delete", name=name),
}


def seeds(count: int, first: int = 20260401) -> Iterator[int]:
    yield from range(first, first + count)
