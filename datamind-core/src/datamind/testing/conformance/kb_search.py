"""The tests of a word index, a retriever and a reranker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.core.errors import StoreError
from datamind.core.protocols.kb import ChunkHit, LexicalIndex, Reranker, Retriever, VectorReader
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import Conformance, ProviderConformance
from datamind.testing.kb_data import Document, make_document, make_query

_TEXTS = {
    "gateway.md": ("The gateway restarts at night.", "网关在夜间重启。"),
    "budget.md": ("The budget of 2024 grew.", "The gateway costs more than its budget."),
    "people.md": ("Ann leads the team.", "Bo answers the phone."),
}
_DOCUMENTS = {name: make_document(name, *paragraphs) for name, paragraphs in _TEXTS.items()}


async def filled_store(*documents: Document) -> MemoryVectorStore:
    """The reference store with the sample documents, or with others."""
    store = MemoryVectorStore()
    for document in documents or _DOCUMENTS.values():
        await store.put_document(*document)
    return store


async def embed_all(store: MemoryVectorStore) -> None:
    """Fill the backlog of the hashing embedding."""
    embedding = HashingEmbedding()
    rows = await store.chunks_without_vector(embedding.description.model_id, 1_000)
    vectors = await embedding.embed_documents([row.text for row in rows])
    await store.put_vectors(embedding.description.model_id, [row.chunk_id for row in rows], vectors)


class LexicalIndexConformance(Conformance):
    """Tests of LexicalIndex.

    Troubleshooting: the index stands beside a store; it learns of a write only by asking the store when it is
    searched, so G2 fails for an index that trusts what it read when it was opened.
    """

    protocols = (LexicalIndex,)

    async def open_index(self, store: MemoryVectorStore, folder: Path) -> LexicalIndex:
        """The index under test beside ``store``, which may be filled or empty."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_index")

    @asynccontextmanager
    async def _opened(self, folder: Path, store: MemoryVectorStore) -> AsyncIterator[LexicalIndex]:
        index = await self.open_index(store, folder)
        try:
            yield index
        finally:
            await index.aclose()
            await index.aclose()

    async def test_hits_are_best_first_and_ties_go_by_chunk_id(self, tmp_path: Path) -> None:
        """With whole rows, and a limit above the size of the corpus."""
        same = [make_document(f"{n}.md", "alpha beta") for n in range(6)]
        store = await filled_store(*same, make_document("best.md", "alpha alpha"))
        async with self._opened(tmp_path, store) as index:
            assert isinstance(index, LexicalIndex)
            hits = await index.search(make_query("alpha", 50))
            assert hits[0].document.title == "best.md"
            assert _ids(hits[1:]) == sorted(one.chunk_ids[0] for one in same)
            assert hits[1].chunk in [one.chunks[0] for one in same]

    async def test_a36_a_filter_is_applied_before_the_limit(self, tmp_path: Path) -> None:
        """The one allowed document is found behind any number of better ones."""
        better = [make_document(f"{n}.md", "alpha alpha") for n in range(30)]
        last = make_document("last.md", "alpha " + "filler " * 20)
        async with self._opened(tmp_path, await filled_store(*better, last)) as index:
            assert _ids(await index.search(make_query("alpha", 1, sources=("last.md",)))) == last.chunk_ids

    async def test_a37_chinese_words_find_their_document(self, tmp_path: Path) -> None:
        """Tokens are taken as they are."""
        async with self._opened(tmp_path, await filled_store()) as index:
            assert _ids(await index.search(make_query("网关"))) == _DOCUMENTS["gateway.md"].chunk_ids[1:]

    async def test_g1_a_score_of_0_is_no_hit(self, tmp_path: Path) -> None:
        """Unknown words, no words, and an empty corpus."""
        async with self._opened(tmp_path, await filled_store()) as index:
            for text in ("zebra", "斑马", ""):
                assert list(await index.search(make_query(text))) == [], text
            assert all(hit.score > 0 for hit in await index.search(make_query("gateway", 50)))
        async with self._opened(tmp_path / "empty", MemoryVectorStore()) as index:
            assert list(await index.search(make_query("gateway"))) == []

    async def test_g2_a35_a_search_sees_every_write_before_it(self, tmp_path: Path) -> None:
        """New, replaced and deleted documents."""
        store = await filled_store()
        async with self._opened(tmp_path, store) as index:
            assert list(await index.search(make_query("zebra"))) == []
            new = make_document("new.md", "A zebra.")
            await store.put_document(*new)
            assert _ids(await index.search(make_query("zebra"))) == new.chunk_ids
            await store.put_document(*make_document("new.md", "A horse."))
            assert list(await index.search(make_query("zebra"))) == []
            await store.delete_documents([new.document_id])
            assert list(await index.search(make_query("horse"))) == []


