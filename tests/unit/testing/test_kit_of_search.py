"""The kit of word indexes, retrievers and rerankers fails where one step is broken."""

from __future__ import annotations

import pytest

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.retrieval import HybridRetriever, LexicalRetriever, QueryVectors
from datamind.core.errors import SurfaceUnavailable
from datamind.core.protocols.kb import KBFilter
from datamind.testing.conformance.kb_search import (
    LexicalIndexConformance,
    RerankerConformance,
    RetrieverConformance,
)
from tests.unit.testing.kits import failures_of, numbers_of


class AskingIndex:
    """Asks the store each time: right, and of no use but here."""

    def __init__(self, store) -> None:
        self.store = store

    async def search(self, query):
        return await self.store.search_words(query)

    async def aclose(self):
        pass


class ReadOnce(AskingIndex):
    """G2: knows what was there when it was opened."""

    def __init__(self, store) -> None:
        now = store._now
        super().__init__(type(store)())
        self.store._now = now


class FillsUp(AskingIndex):
    """G1: what matches nothing gets a score of 0."""

    async def search(self, query):
        hits = list(await super().search(query))
        rest = await super().search(query.model_copy(update={"tokens": ("the", "gateway", "budget")}))
        return [*hits, *(hit.model_copy(update={"score": 0.0}) for hit in rest)][: query.limit]


def index_suite(index: type[AskingIndex]) -> type[LexicalIndexConformance]:
    class Suite(LexicalIndexConformance):
        async def open_index(self, store, folder):
            return index(store)

    return Suite


@pytest.mark.parametrize(("index", "failing"), [(AskingIndex, set()), (ReadOnce, {"g2"}), (FillsUp, {"g1"})])
async def test_the_kit_of_word_indexes(tmp_path, index, failing):
    assert numbers_of(await failures_of(index_suite(index), tmp_path)) >= failing
    assert bool(await failures_of(index_suite(index), tmp_path / "again")) is bool(failing)


class MoreThanAsked(LexicalRetriever):
    """G1: the limit is a suggestion."""

    async def retrieve(self, query, reader):
        return await super().retrieve(query.model_copy(update={"limit": query.limit + 1}), reader)


class Twice(LexicalRetriever):
    """G1: a chunk that both sides found comes twice."""

    async def retrieve(self, query, reader):
        hits = await super().retrieve(query, reader)
        return [hit for pair in zip(hits, hits, strict=True) for hit in pair][: query.limit]


class IgnoresFilter(LexicalRetriever):
    """G1: the filter of the query is lost."""

    async def retrieve(self, query, reader):
        return await super().retrieve(query.model_copy(update={"where": KBFilter()}), reader)


class NeedsEmbedding(HybridRetriever):
    """G2: without an embedding there is nothing."""

    async def retrieve(self, query, reader):
        hits = await super().retrieve(query, reader)
        if any("words only" in hit.score_meaning for hit in hits):
            raise SurfaceUnavailable("no embedding")
        return hits


class SaysNothing(LexicalRetriever):
    """G2: words alone, and nobody is told."""

    async def retrieve(self, query, reader):
        return await self.search(query, reader)


@pytest.mark.parametrize(
    ("retriever", "guarantee"),
    [
        (MoreThanAsked, "g1"),
        (Twice, "g1"),
        (IgnoresFilter, "g1"),
        (SaysNothing, "g2"),
        (NeedsEmbedding, "g2"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_of_retrievers(tmp_path, retriever, guarantee):
    class Suite(RetrieverConformance):
        async def open_retriever(self, folder, embedding=None):
            if issubclass(retriever, HybridRetriever):
                return retriever(LexicalRetriever(), QueryVectors(EmbeddingAccess.of(embedding)))
            return retriever()

    assert guarantee in numbers_of(await failures_of(Suite, tmp_path))


async def test_the_kit_of_retrievers_gives_the_embedding(tmp_path):
    seen = []

    class Suite(RetrieverConformance):
        factory = "datamind.capabilities.kb.retrieval:open_hybrid"

        async def open_retriever(self, folder, embedding=None):
            seen.append(embedding)
            return await super().open_retriever(folder, embedding)

    assert not await failures_of(Suite, tmp_path)
    assert any(isinstance(one, HashingEmbedding) for one in seen)


class ByLength:
    """A reranker that is right, though not clever."""

    async def rerank(self, text, hits):
        return sorted(hits, key=lambda hit: (len(hit.chunk.text), hit.chunk.chunk_id))


class DropsTheWorst(ByLength):
    async def rerank(self, text, hits):
        return (await super().rerank(text, hits))[:5]


class MergesEqualTexts(ByLength):
    async def rerank(self, text, hits):
        return list({hit.chunk.text: hit for hit in await super().rerank(text, hits)}.values())


@pytest.mark.parametrize(("reranker", "fails"), [(ByLength, False), (DropsTheWorst, True), (MergesEqualTexts, True)])
async def test_the_kit_of_rerankers(tmp_path, reranker, fails):
    class Suite(RerankerConformance):
        async def open_reranker(self, folder):
            return reranker()

    assert ("g1" in numbers_of(await failures_of(Suite, tmp_path))) is fails
