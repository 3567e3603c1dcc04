"""A write in a process that dies is a write in a process that dies."""

from __future__ import annotations

import asyncio

import pytest

from datamind.testing.crash import write_and_die
from datamind.testing.providers import ProviderTarget

TARGET = ProviderTarget("kb.store", "tests.unit.testing.filed_store:open_filed")


async def leave_a_trace(store):
    """Runs in the child; what stands in `finally` must not run."""

    async def linger():
        try:
            await asyncio.sleep(3600)
        finally:
            store.path.with_name("closed").touch()

    store.lingering = asyncio.ensure_future(linger())
    await asyncio.sleep(0)
    store.path.with_name("written").touch()


async def fail(store):
    raise OSError("the disk is full")


async def hang(store):
    await asyncio.sleep(3600)


async def test_the_child_is_killed_without_a_chance_to_close(tmp_path):
    await write_and_die(TARGET, tmp_path, f"{__name__}:leave_a_trace")
    folder = tmp_path / "storage" / "test"
    assert {path.name for path in folder.iterdir()} == {"kb.pickle", "written"}


async def test_a_write_that_fails_is_told_with_its_traceback(tmp_path):
    with pytest.raises(RuntimeError, match="the disk is full"):
        await write_and_die(TARGET, tmp_path, f"{__name__}:fail")


async def test_a_write_that_hangs_is_given_up(tmp_path):
    with pytest.raises(RuntimeError, match="did not return"):
        await write_and_die(TARGET, tmp_path, f"{__name__}:hang", timeout_s=1.0)
