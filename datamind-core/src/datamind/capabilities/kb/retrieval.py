"""The retrievers of core: by words, by vectors, and by both joined."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.kb.vectors import other_dimension
from datamind.capabilities.text.fusion import reciprocal_rank_fusion
from datamind.capabilities.text.language import detect_language
from datamind.core.errors import DataMindError
from datamind.core.protocols.kb import (
    ChunkHit,
    KBQuery,
    LexicalIndex,
    SupportsRankings,
    VectorReader,
    VectorSearch,
)
from datamind.core.protocols.models import EmbeddingDescription
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

log = logging.getLogger(__name__)

MIN_CANDIDATES: Final = 50
"""Hits asked of each side before fusion; with fewer, what is found by one side alone is decided by chance."""

_NONE_NEAR: Final = "no chunk that matches has a vector"
HYBRID_MEANING: Final = "reciprocal rank fusion of words and vectors (k=60)"


async def open_lexical(ctx: ProviderContext, options: Any) -> LexicalRetriever:
    """By words: of the store's own index, or of the one that ``kb.lexical`` names."""
    return LexicalRetriever(await _open_index(ctx))


async def open_vector(ctx: ProviderContext, options: Any) -> VectorRetriever:
    """By vectors; by words as long as there is no embedding."""
    return VectorRetriever(LexicalRetriever(await _open_index(ctx)), await _open_vectors(ctx))


async def open_hybrid(ctx: ProviderContext, options: Any) -> HybridRetriever:
    """By both; by words as long as there is no embedding."""
    return HybridRetriever(LexicalRetriever(await _open_index(ctx)), await _open_vectors(ctx))


class LexicalRetriever:
    """By words alone."""

    def __init__(self, index: LexicalIndex | None = None) -> None:
        self._index = index

    @property
    def is_of_store(self) -> bool:
        """Whether the words are searched by the store itself."""
        return self._index is None

    async def search(self, query: KBQuery, reader: VectorReader) -> Sequence[ChunkHit]:
        """What the index finds, with its own ``score_meaning``."""
        return await (self._index.search(query) if self._index else reader.search_words(query))

    async def retrieve(self, query: KBQuery, reader: VectorReader) -> Sequence[ChunkHit]:
        """See Retriever."""
        return _words_only(await self.search(query, reader), query.limit)


@dataclass(frozen=True)
class AskedVector:
    """A query as the model of the chunks sees it, and who keeps those."""

    model: EmbeddingDescription
    vector: bytes
    reader: VectorSearch


@dataclass(frozen=True)
class VectorFindings:
    """What the vectors say to one query, or why they say nothing.

    Attributes:
        unembedded: Those of the candidates that the vectors cannot speak of.
        silent: Empty, or the reason why there are no hits.
    """

    hits: Sequence[ChunkHit] = ()
    unembedded: Set[str] = frozenset()
    silent: str = ""


class QueryVectors:
    """The embedding, or the reason why there is none.

    A model that was not trained for a language has vectors for it all the same, and they are noise: joined with
    words they make a good ranking worse. Its say is limited to the languages of its description.
    """

    def __init__(self, access: EmbeddingAccess) -> None:
        self._access = access

    async def asked(self, query: KBQuery, reader: VectorReader) -> AskedVector | str:
        """The vector of a query, or why there is none; never raises for an embedding that fails."""
        embedding = await self._access.get()
        if embedding is None:
            return self._access.reason
        if not isinstance(reader, VectorSearch):
            return "the store keeps no vectors"
        model = embedding.description
        if not _knows(model, detect_language(query.text)):
            return "the embedding does not know the language of the query"
        if not await reader.count_embedded(model.model_id):  # before a model is loaded for nothing
            return f"no passage has a vector of {model.model_id}"
        if wrong := await other_dimension(reader, model):
            return wrong
        try:
            vector = await embedding.embed_query(query.text)
        except DataMindError as error:
            log.warning("the query was not embedded: %s", error)
            return f"the embedding failed: {error.code}"
        return AskedVector(model, vector, reader)


async def _nearest(asked: AskedVector, query: KBQuery, candidates: Sequence[ChunkHit] = ()) -> VectorFindings:
    model, reader = asked.model, asked.reader
    found = await reader.search_vectors(model.model_id, asked.vector, query.limit, query.where)
    hits = [hit for hit in found if _knows(model, hit.document.language)]
    if not hits:
        return VectorFindings(silent=_NONE_NEAR)
    ids = [hit.chunk.chunk_id for hit in candidates]
    unembedded = await reader.unembedded(model.model_id, ids) if ids else frozenset()
    foreign = {hit.chunk.chunk_id for hit in candidates if not _knows(model, hit.document.language)}
    return VectorFindings(hits, unembedded | foreign)


def _knows(model: EmbeddingDescription, language: str) -> bool:
    return not model.languages or not language or language.partition("-")[0] in model.languages


