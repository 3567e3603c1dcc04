"""The tests of a memory store that keeps vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import pytest

from datamind.core.errors import InputInvalid
from datamind.core.protocols.memory import (
    MemoryDraft,
    MemoryScope,
    MemoryStore,
    MemoryVectorReader,
    SupportsMemoryVectors,
)
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.crash import write_and_die
from datamind.testing.kb_data import make_vectors
from datamind.testing.memory_data import day, make_home, make_memory, recalled

_MODEL = "model-a"
_EAST, _NORTH, _NORTH_EAST, _WEST = (1.0, 0.0), (0.0, 1.0), (math.sqrt(0.5), math.sqrt(0.5)), (-1.0, 0.0)
_NAMES = ("east", "north", "middle")
# Ids of their own, because a child process makes them too.
_DRAFTS = [make_memory(f"{name} memory", at=at, memory_id=f"mem_{name}") for at, name in enumerate(_NAMES)]
_IDS = [draft.memory_id for draft in _DRAFTS]


async def write_vectors(store: Any) -> None:
    """What the child process writes before it is killed."""
    await save_all(store, _DRAFTS)
    await store.put_vectors(_MODEL, _IDS, make_vectors(_EAST, _NORTH, _NORTH_EAST))


async def save_all(store: MemoryStore, drafts: list[MemoryDraft]) -> None:
    """Save one after another."""
    for draft in drafts:
        await store.save(draft)


async def near(store: MemoryStore, *, words: str = "", limit: int = 10, model: str = _MODEL, **where: Any) -> list[str]:
    """Texts of a recall towards the east, by vector and by the words given."""
    return await recalled(store, words, limit, vector=make_vectors(_EAST), model_id=model, **where)


class MemoryVectorsConformance(ProviderConformance):
    """Tests of SupportsMemoryVectors, for the store that MemoryStoreConformance tests.

    Capabilities: ``durable``, as there.

    Troubleshooting: vectors have two dimensions here, and ids of models are made up: a store keeps what it is
    given and knows no embedding.
    """

    protocols = (SupportsMemoryVectors, MemoryVectorReader)
    kind = ProviderKind.MEMORY_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable"})

    async def test_g1_the_read_view_says_whether_a_model_has_vectors(self, tmp_path: Path) -> None:
        """From the first vector on, by model, and on both sides."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            await save_all(store, _DRAFTS)
            assert not await view.has_vectors(_MODEL)
            await store.put_vectors(_MODEL, _IDS[:1], make_vectors(_EAST))
            for reader in (store, view):
                assert [await reader.has_vectors(model) for model in (_MODEL, "model-b")] == [True, False]

    async def test_hits_are_nearest_first(self, tmp_path: Path) -> None:
        """By cosine, whatever the length; what is square to the query, or behind it, is no hit."""
        async with self.opened(tmp_path) as store:
            await save_all(store, [*_DRAFTS, west := make_memory("west memory"), nowhere := make_memory("nowhere")])
            vectors = make_vectors((0.01, 0.0), (0.0, 7.0), (9.0, 9.0), _WEST, (0.0, 0.0))
            await store.put_vectors(_MODEL, [*_IDS, west.memory_id, nowhere.memory_id], vectors)
            assert await near(store) == ["east memory", "middle memory"]
            assert await near(store, limit=1) == ["east memory"]

    async def test_words_and_vectors_are_fused(self, tmp_path: Path) -> None:
        """What both find stands above what one finds."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            assert (await near(store, words="middle north"))[0] == "middle memory"
            assert set(await near(store, words="north")) == {"east memory", "north memory", "middle memory"}

    async def test_a_memory_without_a_vector_is_not_behind_those_that_have_one(self, tmp_path: Path) -> None:
        """It takes its place by words in both rankings."""
        many = [make_memory(f"memory {n} of the project") for n in range(40)]
        fresh = make_memory("the project has a zeppelin", at=9)
        async with self.opened(tmp_path) as store:
            await save_all(store, many)
            await store.put_vectors(_MODEL, [draft.memory_id for draft in many], make_vectors(*[_NORTH_EAST] * 40))
            await store.save(fresh)
            assert (await near(store, words="zeppelin project"))[0] == fresh.text

    async def test_a_filter_is_applied_before_the_limit(self, tmp_path: Path) -> None:
        """The one allowed memory is found behind any number of nearer ones."""
        many = [make_memory(f"memory {n}") for n in range(300)]
        last = make_memory("last", scope=MemoryScope.SESSION, session="s1")
        async with self.opened(tmp_path) as store:
            await save_all(store, [*many, last])
            ids = [draft.memory_id for draft in (*many, last)]
            await store.put_vectors(_MODEL, ids, make_vectors(*[_EAST] * 300, (0.1, 1.0)))
            where: dict[str, Any] = {"scopes": (MemoryScope.SESSION,), "session": "s1"}
            assert await near(store, limit=1, **where) == ["last"]
            assert await near(store, limit=1, scopes=()) == []

    async def test_a_forgotten_memory_is_near_nothing(self, tmp_path: Path) -> None:
        """Though it was a moment ago; a closed one is found when it is asked for."""
        old, new = make_home("Oslo", at=1), make_home("Bergen", at=5)
        async with self.opened(tmp_path) as store:
            await save_all(store, [old, new])
            await store.put_vectors(_MODEL, [old.memory_id, new.memory_id], make_vectors(_EAST, _NORTH_EAST))
            assert await near(store) == [new.text]
            assert await near(store, include_closed=True) == [old.text, new.text]
            assert await near(store, as_of=day(2)) == [old.text]
            await store.forget([old.memory_id], "r1")
            await store.put_vectors(_MODEL, [old.memory_id], make_vectors(_EAST))
            assert await near(store, include_closed=True) == [new.text]

    async def test_g1_a44_vectors_of_another_model_are_never_searched(self, tmp_path: Path) -> None:
        """The backlog of the new model is everything, and until it is filled recall goes by words."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            assert await near(store, model="model-b") == []
            assert await near(store, words="north", model="model-b") == ["north memory"]
            await store.put_vectors("model-b", _IDS[1:2], make_vectors((1.0, 0.0, 0.0)))
            wanted: dict[str, Any] = {"vector": make_vectors((1.0, 0.0, 0.0)), "model_id": "model-b"}
            assert await recalled(store, "", **wanted) == ["north memory"]
            assert await near(store, limit=1) == ["east memory"]

    async def test_g1_b32_another_dimension_is_refused(self, tmp_path: Path) -> None:
        """In a query and in a write; nothing is kept."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            with pytest.raises(InputInvalid):
                await store.put_vectors(_MODEL, _IDS[:1], make_vectors((1.0, 0.0, 0.0)))
            with pytest.raises(InputInvalid):
                await recalled(store, "north", vector=make_vectors((1.0, 0.0, 0.0)), model_id=_MODEL)
            assert await near(store, limit=1) == ["east memory"]

    @pytest.mark.parametrize(
        ("count", "vectors"),
        [(2, b"\0" * 12), (1, b"\0" * 7), (1, b""), (2, b"\0" * 15), (1, make_vectors((math.nan, 0.0)))],
    )
    async def test_vectors_that_do_not_fit_are_refused(self, tmp_path: Path, count: int, vectors: bytes) -> None:
        """Not one finite row of one dimension for each id."""
        async with self.opened(tmp_path) as store:
            await save_all(store, _DRAFTS)
            with pytest.raises(InputInvalid):
                await store.put_vectors(_MODEL, _IDS[:count], vectors)
            assert len(await store.memories_without_vector(_MODEL, 10)) == 3

    async def test_a_vector_put_again_replaces_the_first(self, tmp_path: Path) -> None:
        """And ids of vanished memories are dropped."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            assert (await near(store))[0] == "east memory"
            ids = ["mem_unknown", _IDS[1], _IDS[0], "\ud800"]
            await store.put_vectors(_MODEL, ids, make_vectors(_EAST, _EAST, _NORTH, _EAST))
            assert await near(store) == ["north memory", "middle memory"]
            await store.put_vectors(_MODEL, [], b"")

    async def test_the_backlog_is_oldest_first(self, tmp_path: Path) -> None:
        """In the order of saving, closed memories too, forgotten ones never."""
        old, new = make_home("Oslo", at=1), make_home("Bergen", at=5)
        async with self.opened(tmp_path) as store:
            await save_all(store, [_DRAFTS[2], old, new, *_DRAFTS[:2]])
            await store.forget([_IDS[0]], "r1")
            expected = [_DRAFTS[2].text, old.text, new.text, _DRAFTS[1].text]
            backlog = await store.memories_without_vector(_MODEL, 10)
            assert [item.text for item in backlog] == expected
            assert [item.text for item in await store.memories_without_vector(_MODEL, 2)] == expected[:2]
            await store.put_vectors(_MODEL, [old.memory_id], make_vectors(_EAST))
            backlog = await store.memories_without_vector(_MODEL, 10)
            assert [item.text for item in backlog] == [expected[0], *expected[2:]]
            assert len(await store.memories_without_vector("model-b", 10)) == 4

    async def test_vectors_survive_the_death_of_the_process(self, tmp_path: Path) -> None:
        """A child process writes and is killed."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_vectors.__name__}")
        async with self.opened(tmp_path) as store:
            assert await near(store) == ["east memory", "middle memory"]
