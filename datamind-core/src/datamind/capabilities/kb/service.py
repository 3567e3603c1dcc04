"""The knowledge base: documents in, passages with spans out."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import anyio
import anyio.to_thread

from datamind.capabilities.control.sources import SourceLog, StoredSource
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.kb.indexing import ChunkSize, make_rows
from datamind.capabilities.kb.vectors import VectorShare, vector_share
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.context import WriteUnit
from datamind.core.errors import InputInvalid, IntegrityError, NotFound
from datamind.core.evidence import Evidence, TextLocator
from datamind.core.hooks import Candidates
from datamind.core.protocols.ingest import FileLoader, LoadedDocument, LoadLimits
from datamind.core.protocols.kb import (
    ChunkHit,
    ChunkRow,
    DocumentPage,
    DocumentRow,
    KBFilter,
    KBQuery,
    KBStoreStatus,
    Reranker,
    Retriever,
    SupportsBatches,
    SupportsOptimize,
    SupportsRebuild,
    SupportsStatus,
    VectorReader,
    VectorStore,
)
from datamind.core.receipts import Detected, SurfaceWriteResult
from datamind.core.record import now
from datamind.core.results import Notice
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, derived_id

log = logging.getLogger(__name__)

_CANDIDATE_DOCUMENTS = 1_000
_LOOKUP_DOCUMENTS = 1_000
_REBUILT_CHUNKS = 5_000
LoaderOf = Callable[[str], Awaitable[FileLoader]]


class KBStores:
    """The KB store, opened on first use. One that lives in memory is brought up to date before every use."""

    def __init__(
        self,
        open_store: Callable[[], Awaitable[VectorStore]],
        sources: SourceLog,
        cut: ChunkSize,
        restore: Callable[[VectorStore], Awaitable[None]],
    ) -> None:
        self._restore = restore
        self._open_store = open_store
        self._sources = sources
        self._cut = cut
        self._revision = 0
        self._lock = anyio.Lock()

    async def store(self) -> VectorStore:
        """The store, holding every source that control.db says is active."""
        store = await self._open_store()
        if store.volatile:
            if await self._sources.revision(DataSurface.KB) != self._revision:
                async with self._lock:
                    await self._refresh(store)
        elif isinstance(store, SupportsRebuild) and store.is_lost and await self._sources.revision(DataSurface.KB):
            async with self._lock:
                if store.is_lost:
                    log.warning("the knowledge base is built again from the stored texts")
                    await self.rebuild()
        return store

    async def put(self, store: VectorStore, stored: StoredSource, text: str) -> None:
        """Index one version of a document."""
        document, chunks = await anyio.to_thread.run_sync(make_rows, stored, text, self._cut)
        await store.put_document(document, chunks)

    async def put_all(self, store: VectorStore, versions: Sequence[tuple[StoredSource, str]]) -> None:
        """Index versions of many documents, in one commit where the store can."""
        rows = await anyio.to_thread.run_sync(lambda: [make_rows(one, text, self._cut) for one, text in versions])
        if isinstance(store, SupportsBatches):
            await store.put_documents(rows)
            return
        for document, chunks in rows:
            await store.put_document(document, chunks)

    async def put_kept(self, store: VectorStore, stored: StoredSource) -> None:
        """Index a version whose text control.db keeps."""
        await self.put(store, stored, await self._sources.text(stored.content_hash))

    async def rebuild(self) -> int:
        """Index every active source again; returns how many documents there are."""
        store = await self._open_store()
        if isinstance(store, SupportsRebuild):
            return await store.rebuild(self._kept_rows())
        active = await self._sources.active(DataSurface.KB)
        for stored in active:
            await self.put_kept(store, stored)
        return len(active)

    async def _kept_rows(self) -> AsyncIterator[Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]]:
        rows: list[tuple[DocumentRow, Sequence[ChunkRow]]] = []
        for stored in await self._sources.active(DataSurface.KB):
            try:
                text = await self._sources.text(stored.content_hash)
            except IntegrityError as error:
                # One text that is damaged keeps none of the others from being found.
                log.error("%s is left out: %s", stored.source.uri, error)
                continue
            rows.append(await anyio.to_thread.run_sync(make_rows, stored, text, self._cut))
            if sum(len(chunks) for _, chunks in rows) >= _REBUILT_CHUNKS:
                yield rows
                rows = []
        if rows:
            yield rows

    async def _refresh(self, store: VectorStore) -> None:
        top = await self._sources.revision(DataSurface.KB)
        if top == self._revision:
            return
        gone = await self._sources.ended_documents(DataSurface.KB, after_revision=self._revision)
        if gone:
            await store.delete_documents(gone)
        for stored in await self._sources.active(DataSurface.KB, after_revision=self._revision):
            # What this process wrote is indexed already; only its entry in the log is news.
            if not _shows(await store.document(stored.document_id), stored):
                await self.put_kept(store, stored)
        await self._restore(store)
        self._revision = top


def _shows(row: DocumentRow | None, stored: StoredSource) -> bool:
    """Whether a document of the store is this version, and says all that the log says of it."""
    return row is not None and (row.source, row.title, dict(row.metadata), row.receipt_ids) == (
        stored.source,
        stored.title,
        dict(stored.metadata),
        stored.receipt_ids,
    )


class KBReads:
    """What the reading side may do. Holds read views only.

    Attributes:
        default_limit: Passages of a search that does not say how many.
    """

    def __init__(
        self,
        stores: KBStores,
        sources: SourceLog,
        retriever: Callable[[], Awaitable[Retriever]],
        reranker: Callable[[], Awaitable[Reranker]] | None,
        default_limit: int,
        embedding: EmbeddingAccess,
    ) -> None:
        self._embedding = embedding
        self._complete_at = -1
        self._stores = stores
        self._sources = sources
        self._retriever = retriever
        self._reranker = reranker
        self.default_limit = default_limit

    async def search(self, text: str, where: KBFilter, *, limit: int) -> tuple[Evidence, ...]:
        """Passages for a question, best first."""
        query = KBQuery(text=text, tokens=tuple(tokenize(text)), limit=limit, where=where)
        hits = await (await self._retriever()).retrieve(query, await self._reader())
        if self._reranker is not None:
            hits = await (await self._reranker()).rerank(text, hits)
        return tuple(_passage(hit) for hit in hits)

    async def read(self, name: str, *, offset: int, max_chars: int) -> tuple[Evidence, int]:
        """Part of a document's stored text and the length of all of it.

        Raises:
            NotFound: No document has this id, uri or file name, or several have this file name.
        """
        document = await self._one(name)
        stored = await self._sources.current(DataSurface.KB, document.document_id)
        if stored is None:
            raise NotFound(f"document {name[:80]!r} has no stored text")
        text = await self._sources.text(stored.content_hash)
        end = min(len(text), offset + max_chars)
        locator = TextLocator(start=min(offset, len(text)), end=end)
        evidence = Evidence.of(
            DataSurface.KB,
            document.source,
            locator,
            text[offset:end],
            receipt_ids=document.receipt_ids,
            note=document.title,
        )
        return evidence, len(text)

    async def documents(self, *, offset: int, limit: int) -> DocumentPage:
        """Documents by uri."""
        return await (await self._reader()).documents(offset=offset, limit=limit)

    async def vector_share(self) -> VectorShare:
        """Documents, chunks, and how many of these have a vector of the current model."""
        return await vector_share(await self._reader(), self._embedding)

    async def status(self) -> KBStoreStatus | None:
        """How the store is kept; None where it does not tell."""
        reader = await self._reader()
        return await reader.status() if isinstance(reader, SupportsStatus) else None

    async def vector_notice(self) -> Notice | None:
        """What a reader must know of the vectors; not looked at again while all have one and nothing was written."""
        revision = await self._sources.revision(DataSurface.KB)
        if revision == self._complete_at:
            return None
        share = await self.vector_share()
        if share.notice is None:
            self._complete_at = revision
        return share.notice

    async def matching(self, where: KBFilter) -> Candidates:
        """The documents that a filter names."""
        page = await (await self._reader()).documents(limit=_CANDIDATE_DOCUMENTS, where=where)
        return _candidates(page.documents)

    async def about(self, query: str) -> Candidates:
        """The documents whose title or name has every word of ``query``, else those with the best passage."""
        wanted = set(tokenize(query))
        page = await (await self._reader()).documents(limit=_CANDIDATE_DOCUMENTS)
        named = [row for row in page.documents if wanted and wanted <= set(_name_tokens(row))]
        if named:
            return _candidates(named)
        request = KBQuery(text=query, tokens=tuple(wanted), limit=10)
        hits = await (await self._reader()).search_words(request)
        full = [hit.document for hit in hits if wanted <= set(hit.chunk.tokens)]
        return _candidates(list({row.document_id: row for row in full}.values()))

    async def present(self, document_ids: Sequence[str]) -> int:
        """How many of these documents are on a read path."""
        return len(await _shown(await self._reader(), document_ids))

    async def _one(self, name: str) -> DocumentRow:
        reader = await self._reader()
        direct = await reader.document(name)
        if direct is not None:
            return direct
        page = await reader.documents(limit=2, where=KBFilter(sources=(name,)))
        if page.total != 1:
            found = f"{page.total} documents have" if page.total else "no document has"
            raise NotFound(f"{found} the id, uri or file name {name[:80]!r}", hint="kb_list_documents shows them.")
        return page.documents[0]

    async def _reader(self) -> VectorReader:
        return (await self._stores.store()).read_view()


@dataclass(frozen=True)
class NewDocument:
    """A document about to be written.

    Attributes:
        document_id: Follows from the uri, so that a later version of the same source replaces this one.
    """

    source: SourceRef
    title: str
    metadata: Mapping[str, str | int | float | bool]

    @cached_property
    def document_id(self) -> str:
        """Stable over the versions of one source."""
        return derived_id("doc", self.source.uri)


@dataclass(frozen=True, slots=True)
class WrittenCounts:
    """Documents that were written; ``replaced`` of them ended another version."""

    written: int
    replaced: int


class KBWrites:
    """What the writing side may do."""

    def __init__(self, stores: KBStores, sources: SourceLog, loader_of: LoaderOf, max_bytes: int) -> None:
        self._stores = stores
        self._sources = sources
        self._loader_of = loader_of
        self.max_bytes = max_bytes

    async def load(self, content: bytes, media_type: str) -> LoadedDocument:
        """A file's bytes as text.

        Raises:
            SourceUnreadable: No loader takes this type, or the bytes are not what it says.
            LimitExceeded: Too large.
        """
        loader = await self._loader_of(media_type)
        return await loader.load(content, media_type=media_type, limits=LoadLimits(max_bytes=self.max_bytes))

    async def put(self, new: NewDocument, loaded: LoadedDocument, unit: WriteUnit) -> SurfaceWriteResult:
        """Add a document, or replace the version that its uri has now."""
        if not loaded.text.strip():
            raise InputInvalid(f"{new.source.uri!r} holds no text", code="input_invalid.no_text")
        store = await self._stores.store()
        current = await self._sources.current(DataSurface.KB, new.document_id)
        if await self._is_same(store, current, new, unit):
            return _result("none", 0, new.document_id, loaded)
        await self._stores.put(store, _version(new, unit), loaded.text)
        try:
            replaced = await self._sources.put(
                DataSurface.KB,
                new.document_id,
                new.source,
                loaded.text,
                unit.receipt_id,
                title=new.title,
                metadata=new.metadata,
            )
        except Exception:
            await self._put_back(store, new.document_id, current)
            raise
        return _result("replaced" if replaced else "added", 1, new.document_id, loaded)

    async def put_all(self, given: Sequence[tuple[NewDocument, str]], unit: WriteUnit) -> WrittenCounts:
        """Add or replace many documents with their texts in one commit, each as ``put`` does."""
        store = await self._stores.store()
        currents = await self._sources.currents(DataSurface.KB, [new.document_id for new, _ in given])
        same = [new.document_id for new, _ in given if _is_version(currents.get(new.document_id), new, unit)]
        kept = await _shown(store, same)
        versions = [(_version(new, unit), text) for new, text in given if new.document_id not in kept]
        if not versions:
            return WrittenCounts(0, 0)
        await self._stores.put_all(store, versions)
        try:
            replaced = await self._sources.put_all(DataSurface.KB, versions, unit.receipt_id)
        except Exception:
            names = [version.document_id for version, _ in versions]
            await store.delete_documents([name for name in names if name not in currents])
            for name in filter(currents.__contains__, names):
                await self._stores.put_kept(store, currents[name])
            raise
        return WrittenCounts(len(versions), replaced)

    async def delete(self, document_ids: Sequence[str], unit: WriteUnit) -> SurfaceWriteResult:
        """Take documents off every read path; their text is kept for a revert."""
        store = await self._stores.store()
        held = [(name, await self._sources.current(DataSurface.KB, name)) for name in document_ids]
        await store.delete_documents(document_ids)
        try:
            count = await self._sources.end(DataSurface.KB, document_ids, unit.receipt_id)
        except Exception:
            for name, current in held:
                await self._put_back(store, name, current)
            raise
        return SurfaceWriteResult(
            surface=DataSurface.KB,
            operation="deleted" if count else "none",
            status="stored" if count else "unchanged",
            items_written=count,
            ids=tuple(document_ids),
            revert="exact",
        )

    async def reindex(self) -> SurfaceWriteResult:
        """Build the index again from the stored texts."""
        count = await self._stores.rebuild()
        return SurfaceWriteResult(
            surface=DataSurface.KB, operation="reindexed", status="stored", items_written=count, revert="none"
        )

    async def optimize(self) -> bool:
        """Put the store's files in order; whether the store does such a thing."""
        store = await self._stores.store()
        if not isinstance(store, SupportsOptimize):
            return False
        await store.optimize()
        return True

    async def sync(self) -> None:
        """Make the writes so far survive a power loss."""
        await (await self._stores.store()).sync()

    async def _put_back(self, store: VectorStore, document_id: str, current: StoredSource | None) -> None:
        # What could not be registered must not be found, and what is still registered must be.
        if current is None:
            await store.delete_documents([document_id])
        else:
            await self._stores.put_kept(store, current)

    async def _is_same(
        self, store: VectorStore, current: StoredSource | None, new: NewDocument, unit: WriteUnit
    ) -> bool:
        # Said only after looking at the store.
        return _is_version(current, new, unit) and await store.document(new.document_id) is not None


