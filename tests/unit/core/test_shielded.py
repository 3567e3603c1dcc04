"""Work that finishes although its caller is cancelled."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from datamind.core.shielded import finish_despite_cancel


class Work:
    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.finished = False

    async def run(self, error: Exception | None = None) -> str:
        self.begun.set()
        await self.go_on.wait()
        self.finished = True
        if error is not None:
            raise error
        return "done"


async def test_without_a_cancellation_it_is_an_ordinary_call() -> None:
    work = Work()
    work.go_on.set()
    assert await finish_despite_cancel(work.run()) == "done"
    with pytest.raises(ValueError, match="no"):
        await finish_despite_cancel(work.run(ValueError("no")))


@pytest.mark.parametrize("error", [None, ValueError("no")])
async def test_task_cancel_is_raised_after_the_end_even_if_that_failed(error: Exception | None) -> None:
    work = Work()
    task = asyncio.create_task(finish_despite_cancel(work.run(error)))
    await work.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    work.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.finished


async def test_a_scope_sees_its_cancellation_after_the_end() -> None:
    work = Work()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(finish_despite_cancel, work.run())
            await work.begun.wait()
            scope.cancel()
            work.go_on.set()
    assert scope.cancelled_caught
    assert work.finished


async def test_a_deadline_passes_and_the_result_is_not_lost() -> None:
    work = Work()
    results = []
    with anyio.move_on_after(0.01) as scope:
        asyncio.get_running_loop().call_later(0.05, work.go_on.set)
        results.append(await finish_despite_cancel(work.run()))
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert results == ["done"]


async def test_wait_for_times_out_after_the_end() -> None:
    work = Work()
    asyncio.get_running_loop().call_later(0.05, work.go_on.set)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(finish_despite_cancel(work.run()), 0.01)
    assert work.finished
