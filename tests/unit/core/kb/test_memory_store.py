"""What the kit does not ask of the KB store in memory."""

from __future__ import annotations

import pytest

from datamind.capabilities.kb.providers.filtering import last_part
from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.core.errors import InputInvalid
from datamind.testing.kb_data import make_document, make_query, make_vectors


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:notes/f1.md", "f1.md"),
        ("file:f1.md", "f1.md"),
        ("file:/abs/网关.md", "网关.md"),
        ("file:notes/a:b.md", "a:b.md"),
        ("file:a:b.md", "a:b.md"),
        ("text:0123456789abcdef", "0123456789abcdef"),
        ("plain", "plain"),
        ("", ""),
        ("file:folder/", ""),
    ],
)
def test_the_last_part_of_a_uri(uri, expected):
    assert last_part(uri) == expected


async def test_a_search_keeps_its_index_until_a_document_changes():
    store = MemoryVectorStore()
    one = make_document("a.md", "alpha")
    await store.put_document(*one)
    await store.search_words(make_query("alpha"))
    words = store._now.corpus.words
    await store.put_vectors("m", one.chunk_ids, make_vectors((1.0, 0.0)))
    await store.put_document(*one)
    assert store._now.corpus.words is words
    await store.put_document(*make_document("b.md", "beta"))
    assert store._now.corpus.words is not words


async def test_a_query_vector_that_is_no_float32_is_refused():
    store = MemoryVectorStore()
    one = make_document("a.md", "alpha")
    await store.put_document(*one)
    await store.put_vectors("m", one.chunk_ids, make_vectors((1.0, 0.0)))
    for vector in (b"", b"abc", make_vectors((1.0,))):
        with pytest.raises(InputInvalid):
            await store.search_vectors("m", vector, 3)


async def test_a_vector_without_length_is_near_to_nothing():
    store = MemoryVectorStore()
    one = make_document("a.md", "alpha")
    await store.put_document(*one)
    await store.put_vectors("m", one.chunk_ids, make_vectors((0.0, 0.0)))
    (hit,) = await store.search_vectors("m", make_vectors((1.0, 0.0)), 3)
    assert hit.score == 0.0
