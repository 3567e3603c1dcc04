"""Engines in child processes: requests, answers, errors, deaths, order and the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import struct
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from datamind.core.errors import DataMindError, InputInvalid, LimitExceeded, StoreError
from datamind.core.logging import redactor
from datamind.engine_host import EngineHost, EngineLimits, EngineSpec, open_engine
from tests.support.engine_hosts import bench, children, descriptors, is_running, lines, pid_of, until


@pytest.fixture
async def host() -> AsyncIterator[EngineHost]:
    async with open_engine(bench()) as host:
        yield host


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture(autouse=True)
async def nothing_left() -> AsyncIterator[None]:
    """Whatever a test did, it leaves no process, zombie, descriptor or task."""
    before = children(), descriptors(), len(asyncio.all_tasks())
    yield
    assert (children(), descriptors(), len(asyncio.all_tasks())) == before


class Lease:
    """What an engine's files need while a child lives."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        self.log.append("taken")
        yield
        assert not any(is_running(pid) for pid in children())
        self.log.append("given up")


# Requests and answers.


async def test_what_is_asked_is_answered(host: EngineHost) -> None:
    reply = await host.call(
        "echo", {"zh": "东京", "n": [1, None]}, payloads=[b"abc", bytearray(b""), b"d"], deadline_s=10
    )
    assert reply.value == {"zh": "东京", "n": [1, None]}
    assert [bytes(payload) for payload in reply.payloads] == [b"abc", b"", b"d"]


async def test_large_payloads_cross_both_ways(host: EngineHost) -> None:
    payload = os.urandom(1024) * 20_000
    reply = await host.call("echo", payloads=[payload], deadline_s=10)
    assert reply.payloads[0] == payload


async def test_the_engine_keeps_its_state_and_its_options() -> None:
    async with open_engine(bench(options={"colour": ["red"]})) as host:
        assert [(await host.call("calls", deadline_s=10)).value for _ in range(3)] == [1, 2, 3]
        assert (await host.call("option", {"name": "colour"}, deadline_s=10)).value == ["red"]


async def test_no_child_is_started_before_it_is_needed(host: EngineHost) -> None:
    before = children()
    with pytest.raises(InputInvalid):
        await host.call("echo", {"x": b"bytes"}, deadline_s=10)
    assert children() == before


