"""Passages and their vectors: which wait for one, and what share has one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from datamind.capabilities.control.vectors import VectorCache
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.backlog import WaitingText
from datamind.core.protocols.kb import (
    ChunkRow,
    KBCounts,
    KnowsDimension,
    SupportsFreshVectors,
    SupportsVectors,
    VectorReader,
    VectorSearch,
    VectorStore,
)
from datamind.core.protocols.models import EmbeddingDescription
from datamind.core.results import Notice

MEND = "`datamind embed`"
START_ANEW = "`datamind kb reindex --vectors`"


class PassageBacklog:
    """The passages of the knowledge base that have no vector."""

    noun = "passages"
    is_cached = True

    def __init__(self, open_store: Callable[[], Awaitable[VectorStore]]) -> None:
        self._open_store = open_store

    async def waiting(self, model_id: str, limit: int) -> Sequence[WaitingText]:
        """Oldest first; none where the store keeps no vectors."""
        store = await self._open_store()
        rows = await store.chunks_without_vector(model_id, limit) if isinstance(store, SupportsVectors) else ()
        return [WaitingText(row.chunk_id, embedded_text(row)) for row in rows]

    async def count(self, model_id: str) -> int:
        """How many wait."""
        store = await self._open_store()
        if not isinstance(store, SupportsVectors):
            return 0
        return (await store.counts()).chunks - await store.count_embedded(model_id)

    async def put(self, model_id: str, item_ids: Sequence[str], vectors: bytes) -> None:
        """Those of passages that were replaced meanwhile are dropped by the store."""
        store = await self._open_store()
        if isinstance(store, SupportsVectors):
            await store.put_vectors(model_id, item_ids, vectors)

    async def drop(self, model_id: str) -> int:
        """Forget those of the model; how many passages wait then."""
        store = await self._open_store()
        if isinstance(store, SupportsFreshVectors):
            await store.drop_vectors(model_id)
        return await self.count(model_id)


async def restore_vectors(store: VectorStore, access: EmbeddingAccess, cache: VectorCache) -> None:
    """Give a store that was rebuilt in memory the vectors that were made for its passages before."""
    embedding = await access.get()
    if embedding is None or not isinstance(store, SupportsVectors):
        return
    model_id = embedding.description.model_id
    rows = await store.chunks_without_vector(model_id, (await store.counts()).chunks or 1)
    known = await cache.get(model_id, list({embedded_text(row) for row in rows}))
    size = 4 * embedding.description.dim
    vectors = {
        row.chunk_id: vector for row in rows if (vector := known.get(embedded_text(row))) and len(vector) == size
    }
    if vectors:
        await store.put_vectors(model_id, list(vectors), b"".join(vectors.values()))


def embedded_text(row: ChunkRow) -> str:
    """What a passage's vector is made from: its headings say what it is about, as they do to its words."""
    return f"{row.context}\n{row.text}" if row.context else row.text


@dataclass(frozen=True)
class VectorShare:
    """How many passages can be found by meaning.

    Attributes:
        counts: ``embedded`` counts vectors of the current model alone.
        foreign: Some have vectors of another model.
        other_dimension: What is wrong with those that are stored under the name of the current model, if anything.
        off: Why there are none, or an empty string.
        is_wanted: The reader can do something about it.
    """

    counts: KBCounts
    foreign: bool = False
    other_dimension: str = ""
    off: str = ""
    is_wanted: bool = True

    @property
    def notice(self) -> Notice | None:
        """What a reader of results must know, if anything."""
        if not self.is_wanted or self.counts.embedded >= self.counts.chunks:
            return None
        if self.off:
            return Notice(code="vectors.off", message=f"passages are found by words alone: {self.off}")
        if self.other_dimension:
            message = f"{self.other_dimension}; the passages are found by words until {START_ANEW} makes new ones"
            return Notice(code="vectors.other_dimension", message=message)
        if self.foreign and not self.counts.embedded:
            return Notice(
                code="vectors.other_model",
                message=f"the passages have vectors of another model and are found by words; {MEND} makes new ones",
            )
        share = 100 * self.counts.embedded // self.counts.chunks
        return Notice(
            code="vectors.missing",
            message=f"{share} % of the passages have vectors; {MEND} makes the others",
        )


async def vector_share(reader: VectorReader, access: EmbeddingAccess) -> VectorShare:
    """The share of the passages of a reader, for the embedding that is chosen now."""
    counts = await reader.counts()
    embedding = await access.get()
    if embedding is None:
        return VectorShare(counts.model_copy(update={"embedded": 0}), off=access.reason, is_wanted=not access.is_absent)
    if not isinstance(reader, VectorSearch):
        return VectorShare(counts, off="the store keeps no vectors", is_wanted=False)
    wrong = await other_dimension(reader, embedding.description)
    if wrong:
        return VectorShare(counts.model_copy(update={"embedded": 0}), other_dimension=wrong)
    embedded = await reader.count_embedded(embedding.description.model_id)
    return VectorShare(counts.model_copy(update={"embedded": embedded}), foreign=counts.embedded > embedded)


async def other_dimension(reader: VectorReader, model: EmbeddingDescription) -> str:
    """Why stored vectors cannot be compared with the model's: it was changed under its name. Mostly empty."""
    stored = await reader.dimension(model.model_id) if isinstance(reader, KnowsDimension) else 0
    if stored in (0, model.dim):
        return ""
    return f"stored vectors of {model.model_id[:60]} have {stored} dimensions, and it makes {model.dim} now"
