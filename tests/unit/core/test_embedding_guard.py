"""Vectors that are not what was asked for do not get past the guard, and whoever needs none does without."""

from __future__ import annotations

import math
from array import array

import pytest

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.guard import GuardedEmbedding
from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.core.errors import ConfigError, InputInvalid, ModelError, PluginError, StoreError, SurfaceUnavailable

ROW = 4 * 256


class Returning(HashingEmbedding):
    def __init__(self, change):
        self.change = change

    async def embed_documents(self, texts):
        return self.change(await super().embed_documents(texts))

    async def embed_query(self, text):
        return self.change(await super().embed_query(text))


def with_nan(vectors: bytes) -> bytes:
    values = array("f", vectors)
    values[-1] = math.nan
    return values.tobytes()


@pytest.mark.parametrize(
    "change",
    [lambda rows: rows[:-ROW], lambda rows: rows + rows[:ROW], lambda rows: rows[:-4], with_nan, lambda rows: b""],
    ids=["one short", "one more", "another dimension", "not a number", "nothing"],
)
async def test_a48_vectors_other_than_asked_for_raise(change):
    embedding = GuardedEmbedding(Returning(change))
    with pytest.raises(ModelError, match="hashing-256") as caught:
        await embedding.embed_documents(["one", "two"])
    assert (caught.value.code, caught.value.retryable) == ("model_error.vectors", False)
    with pytest.raises(ModelError):
        await embedding.embed_query("one")


async def test_what_is_right_passes_unchanged():
    plain = HashingEmbedding()
    embedding = GuardedEmbedding(plain)
    assert await embedding.embed_documents(["one", "two"]) == await plain.embed_documents(["one", "two"])
    assert await embedding.embed_query("one") == await plain.embed_query("one")
    assert await embedding.embed_documents([]) == b""
    assert embedding.description == plain.description


async def test_no_provider_is_given_a_text_without_words():
    class Deaf(HashingEmbedding):
        async def embed_documents(self, texts):
            raise AssertionError(texts)

    with pytest.raises(InputInvalid):
        await GuardedEmbedding(Deaf()).embed_documents([" \0\ud800 "])


async def test_an_error_of_a_library_becomes_one_of_ours():
    class Broken(HashingEmbedding):
        async def embed_query(self, text):
            raise ConnectionResetError("10.0.0.1")

    with pytest.raises(ModelError, match="ConnectionResetError"):
        await GuardedEmbedding(Broken()).embed_query("one")


class Opening:
    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.times = 0

    async def __call__(self):
        self.times += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def test_a53_an_embedding_that_is_down_when_it_is_opened_is_tried_again_later(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    opening = Opening(StoreError("no route to the gateway"), HashingEmbedding())
    access = EmbeddingAccess(opening)
    assert await access.get() is None
    assert await access.get() is None
    assert (access.reason, access.is_absent, opening.times) == ("no route to the gateway", False, 1)
    clock[0] = 31.0
    assert await access.get() is not None
    assert access.reason == ""
    assert await access.get() is await access.get()


@pytest.mark.parametrize(
    ("error", "absent"),
    [(SurfaceUnavailable("no AVX2"), False), (PluginError("not installed", code="plugin_error.missing"), True)],
)
async def test_what_cannot_run_here_is_not_tried_again(monkeypatch, error, absent):
    access = EmbeddingAccess(opening := Opening(error))
    assert await access.get() is None
    monkeypatch.setattr("time.monotonic", lambda: 1e9)
    assert await access.get() is None
    assert (opening.times, access.reason, access.is_absent) == (1, error.message, absent)


async def test_a_wrong_setting_is_told():
    with pytest.raises(ConfigError):
        await EmbeddingAccess(Opening(ConfigError("embedding.options.threads = -1"))).get()
