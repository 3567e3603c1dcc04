"""A probe for the event loop of every end-to-end test that has one."""

from __future__ import annotations

import gc
import inspect
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from datamind.testing.lag import LIMIT_S, LagProbe


@pytest_asyncio.fixture
async def lag() -> AsyncIterator[LagProbe]:
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


@pytest.fixture(autouse=True)
def probed(request: pytest.FixtureRequest) -> None:
    """The probe is in the loop of every test that is a coroutine."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("lag")
