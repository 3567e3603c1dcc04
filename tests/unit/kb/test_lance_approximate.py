"""Above ``exact_limit`` vectors are searched through an index on disk."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from datamind.core.protocols.kb import KBFilter
from datamind.testing.kb_data import make_document
from datamind.testing.providers import ProviderTarget

LANCE = ("kb.store", "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions")
MODEL = "model-a"
DIMENSION, DOCUMENTS, LIMIT = 32, 150, 1_000


@asynccontextmanager
async def opened(folder: Path, exact_limit: int):
    store = await ProviderTarget(*LANCE, {"exact_limit": exact_limit}).open(folder)
    try:
        yield store
    finally:
        await store.aclose()


def texts(number: int) -> list[str]:
    return [f"passage {number} {part}" for part in range(10)]


def vectors_of(count: int, seed: int) -> np.ndarray:
    """Some near one another, as texts are."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((30, DIMENSION))
    return (centres[rng.integers(0, 30, count)] + 0.6 * rng.standard_normal((count, DIMENSION))).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    documents = [make_document(f"{n}.md", *texts(n)) for n in range(DOCUMENTS)]
    return tmp_path_factory.mktemp("approximate"), documents, vectors_of(10 * DOCUMENTS, seed=1)


async def fill(store, documents, values) -> None:
    await store.put_documents(documents)
    await store.put_vectors(MODEL, [name for one in documents for name in one.chunk_ids], values.tobytes())


def ids(hits) -> list[str]:
    return [hit.chunk.chunk_id for hit in hits]


async def test_the_index_finds_nearly_what_a_search_of_all_finds(made):
    folder, documents, values = made
    queries = [one.tobytes() for one in vectors_of(20, seed=2)]
    async with opened(folder, exact_limit=10**9) as store:
        await fill(store, documents, values)
        await store.optimize()
        assert [(one.kind, one.recall) for one in (await store.status()).vectors] == [("exact", None)]
        exact = [await store.search_vectors(MODEL, query, 10) for query in queries]
    async with opened(folder, LIMIT) as store:
        before = [await store.search_vectors(MODEL, query, 10) for query in queries]
        assert list(map(ids, before)) == list(map(ids, exact)), "without an index all are compared"
        await store.optimize()
        (status,) = (await store.status()).vectors
        assert (status.kind, status.vectors) == ("ivf_rq", 1_500)
        assert status.recall is not None and status.recall > 0.9
        found = [await store.search_vectors(MODEL, query, 10) for query in queries]
        shared = sum(len(set(ids(one)) & set(ids(other))) for one, other in zip(found, exact, strict=True))
        assert shared >= 0.9 * 10 * len(queries)
        for hits, of_all in zip(found, exact, strict=True):
            scores = {hit.chunk.chunk_id: hit.score for hit in of_all}
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            assert all(hit.score == pytest.approx(scores.get(hit.chunk.chunk_id, hit.score), abs=1e-4) for hit in hits)
            assert ids(hits) == list(await store.rank_vectors(MODEL, queries[found.index(hits)], 10))
        assert await store.count_embedded(MODEL) == 1_500


async def test_a36_a35_b19_a_filter_a_new_vector_and_a_deletion_hold_with_an_index(tmp_path, made):
    _, documents, values = made
    async with opened(tmp_path, LIMIT) as store:
        await fill(store, documents, values)
        await store.optimize()
        near = values[57].tobytes()
        assert ids(await store.search_vectors(MODEL, near, 1)) == documents[5].chunk_ids[7:8]
        far = KBFilter(sources=("9.md",))
        assert sorted(ids(await store.search_vectors(MODEL, near, 20, far))) == sorted(documents[9].chunk_ids)
        new = make_document("new.md", "a new passage")
        await store.put_document(*new)
        assert set(await store.unembedded(MODEL, new.chunk_ids)) == set(new.chunk_ids)
        await store.put_vectors(MODEL, new.chunk_ids, near)
        assert set(ids(await store.search_vectors(MODEL, near, 2))) == {*new.chunk_ids, documents[5].chunk_ids[7]}
        assert await store.unembedded(MODEL, new.chunk_ids) == set()
        await store.delete_documents([documents[5].document_id])
        found = ids(await store.search_vectors(MODEL, near, 30))
        assert len(found) == 30 and found[0] == new.chunk_ids[0]
        assert not set(found) & set(documents[5].chunk_ids)


async def test_below_the_limit_again_all_are_compared(tmp_path, made):
    _, documents, values = made
    async with opened(tmp_path, LIMIT) as store:
        await fill(store, documents, values)
        await store.optimize()
        await store.search_vectors(MODEL, values[0].tobytes(), 5)
        await store.delete_documents([one.document_id for one in documents[50:]])
        (status,) = (await store.status()).vectors
        assert (status.kind, status.recall, status.vectors) == ("exact", None, 500)
        exact = np.argsort(-(values[:500] @ values[3]) / np.linalg.norm(values[:500], axis=1))[:5]
        known = [name for one in documents[:50] for name in one.chunk_ids]
        assert ids(await store.search_vectors(MODEL, values[3].tobytes(), 5)) == [known[place] for place in exact]
