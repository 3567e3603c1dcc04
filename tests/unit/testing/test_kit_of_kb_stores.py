"""The kit of KB stores fails on stores that break one guarantee each, at that guarantee."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from datamind.capabilities.kb.providers.filtering import last_part, matches
from datamind.capabilities.kb.providers.memory import MemoryReader, MemoryVectorStore, _Corpus, _Snapshot
from datamind.core.protocols.kb import DocumentPage, KBFilter
from datamind.testing.conformance.kb_store import VectorStoreConformance
from datamind.testing.conformance.kb_vectors import VectorsConformance
from tests.unit.testing.kits import failures_of, numbers_of, suite_of

VECTORS = frozenset({"vectors"})


class FrozenView(MemoryVectorStore):
    """G1: a view that shows what was there when it was taken."""

    def read_view(self):
        then = self._now
        return MemoryReader(lambda: then)


class FrozenIndex(MemoryVectorStore):
    """G1: words indexed at the first search."""

    async def search_words(self, query):
        if not hasattr(self, "_first"):
            self._first = self._now
        return await MemoryReader(lambda: self._first).search_words(query)


class TiesByArrival(MemoryVectorStore):
    """G2: equal scores in the order the documents came in."""

    async def search_words(self, query):
        hits = await super().search_words(query.model_copy(update={"limit": 1_000}))
        arrived = list(self._now.corpus.by_id)
        return sorted(hits, key=lambda hit: (-hit.score, arrived.index(hit.chunk.chunk_id)))[: query.limit]


class UnsortedDocuments(MemoryVectorStore):
    """G2: documents in the order they came in."""

    async def documents(self, *, offset=0, limit=100, where=None):
        found = [row for row in self._now.corpus.documents.values() if matches(row, where or KBFilter())]
        return DocumentPage(documents=tuple(found[offset : offset + limit]), total=len(found))


class ZeroIsAHit(MemoryVectorStore):
    """G2: fills up with whatever there is."""

    async def search_words(self, query):
        hits = list(await super().search_words(query))
        if hits:
            return hits
        everything = query.model_copy(update={"tokens": ("the", "gateway")})
        return [hit.model_copy(update={"score": 0.0}) for hit in await super().search_words(everything)]


class FilterAfterLimit(MemoryVectorStore):
    """G3: the best hits, and then the filter."""

    async def search_words(self, query):
        hits = await super().search_words(query.model_copy(update={"where": KBFilter()}))
        return [hit for hit in hits if matches(hit.document, query.where)]


class LooseMetadata(MemoryVectorStore):
    """G3: values compared by what Python calls equal."""

    async def search_words(self, query):
        wide = query.model_copy(update={"where": query.where.model_copy(update={"metadata": {}})})
        hits = await super().search_words(wide)
        wanted = query.where.metadata.items()
        return [hit for hit in hits if all(hit.document.metadata.get(key) == value for key, value in wanted)]


class LooseSources(MemoryVectorStore):
    """G3: a source is anything whose name contains it."""

    async def search_words(self, query):
        wide = query.model_copy(update={"where": query.where.model_copy(update={"sources": ()})})
        hits = await super().search_words(wide)
        wanted = query.where.sources
        return [hit for hit in hits if not wanted or any(name in last_part(hit.document.source.uri) for name in wanted)]


class DeletedWordsStay(MemoryVectorStore):
    """G4: deleting forgets the row and keeps the words."""

    def __init__(self) -> None:
        super().__init__()
        self.buried = _Snapshot()

    async def delete_documents(self, document_ids):
        self.buried = self._now
        return await super().delete_documents(document_ids)

    def read_view(self):
        view = MemoryReader(self._current)

        async def search_words(query):
            living = await self.search_words(query)
            return [*living, *await MemoryReader(lambda: self.buried).search_words(query)]

        view.search_words = search_words
        return view


class OldVersionStays(MemoryVectorStore):
    """G4, G5: a new version adds its chunks to the old ones."""

    async def put_document(self, document, chunks):
        before = await self.chunks(document.document_id)
        ids = {chunk.chunk_id for chunk in chunks}
        await super().put_document(document, [*chunks, *(row for row in before if row.chunk_id not in ids)])


class DeleteThenAdd(MemoryVectorStore):
    """G5: two commits, and between them neither version."""

    async def put_document(self, document, chunks):
        await self.delete_documents([document.document_id])
        await asyncio.sleep(0)
        await super().put_document(document, chunks)


class RowsBeforeChunks(MemoryVectorStore):
    """G5: the new row is there before its chunks are."""

    async def put_document(self, document, chunks):
        now, key = self._now, document.document_id
        if key in now.corpus.documents and now.corpus.documents[key] != document:
            corpus = _Corpus({**now.corpus.documents, key: document}, now.corpus.chunks)
            self._now = replace(now, corpus=corpus)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await super().put_document(document, chunks)


class EveryPutCounts(MemoryVectorStore):
    """G6: the same document again is another document."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0

    async def put_document(self, document, chunks):
        self.puts += 1
        await super().put_document(document, chunks)

    async def counts(self):
        counts = await super().counts()
        return counts.model_copy(update={"documents": max(self.puts, counts.documents) if counts.documents else 0})


