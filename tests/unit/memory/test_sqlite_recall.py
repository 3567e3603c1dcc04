"""Words that nearly every memory has, and vectors that come while others are searched."""

from __future__ import annotations

import pytest

from datamind.testing.kb_data import make_vectors
from datamind.testing.memory_data import make_filter, make_memory, recalled
from datamind_memory_sqlite import words
from datamind_memory_sqlite.store import SqliteMemoryStore


@pytest.fixture
async def store(tmp_path):
    opened = SqliteMemoryStore(tmp_path / "memory.db", 20)
    yield opened
    await opened.aclose()


async def save_all(store, texts):
    drafts = [make_memory(text, at=at) for at, text in enumerate(texts)]
    for draft in drafts:
        await store.save(draft)
    return [draft.memory_id for draft in drafts]


async def near(store, *row, limit=10, text=""):
    return await recalled(store, text, limit, vector=make_vectors(row), model_id="m")


class TestCommonWords:
    @pytest.fixture(autouse=True)
    async def many(self, store, monkeypatch):
        monkeypatch.setattr(words, "MAX_POSTINGS", 10)
        await save_all(store, [f"common number{n}" for n in range(30)] + ["common zeppelin", "zeppelin"])

    async def test_a_rare_word_decides_where_it_fills_the_limit(self, store):
        assert set(await recalled(store, "common zeppelin", 2)) == {"common zeppelin", "zeppelin"}

    async def test_a_common_word_counts_where_the_rare_ones_leave_room(self, store):
        found = await recalled(store, "common zeppelin", 40)
        assert len(found) == 32
        assert set(found[:2]) == {"common zeppelin", "zeppelin"}

    async def test_a_common_word_alone_is_found(self, store):
        assert len(await recalled(store, "common", 40)) == 31
        assert len(await recalled(store, "common", 5)) == 5

    async def test_a_filter_does_not_hide_what_only_a_common_word_finds(self, store):
        ids = tuple(item.memory_id for item in await store.find(make_filter()) if item.text == "common number3")
        assert await recalled(store, "common zeppelin", 1, memory_ids=ids) == ["common number3"]


async def test_vectors_put_later_are_found(store):
    ids = await save_all(store, ["first", "second", "third"])
    await store.put_vectors("m", ids[:1], make_vectors((1.0, 0.0)))
    assert await near(store, 1.0, 0.1) == ["first"]
    await store.put_vectors("m", ids[1:], make_vectors((1.0, 0.1), (0.5, 0.5)))
    assert await near(store, 1.0, 0.1) == ["second", "first", "third"]


async def test_vectors_of_another_process_are_found(store, tmp_path):
    ids = await save_all(store, ["first", "second"])
    await store.put_vectors("m", ids[:1], make_vectors((1.0, 0.0)))
    assert await near(store, 1.0, 0.0) == ["first"]
    other = SqliteMemoryStore(tmp_path / "memory.db", 20)
    await other.put_vectors("m", ids[1:], make_vectors((1.0, 0.01)))
    assert await near(store, 1.0, 0.0) == ["first", "second"]
    await other.forget(ids[:1], "r1")
    assert await near(store, 1.0, 0.0) == ["second"]
    await other.aclose()


async def test_many_vectors_come_in_their_order(store):
    ids = await save_all(store, [f"memory {n}" for n in range(120)])
    await store.put_vectors("m", ids, make_vectors(*[(1.0, n / 120) for n in range(120)]))
    assert await near(store, 1.0, 0.0, limit=60) == [f"memory {n}" for n in range(60)]
    assert await near(store, 0.0, 1.0, limit=3) == ["memory 119", "memory 118", "memory 117"]


async def test_two_models_take_turns(store):
    ids = await save_all(store, ["first", "second"])
    await store.put_vectors("m", ids, make_vectors((1.0, 0.0), (0.0, 1.0)))
    await store.put_vectors("n", ids, make_vectors((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
    for _ in range(2):
        assert await near(store, 1.0, 0.0) == ["first"]
        where = {"vector": make_vectors((1.0, 0.0, 0.0)), "model_id": "n"}
        assert await recalled(store, "", **where) == ["second"]
