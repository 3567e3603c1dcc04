"""What the command does while another process holds the tables and the graph."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from datamind.plugins import ProviderKind
from tests.support.cli import Datamind
from tests.support.forks import Child, Forks
from tests.support.systems import open_system, write

JOBS = "tests.support.lease_jobs"


async def fill(folder: Path) -> None:
    """One thing on every surface."""
    async with open_system(folder) as system:
        await system.ingest("Remember: I live in Bergen.")
        for tool, arguments in (
            ("db_import_records", {"records": [{"name": "Ada"}], "table": "people"}),
            ("graph_upsert_triples", {"triples": [{"subject": "Ada", "predicate": "knows", "object": "Bo"}]}),
            ("kb_add_text", {"text": "The ferry sails at high water.", "title": "Ferries"}),
        ):
            assert not (await write(system, tool, **arguments)).is_error  # type: ignore[arg-type]


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Child]:
    with Forks(tmp_path / "forks", "tests.support.quicker", JOBS) as forks:
        child = forks.start(f"{JOBS}:hold", folder=str(tmp_path))
        while "held" not in child.printed():
            time.sleep(0.01)
        yield child
        child.signal()
        child.wait()


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    await fill(tmp_path)
    return tmp_path


def command_in(folder: Path) -> Datamind:
    site = folder / "site"
    site.mkdir()
    where = {"DATAMIND__DATA__BASE_DIR": str(folder), "DATAMIND__HOOKS__AUDIT_KEY": str(folder / "keys")}
    return Datamind(folder, site, {**where, "DATAMIND__KB__BACKEND": "memory"})


def test_a_question_on_memory_alone_starts_no_engine_and_asks_for_no_lease(filled: Path, holder: Child) -> None:
    ended = command_in(filled).run("ask", "Where do I live?")
    assert (ended.code, ended.stderr) == (0, b""), ended
    assert "Bergen" in ended.out
    assert not list(filled.rglob("lease.waiting")), "who waits for the lease makes this file"


def test_a_refused_lease_ends_a_command_as_a_failed_store(filled: Path, holder: Child) -> None:
    ended = command_in(filled).run("db", "query", "SELECT 1")
    assert ended.code == 5, ended
    assert f"process {holder.pid}" in ended.err


async def test_counts_come_from_control_db_and_open_no_store_but_memory_and_skills(filled: Path) -> None:
    async with open_system(filled) as system:
        counts = {status.surface: (status.available, status.items) for status in await system.surfaces()}
        assert counts == {
            "memory": (True, 1),
            "kb": (True, 1),
            "skills": (True, 0),
            "db": (True, 1),
            "graph": (True, 1),
        }
        for kind in (ProviderKind.DB_DIALECT, ProviderKind.GRAPH_STORE, ProviderKind.KB_STORE):
            assert kind not in system.services.hub._opened
        await write(system, "db_import_records", records=[{"a": 1}], table="more")
        await write(system, "db_drop_table", table="people")
        await write(system, "db_create_table", table="empty", columns=[{"name": "a"}])
        (tables,) = [status.items for status in await system.surfaces() if status.surface == "db"]
        assert tables == len(await system.services.read.db.tables()) == 2
