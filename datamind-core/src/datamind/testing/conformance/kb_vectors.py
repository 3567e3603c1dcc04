"""The tests of a KB store that keeps vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import pytest

from datamind.core.errors import DataMindError
from datamind.core.protocols.kb import KBFilter, SupportsRankings, SupportsVectors, VectorSearch
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.conformance.kb_checks import found, put_all, state
from datamind.testing.crash import write_and_die
from datamind.testing.kb_data import make_document, make_query, make_vectors

_MODEL = "model-a"
_EAST, _NORTH, _NORTH_EAST = (1.0, 0.0), (0.0, 1.0), (math.sqrt(0.5), math.sqrt(0.5))
_ONE = make_document("one.md", "alpha east", "alpha north")
_TWO = make_document("two.md", "alpha between")


async def write_vectors(store: Any) -> None:
    """What the child process writes before it is killed."""
    await store.put_document(*_ONE)
    await store.put_vectors(_MODEL, _ONE.chunk_ids, make_vectors(_EAST, _NORTH))


class VectorsConformance(ProviderConformance):
    """Tests of SupportsVectors, for the store that VectorStoreConformance tests.

    Capabilities: ``durable``, as there; ``fresh_vectors``, where a model's vectors can start anew; ``rankings``,
    where a reader orders chunks without reading them.

    Troubleshooting: vectors have two dimensions here, and ids of models are made up: a store keeps what it is
    given and knows no embedding.
    """

    protocols = (SupportsVectors, VectorSearch, SupportsRankings)
    kind = ProviderKind.KB_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "fresh_vectors", "rankings"})

    async def test_hits_are_best_first_and_ties_go_by_chunk_id(self, tmp_path: Path) -> None:
        """By cosine, whatever the length of the vectors."""
        same = [make_document(f"{n}.md", "alpha") for n in range(6)]
        async with self.opened(tmp_path) as store:
            await put_all(store, [_ONE, _TWO, *same])
            await store.put_vectors(_MODEL, _ONE.chunk_ids, make_vectors((5.0, 0.0), _NORTH))
            await store.put_vectors(_MODEL, _TWO.chunk_ids, make_vectors(_NORTH_EAST))
            ids = [one.chunk_ids[0] for one in same]
            await store.put_vectors(_MODEL, ids, make_vectors(*[(-1.0, 0.0)] * 6))
            assert await near(store) == [_ONE.chunk_ids[0], *_TWO.chunk_ids, _ONE.chunk_ids[1], *sorted(ids)]
            hits = await store.search_vectors(_MODEL, make_vectors(_EAST), 3)
            assert [hit.score for hit in hits] == pytest.approx([1.0, math.sqrt(0.5), 0.0], abs=1e-3)
            assert all(hit.score_meaning for hit in hits)

    async def test_a36_a_filter_is_applied_before_the_limit(self, tmp_path: Path) -> None:
        """The one allowed document is found behind any number of nearer ones."""
        many = [make_document(f"{n}.md", "alpha") for n in range(30)]
        async with self.opened(tmp_path) as store:
            await put_all(store, [*many, _TWO])
            await store.put_vectors(_MODEL, [one.chunk_ids[0] for one in many], make_vectors(*[_EAST] * 30))
            await store.put_vectors(_MODEL, _TWO.chunk_ids, make_vectors(_NORTH))
            assert await near(store, limit=1, where=KBFilter(sources=("two.md",))) == _TWO.chunk_ids
            assert await near(store, where=KBFilter(sources=("three.md",))) == []

    async def test_vectors_of_vanished_chunks_are_dropped(self, tmp_path: Path) -> None:
        """A backlog that is late writes nothing."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_ONE, _TWO])
            await store.delete_documents([_ONE.document_id])
            ids = [*_ONE.chunk_ids, *_TWO.chunk_ids]
            await store.put_vectors(_MODEL, ids, make_vectors(_EAST, _EAST, _NORTH))
            assert await near(store) == _TWO.chunk_ids
            assert (await store.counts()).embedded == 1

    async def test_b19_vectors_go_with_their_document(self, tmp_path: Path) -> None:
        """When it is deleted, and when it is replaced."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_ONE, _TWO])
            await store.put_vectors(_MODEL, _ONE.chunk_ids, make_vectors(_EAST, _NORTH))
            await store.put_vectors(_MODEL, _TWO.chunk_ids, make_vectors(_NORTH))
            new = make_document("one.md", "beta")
            await store.put_document(*new)
            assert await near(store) == _TWO.chunk_ids
            await store.delete_documents([_TWO.document_id])
            assert await near(store) == []
            counts = await store.counts()
            assert (counts.chunks, counts.embedded) == (1, 0)

    async def test_b19_vectors_of_a_version_that_comes_back_are_not_there(self, tmp_path: Path) -> None:
        """They went when it was replaced, and do not wait unseen for it."""
        first, other = make_document("same.md", "alpha east"), make_document("same.md", "alpha west", "alpha south")
        async with self.opened(tmp_path) as store:
            await put_all(store, [first])
            await store.put_vectors(_MODEL, first.chunk_ids, make_vectors(_EAST))
            await put_all(store, [other])
            await put_all(store, [first])
            assert await near(store) == []

    async def test_putting_the_same_document_again_keeps_its_vectors(self, tmp_path: Path) -> None:
        """A write that changes nothing costs no embedding."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            before = await state(store)
            await store.put_document(*_ONE)
            assert await state(store) == before
            assert await near(store) == _ONE.chunk_ids

    async def test_a_number_of_rows_other_than_the_ids_is_refused(self, tmp_path: Path) -> None:
        """Nothing is padded, and nothing is kept of it."""
        async with self.opened(tmp_path) as store:
            await store.put_document(*_ONE)
            for vectors in (make_vectors(_EAST)[:-4], make_vectors(_EAST) + b"\0" * 4, b""):
                with pytest.raises(DataMindError):
                    await store.put_vectors(_MODEL, _ONE.chunk_ids, vectors)
            assert (await store.counts()).embedded == 0
            await store.put_vectors(_MODEL, [], b"")

    async def test_a44_another_dimension_under_the_same_model_is_refused(self, tmp_path: Path) -> None:
        """Neither stored nor compared."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            await store.put_document(*_TWO)
            with pytest.raises(DataMindError):
                await store.put_vectors(_MODEL, _TWO.chunk_ids, make_vectors((1.0, 0.0, 0.0)))
            with pytest.raises(DataMindError):
                await store.search_vectors(_MODEL, make_vectors((1.0, 0.0, 0.0)), 5)
            assert await near(store) == _ONE.chunk_ids

    async def test_the_read_view_is_searched_by_vectors_too(self, tmp_path: Path) -> None:
        """And says which chunks have none."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            await write_vectors(store)
            await store.put_document(*_TWO)
            assert isinstance(view, VectorSearch)
            assert await near(view) == _ONE.chunk_ids
            asked = [*_ONE.chunk_ids, *_TWO.chunk_ids]
            assert set(await view.unembedded(_MODEL, asked)) == set(_TWO.chunk_ids)
            assert set(await view.unembedded("model-b", asked)) == set(asked)
            assert set(await view.unembedded(_MODEL, [])) == set()

    async def test_vectors_are_counted_by_model(self, tmp_path: Path) -> None:
        """As many as the backlog has let go, and none for a model that has never embedded."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_ONE, _TWO])
            await store.put_vectors(_MODEL, _ONE.chunk_ids, make_vectors(_EAST, _NORTH))
            for reader in (store, store.read_view()):
                assert [await reader.count_embedded(model) for model in (_MODEL, "model-b")] == [2, 0]
            await store.delete_documents([_ONE.document_id])
            assert await store.count_embedded(_MODEL) == 0

    async def test_g1_vectors_of_another_model_are_never_searched(self, tmp_path: Path) -> None:
        """Each model has its own, of its own dimension."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            assert await near(store, model="model-b") == []
            await store.put_vectors("model-b", _ONE.chunk_ids[:1], make_vectors((0.0, 0.0, 1.0)))
            hits = await store.search_vectors("model-b", make_vectors((0.0, 0.0, 1.0)), 5)
            assert [hit.chunk.chunk_id for hit in hits] == _ONE.chunk_ids[:1]
            assert await near(store) == _ONE.chunk_ids

    async def test_g1_a_vector_put_again_replaces_the_first(self, tmp_path: Path) -> None:
        """One vector for each chunk and model."""
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            await store.put_vectors(_MODEL, _ONE.chunk_ids, make_vectors(_NORTH, _EAST))
            assert await near(store) == _ONE.chunk_ids[::-1]

    async def test_g2_a_chunk_without_a_vector_is_found_by_words_and_listed(self, tmp_path: Path) -> None:
        """The backlog is oldest first, by model, and shrinks as vectors come."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_TWO, _ONE])
            assert await found(store, "north") == _ONE.chunk_ids[1:]
            assert await backlog(store) == [*_TWO.chunk_ids, *_ONE.chunk_ids]
            assert await backlog(store, limit=2) == [*_TWO.chunk_ids, *_ONE.chunk_ids[:1]]
            await store.put_vectors(_MODEL, _TWO.chunk_ids, make_vectors(_EAST))
            assert await backlog(store) == _ONE.chunk_ids
            assert await backlog(store, model="model-b") == [*_TWO.chunk_ids, *_ONE.chunk_ids]
            rows = await store.chunks_without_vector(_MODEL, 10)
            assert tuple(rows) == _ONE.chunks

    async def test_g2_a_chunk_that_is_cut_anew_under_its_id_waits_for_a_new_vector(self, tmp_path: Path) -> None:
        """Ids follow from source and index: with another chunk size the same id has another text."""
        recut = _ONE.chunks[0].model_copy(update={"text": "alpha east\n\nalpha", "end": 17})
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            await store.put_document(_ONE.row, [recut, _ONE.chunks[1]])
            assert await near(store) == _ONE.chunk_ids[1:]
            assert await backlog(store) == _ONE.chunk_ids[:1]

    async def test_vectors_of_a_model_start_anew_and_those_of_others_stay(self, tmp_path: Path) -> None:
        """SupportsFreshVectors G1 and G2: with another dimension, in the same store and in a view of it."""
        self.need("fresh_vectors")
        async with self.opened(tmp_path) as store:
            await write_vectors(store)
            await store.put_vectors("model-b", _ONE.chunk_ids[:1], make_vectors(_EAST))
            view = store.read_view()
            assert [await view.dimension(model) for model in (_MODEL, "model-b", "model-c")] == [2, 2, 0]
            await store.drop_vectors(_MODEL)
            await store.drop_vectors("model-c")
            assert (await view.dimension(_MODEL), await near(view), await view.count_embedded(_MODEL)) == (0, [], 0)
            assert await backlog(store) == _ONE.chunk_ids
            assert await near(view, model="model-b") == _ONE.chunk_ids[:1]
            await store.put_vectors(_MODEL, _ONE.chunk_ids, make_vectors((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
            hits = await view.search_vectors(_MODEL, make_vectors((0.0, 1.0, 0.0)), 5)
            assert [hit.chunk.chunk_id for hit in hits] == _ONE.chunk_ids[::-1]
            assert await view.dimension(_MODEL) == 3

    async def test_g1_rankings_are_in_the_order_of_the_searches(self, tmp_path: Path) -> None:
        """By words and by vectors, with ties, with a filter, and where there is nothing."""
        self.need("rankings")
        async with self.opened(tmp_path) as store:
            for reader in (store, store.read_view()):
                assert isinstance(reader, SupportsRankings)
            assert list(await reader.rank_words(make_query("alpha"))) == []
            assert list(await reader.rank_vectors(_MODEL, make_vectors(_EAST), 5)) == []
            await write_vectors(store)
            await put_all(store, [_TWO, *(make_document(f"{n}.md", "alpha same") for n in range(6))])
            for query in (make_query("alpha", 50), make_query("alpha", 3), make_query("alpha", sources=("one.md",))):
                hits = await reader.search_words(query)
                assert list(await reader.rank_words(query)) == [hit.chunk.chunk_id for hit in hits] != []
            for where in (None, KBFilter(sources=("one.md",)), KBFilter(sources=("two.md",))):
                ranked = list(await reader.rank_vectors(_MODEL, make_vectors(_EAST), 5, where))
                assert ranked == await near(reader, limit=5, where=where)
            rows = await reader.rows_of([*_ONE.chunk_ids, "chunk_that_is_gone"])
            assert rows == {chunk.chunk_id: (chunk, _ONE.row) for chunk in _ONE.chunks}

    async def test_g2_vectors_survive_the_death_of_the_process(self, tmp_path: Path) -> None:
        """So that a killed backlog goes on where it was."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_vectors.__name__}")
        async with self.opened(tmp_path) as store:
            assert await near(store) == _ONE.chunk_ids
            assert await backlog(store) == []


async def near(reader: Any, *, model: str = _MODEL, limit: int = 20, where: KBFilter | None = None) -> list[str]:
    """Chunk ids by their nearness to the east, in order."""
    hits = await reader.search_vectors(model, make_vectors(_EAST), limit, where)
    return [hit.chunk.chunk_id for hit in hits]


async def backlog(store: SupportsVectors, *, model: str = _MODEL, limit: int = 20) -> list[str]:
    """Chunk ids without a vector, in order."""
    return [chunk.chunk_id for chunk in await store.chunks_without_vector(model, limit)]
