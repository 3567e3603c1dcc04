"""The tests of a memory store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar, Final

from datamind.core.protocols.memory import MemoryReader, MemoryStore, SupportsMemoryVectors
from datamind.testing.conformance.memory_writes import MemoryWritesConformance, assert_one_value_at_a_time
from datamind.testing.crash import write_and_die
from datamind.testing.memory_data import history, make_home, make_memory, recalled, texts
from datamind.testing.memory_writer import start_writers

WRITING: Final = ("save", "update", "forget", "put", "add", "write", "insert", "delete", "remove", "commit", "sync")
"""How names of methods begin that a read view must not have."""

# Ids of their own, because a child process makes them too.
_OSLO, _BERGEN = make_home("Oslo", at=1, memory_id="mem_oslo"), make_home("Bergen", at=5, memory_id="mem_bergen")


async def write_memories(store: MemoryStore) -> None:
    """What the child process of G10 does before it is killed."""
    await store.save(_OSLO)
    await store.save(make_memory("gone", memory_id="mem_gone"))
    await store.save(_BERGEN)
    await store.forget(["mem_gone"], "r1")


async def write_one(store: MemoryStore) -> None:
    """What the child process of G11 does."""
    await store.save(make_memory("written by another process"))


class MemoryStoreConformance(MemoryWritesConformance):
    """Tests of MemoryStore and MemoryReader.

    Capabilities: ``durable`` (it outlives the process), ``processes`` (several may write it at once) and
    ``vectors`` (it is a SupportsMemoryVectors; run MemoryVectorsConformance too).

    Troubleshooting: see the classes it is made of.
    """

    protocols: ClassVar[tuple[type, ...]] = (MemoryReader, MemoryStore)
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "processes", "vectors"})

    async def test_it_declares_what_it_is(self, tmp_path: Path) -> None:
        """The declared capabilities are those of the store."""
        async with self.opened(tmp_path) as store:
            assert isinstance(store, MemoryStore)
            assert isinstance(store, SupportsMemoryVectors) is ("vectors" in self.capabilities)

    async def test_g5_of_tasks_that_save_at_once_one_holds(self, tmp_path: Path) -> None:
        """Twenty values of one fact: each is kept, all but one are closed."""
        drafts = [make_home(f"city {n}", at=1) for n in range(20)]
        async with self.opened(tmp_path) as store:
            outcomes = await asyncio.gather(*(store.save(draft) for draft in drafts))
            assert len(await texts(store)) == 1
            assert len(await history(store)) == 20
            closed = [memory_id for outcome in outcomes for memory_id in outcome.closed_ids]
            assert len(closed) == len(set(closed)) == 19

    async def test_g5_a73_b23_of_processes_that_save_at_once_one_holds(self, tmp_path: Path) -> None:
        """No error, nothing lost, and at any instant one value."""
        self.need("processes")
        names, count = "abc", 20
        writers = await asyncio.to_thread(start_writers, self.target, tmp_path, names, count)
        printed = [await asyncio.to_thread(writer.communicate) for writer in writers]
        assert [errors for _, errors in printed] == [""] * len(names)
        saved = [memory_id for output, _ in printed for memory_id in output.split()]
        assert len(saved) == len(names) * count
        async with self.opened(tmp_path) as store:
            items = await history(store)
            assert set(items) == set(saved)
            assert len(await texts(store)) == 1
            assert_one_value_at_a_time(items)

    async def test_g10_what_returned_survives_the_death_of_the_process(self, tmp_path: Path) -> None:
        """A child process writes and is killed."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_memories.__name__}")
        async with self.opened(tmp_path) as store:
            assert await texts(store.read_view(), include_closed=True) == [_BERGEN.text, _OSLO.text]
            assert await recalled(store, "live") == [_BERGEN.text]
            assert (await store.save(_BERGEN)).closed_ids == (_OSLO.memory_id,)

    async def test_g10_closing_and_opening_keeps_everything(self, tmp_path: Path) -> None:
        """Redo and forget work as before."""
        self.need("durable")
        async with self.opened(tmp_path) as store:
            await write_memories(store)
            before = await history(store)
        async with self.opened(tmp_path) as store:
            assert await history(store) == before
            await write_memories(store)
            assert await history(store) == before

    async def test_g10_sync_may_be_called_at_any_time_and_aclose_twice(self, tmp_path: Path) -> None:
        """Neither raises."""
        async with self.opened(tmp_path) as store:
            await store.sync()
            await store.save(_OSLO)
            await store.sync()
            await store.sync()
            await store.aclose()

    async def test_g11_a_read_view_has_no_method_that_writes(self, tmp_path: Path) -> None:
        """By the names of its public attributes."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            assert isinstance(view, MemoryReader)
            assert not isinstance(view, MemoryStore)
            assert not [name for name in dir(view) if name.startswith(WRITING)]

    async def test_g11_a_view_taken_before_a_write_sees_it(self, tmp_path: Path) -> None:
        """Whether the write was the store's own or another process's."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            assert await texts(view) == []
            await store.save(_OSLO)
            assert await texts(view) == await recalled(view, "live") == [_OSLO.text]
            await store.save(_BERGEN)
            assert await texts(view) == await recalled(view, "live") == [_BERGEN.text]
            if "processes" in self.capabilities:
                await write_and_die(self.target, tmp_path, f"{__name__}:{write_one.__name__}")
                assert await recalled(view, "another process") == ["written by another process"]
