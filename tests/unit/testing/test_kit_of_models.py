"""The kit of model clients and embeddings fails where one step is broken."""

from __future__ import annotations

from array import array

import pytest

from datamind.capabilities.embedding.hashing import DIM, HashingEmbedding
from datamind.core.errors import AnswerInvalid, ModelStreamError, StoreError
from datamind.core.messages import ReplyDone
from datamind.testing.conformance.embeddings import EmbeddingConformance
from datamind.testing.conformance.models import ModelClientConformance, TextModelConformance
from datamind.testing.models import ScriptedModel, ScriptedTextModel
from tests.unit.testing.kits import failures_of, numbers_of, suite_of


class EndsTwice(ScriptedModel):
    """G1: the reply comes two times."""

    async def stream(self, request):
        async for delta in super().stream(request):
            yield delta
            if isinstance(delta, ReplyDone):
                yield delta


class EndsQuietly(ScriptedModel):
    """G1: a cut stream just ends."""

    async def stream(self, request):
        try:
            async for delta in super().stream(request):
                yield delta
        except ModelStreamError:
            return


class ForeignErrors(ScriptedModel):
    """G1: the library's own exception."""

    async def stream(self, request):
        try:
            async for delta in super().stream(request):
                yield delta
        except Exception as error:
            raise ConnectionError(str(error)) from error


class WireIds(ScriptedModel):
    """G2: ids as the wire said."""

    def _own_id(self, wire_id):
        return wire_id


class MendsArguments(ScriptedModel):
    """G3: half an object is closed."""

    def _reply(self, turn):
        reply = super()._reply(turn)
        blocks = [
            block.model_copy(update={"call": block.call.model_copy(update={"arguments": block.call.arguments or "{}"})})
            if block.type == "tool_call"
            else block
            for block in reply.message.blocks
        ]
        return reply.model_copy(update={"message": reply.message.model_copy(update={"blocks": tuple(blocks)})})


class CompletesOtherwise(ScriptedModel):
    """G4: usage is lost on the way."""

    async def complete(self, request):
        reply = await super().complete(request)
        return reply.model_copy(update={"usage": reply.usage.model_copy(update={"output_tokens": 0})})


class SendsEverything(ScriptedModel):
    """G5: the request as it is."""

    def __init__(self, turns):
        super().__init__(turns)
        self.wire = b""

    def _next(self, request):
        self.wire += request.model_dump_json().encode()
        return super()._next(request)


class ReadsOn(ScriptedModel):
    """G6: a closed iterator is not noticed."""

    @property
    def stopped(self):
        return 0

    @stopped.setter
    def stopped(self, value):
        pass


class ClosesOnce(ScriptedModel):
    """G6: closed is closed."""

    async def aclose(self):
        if self.closed:
            raise RuntimeError("closed already")
        await super().aclose()


def client_suite(client: type[ScriptedModel]) -> type[ModelClientConformance]:
    class Suite(ModelClientConformance):
        capabilities = frozenset({"scripted", "wire"})

        async def open_client(self, folder, turns):
            return client(turns)

        async def sent(self, opened):
            return getattr(opened, "wire", b"gateway")

        async def stopped(self, opened):
            return opened.stopped

    return Suite


@pytest.mark.parametrize(
    ("client", "guarantee"),
    [
        (EndsTwice, "g1"),
        (EndsQuietly, "g1"),
        (ForeignErrors, "g1"),
        (WireIds, "g2"),
        (MendsArguments, "g3"),
        (CompletesOtherwise, "g4"),
        (SendsEverything, "g5"),
        (ReadsOn, "g6"),
        (ClosesOnce, "g6"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_client_is_broken(tmp_path, client, guarantee):
    assert guarantee in numbers_of(await failures_of(client_suite(client), tmp_path))


class BelievesAnything(ScriptedTextModel):
    """G1: the schema is not looked at."""

    async def generate_text(self, system, prompt, *, schema=None, max_tokens=1024):
        return await super().generate_text(system, prompt)


class RefusesEverything(ScriptedTextModel):
    """G1: no answer is good enough."""

    async def generate_text(self, system, prompt, *, schema=None, max_tokens=1024):
        raise AnswerInvalid("no")


@pytest.mark.parametrize("client", [BelievesAnything, RefusesEverything])
async def test_the_kit_fails_where_the_text_model_is_broken(tmp_path, client):
    class Suite(TextModelConformance):
        async def open_client(self, folder, answers):
            return client(answers)

    assert "g1" in numbers_of(await failures_of(Suite, tmp_path))


class NotNormalised(HashingEmbedding):
    """G1: rows of any length."""

    async def embed_documents(self, texts):
        rows = array("f", await super().embed_documents(texts))
        return array("f", [2 * value for value in rows]).tobytes()


class DependsOnTheBatch(HashingEmbedding):
    """G2: a vector is moved by its neighbours."""

    async def embed_documents(self, texts):
        rows = array("f", await super().embed_documents(texts))
        return (rows[:DIM] * len(texts)).tobytes() if len(texts) > 2 else rows.tobytes()


class EmbedsNothing(HashingEmbedding):
    """G3: an empty text has a vector too."""

    async def embed_documents(self, texts):
        return await super().embed_documents([text or "nothing" for text in texts])


class CutsAtNul(HashingEmbedding):
    """G3: the rest of the text is lost."""

    async def embed_documents(self, texts):
        return await super().embed_documents([text.split("\0")[0] for text in texts])


class Remote(HashingEmbedding):
    """A service that answers with an index beside each row."""

    def __init__(self, fault=""):
        self.fault = fault

    async def rows(self, texts):
        whole = await super().embed_documents(texts)
        rows = [(i, whole[i * DIM * 4 : (i + 1) * DIM * 4]) for i in range(len(texts))]
        return {"one_short": rows[:-1], "one_more": [*rows, *rows[:1]], "shuffled": rows[::-1]}.get(self.fault, rows)

    async def embed_documents(self, texts):
        rows = await self.rows(texts)
        if len(rows) != len(texts):
            raise StoreError(f"{len(texts)} texts came back as {len(rows)} vectors")
        return b"".join(row for _, row in sorted(rows))


class TakesRowsAsTheyCome(Remote):
    """G1, G4: neither index nor count is looked at."""

    async def embed_documents(self, texts):
        return b"".join(row for _, row in await self.rows(texts))


def remote_suite(provider: type[Remote]) -> type[EmbeddingConformance]:
    class Suite(EmbeddingConformance):
        capabilities = frozenset({"remote"})

        async def open_provider(self, folder, **dependencies):
            return provider()

        async def open_faulty(self, folder, fault):
            return provider(fault)

    return Suite


@pytest.mark.parametrize(
    ("provider", "guarantees"),
    [(NotNormalised, "g1"), (DependsOnTheBatch, "g2"), (EmbedsNothing, "g3"), (CutsAtNul, "g3")],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_embedding_is_broken(tmp_path, provider, guarantees):
    assert guarantees in numbers_of(await failures_of(suite_of(EmbeddingConformance, provider), tmp_path))


async def test_a48_the_kit_looks_at_the_index_and_the_count_of_rows(tmp_path):
    assert not await failures_of(remote_suite(Remote), tmp_path)
    assert numbers_of(await failures_of(remote_suite(TakesRowsAsTheyCome), tmp_path / "again")) == {"g1", "g4"}
