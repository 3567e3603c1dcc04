"""The KB store in memory: what the Protocol asks for and nothing else. Gone with the process."""

from __future__ import annotations

import heapq
import math
import operator
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.to_thread

from datamind.capabilities.kb.providers.filtering import matches
from datamind.capabilities.text.bm25 import BM25Index
from datamind.core.errors import InputInvalid
from datamind.core.protocols.kb import (
    ChunkHit,
    ChunkRow,
    DocumentPage,
    DocumentRow,
    KBCounts,
    KBFilter,
    KBQuery,
    VectorReader,
)
from datamind.core.types import new_id

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

Vectors: TypeAlias = "Mapping[str, array[float]]"
"""Chunk id to float32 vector."""


async def open_store(ctx: ProviderContext, options: Any) -> MemoryVectorStore:
    """An empty store."""
    return MemoryVectorStore()


@dataclass(frozen=True)
class _Corpus:
    """Documents and their chunks, in the order they were written."""

    documents: Mapping[str, DocumentRow] = field(default_factory=dict)
    chunks: Mapping[str, tuple[ChunkRow, ...]] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> Mapping[str, tuple[DocumentRow, ChunkRow]]:
        return {
            chunk.chunk_id: (document, chunk)
            for document_id, document in self.documents.items()
            for chunk in self.chunks[document_id]
        }

    @cached_property
    def revision(self) -> str:
        return new_id("rev")

    @cached_property
    def words(self) -> BM25Index:
        index = BM25Index()
        for chunk_id, (_, chunk) in self.by_id.items():
            index.add(chunk_id, chunk.tokens)
        return index


@dataclass(frozen=True)
class _Snapshot:
    """Everything at one moment; a write makes another one, and whoever reads keeps the one it began with."""

    corpus: _Corpus = field(default_factory=_Corpus)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    def putting(self, put: tuple[DocumentRow, tuple[ChunkRow, ...]]) -> _Snapshot:
        document, rows = put
        corpus, key = self.corpus, document.document_id
        is_same = corpus.documents.get(key) == document and corpus.chunks[key] == rows
        return self if is_same else self.having(document, rows)

    def having(self, document: DocumentRow, rows: tuple[ChunkRow, ...]) -> _Snapshot:
        key = document.document_id
        others = self.without(key, kept=rows)
        # Written last, so that the backlog of vectors is oldest first.
        corpus = _Corpus({**others.corpus.documents, key: document}, {**others.corpus.chunks, key: rows})
        return replace(others, corpus=corpus)

    def without(self, document_id: str, kept: Sequence[ChunkRow] = ()) -> _Snapshot:
        documents, chunks = dict(self.corpus.documents), dict(self.corpus.chunks)
        documents.pop(document_id, None)
        gone = chunks.pop(document_id, ())
        # A chunk cut anew under its old id has other words: a vector belongs to the row it was made from.
        same = {row.chunk_id: row for row in kept}
        stale = {row.chunk_id for row in gone if same.get(row.chunk_id) != row}
        vectors = {
            model: {key: row for key, row in rows.items() if key not in stale} for model, rows in self.vectors.items()
        }
        return _Snapshot(_Corpus(documents, chunks), vectors)