def _is_version(current: StoredSource | None, new: NewDocument, unit: WriteUnit) -> bool:
    # This unit's own version means a redo after a crash.
    return (
        current is not None
        and current.source.source_id == new.source.source_id
        and current.title == new.title
        and dict(current.metadata) == dict(new.metadata)
        and unit.receipt_id not in current.receipt_ids
    )


def _version(new: NewDocument, unit: WriteUnit) -> StoredSource:
    return StoredSource(
        new.document_id, new.source, "", new.title, new.metadata, (unit.receipt_id,), "active", now(), 0
    )


async def _shown(reader: VectorReader, document_ids: Sequence[str]) -> Set[str]:
    """Those of the documents that the store has."""
    found: set[str] = set()
    for first in range(0, len(document_ids), _LOOKUP_DOCUMENTS):
        part = tuple(document_ids[first : first + _LOOKUP_DOCUMENTS])
        page = await reader.documents(limit=len(part), where=KBFilter(document_ids=part))
        found |= {row.document_id for row in page.documents}
    return found


def _result(operation: str, count: int, document_id: str, loaded: LoadedDocument) -> SurfaceWriteResult:
    return SurfaceWriteResult(
        surface=DataSurface.KB,
        operation=operation,
        status="stored" if count else "unchanged",
        items_written=count,
        ids=(document_id,),
        detected=Detected(encoding=loaded.encoding, media_type=loaded.media_type),
        revert="restores_previous" if operation == "replaced" else "exact",
    )


def _passage(hit: ChunkHit) -> Evidence:
    chunk = hit.chunk
    return Evidence.of(
        DataSurface.KB,
        hit.document.source,
        TextLocator(start=chunk.start, end=chunk.end, page=chunk.page, heading=chunk.context),
        chunk.text,
        receipt_ids=hit.document.receipt_ids,
        score=hit.score,
        score_meaning=hit.score_meaning,
        note=" > ".join(part for part in dict.fromkeys((hit.document.title, chunk.context)) if part)[:200],
    )


def _candidates(documents: Sequence[DocumentRow]) -> Candidates:
    return Candidates(
        tuple(row.document_id for row in documents),
        tuple(f"{row.document_id}  {row.title or row.source.uri}  ({row.chunks} chunks)" for row in documents),
    )


def _name_tokens(row: DocumentRow) -> list[str]:
    return tokenize_for_index(f"{row.title} {row.source.uri}")
