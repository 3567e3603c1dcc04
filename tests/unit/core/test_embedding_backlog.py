"""The backlog of vectors: what is embedded when, what is kept, and what a failing embedding does to it."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from datamind.capabilities.control.control import open_control
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.embedding.service import EmbeddingService
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.capabilities.kb.vectors import PassageBacklog
from datamind.core.errors import InputInvalid, ModelOverloaded, ModelRefused, StoreError
from datamind.testing.kb_data import make_document

DOCUMENTS = [make_document(f"{n}.md", f"report number{n} of the gateway") for n in range(10)]
MODEL = HashingEmbedding.description.model_id


class Recording(HashingEmbedding):
    """Remembers what it was given, and fails as it is told."""

    def __init__(self, *failures):
        self.calls: list[list[str]] = []
        self.failures = list(failures)

    async def embed_documents(self, texts):
        self.calls.append(list(texts))
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return await super().embed_documents(texts)


class Bench:
    """A store, a control.db and a service over them."""

    def __init__(self, folder, embedding, batch_size=4):
        self.store = MemoryVectorStore()
        self.control = open_control("default", folder / "storage", folder / "keys")
        self.service = self.service_of(embedding, batch_size)

    def service_of(self, embedding, batch_size=4) -> EmbeddingService:
        async def open_store():
            return self.store

        async def backlogs():
            return [PassageBacklog(open_store)]

        access = embedding if isinstance(embedding, EmbeddingAccess) else EmbeddingAccess.of(embedding)
        return EmbeddingService(access, backlogs, self.control.vectors, batch_size)

    async def put(self, *documents):
        for document in documents:
            await self.store.put_document(*document)


@pytest.fixture
def bench(tmp_path):
    made = []

    def make(embedding, **options) -> Bench:
        made.append(Bench(tmp_path, embedding, **options))
        return made[-1]

    yield make
    for one in made:
        one.control.close()


@pytest.fixture
def no_wait(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    return waits


async def test_a_drain_embeds_all_in_batches_of_the_setting_and_says_how_far_it_is(bench):
    embedding, seen = Recording(), []
    one = bench(embedding, batch_size=4)
    await one.put(*DOCUMENTS)
    report = await one.service.drain(progress=lambda done, what: seen.append((done, what)))
    assert [len(call) for call in embedding.calls] == [4, 4, 2]
    assert (report.embedded, report.remaining, report.refused, report.notice) == (10, 0, 0, None)
    assert seen == [(4, "passages"), (8, "passages"), (10, "passages")]
    assert await one.store.count_embedded(MODEL) == 10
    assert (await one.service.drain()).embedded == 0


async def test_a_text_is_embedded_once_however_often_it_is_indexed(bench):
    one = bench(first := Recording())
    await one.put(*DOCUMENTS[:3])
    await one.service.drain()
    one.store = MemoryVectorStore()
    await one.put(*DOCUMENTS[:4])
    report = await one.service_of(second := Recording()).drain()
    assert report.embedded == 4
    assert [len(call) for call in first.calls] == [3]
    assert second.calls == [[DOCUMENTS[3].chunks[0].text]]


async def test_two_passages_of_one_text_cost_one_embedding(bench):
    one = bench(embedding := Recording())
    await one.put(*(make_document(f"copy{n}.md", "the same words") for n in range(3)))
    assert (await one.service.drain()).embedded == 3
    assert embedding.calls == [["the same words"]]


async def test_a_vector_of_one_model_is_not_taken_for_that_of_another(bench):
    class Other(Recording):
        description = HashingEmbedding.description.model_copy(update={"model_id": "other"})

    one = bench(Recording())
    await one.put(*DOCUMENTS[:3])
    await one.service.drain()
    assert (await one.service_of(other := Other()).drain()).embedded == 3
    assert len(other.calls) == 1


async def test_a53_a_passing_failure_is_tried_again_later_each_time(bench, no_wait):
    overloaded = ModelOverloaded("busy")
    one = bench(embedding := Recording(overloaded, overloaded, overloaded))
    await one.put(*DOCUMENTS[:2])
    report = await one.service.drain()
    assert (report.embedded, report.notice) == (2, None)
    assert no_wait == [0.5, 1.0, 2.0]
    assert len(embedding.calls) == 4


async def test_a53_an_embedding_that_stays_down_ends_the_drain_with_its_reason(bench, no_wait):
    one = bench(Recording(None, *[ModelOverloaded("busy")] * 4))
    await one.put(*DOCUMENTS)
    report = await one.service.drain()
    assert (report.embedded, report.remaining) == (4, 6)
    assert (report.notice.code, report.notice.message) == ("model_overloaded", "busy")
    assert (await one.service.drain()).embedded == 6


async def test_a48_what_a_retry_cannot_mend_is_not_retried(bench, no_wait):
    one = bench(embedding := Recording(ModelRefused("401")))
    await one.put(*DOCUMENTS)
    report = await one.service.drain()
    assert (report.remaining, report.notice.code, len(embedding.calls), no_wait) == (10, "model_refused", 1, [])


async def test_a_text_that_is_refused_keeps_no_other_from_its_vector(bench):
    class Picky(Recording):
        async def embed_documents(self, texts):
            if any("number3" in text for text in texts):
                self.calls.append(list(texts))
                raise InputInvalid("no")
            return await super().embed_documents(texts)

    one = bench(embedding := Picky())
    await one.put(*DOCUMENTS)
    report = await one.service.drain()
    assert (report.embedded, report.remaining, report.refused) == (9, 0, 1)
    assert sum("number3" in text for call in embedding.calls for text in call) <= 2


async def test_vectors_of_what_was_replaced_meanwhile_are_dropped_and_the_new_text_follows(bench):
    class Meanwhile(Recording):
        async def embed_documents(self, texts):
            if not self.calls:
                await one.put(make_document("0.md", "another report"))
            return await super().embed_documents(texts)

    one = bench(embedding := Meanwhile())
    await one.put(*DOCUMENTS[:2])
    await one.service.drain()
    assert embedding.calls[-1] == ["another report"]
    assert (await one.store.counts()).embedded == await one.store.count_embedded(MODEL) == 2


async def test_when_the_time_is_up_what_is_embedded_stays(bench):
    class Slow(Recording):
        async def embed_documents(self, texts):
            if self.calls:
                await anyio.sleep_forever()
            return await super().embed_documents(texts)

    one = bench(Slow())
    await one.put(*DOCUMENTS)
    report = await one.service.drain(timeout_s=0.2)
    assert (report.embedded, report.remaining) == (4, 6)
    assert await one.store.count_embedded(MODEL) == 4


async def test_a_drain_that_is_cancelled_has_stored_whole_batches(bench):
    class Late(MemoryVectorStore):
        async def put_vectors(self, model_id, chunk_ids, vectors):
            await asyncio.sleep(0.05)
            await super().put_vectors(model_id, chunk_ids, vectors)
            written.set()

    written = asyncio.Event()
    one = bench(Recording())
    one.store = Late()
    await one.put(*DOCUMENTS)
    task = asyncio.create_task(one.service.drain())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await one.store.count_embedded(MODEL) in (0, 4)
    assert written.is_set() is bool(await one.store.count_embedded(MODEL))


async def test_two_drains_at_once_do_the_work_once(bench):
    one = bench(embedding := Recording())
    await one.put(*DOCUMENTS)
    reports = await asyncio.gather(one.service.drain(), one.service.drain())
    assert sorted(report.embedded for report in reports) == [0, 10]
    assert sum(map(len, embedding.calls)) == 10


async def test_a_store_that_fails_is_not_taken_for_an_embedding_that_fails(bench, no_wait):
    class Full(MemoryVectorStore):
        async def put_vectors(self, model_id, chunk_ids, vectors):
            raise StoreError("no space left")

    one = bench(Recording())
    one.store = Full()
    await one.put(*DOCUMENTS)
    with pytest.raises(StoreError):
        await one.service.drain()


async def test_without_an_embedding_the_report_says_why(bench):
    async def nowhere():
        raise StoreError("no route to the gateway")

    one = bench(EmbeddingAccess(nowhere))
    await one.put(*DOCUMENTS)
    report = await one.service.drain()
    assert (report.embedded, report.notice.code) == (0, "vectors.off")
    assert "no route" in report.notice.message
    await one.service.warm()


@pytest.mark.parametrize("timeout_s", [-1, float("nan")])
async def test_a_time_that_is_none_is_refused(bench, timeout_s):
    with pytest.raises(InputInvalid):
        await bench(Recording()).service.drain(timeout_s=timeout_s)
