"""Hybrid retrieval while part of the corpus has no vectors yet."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.capabilities.kb.retrieval import HybridRetriever, LexicalRetriever, QueryVectors
from datamind.testing.kb_data import Document, make_document, make_query

THINGS = ("gateway", "turbine", "ledger", "vaccine", "harbour", "orchard", "网关", "预算", "集群", "合同")
DEEDS = ("restarts", "leaks", "expands", "closes", "stalls", "升级", "到期", "重启")
PLACES = ("Oslo", "Lima", "Accra", "Turin", "Kyoto", "北京", "上海")
FILLER = ("on time", "again", "as planned", "without notice", "在夜间", "按计划", "this week", "for everyone")


def corpus(seed: int) -> tuple[list[Document], list[tuple[str, str]]]:
    """Made-up reports, and questions with the document that answers each; words overlap on purpose."""
    rng = random.Random(seed)
    facts = [(thing, deed, place) for thing in THINGS for deed in DEEDS for place in PLACES]
    chosen = rng.sample(facts, 120)
    documents, questions = [], []
    for number, (thing, deed, place) in enumerate(chosen):
        words = [thing, deed, "in", place, *rng.sample(FILLER, 3)]
        if rng.random() < 0.5:
            words += [rng.choice(THINGS), rng.choice(PLACES)]
        rng.shuffle(words)
        documents.append(make_document(f"{number}.md", " ".join(words)))
        questions.append((f"{thing} {deed} {place}", documents[-1].document_id))
    return documents, rng.sample(questions, 40)


async def recalls(
    documents: list[Document], questions: list[tuple[str, str]], embedded: set[int]
) -> tuple[float, float]:
    """R@10 of words alone and of the hybrid."""
    store, embedding = MemoryVectorStore(), HashingEmbedding()
    for document in documents:
        await store.put_document(*document)
    rows = [documents[i].chunks[0] for i in sorted(embedded)]
    vectors = await embedding.embed_documents([row.text for row in rows])
    await store.put_vectors(embedding.description.model_id, [row.chunk_id for row in rows], vectors)
    lexical = LexicalRetriever()
    hybrid = HybridRetriever(lexical, QueryVectors(EmbeddingAccess.of(embedding)))
    scores = []
    for retriever in (lexical, hybrid):
        found = [await retriever.retrieve(make_query(question), store.read_view()) for question, _ in questions]
        right = [
            any(hit.document.document_id == answer for hit in hits)
            for hits, (_, answer) in zip(found, questions, strict=True)
        ]
        scores.append(sum(right) / len(right))
    return scores[0], scores[1]


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.5, 0.5, 0.05, 0.95]))
def test_with_a_random_half_unembedded_hybrid_is_no_worse_than_words(seed, share):
    documents, questions = corpus(seed)
    embedded = set(random.Random(seed).sample(range(len(documents)), int(share * len(documents))))
    words, both = asyncio.run(recalls(documents, questions, embedded))
    assert both >= words - 0.02
    assert words > 0.5