class RetrieverConformance(ProviderConformance):
    """Tests of Retriever, over the reference store.

    Troubleshooting: the factory is called with a context whose ``open`` gives the hashing embedding, or raises
    SurfaceUnavailable where a test is about its absence.
    """

    protocols = (Retriever,)
    kind = ProviderKind.KB_RETRIEVER
    known_capabilities: ClassVar[frozenset[str]] = frozenset()

    async def open_retriever(self, folder: Path, embedding: Any = None) -> Retriever:
        """The retriever, with this embedding or with none."""
        opens = {ProviderKind.EMBEDDING: embedding} if embedding else {}
        retriever: Retriever = await self.open_provider(folder, opens=opens)
        return retriever

    async def test_g1_at_most_the_limit_each_chunk_once_and_best_first(self, tmp_path: Path) -> None:
        """With and without vectors."""
        retriever = await self.open_retriever(tmp_path, HashingEmbedding())
        assert isinstance(retriever, Retriever)
        store = await filled_store()
        for embed in (False, True):
            if embed:
                await embed_all(store)
            for limit in (1, 2, 50):
                hits = await retriever.retrieve(make_query("the gateway budget", limit), store.read_view())
                assert 0 < len(hits) <= limit
                assert len(set(_ids(hits))) == len(hits)
                assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

    async def test_g1_a36_the_filter_of_the_query_holds(self, tmp_path: Path) -> None:
        """On every side of a fusion."""
        retriever = await self.open_retriever(tmp_path, HashingEmbedding())
        store = await filled_store()
        await embed_all(store)
        hits = await retriever.retrieve(make_query("the gateway", sources=("people.md",)), store.read_view())
        assert {hit.document.title for hit in hits} <= {"people.md"}
        hits = await retriever.retrieve(make_query("the gateway", sources=("gateway.md",)), store.read_view())
        assert {hit.document.title for hit in hits} == {"gateway.md"}

    async def test_g2_a53_it_works_without_an_embedding_and_says_so(self, tmp_path: Path) -> None:
        """None configured, one that fails, or a store without vectors."""
        store = await filled_store()
        for embedding, reader in (
            (None, store.read_view()),
            (_FailingEmbedding(), store.read_view()),
            (HashingEmbedding(), _WordsOnly(store)),
        ):
            retriever = await self.open_retriever(tmp_path, embedding)
            hits = await retriever.retrieve(make_query("网关"), reader)
            assert _ids(hits) == _DOCUMENTS["gateway.md"].chunk_ids[1:]
            assert all("words" in hit.score_meaning for hit in hits)


class RerankerConformance(Conformance):
    """Tests of Reranker."""

    protocols = (Reranker,)

    async def open_reranker(self, folder: Path) -> Reranker:
        """The reranker under test."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_reranker")

    async def test_g1_the_hits_are_a_permutation_of_those_given(self, tmp_path: Path) -> None:
        """None, one, many, and many with the same text."""
        reranker = await self.open_reranker(tmp_path)
        assert isinstance(reranker, Reranker)
        store = await filled_store(*_DOCUMENTS.values(), *(make_document(f"{n}.md", "one copy") for n in range(5)))
        hits = list(await store.search_words(make_query("the gateway budget copy", 50)))
        assert len(hits) > 6
        for given in (hits, hits[::-1], hits[:1], []):
            ranked = await reranker.rerank("the gateway", given)
            assert sorted(_ids(ranked)) == sorted(_ids(given))
            by_id = {hit.chunk.chunk_id: hit for hit in given}
            assert all(hit.chunk == by_id[hit.chunk.chunk_id].chunk for hit in ranked)


class _FailingEmbedding(HashingEmbedding):
    async def embed_query(self, text: str) -> bytes:
        raise StoreError("the embedding service is down")


class _WordsOnly:
    """A reader of a store that keeps no vectors."""

    def __init__(self, store: VectorReader) -> None:
        self.documents = store.documents
        self.document = store.document
        self.chunks = store.chunks
        self.counts = store.counts
        self.search_words = store.search_words


def _ids(hits: Sequence[ChunkHit]) -> list[str]:
    return [hit.chunk.chunk_id for hit in hits]
