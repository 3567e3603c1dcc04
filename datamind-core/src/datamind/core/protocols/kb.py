"""The knowledge base: documents, chunks, words and vectors."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence, Set
from typing import Protocol, runtime_checkable

from datamind.core.record import Instant, Record
from datamind.core.source import SourceRef


class DocumentRow(Record):
    """One document: one version of one source under one name.

    Attributes:
        document_id: Stable over versions: follows from the uri.
        receipt_ids: The receipts that this version rests on, oldest first.
    """

    document_id: str
    source: SourceRef
    title: str = ""
    language: str = ""
    chunks: int = 0
    receipt_ids: tuple[str, ...] = ()
    added_at: Instant
    metadata: Mapping[str, str | int | float | bool] = {}


class ChunkRow(Record):
    """One chunk; ``text`` is exactly the span ``[start, end)`` of the stored source text.

    Attributes:
        chunk_id: Follows from source id and span, so that other cuts of one text are other chunks.
        context: Heading path or repeated table header: searched with the text, not part of it.
        tokens: Words for the lexical side, of context and text.
    """

    chunk_id: str
    document_id: str
    source_id: str
    index: int
    start: int
    end: int
    page: int | None = None
    text: str
    context: str = ""
    tokens: tuple[str, ...] = ()


class KBFilter(Record):
    """Which documents may answer; every given condition must hold.

    Attributes:
        sources: Uris or source ids, exactly; or the last part of a uri.
        metadata: Typed equality.
    """

    document_ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    metadata: Mapping[str, str | int | float | bool] = {}


class KBQuery(Record):
    """One retrieval request.

    Attributes:
        tokens: The query's words, made like those of the chunks.
    """

    text: str
    tokens: tuple[str, ...]
    limit: int
    where: KBFilter = KBFilter()


class ChunkHit(Record):
    """A chunk with its document and a score whose meaning the index names; best first, ties by chunk id."""

    chunk: ChunkRow
    document: DocumentRow
    score: float
    score_meaning: str


class DocumentPage(Record):
    """Part of the document list, ordered by uri."""

    documents: tuple[DocumentRow, ...]
    total: int


class KBCounts(Record):
    """How much there is, and what share of the chunks has vectors."""

    documents: int
    chunks: int
    embedded: int = 0


class VectorIndexStatus(Record):
    """How the vectors of one model are searched.

    Attributes:
        vectors: How many are stored, those of chunks that are gone included.
        kind: ``exact``, or the name of an approximate index.
        recall: Share of the 10 nearest that the index finds, measured on vectors of its own; None when exact.
    """

    model_id: str
    dimension: int
    vectors: int
    kind: str = "exact"
    recall: float | None = None


class KBStoreStatus(Record):
    """How a store is kept.

    Attributes:
        versions: States of the chunks that are still on disk, the present one included.
        unindexed_chunks: Chunks that a search by words reads one by one.
    """

    size_bytes: int
    versions: int
    unindexed_chunks: int
    vectors: tuple[VectorIndexStatus, ...] = ()


@runtime_checkable
class VectorReader(Protocol):
    """The reading half of a KB store.

    G1 What a write acknowledged is found by the next read of any reader of the same profile.
    G2 Results are ordered best first, ties by chunk id; the same query gives the same order.
    G3 ``where`` is applied before ``limit``.
    G4 A deleted or replaced version is on no read path.
    """

    async def documents(self, *, offset: int = 0, limit: int = 100, where: KBFilter | None = None) -> DocumentPage:
        """Documents ordered by uri."""
        ...

    async def document(self, document_id: str) -> DocumentRow | None:
        """One document, or None."""
        ...

    async def chunks(self, document_id: str) -> Sequence[ChunkRow]:
        """All chunks of a document in order; empty if there is none."""
        ...

    async def counts(self) -> KBCounts:
        """Documents, chunks and vectors."""
        ...

    async def search_words(self, query: KBQuery) -> Sequence[ChunkHit]:
        """Lexical hits of the store's own index; a score of 0 is no hit."""
        ...


