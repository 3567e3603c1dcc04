"""A store that was damaged or removed by hand is set aside and filled again from control.db; the others serve."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from datamind.agent import DataMind
from datamind.core.errors import StoreError
from datamind.core.types import DataSurface
from tests.support.engine_kills import KB, held
from tests.support.ledger_jobs import ledger_of, on_disk
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


DAMAGES = {
    "memory": (cut_in_half, empty, overwrite, overwrite_the_end, Path.unlink),
    "db": (cut_in_half, empty, overwrite_the_end),
    "graph": (cut_in_half, empty, Path.unlink),
}
FOLDERS = {"memory": "memory.db*", "db": "db/data.duckdb*", "graph": "graph/oxigraph/*"}


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


async def fill(folder: Path) -> None:
    home = folder / "data/profiles/default"
    home.mkdir(parents=True)
    (home / "people.csv").write_text("id,name\n1,Ada\n2,Bo\n", encoding="utf-8")
    async with open_system(folder, kb={"backend": KB}) as system:
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
    folder: Path, surface: str, damage: Callable[[Path], None]
) -> None:
    expected, receipts = asyncio.run(held_in(folder)), ledger_of(folder)["receipts"]
    assert all(expected.values())
    for path in (folder / "storage" / "default").glob(FOLDERS[surface]):
        damage(path)
    asyncio.run(check_repaired(folder, surface, expected))
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
