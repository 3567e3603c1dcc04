"""Texts are found by words at once, and vectors follow: the backlog through a whole system."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.capabilities.kb.retrieval import HYBRID_MEANING, HybridRetriever, LexicalRetriever, QueryVectors
from datamind.capabilities.kb.vectors import vector_share
from datamind.core.errors import ModelOverloaded
from datamind.testing.kb_data import make_document, make_query
from datamind.testing.models import ScriptedModel, calling
from tests.support.scripted import open_scripted
from tests.support.systems import contents, open_system, read, status, write

HASHING = {"embedding": {"provider": "hashing", "batch_size": 2}}
FERRY = "The last boat to Skarv leaves at 21:40."
TEXTS = [f"Report number {n} of the harbour office." for n in range(5)]


def another_model(monkeypatch) -> None:
    description = HashingEmbedding.description.model_copy(update={"model_id": "another"})
    monkeypatch.setattr(HashingEmbedding, "description", description)


def meanings(outcome) -> set[str]:
    return {item.score_meaning for item in outcome.evidence}


async def test_a_text_is_found_by_words_before_it_has_a_vector(tmp_path):
    async with open_system(tmp_path, **HASHING) as system:
        assert status(await write(system, "kb_add_text", text=FERRY)) == "stored"
        found = await read(system, "kb_search", query="last boat")
        assert contents(found) == [FERRY]
        assert all("words only" in meaning for meaning in meanings(found))
        report = await system.drain()
        assert (report.embedded, report.remaining, report.notice) == (1, 0, None)
        assert meanings(await read(system, "kb_search", query="last boat")) == {HYBRID_MEANING}


async def test_what_share_has_vectors_is_said_by_the_count_by_a_search_and_by_an_answer(tmp_path):
    async with open_system(tmp_path, **HASHING) as system:
        await write(system, "kb_add_text", text=FERRY)
        await system.drain()
        assert "vectors" not in (await read(system, "kb_search", query="last boat")).data
        assert (await system.query("When does the last boat to Skarv leave?")).notices == system.notices
        await write(system, "kb_add_text", text="A ticket to Skarv costs 184 crowns.")
        await write(system, "kb_add_text", text="The crew gets 27 days of paid leave.")
        assert (await read(system, "kb_count")).data == {
            "documents": 3,
            "chunks": 3,
            "embedded": 1,
            "vectors": "33 % of the passages have vectors; `datamind embed` makes the others",
        }
        assert "33 %" in (await read(system, "kb_search", query="last boat")).data["vectors"]
        answer = await system.query("When does the last boat to Skarv leave?")
        assert [notice.code for notice in answer.notices].count("vectors.missing") == 1
        await system.drain()
        assert "vectors" not in (await read(system, "kb_search", query="last boat")).data


async def test_a44_vectors_of_another_model_are_not_searched_and_the_mending_command_is_named():
    store, old = MemoryVectorStore(), HashingEmbedding()
    document = make_document("ferry.md", "The last boat leaves late.")
    await store.put_document(*document)
    await store.put_vectors("another", document.chunk_ids, b"\0\0\x80\x3f" * 8)  # of another dimension, too
    access = EmbeddingAccess.of(old)
    (hit,) = await HybridRetriever(LexicalRetriever(), QueryVectors(access)).retrieve(make_query("last boat"), store)
    assert "words only" in hit.score_meaning
    notice = (await vector_share(store, access)).notice
    assert notice.code == "vectors.other_model"
    assert "`datamind embed`" in notice.message


async def test_b32_after_a_change_of_model_nothing_is_lost_and_a_drain_mends_it(tmp_path, monkeypatch):
    async with open_system(tmp_path, **HASHING) as system:
        await write(system, "kb_add_text", text=FERRY)
        await write(system, "memory_save", text="I prefer window seats.", kind="preference")
        assert (await system.drain()).embedded == 2
    another_model(monkeypatch)
    async with open_system(tmp_path, **HASHING) as system:
        await write(system, "kb_add_text", text="A ticket costs 184 crowns.")
        assert contents(await read(system, "kb_search", query="last boat"))[0] == FERRY
        await system.warm()
        recalled = await read(system, "memory_recall", query="window seats")
        assert (contents(recalled), meanings(recalled)) == (["I prefer window seats."], {"bm25"})
        assert (await system.drain()).embedded == 3
        assert (await read(system, "kb_count")).data["embedded"] == 2
        assert "cosine" in meanings(await read(system, "memory_recall", query="window seats")).pop()


async def test_b32_a_search_by_vectors_of_another_dimension_goes_by_words_and_says_so(tmp_path, monkeypatch):
    chosen = {**HASHING, "kb": {"backend": "lancedb"}}
    async with open_system(tmp_path, **chosen) as system:
        await write(system, "kb_add_text", text=FERRY)
        await system.drain()
    changed = HashingEmbedding.description.model_copy(update={"dim": 16})
    monkeypatch.setattr(HashingEmbedding, "description", changed)
    for strategy in ("hybrid", "vector"):
        async with open_system(tmp_path, retrieval={"strategy": strategy}, **chosen) as system:
            found = await read(system, "kb_search", query="last boat")
            assert contents(found) == [FERRY]
            assert "words only: stored vectors of hashing-256 have 256 dimensions" in found.evidence[0].score_meaning
            assert "`datamind kb reindex --vectors` makes new ones" in found.data["vectors"]


async def test_a53_a_dead_embedding_fails_no_write_and_no_search(tmp_path, monkeypatch):
    async def down(self, *texts):
        raise ModelOverloaded("no route to the gateway", retryable=False)

    monkeypatch.setattr(HashingEmbedding, "embed_documents", down)
    monkeypatch.setattr(HashingEmbedding, "embed_query", down)
    async with open_system(tmp_path, **HASHING) as system:
        assert status(await write(system, "kb_add_text", text=FERRY)) == "stored"
        assert status(await write(system, "memory_save", text="I prefer window seats.", kind="preference")) == "stored"
        await system.warm()
        report = await system.drain()
        assert (report.embedded, report.remaining, report.notice.code) == (0, 2, "model_overloaded")
        assert contents(await read(system, "kb_search", query="last boat")) == [FERRY]
        assert contents(await read(system, "memory_recall", query="window seats")) == ["I prefer window seats."]


async def test_a_memory_is_recalled_by_its_vector_too(tmp_path):
    async with open_system(tmp_path, **HASHING) as system:
        await write(system, "memory_save", text="I prefer window seats.", kind="preference")
        await write(system, "memory_save", text="Weekly reports are in Chinese.", kind="decision", scope="global")
        assert meanings(await read(system, "memory_recall", query="window seats")) == {"bm25"}
        assert (await system.drain()).embedded == 2
        assert all("cosine" in meaning for meaning in meanings(await read(system, "memory_recall", query="window")))


async def test_an_extractive_model_recalls_by_words_and_loads_no_embedding(tmp_path, monkeypatch):
    async def never(self, text):
        raise AssertionError(text)

    async with open_system(tmp_path, **HASHING) as system:
        await write(system, "memory_save", text="I prefer window seats.", kind="preference")
        await system.drain()
        monkeypatch.setattr(HashingEmbedding, "embed_query", never)
        answer = await system.query("Which seats do I prefer?")
        assert "window seats" in answer.answer
        assert answer.evidence[0].score_meaning == "bm25"


async def test_a_language_model_recalls_by_vectors_too(tmp_path):
    model = ScriptedModel([calling("memory_recall", {"query": "Which seats do I prefer?"}), "Window seats [1]."])
    async with open_scripted(tmp_path, model, **HASHING) as system:
        await write(system, "memory_save", text="I prefer window seats.", kind="preference")
        await system.drain()
        answer = await system.query("Which seats do I prefer?")
        assert "cosine" in answer.evidence[0].score_meaning


async def test_searching_by_words_alone_embeds_no_passage(tmp_path):
    async with open_system(tmp_path, **HASHING, retrieval={"strategy": "lexical"}) as system:
        await write(system, "kb_add_text", text=FERRY)
        assert (await system.drain()).embedded == 0


async def test_a_store_in_memory_has_its_vectors_again_without_the_model(tmp_path, monkeypatch):
    async with open_system(tmp_path, **HASHING) as system:
        await write(system, "kb_add_text", text=FERRY)
        await system.drain()

    async def never(self, texts):
        raise AssertionError(texts)

    monkeypatch.setattr(HashingEmbedding, "embed_documents", never)
    async with open_system(tmp_path, **HASHING) as system:
        assert (await read(system, "kb_count")).data["embedded"] == 1
        assert meanings(await read(system, "kb_search", query="last boat")) == {HYBRID_MEANING}
        assert (await system.drain()).embedded == 0


_SLOW = """
import asyncio, sys
from pathlib import Path
from datamind.capabilities.embedding.hashing import HashingEmbedding
from tests.support.systems import open_system, write
from tests.integration.test_embedding_surface import HASHING, TEXTS

async def main(folder):
    embed = HashingEmbedding.embed_documents

    async def slowly(self, texts):
        made = await embed(self, texts)
        print(len(texts), flush=True)
        await asyncio.sleep(0 if main.calls == 0 else 600)
        main.calls += 1
        return made

    main.calls = 0
    HashingEmbedding.embed_documents = slowly
    async with open_system(folder, **HASHING) as system:
        for text in TEXTS:
            await write(system, "kb_add_text", text=text)
        await system.drain()

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_a_backlog_goes_on_after_its_process_was_killed(tmp_path, monkeypatch):
    child = subprocess.Popen(
        [sys.executable, "-c", _SLOW, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    try:
        for _ in range(2):  # the second batch is being embedded, so the first is stored
            await asyncio.wait_for(asyncio.to_thread(child.stdout.readline), 60)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    embedded = []
    embed = HashingEmbedding.embed_documents

    async def counting(self, texts):
        embedded.extend(texts)
        return await embed(self, texts)

    monkeypatch.setattr(HashingEmbedding, "embed_documents", counting)
    async with open_system(tmp_path, **HASHING) as system:
        await system.drain()
        assert (await read(system, "kb_count")).data["embedded"] == len(TEXTS)
    assert len(embedded) == len(TEXTS) - 2