@runtime_checkable
class VectorStore(VectorReader, Protocol):
    """A KB store.

    G5 ``put_document`` replaces every earlier version of the same ``document_id`` in one commit: readers see the
    old or the new, never both or neither.
    G6 Putting the same document and chunks again changes nothing.
    G7 ``delete_documents`` removes rows, words and vectors in one commit; unknown ids are not counted.
    G8 What returned survives the death of the process (unless ``volatile``); after ``sync`` also a power loss.
    G9 ``read_view`` has no method that writes.

    Attributes:
        volatile: The store lives in memory and is rebuilt from control.db when it is opened.
    """

    volatile: bool

    async def put_document(self, document: DocumentRow, chunks: Sequence[ChunkRow]) -> None:
        """Add or replace one document; see G5, G6."""
        ...

    async def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Number of documents removed; see G7."""
        ...

    def read_view(self) -> VectorReader:
        """The same data without a way to write."""
        ...

    async def sync(self) -> None:
        """Make every write so far survive a power loss."""
        ...

    async def aclose(self) -> None:
        """Close files; may be called twice."""
        ...


@runtime_checkable
class SupportsBatches(Protocol):
    """A KB store that takes many documents at once.

    G1 All of them are written in one commit, or none; for each it is as ``put_document`` says.
    """

    async def put_documents(self, documents: Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]) -> None:
        """Add or replace documents; of two with one id the later one counts."""
        ...


@runtime_checkable
class SupportsStatus(Protocol):
    """A reader that tells how its store is kept."""

    async def status(self) -> KBStoreStatus:
        """As of now."""
        ...


@runtime_checkable
class SupportsOptimize(Protocol):
    """A KB store whose files can be put in order.

    G1 No read shows a difference, but for the time it takes.
    """

    async def optimize(self) -> None:
        """Merge files, index every row, remove what no read needs; ends when it is done."""
        ...


@runtime_checkable
class SupportsRebuild(Protocol):
    """A KB store that can be built anew beside what it holds.

    G1 Readers see what was there until everything is built, and then the new; a rebuild that breaks off changes
    nothing.
    G2 A chunk that is the same keeps its vectors.
    """

    @property
    def is_lost(self) -> bool:
        """There is nothing, because nothing was ever written or because it was damaged and set aside."""
        ...

    async def rebuild(self, documents: AsyncIterable[Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]]) -> int:
        """Hold these documents and no others; how many they are. Writes wait meanwhile."""
        ...


@runtime_checkable
class VectorSearch(Protocol):
    """The reading half of a store's vectors; a read view has it too.

    G1 Vectors of another model are never searched.
    """

    async def search_vectors(
        self, model_id: str, vector: bytes, limit: int, where: KBFilter | None = None
    ) -> Sequence[ChunkHit]:
        """Nearest chunks by cosine, best first, ties by chunk id; exact unless the store says otherwise."""
        ...

    async def unembedded(self, model_id: str, chunk_ids: Sequence[str]) -> Set[str]:
        """Which of these chunks have no vector of the model."""
        ...

    async def count_embedded(self, model_id: str) -> int:
        """How many chunks have a vector of the model; ``KBCounts.embedded`` counts those of any."""
        ...


@runtime_checkable
class SupportsVectors(VectorSearch, Protocol):
    """A KB store that keeps vectors.

    G1 Vectors belong to (chunk id, model id); those of another model are never searched.
    G2 A chunk without a vector is found by words and listed by ``chunks_without_vector``.
    """

    async def put_vectors(self, model_id: str, chunk_ids: Sequence[str], vectors: bytes) -> None:
        """float32, shape (len(chunk_ids), dim), row i for id i; vectors of vanished chunks are dropped."""
        ...

    async def chunks_without_vector(self, model_id: str, limit: int) -> Sequence[ChunkRow]:
        """The backlog, oldest first."""
        ...


@runtime_checkable
class KnowsDimension(Protocol):
    """A reader that tells how long the vectors of a model are; a read view has it too."""

    async def dimension(self, model_id: str) -> int:
        """0 while there are none."""
        ...


@runtime_checkable
class SupportsFreshVectors(KnowsDimension, Protocol):
    """A KB store that can let the vectors of a model start anew.

    G1 After ``drop_vectors`` no chunk has a vector of the model, and those of any dimension are taken again.
    G2 Vectors of other models stay.
    """

    async def drop_vectors(self, model_id: str) -> None:
        """Forget them; durable when it returns."""
        ...


@runtime_checkable
class SupportsWordIndex(Protocol):
    """A reader that a word index can stand beside.

    G1 ``words_revision`` differs whenever the words of any chunk do, and is the same in every process.
    """

    async def words_revision(self) -> str:
        """What the words are now."""
        ...

    async def words(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Ids of all chunks with their words."""
        ...

    async def matching_chunks(self, where: KBFilter) -> Set[str]:
        """Ids of the chunks of documents that may answer."""
        ...

    async def rows_of(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[ChunkRow, DocumentRow]]:
        """Those of the chunks that are there, by id."""
        ...


@runtime_checkable
class SupportsRankings(Protocol):
    """A reader that orders chunks without reading them: whoever joins two orders wants few of them in the end.

    G1 ``rank_words`` and ``rank_vectors`` give the ids of ``search_words`` and ``search_vectors``, in their order.
    """

    async def rank_words(self, query: KBQuery) -> Sequence[str]:
        """Ids by words, best first, ties by id."""
        ...

    async def rank_vectors(
        self, model_id: str, vector: bytes, limit: int, where: KBFilter | None = None
    ) -> Sequence[str]:
        """Ids by vectors, best first, ties by id."""
        ...

    async def rows_of(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[ChunkRow, DocumentRow]]:
        """Those of the chunks that are there, by id, all of one moment."""
        ...


@runtime_checkable
class LexicalIndex(Protocol):
    """A word index beside the store.

    G1 A score of 0 is no hit.
    G2 A search sees every document the store acknowledged before it: an index that is behind refreshes first.
    """

    async def search(self, query: KBQuery) -> Sequence[ChunkHit]:
        """Best first, ties by chunk id."""
        ...

    async def aclose(self) -> None:
        """Close files; may be called twice."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """A retrieval strategy over a reader.

    G1 At most ``query.limit`` hits, each chunk once, best first.
    G2 Works without an embedding, on words alone, and says so in ``score_meaning``.
    """

    async def retrieve(self, query: KBQuery, reader: VectorReader) -> Sequence[ChunkHit]:
        """Hits for the query; see G1, G2."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Orders hits again with a stronger model.

    G1 Returns a permutation of the hits it was given.
    """

    async def rerank(self, text: str, hits: Sequence[ChunkHit]) -> Sequence[ChunkHit]:
        """The same hits, best first."""
        ...
