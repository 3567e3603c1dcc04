"""A probe for the event loop of an end-to-end test."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from datamind.testing.lag import LIMIT_S, LagProbe
from tests.support.systems import open_system, write


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every engine has been used once: what the first use imports is no part of any lag."""

    async def use_each() -> None:
        async with open_system(tmp_path_factory.mktemp("warm")) as system:
            await write(system, "graph_upsert_triples", triples=[{"subject": "a", "predicate": "b", "object": "c"}])
            await write(system, "db_import_records", records=[{"a": 1}], table="t")
            await write(system, "memory_save", text="The parrot is called Moss.")
            await write(system, "kb_add_text", text="The ferry sails at high water.")
            await system.query("What is the parrot called?")

    asyncio.run(use_each())


@pytest_asyncio.fixture
async def lag(warm: None) -> AsyncIterator[LagProbe]:
    """A probe in the loop of the test; the test fails if the loop was held longer than the limit."""
    # What the test runner holds is no part of it, and would make each garbage collection a long one.
    gc.collect()
    gc.freeze()
    try:
        async with LagProbe() as probe:
            yield probe
    finally:
        gc.unfreeze()
    assert probe.longest_s <= LIMIT_S
    assert probe.beats > 0
