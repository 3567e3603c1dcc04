from __future__ import annotations

import asyncio
import re
import threading
import time

from datamind.testing.lag import LIMIT_S, LagProbe


async def test_work_on_the_loop_is_lag() -> None:
    async with LagProbe() as probe:
        ends = time.thread_time() + 0.4
        while time.thread_time() < ends:
            pass
    assert probe.longest_s > LIMIT_S


async def test_a_blocking_call_is_lag() -> None:
    async with LagProbe() as probe:
        time.sleep(0.5)
    assert probe.longest_s > LIMIT_S


async def test_an_interpreter_held_by_another_thread_is_lag() -> None:
    def hold() -> None:
        re.match(r"(a+)+$", "a" * 25 + "b")  # some seconds in C that never give the interpreter up

    async with LagProbe() as probe:
        thread = threading.Thread(target=hold)
        thread.start()
        await asyncio.sleep(0.05)
        thread.join()
    assert probe.longest_s > LIMIT_S


async def test_waiting_is_no_lag_and_neither_are_other_threads_at_work() -> None:
    async with LagProbe() as probe:
        await asyncio.gather(asyncio.sleep(0.3), *(asyncio.to_thread(sum, range(100_000)) for _ in range(4)))
    assert probe.longest_s <= LIMIT_S
    assert probe.beats > 3
