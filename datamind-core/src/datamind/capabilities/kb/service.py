"""The knowledge base: documents in, passages with spans out."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Set

import anyio
import anyio.to_thread

from datamind.capabilities.control.sources import SourceLog, StoredSource
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.kb.indexing import ChunkSize, make_rows
from datamind.capabilities.kb.vectors import VectorShare, vector_share
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.errors import IntegrityError, NotFound
from datamind.core.evidence import Evidence, TextLocator
from datamind.core.hooks import Candidates
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
    SupportsRebuild,
    SupportsStatus,
    VectorReader,
    VectorStore,
)
from datamind.core.results import Notice
from datamind.core.types import DataSurface

log = logging.getLogger(__name__)

_CANDIDATE_DOCUMENTS = 1_000
_LOOKUP_DOCUMENTS = 1_000
_REBUILT_CHUNKS = 5_000
Rows = tuple[DocumentRow, Sequence[ChunkRow]]


class KBStores:
    """The KB store, opened on first use. One that lives in memory is brought up to date before every use.

    Attributes:
        cut: How texts are cut into chunks.
    """

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
        self.cut = cut
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

    async def put_rows(self, store: VectorStore, rows: Sequence[Rows]) -> None:
        """Write documents, in one commit where the store can."""
        if isinstance(store, SupportsBatches):
            await store.put_documents(rows)
            return
        for document, chunks in rows:
            await store.put_document(document, chunks)

    async def put_kept(self, store: VectorStore, stored: StoredSource) -> None:
        """Index a version whose text control.db keeps."""
        text = await self._sources.text(stored.content_hash)
        document, chunks = await anyio.to_thread.run_sync(make_rows, stored, text, self.cut)
        await store.put_document(document, chunks)

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
            rows.append(await anyio.to_thread.run_sync(make_rows, stored, text, self.cut))
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


async def present_in(reader: VectorReader, document_ids: Sequence[str]) -> Set[str]:
    """Those of the documents that the store has."""
    found: set[str] = set()
    for first in range(0, len(document_ids), _LOOKUP_DOCUMENTS):
        part = tuple(document_ids[first : first + _LOOKUP_DOCUMENTS])
        page = await reader.documents(limit=len(part), where=KBFilter(document_ids=part))
        found |= {row.document_id for row in page.documents}
    return found


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
        return len(await self.those_present(document_ids))

    async def those_present(self, document_ids: Sequence[str]) -> Set[str]:
        """Which of these documents are on a read path."""
        return await present_in(await self._reader(), document_ids)

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