async def test_a_file_opened_here_is_read_there(host: EngineHost, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("first")
    (tmp_path / "b").write_text("second")
    with (tmp_path / "a").open("rb") as a, (tmp_path / "b").open("rb") as b:
        (tmp_path / "a").unlink()
        before = (await host.call("open_files", deadline_s=10)).value
        reply = await host.call("read", fds=[a.fileno(), b.fileno()], deadline_s=10)
        assert reply.value == "first|second"
        assert (await host.call("open_files", deadline_s=10)).value == before
        assert not a.closed


async def test_files_are_closed_when_the_operation_has_ended(host: EngineHost, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with (tmp_path / "a").open("rb") as file:
        assert (await host.call("keep", fds=[file.fileno()], deadline_s=10)).value == []
    assert (await host.call("keep", deadline_s=10)).value == [True]


async def test_a_stream_reads_a_file_to_its_end(host: EngineHost, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    with (tmp_path / "a").open("rb") as file:
        got = [part.value async for part in host.stream("lines", fds=[file.fileno()], deadline_s=10)]
    assert got == ["1\n", "2\n", "3\n"]


async def test_descriptors_that_cannot_be_passed_are_refused(host: EngineHost) -> None:
    with pytest.raises(InputInvalid, match="cannot be retried with descriptors"):
        await host.call("read", fds=[0], deadline_s=10, retry=True)
    with pytest.raises(InputInvalid, match="17 descriptors"):
        await host.call("read", fds=[0] * 17, deadline_s=10)
    with pytest.raises(InputInvalid, match="Bad file descriptor"):
        await host.call("read", fds=[12345], deadline_s=10)


# G4, G9: what may cross.


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("value", "engine 'bench' in 'fail': ValueError: why"),
        ("end", "engine 'bench' in 'fail': EOFError: why"),
        ("input", "why more"),
    ],
)
async def test_g9_an_error_leaves_the_engine_at_work(host: EngineHost, kind: str, line: str) -> None:
    pid = await pid_of(host)
    with pytest.raises((StoreError, InputInvalid)) as caught:
        await host.call("fail", {"kind": kind, "text": "why\nmore"}, deadline_s=10)
    assert str(caught.value) == line
    assert not caught.value.retryable
    assert caught.value.__cause__ is None
    assert await pid_of(host) == pid


async def test_g9_an_error_of_datamind_keeps_code_and_hint(host: EngineHost) -> None:
    with pytest.raises(LimitExceeded) as caught:
        await host.call("limit", deadline_s=10)
    assert (caught.value.code, str(caught.value)) == ("limit_exceeded.rows", "too many rows. Ask for fewer.")
    with pytest.raises(StoreError, match="no engine has one"):
        await host.call("budget", deadline_s=10)


async def test_g9_the_traceback_is_in_the_log(host: EngineHost, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="datamind.engine_host")
    with pytest.raises(StoreError) as caught:
        await host.call("fail", {"kind": "value", "text": "why"}, deadline_s=10)
    await host.aclose()
    assert "Traceback" not in str(caught.value)
    assert "Traceback (most recent call last):" in caplog.text
    assert "tests/support/engines.py" in caplog.text


async def test_an_unknown_operation_names_those_there_are(host: EngineHost) -> None:
    for name in ("__init__", "note", "operations", ""):
        with pytest.raises(StoreError, match=f"'{name}': LookupError: no such operation; there are .*, echo, "):
            await host.call(name, deadline_s=10)


@pytest.mark.parametrize("kind", ["nan", "bytes", "surrogate"])
async def test_g4_an_answer_that_is_no_json_is_an_error(host: EngineHost, kind: str) -> None:
    with pytest.raises(StoreError, match="the answer cannot be sent: a value is not strict JSON"):
        await host.call("unanswerable", {"kind": kind}, deadline_s=10)
    assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g4_an_answer_that_is_too_large_is_an_error() -> None:
    async with open_engine(bench(max_frame_bytes=1_000_000)) as host:
        for operation, args in (("unanswerable", {"kind": "large"}), ("blob", {"size": 1_000_000})):
            with pytest.raises(LimitExceeded, match="the answer is too large") as caught:
                await host.call(operation, args, deadline_s=10)
            assert caught.value.code == "limit_exceeded.size"
        with pytest.raises(LimitExceeded, match="cannot be sent"):
            await host.call("echo", payloads=[bytes(1_000_000)], deadline_s=10)
        assert (await host.call("calls", deadline_s=10)).value == 1


def frame(header: str, *sizes: int, header_bytes: int | None = None) -> bytes:
    length = len(header) if header_bytes is None else header_bytes
    return struct.pack(f"!2sHI{len(sizes)}Q", b"DM", len(sizes), length, *sizes) + header.encode()


APPROVAL = '{"kind":"ApprovalRequired","code":"approval_required","message":"yes?","hint":"","retryable":false}'
GARBAGE = {
    "text": (b"Traceback (most recent call last):\n" * 10, "it does not start as a frame does"),
    "a huge header": (frame("{", header_bytes=2**32 - 1), "4294967295 bytes of JSON are more than 262144"),
    "a huge payload": (frame("{}", 2**64 - 1), "bytes are more than 67108864"),
    "many payloads": (frame("{}", *([0] * 65)), "65 payloads are more than 64"),
    "nesting": (frame("[" * 100_000), "its header nests deeper than 64"),
    "no JSON": (frame("{'id': 1}"), "its header is not strict JSON"),
    "another id": (frame('{"id":99,"kind":"end","value":"forged"}'), "it answers another request"),
    "another kind": (frame('{"id":1,"kind":"part","value":"forged"}'), "it is no end"),
    "an approval": (frame('{"id":1,"kind":"error","error":' + APPROVAL + "}"), "it reports an error of no known kind"),
}


@pytest.mark.parametrize("name", GARBAGE)
async def test_g4_garbage_on_the_channel_ends_the_child(host: EngineHost, name: str) -> None:
    garbage, said = GARBAGE[name]
    with pytest.raises((StoreError, LimitExceeded), match=f"'forge': the answer is .*{said}") as caught:
        await host.call("forge", payloads=[garbage], deadline_s=10)
    too_large = "more than" in said
    assert caught.value.code == ("limit_exceeded.size" if too_large else "store_error.protocol")
    assert not caught.value.retryable
    assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g4_a_frame_cut_short_waits_for_the_deadline(host: EngineHost) -> None:
    with pytest.raises(LimitExceeded, match=r"within 0\.3 s"):
        await host.call("forge", payloads=[b"DM\x00\x00\x00\x00\x00\x10{"], deadline_s=0.3)


async def test_g4_a_channel_closed_from_within_is_a_death(host: EngineHost) -> None:
    with pytest.raises(StoreError, match="closed its channel in 'hang_up'") as caught:
        await host.call("hang_up", deadline_s=10)
    assert caught.value.code == "store_error.engine_died"


async def test_g15_what_is_printed_harms_nothing(
    host: EngineHost, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactor, "_known", {})
    redactor.add("canary-1234")
    caplog.set_level(logging.DEBUG, logger="datamind.engine_host")
    await host.call("say", {"text": "DM\x00\x00 canary-1234 \x1b[31m"}, deadline_s=10)
    assert (await host.call("calls", deadline_s=10)).value == 1
    await host.aclose()
    assert "engine 'bench': DM\ufffd\ufffd [redacted] \ufffd[31m" in caplog.messages
    assert "canary" not in caplog.text


async def test_g15_a_flood_is_read_and_not_logged(host: EngineHost, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="datamind.engine_host")
    await host.call("say", {"text": "word " * 20 + "\n", "times": 50_000}, deadline_s=10)
    assert (await host.call("calls", deadline_s=10)).value == 1
    logged = [record.getMessage() for record in caplog.records if record.name.endswith("output")]
    assert "engine 'bench': more is not logged" in logged
    assert 60_000 < sum(map(len, logged)) < 200_000


# Starting.


@pytest.mark.parametrize(
    ("factory", "line"),
    [
        ("tests.support.engines:missing", "AttributeError: module 'tests.support.engines' has no attribute 'missing'"),
        ("tests.support.nowhere:Engine", "ModuleNotFoundError: No module named 'tests.support.nowhere'"),
        ("tests.support.engines:open_broken", "RuntimeError: the disk is on fire"),
    ],
)
async def test_an_engine_that_does_not_start_says_why(factory: str, line: str) -> None:
    async with open_engine(EngineSpec("bench", factory)) as host:
        for _ in range(2):
            with pytest.raises(StoreError) as caught:
                await host.call("pid", deadline_s=10)
            assert str(caught.value) == f"engine 'bench' in 'start': {line}"
            assert not caught.value.retryable


async def test_an_engine_may_refuse_to_start() -> None:
    async with open_engine(bench("open_refusing")) as host:
        with pytest.raises(InputInvalid, match="there is no such file") as caught:
            await host.call("pid", deadline_s=10)
        assert caught.value.code == "input_invalid.file"


async def test_an_engine_that_exits_at_its_start_is_a_death() -> None:
    async with open_engine(bench("open_exiting")) as host:
        with pytest.raises(StoreError, match="ended with status 7 in 'start'") as caught:
            await host.call("pid", deadline_s=10, retry=True)
        assert caught.value.retryable


async def test_g6_starting_has_a_limit_of_its_own() -> None:
    async with open_engine(bench("open_endless", start_s=0.3)) as host:
        with pytest.raises(LimitExceeded, match=r"'start' within 0\.3 s"):
            await host.call("pid", deadline_s=10)
    async with open_engine(bench()) as host:
        assert (await host.call("echo", {"slow": "start"}, deadline_s=0.5)).value  # though a start may take longer


async def test_a_missing_interpreter_is_a_store_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    async with open_engine(bench()) as host:
        with pytest.raises(StoreError, match="cannot be started"):
            await host.call("pid", deadline_s=10)


async def test_a_system_without_descriptors_starts_nothing_and_loses_none(host: EngineHost) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    try:
        for left in range(7):  # one after another, each step of a start lacks one
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(left):
                os.close(taken.pop())
            with pytest.raises(StoreError, match=r"cannot be started: .*Too many open files"):
                await host.call("pid", deadline_s=10)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)
    assert (await host.call("calls", deadline_s=10)).value == 1


