"""How the retrievers of core join words and vectors, and what they say when they cannot."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.capabilities.kb.retrieval import (
    HYBRID_MEANING,
    HybridRetriever,
    LexicalRetriever,
    QueryVectors,
    VectorRetriever,
    open_hybrid,
    open_lexical,
)
from datamind.core.errors import ConfigError, IntegrityError, PluginError, StoreError
from datamind.core.protocols.models import EmbeddingDescription
from datamind.plugins import ProviderKind
from datamind.testing.kb_data import make_document, make_query
from datamind.testing.providers import make_provider_context

GATEWAY = make_document("gateway.md", "The gateway restarts at night.", language="en")
BUDGET = make_document("budget.md", "The budget of 2024 grew.", language="en")
CHINESE = make_document("zh.md", "网关在夜间重启。", language="zh")


class EnglishOnly(HashingEmbedding):
    """Has a vector for Chinese too, and it says nothing."""

    description = EmbeddingDescription(model_id="english", dim=256, languages=("en",))

    async def embed_documents(self, texts):
        return await super().embed_documents(["budget 2024" if text.startswith("网") else text for text in texts])


async def filled(*documents, embedding=None, embed=()) -> MemoryVectorStore:
    store = MemoryVectorStore()
    for document in documents:
        await store.put_document(*document)
    for document in embed:
        vectors = await embedding.embed_documents([chunk.text for chunk in document.chunks])
        await store.put_vectors(embedding.description.model_id, document.chunk_ids, vectors)
    return store


def hybrid(embedding) -> HybridRetriever:
    return HybridRetriever(LexicalRetriever(), QueryVectors(EmbeddingAccess.of(embedding)))


def titles(hits) -> list[str]:
    return [hit.document.title for hit in hits]


async def test_a35_what_was_just_added_is_found_by_its_word_among_embedded_ones():
    embedding = HashingEmbedding()
    old = [make_document(f"{n}.md", f"zebra notes number{n}") for n in range(80)]
    store = await filled(*old, embedding=embedding, embed=old)
    retriever = hybrid(embedding)
    assert len(await retriever.retrieve(make_query("zebra platypus"), store.read_view())) == 10
    new = make_document("new.md", "platypus")
    await store.put_document(*new)
    hits = await retriever.retrieve(make_query("zebra platypus"), store.read_view())
    assert titles(hits)[0] == "new.md"
    assert {hit.score_meaning for hit in hits} == {HYBRID_MEANING}


async def test_a_chunk_without_a_vector_takes_its_lexical_rank_as_its_vector_rank():
    embedding = HashingEmbedding()
    documents = [make_document(f"{n}.md", "alpha " * (3 - n)) for n in range(3)]
    store = await filled(*documents, embedding=embedding, embed=documents[1:])
    hits = await hybrid(embedding).retrieve(make_query("alpha"), store.read_view())
    by_title = {hit.document.title: hit.score for hit in hits}
    lexical = titles(await store.search_words(make_query("alpha")))
    assert by_title["0.md"] == pytest.approx(2 / (61 + lexical.index("0.md")))


async def test_without_any_vector_the_order_is_that_of_the_words():
    store = await filled(GATEWAY, BUDGET, CHINESE)
    query = make_query("the budget gateway 网关")
    hits = await hybrid(HashingEmbedding()).retrieve(query, store.read_view())
    assert [hit.chunk for hit in hits] == [hit.chunk for hit in await store.search_words(query)]
    assert {hit.score_meaning for hit in hits} == {"bm25 (words only: no passage has a vector of hashing-256)"}


async def test_a_model_of_another_language_has_no_say_in_a_query():
    embedding = EnglishOnly()
    documents = (GATEWAY, BUDGET, CHINESE)
    store = await filled(*documents, embedding=embedding, embed=documents)
    hits = await hybrid(embedding).retrieve(make_query("网关重启"), store.read_view())
    assert titles(hits) == ["zh.md"]
    assert "does not know the language" in hits[0].score_meaning
    hits = await VectorRetriever(LexicalRetriever(), QueryVectors(EmbeddingAccess.of(embedding))).retrieve(
        make_query("网关重启"), store.read_view()
    )
    assert titles(hits) == ["zh.md"]


async def test_a_model_of_another_language_has_no_say_in_a_document():
    embedding = EnglishOnly()
    documents = (GATEWAY, BUDGET, CHINESE)
    store = await filled(*documents, embedding=embedding, embed=documents)
    hits = await hybrid(embedding).retrieve(make_query("budget 2024"), store.read_view())
    assert titles(hits)[0] == "budget.md"
    assert "zh.md" not in titles(hits)
    mixed = await hybrid(embedding).retrieve(make_query("budget of the 网关"), store.read_view())
    assert "zh.md" in titles(mixed)


async def test_a_model_without_languages_knows_them_all():
    embedding = HashingEmbedding()
    store = await filled(CHINESE, embedding=embedding, embed=[CHINESE])
    (hit,) = await hybrid(embedding).retrieve(make_query("网关"), store.read_view())
    assert hit.score_meaning == HYBRID_MEANING
    assert hit.score == pytest.approx(2 / 61)


async def test_only_one_version_is_shown_of_a_document_that_is_replaced_between_two_searches():
    embedding = HashingEmbedding()
    new = make_document("gateway.md", "The proxy restarts at noon.", language="en")
    store = await filled(GATEWAY, BUDGET, embedding=embedding, embed=[GATEWAY, BUDGET])

    class Replacing(HashingEmbedding):
        async def embed_query(self, text):
            await store.put_document(*new)
            await store.put_vectors(
                self.description.model_id, new.chunk_ids, await self.embed_documents([new.chunks[0].text])
            )
            return await super().embed_query(text)

    hits = await hybrid(Replacing()).retrieve(make_query("gateway restarts"), store.read_view())
    versions = {hit.document.source.source_id for hit in hits if hit.document.title == "gateway.md"}
    assert versions == {new.row.source.source_id}


async def test_a53_an_embedding_that_fails_is_named_and_the_words_answer():
    class Down(HashingEmbedding):
        async def embed_query(self, text):
            raise StoreError("connection refused")

    store = await filled(GATEWAY, embedding=HashingEmbedding(), embed=[GATEWAY])
    (hit,) = await hybrid(Down()).retrieve(make_query("gateway"), store.read_view())
    assert hit.score_meaning == "bm25 (words only: the embedding failed: store_error)"


async def test_an_engine_that_fails_is_not_taken_for_an_embedding_that_fails():
    class Broken(MemoryVectorStore):
        async def search_vectors(self, model_id, vector, limit, where=None):
            raise IntegrityError("the vectors are damaged")

    store = Broken()
    await store.put_document(*GATEWAY)
    await store.put_vectors("hashing-256", GATEWAY.chunk_ids, await HashingEmbedding().embed_query("gateway"))
    with pytest.raises(IntegrityError):
        await hybrid(HashingEmbedding()).retrieve(make_query("gateway"), store)


async def test_words_come_from_the_index_that_the_settings_name(tmp_path):
    class Index:
        async def search(self, query):
            return [
                hit.model_copy(update={"score_meaning": "bm25s"})
                for hit in await store.search_words(query.model_copy(update={"tokens": ("budget",)}))
            ]

    store = await filled(GATEWAY, BUDGET)
    ctx = make_provider_context(
        tmp_path, settings={"kb": {"lexical": "bm25s"}}, opens={ProviderKind.KB_LEXICAL_INDEX: Index()}
    )
    hits = await (await open_lexical(ctx, None)).retrieve(make_query("gateway"), store.read_view())
    assert (titles(hits), hits[0].score_meaning) == (["budget.md"], "bm25s (words only)")


async def test_a_broken_embedding_plugin_leaves_the_words_and_a_broken_setting_does_not(tmp_path):
    async def raising(error):
        raise error

    store = await filled(GATEWAY)
    settings = SimpleNamespace(kb=SimpleNamespace(lexical="store"))
    ctx = SimpleNamespace(settings=settings, open=lambda kind: raising(PluginError("not installed")))
    (hit,) = await (await open_hybrid(ctx, None)).retrieve(make_query("gateway"), store.read_view())
    assert hit.score_meaning == "bm25 (words only: not installed)"
    ctx = SimpleNamespace(settings=settings, open=lambda kind: raising(ConfigError("embedding.batch_size = -1")))
    with pytest.raises(ConfigError):
        await open_hybrid(ctx, None)