class CountsWhatItWasAsked(MemoryVectorStore):
    """G7: unknown ids are counted as deleted."""

    async def delete_documents(self, document_ids):
        await super().delete_documents(document_ids)
        return len(document_ids)


class DeletesAHundred(MemoryVectorStore):
    """G7: the first hundred, and says it were all."""

    async def delete_documents(self, document_ids):
        await super().delete_documents(document_ids[:100])
        return len(document_ids) if len(document_ids) > 100 else await super().delete_documents(document_ids)


class SyncRaises(MemoryVectorStore):
    """G8: nothing to sync is an error."""

    async def sync(self):
        raise OSError("nothing was opened")


class ViewIsTheStore(MemoryVectorStore):
    """G9: the store itself."""

    def read_view(self):
        return self


class LosesTypes(MemoryVectorStore):
    """Rows: metadata as text."""

    async def put_document(self, document, chunks):
        metadata = {key: str(value) for key, value in document.metadata.items()}
        await super().put_document(document.model_copy(update={"metadata": metadata}), chunks)


BROKEN = [
    (FrozenView, "g1"),
    (FrozenIndex, "g1"),
    (TiesByArrival, "g2"),
    (UnsortedDocuments, "g2"),
    (ZeroIsAHit, "g2"),
    (FilterAfterLimit, "g3"),
    (LooseMetadata, "g3"),
    (LooseSources, "g3"),
    (DeletedWordsStay, "g4"),
    (OldVersionStays, "g4"),
    (OldVersionStays, "g5"),
    (DeleteThenAdd, "g5"),
    (RowsBeforeChunks, "g5"),
    (EveryPutCounts, "g6"),
    (CountsWhatItWasAsked, "g7"),
    (DeletesAHundred, "g7"),
    (SyncRaises, "g8"),
    (ViewIsTheStore, "g9"),
    (LosesTypes, "test_rows_come_back_as_they_were_given"),
]


