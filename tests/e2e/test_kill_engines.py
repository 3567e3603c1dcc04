"""Writes to tables, graph and knowledge base in processes that are killed with everything they have started.

``nox -s crash`` kills a hundred of each surface; the ordinary run a few.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine_kills import CASES, KB
from tests.support.forks import Forks

JOBS = "tests.support.engine_kills"
KILLS = int(os.environ.get("DATAMIND_TEST_KILLS", "0"))
FEW = {"db": 3, "graph": 4, "kb": 4}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """In memory where that can be had: what a killed process wrote is there, whether it was synced or not."""
    memory = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="datamind-kill-", dir=memory if memory.is_dir() else None))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def forks(folder: Path) -> Iterator[Forks]:
    modules = ["datamind_graph_rdflib.store", "datamind_db_duckdb.dialect"]
    modules += ["datamind_kb_lancedb.store"] if KB == "lancedb" else []
    with Forks(folder / "forks", "tests.support.quicker", JOBS) as forks:
        forks.preload(modules)
        yield forks


@pytest.mark.parametrize("surface", CASES)
def test_a74_c30_writes_killed_in_the_engine_are_not_begun_or_finished_once(
    forks: Forks, folder: Path, surface: str
) -> None:
    asked = KILLS or FEW[surface]
    found = forks.run(f"{JOBS}:kill_surface", surface=surface, folder=str(folder / surface), kills=asked, seed=20260301)
    print(f"{surface}: {found['kills']} kills, {found['lost']} lost, {found['doubled']} doubled")
    assert found["problems"] == []
    assert found["kills"] >= asked
