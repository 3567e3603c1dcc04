"""What the tests of the KB's Protocols have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from datamind.core.protocols.kb import VectorReader, VectorStore
from datamind.testing.kb_data import Document, make_query


async def put_all(store: VectorStore, documents: Sequence[Document]) -> None:
    """Put one after another."""
    for document in documents:
        await store.put_document(*document)


async def found(reader: VectorReader, text: str, limit: int = 10, **where: object) -> list[str]:
    """Chunk ids of a search by words, in order."""
    return [hit.chunk.chunk_id for hit in await reader.search_words(make_query(text, limit, **where))]


async def state(reader: VectorReader) -> tuple[object, ...]:
    """All that can be read of the two sample documents."""
    page = await reader.documents()
    chunks = [tuple(await reader.chunks(row.document_id)) for row in page.documents]
    return page, chunks, await reader.counts(), list(await reader.search_words(make_query("the gateway budget 网关")))


async def assert_gone(reader: VectorReader, document: Document, words: str) -> None:
    """Fail if any read still shows the document."""
    assert await reader.document(document.document_id) is None
    assert list(await reader.chunks(document.document_id)) == []
    assert document.row not in (await reader.documents()).documents
    assert not set(await found(reader, words, 100)) & set(document.chunk_ids)


async def rows_seen(reader: VectorReader, versions: Sequence[Document]) -> list[int]:
    """Which version of a document the list shows, and then its chunks, each whole.

    Raises:
        ValueError: A read shows no version, two of them, or a part of one.
    """
    rows = (await reader.documents()).documents
    chunks = tuple(await reader.chunks(versions[0].document_id))
    return [[[one.row] for one in versions].index(list(rows)), [one.chunks for one in versions].index(chunks)]


async def hits_seen(reader: VectorReader, versions: Sequence[Document]) -> list[int]:
    """Which version a search shows, whole.

    Raises:
        ValueError: As for ``rows_seen``.
    """
    hits = sorted(await found(reader, "alpha"))
    return [[sorted(one.chunk_ids) for one in versions].index(hits)]


async def watch(writer: asyncio.Future[None], look: Callable[[], Awaitable[list[int]]], seen: list[int]) -> None:
    """Look again and again until the writer has ended, and three times at least."""
    looks = 0
    while not writer.done() or looks < 3:
        seen += await look()
        looks += 1
        await asyncio.sleep(0)
