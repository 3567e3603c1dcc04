"""A store that was damaged or removed by hand is set aside and filled again from control.db; the others serve."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from datamind.agent import DataMind
from datamind.core.errors import StoreError
from datamind.core.types import DataSurface
from tests.support.engine_kills import KB, held
from tests.support.ledger_jobs import Agreeing, ledger_of, on_disk
from tests.support.systems import open_system, read, write

FACT = {"kind": "fact", "subject": "user", "attribute": "residence", "functional": True}
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_save", {"text": "I live in Oslo.", "value": "Oslo", "valid_from": "2026-03-01T08:00:00+00:00", **FACT}),
    ("memory_save", {"text": "I live in Rome.", "value": "Rome", "valid_from": "2026-04-01T08:00:00+00:00", **FACT}),
    ("memory_save", {"text": "The parrot is called Moss."}),
    ("memory_forget", {"query": "parrot called"}),
    ("memory_save", {"text": "The shop opens at nine.", "scope": "global"}),
    ("db_import_csv", {"path": "people.csv"}),
    ("db_import_records", {"records": [{"id": 2, "name": "Bea"}, {"id": 3, "name": "Cy"}], "table": "people",
                           "if_exists": "upsert", "key": ["id"]}),
    ("db_import_records", {"records": [{"a": 1}], "table": "gone"}),
    ("db_drop_table", {"table": "gone"}),
    ("graph_upsert_triples", {"triples": [{"subject": "Ada", "predicate": "knows", "object": "Bo"}]}),
    ("graph_upsert_triples", {"triples": [{"subject": "Bo", "predicate": "knows", "object": "Cy"}]}),
    ("graph_delete", {"subject": "Ada", "predicate": "knows", "object": "Bo"}),
    ("kb_add_text", {"text": "# Tides\n\nThe ferry sails at high water.\n", "title": "Tides"}),
)  # fmt: skip


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    path.write_bytes(random.Random(7).randbytes(path.stat().st_size))


def overwrite_the_end(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(random.Random(7).randbytes(size - size // 3))


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def lose_the_last_bytes(path: Path) -> None:
    os.truncate(path, max(0, path.stat().st_size - 20))


DAMAGES = {
    "memory": (cut_in_half, empty, overwrite, overwrite_the_end, Path.unlink),
    "db": (cut_in_half, empty, overwrite_the_end),
    "graph": (cut_in_half, empty, Path.unlink),
    # The engine opens what is left of its log, and says nothing.
    "graph log": (cut_in_half, empty, Path.unlink, change_a_byte, lose_the_last_bytes),
}
FOLDERS = {"memory": "memory.db*", "db": "db/data.duckdb*", "graph": "graph/oxigraph/*",
           "graph log": "graph/oxigraph/*.log"}  # fmt: skip


async def everything(system: DataMind) -> dict[str, list[Any]]:
    """What each surface holds, read through the product; of memories the rows, the closed and forgotten ones too."""
    listed = await read(system, "memory_list")
    rows = on_disk(system.profile.base_dir)["memories"]
    return {
        "memory": [*sorted(item.content for item in listed.evidence), rows],
        "db": await held(system, "db"),
        "graph": await held(system, "graph"),
        "kb": await held(system, "kb"),
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile with something on every surface."""
    folder = tmp_path_factory.mktemp("filled")
    asyncio.run(fill(folder))
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy of the profile."""
    return Path(shutil.copytree(filled, tmp_path / "profile"))


@pytest.fixture(scope="module")
def untouched(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What the profile holds, read from a copy: an engine that is opened writes its log into its other files."""
    return asyncio.run(held_in(Path(shutil.copytree(filled, tmp_path_factory.mktemp("untouched") / "profile"))))


async def fill(folder: Path) -> None:
    home = folder / "data/profiles/default"
    home.mkdir(parents=True)
    (home / "people.csv").write_text("id,name\n1,Ada\n2,Bo\n", encoding="utf-8")
    async with open_system(folder, kb={"backend": KB}, approver=Agreeing()) as system:
        for tool, arguments in WRITES:
            outcome = await write(system, tool, **arguments)
            assert outcome.receipts and not outcome.is_error, (tool, outcome)
    (home / "people.csv").unlink()  # what is filled again is filled from control.db


async def held_in(folder: Path) -> dict[str, list[Any]]:
    async with open_system(folder, kb={"backend": KB}) as system:
        return await everything(system)


@pytest.mark.parametrize(
    ("surface", "damage"),
    [(surface, damage) for surface, damages in DAMAGES.items() for damage in damages],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_damaged_store_is_set_aside_and_filled_again(
    folder: Path, untouched: dict[str, list[Any]], surface: str, damage: Callable[[Path], None]
) -> None:
    expected, receipts = untouched, ledger_of(folder)["receipts"]
    assert all(expected.values())
    for path in (folder / "storage" / "default").glob(FOLDERS[surface]):
        damage(path)
    asyncio.run(check_repaired(folder, surface.partition(" ")[0], expected))
    assert {one["receipt_id"] for one in receipts} < {one["receipt_id"] for one in ledger_of(folder)["receipts"]}
    found = asyncio.run(held_in(folder))
    assert {**found, "memory": []} == {**expected, "memory": []}


async def check_repaired(folder: Path, surface: str, expected: dict[str, list[Any]]) -> None:
    async with open_system(folder, kb={"backend": KB}) as system:
        with suppress(StoreError):
            await everything(system)  # damage within the file is met by what reads there, and mended before the next
        assert await everything(system) == expected
        repairs = await system.services.control.repairs.all()
        assert [(repair.surface, repair.missing) for repair in repairs] == [(surface, {})]
        assert bool(repairs[0].moved_to) == any((folder / "storage" / "default").rglob("damaged-*"))
        notes = {status.surface: status.note for status in await system.surfaces() if status.note}
        assert list(notes) == [surface]
        assert "repeated from control.db" in notes[DataSurface(surface)]
        assert not (await write(system, "memory_save", text="Life goes on.")).is_error


@pytest.mark.parametrize("damage", [cut_in_half, empty, overwrite, Path.unlink])
def test_names_of_the_graph_that_were_damaged_are_found_again(folder: Path, damage: Callable[[Path], None]) -> None:
    for path in (folder / "storage" / "default").glob("graph/names.db*"):
        damage(path)
    asyncio.run(check_named(folder))


async def check_named(folder: Path) -> None:
    async with open_system(folder, kb={"backend": KB}) as system:
        with suppress(StoreError):
            await read(system, "graph_search_entities", query="cy")
        found = await read(system, "graph_search_entities", query="cy")
        assert [hit["name"] for hit in found.data["entities"]] == ["Cy"]
        walked = await read(system, "graph_neighbors", entity="cy", predicates=["knows"])
        assert len(walked.evidence) == 1


def test_what_could_not_be_repeated_is_not_looked_for_again(folder: Path, untouched: dict[str, list[Any]]) -> None:
    for path in (folder / "storage" / "default").glob(FOLDERS["graph log"]):
        empty(path)
    with closing(sqlite3.connect(folder / "storage" / "default" / "control.db")) as db:
        last = "SELECT content_hash FROM intents WHERE surface = 'graph' ORDER BY seq DESC LIMIT 1"
        db.execute(f"DELETE FROM contents WHERE content_hash = ({last})")
        db.commit()
    for _ in range(2):
        assert asyncio.run(held_in(folder))["graph"] != untouched["graph"]
    assert asyncio.run(repairs_of(folder)) == 1


async def repairs_of(folder: Path) -> int:
    async with open_system(folder, kb={"backend": KB}) as system:
        return len(await system.services.control.repairs.all())