# G6, G8: limits.


async def test_a25_g6_an_endless_call_is_stopped_at_its_deadline(host: EngineHost) -> None:
    for _ in range(6):
        pid = await pid_of(host)
        with pytest.raises(LimitExceeded, match=r"did not finish 'endless' within 0\.1 s") as caught:
            await host.call("endless", deadline_s=0.1)
        assert caught.value.code == "limit_exceeded.time"
        assert not is_running(pid)
    assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g6_what_the_engine_started_is_killed_too(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        with pytest.raises(LimitExceeded):
            await host.call("endless_with_a_child", deadline_s=0.5)
        (grandchild,) = lines(journal)
        await until(lambda: not is_running(int(grandchild)))


async def test_g6_waiting_for_a_turn_counts_and_harms_nobody(host: EngineHost) -> None:
    pid = await pid_of(host)
    slow = asyncio.create_task(host.call("write", {"seconds": 0.6}, deadline_s=10))
    await asyncio.sleep(0)
    with pytest.raises(LimitExceeded, match=r"was busy for 0\.05 s and has not begun 'pid'") as caught:
        await host.call("pid", deadline_s=0.05)
    assert caught.value.retryable
    assert (await slow).value == "written"
    assert await pid_of(host) == pid


async def test_g8_a_bomb_of_memory_is_a_limit_and_ends_the_child(host: EngineHost) -> None:
    for _ in range(2):
        assert (await host.call("calls", deadline_s=10)).value == 1
        with pytest.raises(LimitExceeded) as caught:
            await host.call("allocate", {"size": 10**10}, deadline_s=10)
        assert caught.value.code == "limit_exceeded.memory"
    assert (await host.call("allocate", {"size": 10**8}, deadline_s=10)).value == 10**8


async def test_g8_a_write_right_after_a_bomb_is_not_lost() -> None:
    async with open_engine(bench(options={"linger_s": 30})) as host:
        with pytest.raises(LimitExceeded):
            await host.call("allocate", {"size": 10**10}, deadline_s=10)
        reply = await host.call("write", {"seconds": 0}, deadline_s=10, interruptible=False)
        assert reply.value == "written"
        os.kill(await pid_of(host), signal.SIGKILL)


async def test_g8_memory_runs_out_in_other_languages_too(host: EngineHost) -> None:
    with pytest.raises(LimitExceeded) as caught:
        await host.call("allocate_as_cpp", deadline_s=10, retry=True)
    assert caught.value.code == "limit_exceeded.memory"


async def test_g8_an_engine_that_is_too_large_to_start() -> None:
    async with open_engine(bench("open_large")) as host:
        with pytest.raises(LimitExceeded) as caught:
            await host.call("pid", deadline_s=10)
        assert caught.value.code == "limit_exceeded.memory"


async def test_processor_time_is_a_limit() -> None:
    async with open_engine(bench(limits=EngineLimits(cpu_s=1))) as host:
        with pytest.raises(LimitExceeded, match="used up its processor time in 'endless'") as caught:
            await host.call("endless", deadline_s=30)
        assert caught.value.code == "limit_exceeded.time"


# G7: deaths.


async def test_g7_a_kill_from_outside_is_a_retryable_error(host: EngineHost) -> None:
    pid = await pid_of(host)
    call = asyncio.create_task(host.call("endless", deadline_s=30))
    await asyncio.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(StoreError, match="was ended by SIGKILL in 'endless'") as caught:
        await call
    assert caught.value.code == "store_error.engine_died"
    assert caught.value.retryable
    assert await pid_of(host) != pid


async def test_g7_a_read_is_asked_once_more(host: EngineHost, tmp_path: Path) -> None:
    flag = {"flag": str(tmp_path / "flag")}
    assert (await host.call("die_once", flag, deadline_s=10, retry=True)).value == "alive"
    (tmp_path / "flag").unlink()
    with pytest.raises(StoreError, match="ended with status 3 in 'die_once'"):
        await host.call("die_once", flag, deadline_s=10)


async def test_g7_it_is_asked_no_more_than_twice(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        with pytest.raises(StoreError, match="SIGKILL"):
            await host.call("die", deadline_s=10, retry=True)
    assert lines(journal) == [
        "dying",
        "dying",
    ]


async def test_g7_an_error_is_no_death(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        with pytest.raises(StoreError):
            await host.call("fail", {"kind": "value"}, deadline_s=10, retry=True)
    assert lines(journal) == ["fail", "closed"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_g7_a_child_that_died_idle_is_replaced_even_for_a_write(
    host: EngineHost, tmp_path: Path, at_once: bool
) -> None:
    pid = await pid_of(host)
    os.kill(pid, signal.SIGKILL)
    if at_once:  # dead, and this process has not heard of it
        while is_running(pid):
            pass
    else:
        await until(lambda: pid not in children())
    (tmp_path / "a").write_text("text")
    with (tmp_path / "a").open("rb") as file:
        reply = await host.call("read", fds=[file.fileno()], deadline_s=10, interruptible=False)
    assert reply.value == "text"


async def test_g7_a_stream_cut_by_a_death_ends_with_an_error(host: EngineHost) -> None:
    got = []
    pid = await pid_of(host)
    with pytest.raises(StoreError) as caught:
        async for part in host.stream("count", {"parts": 1000, "pause": 0.01}, deadline_s=30):
            got.append(part.value)
            if len(got) == 5:
                os.kill(pid, signal.SIGKILL)
    assert caught.value.code == "store_error.engine_died"
    assert 5 <= len(got) < 1000


# G5: order.


async def test_g5_requests_are_served_in_the_order_they_were_made(host: EngineHost) -> None:
    served: list[int] = []

    async def ask(number: int) -> None:
        reply = await host.call("calls", deadline_s=10)
        served.append(number)
        assert reply.value == number + 1

    await asyncio.gather(*(ask(number) for number in range(20)))
    assert served == list(range(20))


async def test_g5_a_stream_has_the_engine_to_itself(host: EngineHost) -> None:
    async with aclosing(host.stream("count", {"parts": 3}, deadline_s=10)) as parts:
        assert (await anext(parts)).value == 0
        other = asyncio.create_task(host.call("calls", deadline_s=10))
        await asyncio.sleep(0.05)
        assert not other.done()
        assert [part.value async for part in parts] == [1, 2]
        assert (await other).value == 1


async def test_g5_a_task_does_not_wait_for_its_own_stream(host: EngineHost) -> None:
    async with aclosing(host.stream("count", {"parts": 3}, deadline_s=10)) as parts:
        await anext(parts)
        with pytest.raises(StoreError, match="busy with a stream of this task") as caught:
            async with asyncio.timeout(10):
                await host.call("calls", deadline_s=None)
        assert caught.value.code == "store_error.busy"
        assert (await anext(parts)).value == 1
    assert (await host.call("calls", deadline_s=10)).value == 1


# G10: cancellation.


async def test_g10_a_cancelled_read_is_stopped(host: EngineHost) -> None:
    pid = await pid_of(host)
    call = asyncio.create_task(host.call("endless", deadline_s=30))
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not is_running(pid)
    assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g10_a_cancelled_write_is_answered_first(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        pid = await pid_of(host)
        call = asyncio.create_task(host.call("write", {"seconds": 0.2}, deadline_s=10, interruptible=False))
        await until(lambda: lines(journal) == ["begun"])
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert lines(journal) == ["begun", "finished"]
        assert await pid_of(host) == pid


async def test_g10_a_write_that_waits_for_its_turn_is_never_begun(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        first = asyncio.create_task(host.call("echo", deadline_s=10))
        second = asyncio.create_task(host.call("write", deadline_s=10, interruptible=False))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await first
        await pid_of(host)
    assert lines(journal) == ["closed"]


async def test_g10_a_write_still_has_its_deadline(host: EngineHost) -> None:
    with pytest.raises(LimitExceeded):
        await host.call("write", {"seconds": 30}, deadline_s=0.2, interruptible=False)


async def test_g10_a_start_that_is_cancelled_leaves_nothing() -> None:
    before = children()
    async with open_engine(bench("open_endless")) as host:
        for pause in (0, 0.001, 0.01, 0.1):
            call = asyncio.create_task(host.call("pid", deadline_s=10, interruptible=False))
            await asyncio.sleep(pause)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert children() == before


async def test_g10_an_outer_timeout_works(host: EngineHost) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await host.call("endless", deadline_s=30)
    assert (await host.call("calls", deadline_s=10)).value == 1


# G11: streams.


async def test_g11_a_stream_is_complete_and_in_order(host: EngineHost) -> None:
    parts = [part async for part in host.stream("count", {"parts": 300, "size": 10}, deadline_s=10)]
    assert [part.value for part in parts] == list(range(300))
    assert {bytes(part.payloads[0]) for part in parts} == {bytes(10)}


async def test_g11_an_answer_in_one_piece_is_a_stream_of_one(host: EngineHost) -> None:
    assert [part.value async for part in host.stream("echo", {"a": 1}, deadline_s=10)] == [{"a": 1}]
    with pytest.raises(StoreError, match="it answers in parts; call it as a stream"):
        await host.call("count", {"parts": 3}, deadline_s=10)


async def test_g11_a_stream_that_is_not_read_waits(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        asked = {"parts": 20_000, "size": 16_384}
        async with aclosing(host.stream("count", asked, deadline_s=10)) as parts:
            await anext(parts)
            await asyncio.sleep(0.5)
            assert int(lines(journal)[-1]) * 16_384 < 4_000_000
            for _ in range(999):
                await anext(parts)
            await asyncio.sleep(0.2)
            assert int(lines(journal)[-1]) * 16_384 < 20_000_000


async def test_g11_a_stream_left_early_ends_the_operation_and_not_the_child(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        pid = await pid_of(host)
        for parts in (1_000_000, 1):  # the end and the wish to stop may cross
            async with aclosing(host.stream("count", {"parts": parts, "size": 16_384}, deadline_s=10)) as stream:
                async for _ in stream:
                    break
            assert lines(journal)[-1] == "ended"
            assert await pid_of(host) == pid


async def test_g11_an_operation_that_does_not_yield_is_killed(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        pid = await pid_of(host)
        async with aclosing(host.stream("endless_part", deadline_s=30)) as parts:
            await anext(parts)
            await until(lambda: lines(journal) == ["endless"])
        assert not is_running(pid)
        assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g11_a_stream_dropped_without_being_closed_is_ended_all_the_same(host: EngineHost) -> None:
    async for _ in host.stream("count", {"parts": 100_000, "size": 1000}, deadline_s=10):
        break
    assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g11_a_cancelled_stream_ends(host: EngineHost) -> None:
    async def read() -> None:
        async for _ in host.stream("endless_part", deadline_s=30):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await host.call("calls", deadline_s=10)).value == 1


async def test_g11_an_error_midway_comes_after_the_parts(host: EngineHost) -> None:
    pid = await pid_of(host)
    got = []
    with pytest.raises(StoreError, match="ValueError: midway"):
        async for part in host.stream("fail_midway", deadline_s=10):
            got.append(part.value)
    assert got == [1]
    assert await pid_of(host) == pid


async def test_g11_a_part_has_a_limit(host: EngineHost) -> None:
    pid = await pid_of(host)
    with pytest.raises(LimitExceeded, match="the answer is too large") as caught:
        async for _ in host.stream("count", {"parts": 1, "size": 1_048_576}, deadline_s=10):
            pass
    assert caught.value.code == "limit_exceeded.size"
    assert await pid_of(host) == pid


async def test_g11_a_forged_part_has_the_same_limit(host: EngineHost) -> None:
    part = frame('{"id":1,"kind":"part","value":null}', 1_048_576)
    with pytest.raises(LimitExceeded, match="1048611 bytes are more than 1048576"):
        async for _ in host.stream("forge", payloads=[part], deadline_s=10):
            pass


async def test_g6_a_stream_counts_the_time_of_the_engine_alone(host: EngineHost) -> None:
    async with aclosing(host.stream("count", {"parts": 3}, deadline_s=0.4)) as parts:
        await anext(parts)
        await asyncio.sleep(0.6)
        assert [part.value async for part in parts] == [1, 2]
    with pytest.raises(LimitExceeded, match=r"within 0\.4 s"):
        async for _ in host.stream("count", {"parts": 100, "pause": 0.05}, deadline_s=0.4):
            pass


# G13, G14: the end.


async def test_g14_closing_flushes_and_may_be_repeated(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        pid = await pid_of(host)
        await host.aclose()
        assert lines(journal) == ["closed"]
        assert pid not in children()
        await asyncio.gather(host.aclose(), host.aclose())
    assert lines(journal) == ["closed"]
    with pytest.raises(StoreError, match="is closed and cannot begin 'pid'") as caught:
        await host.call("pid", deadline_s=10)
    assert (caught.value.code, caught.value.retryable) == ("store_error.closed", False)


async def test_g14_a_close_that_takes_too_long_is_cut(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal), "close_s": 30}, close_s=0.3)) as host:
        pid = await pid_of(host)
        await host.aclose()
        assert not is_running(pid)
    assert lines(journal) == []


async def test_g14_work_begun_is_finished_and_work_queued_is_refused(journal: Path) -> None:
    async with open_engine(bench(options={"journal": str(journal)})) as host:
        await pid_of(host)
        begun = asyncio.create_task(host.call("write", {"seconds": 0.2}, deadline_s=10))
        queued = asyncio.create_task(host.call("write", deadline_s=10))
        await until(lambda: lines(journal) == ["begun"])
        await host.aclose()
        assert (await begun).value == "written"
        with pytest.raises(StoreError, match="is closed"):
            await queued
    assert lines(journal) == ["begun", "finished", "closed"]


@pytest.mark.parametrize(("retry", "said"), [(False, "was ended by SIGKILL in 'endless'"), (True, "is closed")])
async def test_g14_work_that_does_not_end_is_cut(retry: bool, said: str) -> None:
    lease = Lease()
    async with open_engine(bench(close_s=0.2), while_running=lease.hold) as host:
        pid = await pid_of(host)
        call = asyncio.create_task(host.call("endless", deadline_s=None, retry=retry))
        await asyncio.sleep(0.05)
        await host.aclose()
        assert not is_running(pid)
        with pytest.raises(StoreError, match=said):
            await call
    assert lease.log == ["taken", "given up"]


async def test_g14_a_start_that_does_not_end_is_cut() -> None:
    before = children()
    lease = Lease()
    async with open_engine(bench("open_endless", close_s=0.2), while_running=lease.hold) as host:
        call = asyncio.create_task(host.call("pid", deadline_s=None))
        await until(lambda: children() != before)
        await host.aclose()
        assert children() == before
        assert lease.log == ["taken", "given up"]
        with pytest.raises(StoreError, match="was ended by SIGKILL in 'start'"):
            await call


async def test_g14_flushing_is_not_an_operation_to_call(host: EngineHost) -> None:
    with pytest.raises(InputInvalid, match="done by aclose"):
        await host.call("close", deadline_s=10)


async def test_g14_a_stream_left_open_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_engine(bench()) as host:
        parts = host.stream("count", {"parts": 100_000, "size": 16_384}, deadline_s=10)
        await anext(parts)
        async with asyncio.timeout(5):
            await host.aclose()
    # Its number may be another process's by now.
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("a child that is gone was killed once more"))
    with pytest.raises(StoreError):
        await anext(parts)


async def test_g14_a_program_that_escaped_holds_no_descriptor_here() -> None:
    before = descriptors()
    async with open_engine(bench()) as host:
        escaped = (await host.call("leave_a_child", deadline_s=10)).value
        await host.aclose()
        assert descriptors() == before
        os.kill(escaped, signal.SIGKILL)


async def test_g14_closing_a_child_that_is_gone_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    async with open_engine(bench()) as host:
        pid = await pid_of(host)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: pid not in children())
        await asyncio.sleep(0.05)
    assert not caplog.records


async def test_g14_closing_what_was_never_used_starts_nothing() -> None:
    async with open_engine(bench()) as host:
        await host.aclose()


async def test_g13_an_idle_engine_is_closed_and_its_lease_given_up(journal: Path) -> None:
    lease = Lease()
    spec = bench(options={"journal": str(journal)}, idle_s=0.15)
    async with open_engine(spec, while_running=lease.hold) as host:
        assert lease.log == []
        pid = await pid_of(host)
        for _ in range(4):
            await asyncio.sleep(0.05)
            assert await pid_of(host) == pid
        assert lease.log == ["taken"]
        await until(lambda: lease.log == ["taken", "given up"])
        assert lines(journal) == ["closed"]
        assert await pid_of(host) != pid
    assert lease.log == ["taken", "given up"] * 2


async def test_g13_a_stream_at_work_is_not_idle() -> None:
    async with (
        open_engine(bench(idle_s=0.1)) as host,
        aclosing(host.stream("count", {"parts": 3}, deadline_s=10)) as parts,
    ):
        await anext(parts)
        await asyncio.sleep(0.3)
        assert [part.value async for part in parts] == [1, 2]


async def test_g13_a_kill_gives_the_lease_up_too() -> None:
    lease = Lease()
    async with open_engine(bench(), while_running=lease.hold) as host:
        with pytest.raises(LimitExceeded):
            await host.call("endless", deadline_s=0.1)
        assert lease.log == ["taken", "given up"]
        await pid_of(host)
        assert lease.log == ["taken", "given up", "taken"]
    assert lease.log == ["taken", "given up"] * 2


async def test_g13_a_lease_that_is_not_given_starts_nothing() -> None:
    @asynccontextmanager
    async def refuse() -> AsyncIterator[None]:
        raise InputInvalid("someone else has it")
        yield

    before = children()
    async with open_engine(bench(), while_running=refuse) as host:
        for _ in range(2):
            with pytest.raises(InputInvalid, match="someone else"):
                await host.call("pid", deadline_s=10)
    assert children() == before


async def test_g13_a_failed_start_gives_the_lease_up() -> None:
    lease = Lease()
    async with open_engine(bench("open_broken"), while_running=lease.hold) as host:
        with pytest.raises(DataMindError):
            await host.call("pid", deadline_s=10)
        assert lease.log == ["taken", "given up"]
