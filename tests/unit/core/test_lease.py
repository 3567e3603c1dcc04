"""The lease of a profile, between objects of one process: an open file of it is as good as a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from contextvars import Context
from pathlib import Path

import pytest

from datamind.core.errors import StoreError
from datamind.core.lease import Lease, keeping_leases


class Engine:
    """Counts what is done to it."""

    def __init__(self, lease: Lease) -> None:
        self.closed = 0
        lease.join(self.close)

    async def close(self) -> None:
        self.closed += 1


async def held_by(folder: Path) -> bool:
    """Whether somebody has it, seen from outside."""
    other = Lease(folder, wait_s=0)
    try:
        async with other.use():
            return False
    except StoreError:
        return True
    finally:
        await other.aclose()


async def until(condition, what: str) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)
    assert condition(), what


async def test_g1_one_lease_is_held_at_a_time(tmp_path):
    first, second = Lease(tmp_path), Lease(tmp_path, wait_s=20)
    inside: list[str] = []

    async def work(lease: Lease, name: str) -> None:
        for _ in range(20):
            async with lease.use():
                assert not [other for other in inside if other != name]
                inside.append(name)
                await asyncio.sleep(0.002)
                inside.remove(name)

    await asyncio.gather(*(work(lease, name) for lease, name in [(first, "a"), (first, "a"), (second, "b")]))
    await first.aclose()
    await second.aclose()


async def test_g2_nothing_is_taken_before_the_first_use_and_it_is_given_up_when_idle(tmp_path):
    lease = Lease(tmp_path / "profile", idle_s=0.1)
    engine = Engine(lease)
    assert not (tmp_path / "profile").exists()
    async with lease.use():
        assert await held_by(tmp_path / "profile")
    assert engine.closed == 0
    await until(lambda: engine.closed == 1, "the engine is closed once it is idle")
    assert not await held_by(tmp_path / "profile")
    await asyncio.sleep(0.2)
    assert engine.closed == 1, "an idle lease does nothing more"
    async with lease.use():
        assert await held_by(tmp_path / "profile")
    await lease.aclose()
    assert engine.closed == 2


async def test_g2_work_puts_the_end_off(tmp_path):
    lease = Lease(tmp_path, idle_s=0.5)
    engine = Engine(lease)
    for _ in range(12):
        async with lease.use():
            await asyncio.sleep(0.06)
        assert engine.closed == 0
    await lease.aclose()


async def test_g2_an_idle_holder_gives_way_at_once_and_a_busy_one_between_two_uses(tmp_path):
    idle, busy, waiting = Lease(tmp_path, idle_s=600), Lease(tmp_path, idle_s=600), Lease(tmp_path, wait_s=20)
    async with idle.use():
        pass
    async with waiting.use():
        pass
    await waiting.aclose()
    going_on = True

    async def work() -> None:
        while going_on:
            async with busy.use():
                await asyncio.sleep(0.01)

    workers = [asyncio.create_task(work()) for _ in range(3)]  # one is always at work
    await asyncio.sleep(0.3)
    third = Lease(tmp_path, wait_s=20)
    async with third.use():
        pass
    going_on = False
    await asyncio.gather(*workers)
    for lease in (idle, busy, third):
        await lease.aclose()


async def test_g3_engines_are_closed_before_it_is_free_and_one_that_fails_does_not_keep_it(tmp_path):
    lease = Lease(tmp_path, idle_s=0.05)
    seen: list[bool] = []

    async def fail() -> None:
        seen.append(await held_by(tmp_path))
        raise ZeroDivisionError

    lease.join(fail)
    engine = Engine(lease)
    async with lease.use():
        pass
    await until(lambda: engine.closed == 1, "the second engine is closed too")
    assert seen == [True]
    assert not await held_by(tmp_path)
    await lease.aclose()


async def test_g4_who_waits_too_long_is_told_who_has_it(tmp_path):
    lease, other = Lease(tmp_path / "shop"), Lease(tmp_path / "shop", wait_s=0.1)
    async with lease.use():
        with pytest.raises(StoreError) as refused:
            async with other.use():
                pytest.fail("both have it")
    error = refused.value
    assert (error.code, error.retryable) == ("store_error.in_use", True)
    year = time.strftime("%Y-")
    assert f"profile 'shop' are in use by process {os.getpid()}, since {year}" in str(error)
    assert f"kill {os.getpid()}" in error.hint
    await lease.aclose()
    async with other.use():
        pass
    await other.aclose()


async def test_g4_who_waits_behind_others_of_its_process_waits_no_longer(tmp_path):
    lease, other = Lease(tmp_path), Lease(tmp_path, wait_s=0.2)

    async def refused() -> str:
        with pytest.raises(StoreError) as caught:
            async with other.use():
                pytest.fail("both have it")
        return caught.value.code

    async with lease.use():
        began = time.monotonic()
        assert await asyncio.gather(*(refused() for _ in range(50))) == ["store_error.in_use"] * 50
        assert time.monotonic() - began < 5, "not fifty times the wait"
    await lease.aclose()
    await other.aclose()


async def test_g4_a_server_is_named_by_its_address(tmp_path):
    lease, other = Lease(tmp_path), Lease(tmp_path, wait_s=0)
    lease.url = "http://127.0.0.1:8765"
    async with lease.use():
        with pytest.raises(StoreError, match=r"http://127\.0\.0\.1:8765"):
            async with other.use():
                pass
    await lease.aclose()
    await other.aclose()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"pid": 1}', b"\xff\xfe", b'{"pid": "x", "since": 1, "url": 2}']
)
async def test_g4_a_lock_file_that_says_nothing_is_still_a_lock(tmp_path, content):
    lease, other = Lease(tmp_path), Lease(tmp_path, wait_s=0)
    async with lease.use():
        (tmp_path / "lease").write_bytes(content)
        with pytest.raises(StoreError, match="another process"):
            async with other.use():
                pass
    await lease.aclose()
    async with other.use():
        assert json.loads((tmp_path / "lease").read_bytes())["pid"] == os.getpid()
    await other.aclose()


async def test_g5_death_frees_it_and_a_holder_that_is_suspended_is_named_as_such(tmp_path):
    code = """