class VectorRetriever:
    """By vectors alone, where there are any."""

    def __init__(self, words: LexicalRetriever, vectors: QueryVectors) -> None:
        self._words = words
        self._vectors = vectors

    async def retrieve(self, query: KBQuery, reader: VectorReader) -> Sequence[ChunkHit]:
        """See Retriever."""
        asked = await self._vectors.asked(query, reader)
        found = VectorFindings(silent=asked) if isinstance(asked, str) else await _nearest(asked, query)
        if found.silent:
            return _words_only(await self._words.search(query, reader), query.limit, found.silent)
        return found.hits[: query.limit]


class HybridRetriever:
    """Words and vectors joined by reciprocal rank fusion; a chunk without a vector is ranked by its words twice."""

    def __init__(self, words: LexicalRetriever, vectors: QueryVectors) -> None:
        self._words = words
        self._vectors = vectors

    async def retrieve(self, query: KBQuery, reader: VectorReader) -> Sequence[ChunkHit]:
        """See Retriever."""
        asked = await self._vectors.asked(query, reader)
        if isinstance(asked, str):
            return _words_only(await self._words.search(query, reader), query.limit, asked)
        wide = query.model_copy(update={"limit": max(MIN_CANDIDATES, 2 * query.limit)})
        # The language of a document is known only when it is read.
        if self._words.is_of_store and isinstance(reader, SupportsRankings) and not asked.model.languages:
            found = await _joined_orders(asked, wide, reader, query.limit)
        else:
            found = await self._joined_hits(asked, wide, reader, query.limit)
        if isinstance(found, str):
            return _words_only(await self._words.search(query, reader), query.limit, found)
        return found

    async def _joined_hits(
        self, asked: AskedVector, wide: KBQuery, reader: VectorReader, limit: int
    ) -> Sequence[ChunkHit] | str:
        words = await self._words.search(wide, reader)
        vectors = await _nearest(asked, wide, words)
        if vectors.silent:
            return vectors.silent
        hits = _of_one_version([*words, *vectors.hits])
        rankings = [
            [hit.chunk.chunk_id for hit in side if hit.chunk.chunk_id in hits] for side in (words, vectors.hits)
        ]
        fused = reciprocal_rank_fusion(rankings, unembedded=vectors.unembedded)
        return [_scored(hits[chunk_id], score, HYBRID_MEANING) for chunk_id, score in fused[:limit]]


async def _joined_orders(
    asked: AskedVector, wide: KBQuery, reader: SupportsRankings, limit: int
) -> Sequence[ChunkHit] | str:
    """The same where the store gives ids in their order: only what is returned is read, all of one moment."""
    words = await reader.rank_words(wide)
    near = await reader.rank_vectors(asked.model.model_id, asked.vector, wide.limit, wide.where)
    if not near:
        return _NONE_NEAR
    unembedded = await asked.reader.unembedded(asked.model.model_id, words)
    fused = reciprocal_rank_fusion([words, near], unembedded=unembedded)
    wanted = [chunk_id for chunk_id, _ in fused[:limit]]
    rows = await reader.rows_of(wanted)
    if len(rows) < len(wanted):  # some were replaced meanwhile; others move up
        rows = await reader.rows_of([chunk_id for chunk_id, _ in fused])
    hits = ((rows[chunk_id], score) for chunk_id, score in fused if chunk_id in rows)
    return [
        ChunkHit(chunk=chunk, document=document, score=score, score_meaning=HYBRID_MEANING)
        for (chunk, document), score in islice(hits, limit)
    ]


def _of_one_version(hits: Iterable[ChunkHit]) -> dict[str, ChunkHit]:
    """By chunk id, of each document only the version that was read last: it may be replaced between two searches."""
    found = list(hits)
    latest = {hit.document.document_id: hit.document.source.source_id for hit in found}
    return {
        hit.chunk.chunk_id: hit for hit in found if hit.document.source.source_id == latest[hit.document.document_id]
    }


def _words_only(hits: Sequence[ChunkHit], limit: int, reason: str = "") -> list[ChunkHit]:
    why = f"words only: {reason}" if reason else "words only"
    return [_scored(hit, hit.score, f"{hit.score_meaning} ({why})") for hit in hits[:limit]]


def _scored(hit: ChunkHit, score: float, meaning: str) -> ChunkHit:
    return hit.model_copy(update={"score": score, "score_meaning": meaning})


async def _open_index(ctx: ProviderContext) -> LexicalIndex | None:
    if ctx.settings.kb.lexical == "store":
        return None
    index: LexicalIndex = await ctx.open(ProviderKind.KB_LEXICAL_INDEX)
    return index


async def _open_vectors(ctx: ProviderContext) -> QueryVectors:
    access = EmbeddingAccess(lambda: ctx.open(ProviderKind.EMBEDDING))
    await access.get()  # a wrong setting of it is told now
    return QueryVectors(access)
