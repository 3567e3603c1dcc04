"""Words and vectors joined over the store: only what is returned is read."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.retrieval import HybridRetriever, LexicalRetriever, QueryVectors
from datamind.core.protocols.models import EmbeddingDescription
from datamind.testing.kb_data import make_document, make_query
from datamind.testing.providers import ProviderTarget

LANCE = ProviderTarget("kb.store", "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions")
WORDS = ("gateway", "budget", "harbour", "night", "restart", "lamp", "boat")


class AllLanguages(HashingEmbedding):
    """The same vectors; a model that names languages is joined hit by hit."""

    description = EmbeddingDescription(model_id=HashingEmbedding.description.model_id, dim=256, languages=("en", "zh"))


def hybrid(embedding) -> HybridRetriever:
    return HybridRetriever(LexicalRetriever(), QueryVectors(EmbeddingAccess.of(embedding)))


async def embed(store, documents) -> None:
    embedding = HashingEmbedding()
    for document in documents:
        vectors = await embedding.embed_documents([chunk.text for chunk in document.chunks])
        await store.put_vectors(embedding.description.model_id, document.chunk_ids, vectors)


@asynccontextmanager
async def filled(folder: Path):
    texts = [" ".join(WORDS[(n * step) % len(WORDS)] for step in (1, 2, 3)) + f" note {n}" for n in range(40)]
    documents = [make_document(f"{n}.md", text, language="en") for n, text in enumerate(texts)]
    store = await LANCE.open(folder)
    try:
        await store.put_documents(documents)
        await embed(store, documents[::2])
        yield store, documents
    finally:
        await store.aclose()


async def test_hits_are_those_of_the_two_searches_joined(tmp_path):
    async with filled(tmp_path) as (store, _):
        for text, where in (("gateway at night", {}), ("boat", {"sources": ("3.md", "4.md", "20.md")}), ("note 7", {})):
            query = make_query(text, 7, **where)
            by_order = await hybrid(HashingEmbedding()).retrieve(query, store.read_view())
            by_hit = await hybrid(AllLanguages()).retrieve(query, store.read_view())
            assert by_order == by_hit != []


async def test_where_no_vector_fits_the_filter_the_words_answer_and_it_is_said(tmp_path):
    async with filled(tmp_path) as (store, documents):
        (hit,) = await hybrid(HashingEmbedding()).retrieve(make_query("note", 7, sources=("1.md",)), store.read_view())
        assert hit.chunk == documents[1].chunks[0]
        assert hit.score_meaning == "bm25 (words only: no chunk that matches has a vector)"


async def test_b19_what_goes_between_ranking_and_reading_leaves_room_for_the_next(tmp_path):
    async with filled(tmp_path) as (store, documents):
        query = make_query("gateway note", 5)
        before = [hit.chunk.chunk_id for hit in await hybrid(HashingEmbedding()).retrieve(query, store.read_view())]
        gone = next(document for document in documents if document.chunk_ids == before[:1])

        class Deleting:
            def __getattr__(self, name):
                return getattr(store, name)

            async def rows_of(self, chunk_ids):
                await store.delete_documents([gone.document_id])
                return await store.rows_of(chunk_ids)

        found = await hybrid(HashingEmbedding()).retrieve(query, Deleting())
        assert [hit.chunk.chunk_id for hit in found[:4]] == before[1:]
        assert len(found) == 5