class MemoryReader:
    """The reading side: each call answers from one snapshot."""

    def __init__(self, current: Callable[[], _Snapshot]) -> None:
        self._current = current

    async def documents(self, *, offset: int = 0, limit: int = 100, where: KBFilter | None = None) -> DocumentPage:
        """Documents by uri, ties by id."""
        held, where = self._current().corpus.documents, where or KBFilter()
        named = [held[name] for name in set(where.document_ids) if name in held]
        found = [row for row in (named if where.document_ids else held.values()) if matches(row, where)]
        found.sort(key=lambda row: (row.source.uri, row.document_id))
        return DocumentPage(documents=tuple(found[offset : offset + limit]), total=len(found))

    async def document(self, document_id: str) -> DocumentRow | None:
        """One document, or None."""
        return self._current().corpus.documents.get(document_id)

    async def chunks(self, document_id: str) -> Sequence[ChunkRow]:
        """All chunks of a document in order; empty if there is none."""
        return self._current().corpus.chunks.get(document_id, ())

    async def words_revision(self) -> str:
        """Another one after each write."""
        return self._current().corpus.revision

    async def words(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Ids of all chunks with their words."""
        return [(chunk_id, chunk.tokens) for chunk_id, (_, chunk) in self._current().corpus.by_id.items()]

    async def matching_chunks(self, where: KBFilter) -> Set[str]:
        """Ids of the chunks of documents that may answer."""
        return {key for key, (document, _) in self._current().corpus.by_id.items() if matches(document, where)}

    async def rows_of(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[ChunkRow, DocumentRow]]:
        """Those of the chunks that are there, by id."""
        by_id = self._current().corpus.by_id
        return {key: (by_id[key][1], by_id[key][0]) for key in chunk_ids if key in by_id}

    async def counts(self) -> KBCounts:
        """A chunk counts as embedded when it has a vector of any model."""
        now = self._current()
        embedded = set().union(*now.vectors.values())
        return KBCounts(documents=len(now.corpus.documents), chunks=len(now.corpus.by_id), embedded=len(embedded))

    async def search_words(self, query: KBQuery) -> Sequence[ChunkHit]:
        """BM25 over context and text. The first search after a write counts all words anew, in a thread."""
        return await anyio.to_thread.run_sync(_by_words, self._current(), query)

    async def search_vectors(
        self, model_id: str, vector: bytes, limit: int, where: KBFilter | None = None
    ) -> Sequence[ChunkHit]:
        """Exact cosine over every vector of the model, in a thread."""
        return await anyio.to_thread.run_sync(_by_vector, self._current(), model_id, vector, limit, where or KBFilter())

    async def chunks_without_vector(self, model_id: str, limit: int) -> Sequence[ChunkRow]:
        """The backlog, oldest first."""
        now = self._current()
        have = now.vectors.get(model_id, {})
        return [chunk for chunk_id, (_, chunk) in now.corpus.by_id.items() if chunk_id not in have][:limit]

    async def unembedded(self, model_id: str, chunk_ids: Sequence[str]) -> Set[str]:
        """Which of these chunks have no vector of the model."""
        return set(chunk_ids) - self._current().vectors.get(model_id, {}).keys()

    async def count_embedded(self, model_id: str) -> int:
        """How many chunks have a vector of the model."""
        return len(self._current().vectors.get(model_id, {}))

    async def dimension(self, model_id: str) -> int:
        """Length of the model's vectors."""
        return len(next(iter(self._current().vectors.get(model_id, {}).values()), ()))


class MemoryVectorStore(MemoryReader):
    """The store; every write is one assignment, so a reader sees the old or the new and nothing between."""

    volatile = True

    def __init__(self) -> None:
        self._now = _Snapshot()
        super().__init__(lambda: self._now)

    async def put_document(self, document: DocumentRow, chunks: Sequence[ChunkRow]) -> None:
        """Add or replace one document."""
        await self.put_documents([(document, chunks)])

    async def put_documents(self, documents: Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]) -> None:
        """Add or replace documents at once."""
        latest = {document.document_id: (document, tuple(chunks)) for document, chunks in documents}
        self._now = reduce(_Snapshot.putting, latest.values(), self._now)

    async def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Number of documents removed."""
        known = self._now.corpus.documents.keys() & set(document_ids)
        self._now = reduce(_Snapshot.without, known, self._now)
        return len(known)

    async def put_vectors(self, model_id: str, chunk_ids: Sequence[str], vectors: bytes) -> None:
        """Vectors of vanished chunks are dropped.

        Raises:
            InputInvalid: Not one row for each id, or another dimension than the model's vectors have.
        """
        if not chunk_ids:
            return
        rows = _rows(vectors, len(chunk_ids))
        have = self._now.vectors.get(model_id, {})
        _check_dimension(model_id, have, rows[0])
        added = {key: row for key, row in zip(chunk_ids, rows, strict=True) if key in self._now.corpus.by_id}
        self._now = replace(self._now, vectors={**self._now.vectors, model_id: {**have, **added}})

    async def drop_vectors(self, model_id: str) -> None:
        """Forget the vectors of a model."""
        others = {model: rows for model, rows in self._now.vectors.items() if model != model_id}
        self._now = replace(self._now, vectors=others)

    def read_view(self) -> VectorReader:
        """The same data without a way to write."""
        return MemoryReader(self._current)

    async def sync(self) -> None:
        """Nothing to do: the store ends with the process."""

    async def aclose(self) -> None:
        """Forget everything."""
        self._now = _Snapshot()


def _by_words(now: _Snapshot, query: KBQuery) -> list[ChunkHit]:
    def allowed(chunk_id: str) -> bool:
        return matches(now.corpus.by_id[chunk_id][0], query.where)

    return _hits(now, now.corpus.words.search(query.tokens, query.limit, allowed=allowed), "bm25")


def _by_vector(now: _Snapshot, model_id: str, vector: bytes, limit: int, where: KBFilter) -> list[ChunkHit]:
    (wanted,) = _rows(vector, 1)
    scored = (
        (chunk_id, _cosine(wanted, found))
        for chunk_id, found in now.vectors.get(model_id, {}).items()
        if matches(now.corpus.by_id[chunk_id][0], where)
    )
    return _hits(now, heapq.nsmallest(limit, scored, key=lambda hit: (-hit[1], hit[0])), "cosine")


def _hits(now: _Snapshot, scored: Iterable[tuple[str, float]], meaning: str) -> list[ChunkHit]:
    found = ((now.corpus.by_id[chunk_id], score) for chunk_id, score in scored)
    return [
        ChunkHit(chunk=chunk, document=document, score=score, score_meaning=meaning)
        for (document, chunk), score in found
    ]


def _rows(buffer: bytes, count: int) -> list[array[float]]:
    size, rest = divmod(len(buffer), count)
    if rest or size % 4 or not size:
        raise InputInvalid(f"{len(buffer)} bytes are not {count} float32 vectors of one dimension")
    return [array("f", buffer[start : start + size]) for start in range(0, len(buffer), size)]


def _check_dimension(model_id: str, have: Vectors, row: array[float]) -> None:
    known = next(iter(have.values()), row)
    if len(known) != len(row):
        raise InputInvalid(f"vectors of {model_id!r} have {len(known)} dimensions, not {len(row)}")


def _cosine(one: array[float], other: array[float]) -> float:
    if len(one) != len(other):
        raise InputInvalid(f"a query vector of {len(one)} dimensions cannot be compared with {len(other)}")
    length = math.hypot(*one) * math.hypot(*other)
    return sum(map(operator.mul, one, other)) / length if length else 0.0