import asyncio, sys
from pathlib import Path
from datamind.core.lease import Lease
async def main():
    async with Lease(Path(sys.argv[1])).use():
        print("held", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        lease = Lease(tmp_path, wait_s=0)
        holder.send_signal(19)  # SIGSTOP
        while "(stopped)" not in Path(f"/proc/{holder.pid}/status").read_text():
            await asyncio.sleep(0.01)
        with pytest.raises(StoreError, match=f"process {holder.pid}, .* is suspended.*kill -CONT {holder.pid}"):
            async with lease.use():
                pass
        holder.kill()
        holder.wait()
        async with lease.use():
            pass
        await lease.aclose()
    finally:
        holder.kill()
        holder.communicate()


async def test_g6_closing_waits_for_what_is_at_work_and_leaves_no_timer(tmp_path):
    lease = Lease(tmp_path)
    engine = Engine(lease)
    done: list[str] = []

    async def work() -> None:
        async with lease.use():
            await asyncio.sleep(0.1)
            done.append("work")

    task = asyncio.create_task(work())
    await asyncio.sleep(0.02)
    await lease.aclose()
    assert done == ["work"]
    await task
    assert engine.closed == 1
    assert not await held_by(tmp_path)
    with pytest.raises(StoreError) as refused:
        async with lease.use():
            pass
    assert refused.value.code == "store_error.closed"
    await lease.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    loop = asyncio.get_running_loop()
    assert not [handle for handle in loop._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]


async def test_g6_who_waits_for_another_when_it_is_closed_is_refused_and_holds_nothing(tmp_path):
    other, lease = Lease(tmp_path), Lease(tmp_path, wait_s=600)
    engine = Engine(lease)

    async def work() -> None:
        async with lease.use():
            raise AssertionError("it is closed")

    async with other.use():
        waiting = asyncio.create_task(work())
        await until(other._file.is_wanted, "it waits")
        closing = asyncio.create_task(lease.aclose())
        await asyncio.sleep(0)
    await other.aclose()
    with pytest.raises(StoreError) as refused:
        await waiting
    await closing
    assert refused.value.code == "store_error.closed"
    assert engine.closed == 1
    assert not await held_by(tmp_path)


async def test_the_last_engine_that_leaves_gives_it_up(tmp_path):
    lease = Lease(tmp_path, idle_s=600)
    engines = [Engine(lease), Engine(lease)]
    async with lease.use():
        pass
    await lease.leave(engines[0].close)
    assert [engine.closed for engine in engines] == [1, 0]
    assert await held_by(tmp_path)
    await lease.leave(engines[1].close)
    assert not await held_by(tmp_path)
    await lease.aclose()
    assert [engine.closed for engine in engines] == [1, 1]


async def test_a_cancelled_use_gives_it_up_and_a_cancelled_wait_leaves_the_queue(tmp_path):
    lease, other = Lease(tmp_path, idle_s=0.05), Lease(tmp_path, wait_s=600)
    entered = asyncio.Event()

    async def work(of: Lease) -> None:
        async with of.use():
            entered.set()
            await asyncio.sleep(600)

    holder = asyncio.create_task(work(lease))
    await entered.wait()
    waiting = asyncio.create_task(work(other))
    await until(lease._file.is_wanted, "the other waits")
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    assert not lease._file.is_wanted()
    holder.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await holder
    await until(lambda: not lease._file.held, "given up")
    await lease.aclose()
    await other.aclose()


async def test_what_is_kept_is_kept_between_two_uses_though_another_waits(tmp_path):
    lease, other = Lease(tmp_path), Lease(tmp_path, wait_s=0.6)
    engine = Engine(lease)
    async with keeping_leases():
        async with lease.use():
            pass
        with pytest.raises(StoreError):
            async with asyncio.timeout(30):
                await asyncio.create_task(enter(other), context=Context())
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(enter(lease))
        assert engine.closed == 0
        assert await asyncio.create_task(held_by(tmp_path), context=Context())
        late = asyncio.create_task(late_use(lease))
    await late
    async with other.use():
        pass
    await lease.aclose()
    await other.aclose()


async def test_a_task_that_still_waits_when_the_keeping_ends_has_the_lease_on_its_own_account(tmp_path):
    holder, lease = Lease(tmp_path), Lease(tmp_path, wait_s=20, idle_s=0)
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with lease.use():
            inside.set()
            await go_on.wait()

    async with holder.use(), keeping_leases():
        waiting = asyncio.create_task(work())
        await asyncio.sleep(0.05)
    await holder.aclose()
    await asyncio.wait_for(inside.wait(), 20)
    assert await held_by(tmp_path)
    go_on.set()
    await waiting
    await until(lambda: not lease._users and not lease._file.held, "the lease was never given up")
    await lease.aclose()


async def test_a_task_that_works_on_when_the_keeping_ends_keeps_the_lease(tmp_path):
    lease = Lease(tmp_path, idle_s=0)
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with lease.use():
            inside.set()
            await go_on.wait()

    async with keeping_leases():
        working = asyncio.create_task(work())
        await asyncio.wait_for(inside.wait(), 20)
    assert await held_by(tmp_path)
    go_on.set()
    await working
    await until(lambda: not lease._file.held, "the lease was never given up")
    await lease.aclose()


async def enter(lease: Lease) -> None:
    async with lease.use():
        await asyncio.sleep(0)


async def late_use(lease: Lease) -> None:
    """Begun within, used when the keeping is over: it must have the lease on its own account."""
    await asyncio.sleep(0.05)
    async with lease.use():
        assert lease._users == 1


async def test_nothing_is_kept_where_nothing_was_used(tmp_path):
    async with keeping_leases():
        assert not (tmp_path / "lease").exists()


async def test_a_folder_that_cannot_be_made_is_an_error_of_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    lease = Lease(tmp_path / "file" / "profile")
    with pytest.raises(StoreError) as refused:
        async with lease.use():
            pass
    assert "\n" not in str(refused.value)
    await lease.aclose()