@pytest.mark.parametrize(("store", "guarantee"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
async def test_the_kit_fails_where_the_store_is_broken(tmp_path, store, guarantee):
    failures = await failures_of(suite_of(VectorStoreConformance, store, capabilities=VECTORS), tmp_path)
    assert guarantee in numbers_of(failures)


async def test_the_kit_passes_the_reference_store(tmp_path):
    assert not await failures_of(suite_of(VectorStoreConformance, MemoryVectorStore, capabilities=VECTORS), tmp_path)


async def test_a_volatile_store_cannot_declare_itself_durable(tmp_path):
    suite = suite_of(VectorStoreConformance, MemoryVectorStore, capabilities=VECTORS | {"durable"})
    assert "test_it_declares_what_it_is" in await failures_of(suite, tmp_path)


async def test_a_store_with_vectors_must_declare_them(tmp_path):
    assert "test_it_declares_what_it_is" in await failures_of(
        suite_of(VectorStoreConformance, MemoryVectorStore), tmp_path
    )


class TestFiledStore(VectorStoreConformance):
    """A store with files passes the tests that the reference store skips."""

    factory = "tests.unit.testing.filed_store:open_filed"
    capabilities = frozenset({"durable", "handles", "vectors"})


class TestFiledVectors(VectorsConformance):
    factory = "tests.unit.testing.filed_store:open_filed"
    capabilities = frozenset({"durable"})


async def test_a_store_that_writes_when_it_is_closed_fails_at_the_crash(tmp_path):
    class Late(VectorStoreConformance):
        factory = "tests.unit.testing.filed_store:open_late"
        capabilities = frozenset({"durable", "handles", "vectors"})

    failures = await failures_of(Late, tmp_path)
    assert set(failures) == {
        "test_g1_another_handle_sees_the_write",
        "test_g8_what_returned_survives_the_death_of_the_process",
    }


class OneSpaceForAllModels(MemoryVectorStore):
    """Vectors G1: the model id is not asked for."""

    async def put_vectors(self, model_id, chunk_ids, vectors):
        await super().put_vectors("any", chunk_ids, vectors)

    async def search_vectors(self, model_id, vector, limit, where=None):
        return await super().search_vectors("any", vector, limit, where)


class CountsEveryModel(MemoryVectorStore):
    """Vectors: the count says how many have any."""

    async def count_embedded(self, model_id):
        return (await self.counts()).embedded


class FirstVectorStays(MemoryVectorStore):
    """Vectors G1: a second vector of a chunk is not taken."""

    async def put_vectors(self, model_id, chunk_ids, vectors):
        if not set(chunk_ids) & self._now.vectors.get(model_id, {}).keys():
            await super().put_vectors(model_id, chunk_ids, vectors)


class NewestFirst(MemoryVectorStore):
    """Vectors G2: the backlog from its end."""

    async def chunks_without_vector(self, model_id, limit):
        return (await super().chunks_without_vector(model_id, 1_000))[::-1][:limit]


class VectorsFollowIds(MemoryVectorStore):
    """Vectors G2: a chunk cut anew under its id keeps the vector of its old text."""

    async def put_document(self, document, chunks):
        vectors = self._now.vectors
        await super().put_document(document, chunks)
        self._now = replace(self._now, vectors=vectors)


class KeepsOrphans(MemoryVectorStore):
    """Vectors of deleted chunks are counted."""

    async def counts(self):
        counts = await super().counts()
        return counts.model_copy(update={"embedded": max(counts.embedded, self._orphans)})

    _orphans = 0

    async def put_vectors(self, model_id, chunk_ids, vectors):
        self._orphans = len(set(chunk_ids) - self._now.corpus.by_id.keys())
        await super().put_vectors(model_id, chunk_ids, vectors)


class PadsVectors(MemoryVectorStore):
    """Rows that are missing are made up."""

    async def put_vectors(self, model_id, chunk_ids, vectors):
        wanted = len(chunk_ids) * 8
        await super().put_vectors(model_id, chunk_ids, vectors[:wanted].ljust(wanted, b"\0"))


class VectorFilterAfterLimit(MemoryVectorStore):
    """The nearest, and then the filter."""

    async def search_vectors(self, model_id, vector, limit, where=None):
        hits = await super().search_vectors(model_id, vector, limit)
        return [hit for hit in hits if matches(hit.document, where or KBFilter())]


class BlindView(MemoryVectorStore):
    """A read view without vectors."""

    def read_view(self):
        view: Any = MemoryReader(self._current)

        class View:
            documents, document, chunks = view.documents, view.document, view.chunks
            counts, search_words = view.counts, view.search_words

        return View()


@pytest.mark.parametrize(
    ("store", "guarantee"),
    [
        (OneSpaceForAllModels, "g1"),
        (CountsEveryModel, "test_vectors_are_counted_by_model"),
        (FirstVectorStays, "g1"),
        (NewestFirst, "g2"),
        (VectorsFollowIds, "g2"),
        (KeepsOrphans, "test_vectors_of_vanished_chunks_are_dropped"),
        (PadsVectors, "test_a_number_of_rows_other_than_the_ids_is_refused"),
        (VectorFilterAfterLimit, "test_a36_a_filter_is_applied_before_the_limit"),
        (BlindView, "test_the_read_view_is_searched_by_vectors_too"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_vectors_are_broken(tmp_path, store, guarantee):
    failures = await failures_of(suite_of(VectorsConformance, store), tmp_path)
    assert guarantee in numbers_of(failures)
