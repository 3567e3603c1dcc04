"""The KB store in Lance tables."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Sequence
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from lancedb import AsyncTable

from datamind.core.protocols.kb import ChunkRow, DocumentRow, VectorReader
from datamind_kb_lancedb import writing
from datamind_kb_lancedb.catalogue import Catalogues
from datamind_kb_lancedb.files import FolderSync, WriteLock
from datamind_kb_lancedb.maintenance import Maintenance
from datamind_kb_lancedb.neighbours import Neighbours
from datamind_kb_lancedb.reading import LanceReader, backlog
from datamind_kb_lancedb.tables import Tables, check_tables
from datamind_kb_lancedb.vectors import as_matrix

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext
    from datamind_kb_lancedb.options import LanceOptions

log = logging.getLogger(__name__)

FOLDER = "kb"


async def open_store(ctx: ProviderContext, options: LanceOptions) -> LanceVectorStore:
    """The store of ``<storage_dir>/kb``. Damaged tables are moved to ``damaged`` in it; files are made by writes."""
    tables = Tables(ctx.storage_dir / FOLDER)
    await check_tables(tables)
    return LanceVectorStore(tables, options)


class LanceVectorStore(LanceReader):
    """Documents, words and vectors. Several processes may read and write at once; a write waits for its turn.

    A write is on disk for certain when ``sync`` returns.
    """

    volatile = False

    def __init__(self, tables: Tables, options: LanceOptions) -> None:
        self._catalogues_of = Catalogues(tables)
        super().__init__(tables, self._catalogues_of, Neighbours(tables, options.exact_limit))
        self._known = writing.KnownDocuments()
        self._lock = WriteLock(tables.folder / "write.lock", options.lock_wait_s)
        self._sync = FolderSync(tables.folder)
        self._maintenance = Maintenance(tables, self._lock, options.keep_versions_s, options.exact_limit)

    async def put_document(self, document: DocumentRow, chunks: Sequence[ChunkRow]) -> None:
        """Add or replace one document.

        Raises:
            InputInvalid: It holds a text or value that no file can hold.
            StoreError: Nothing was written.
        """
        await self.put_documents([(document, chunks)])

    async def put_documents(self, documents: Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]) -> None:
        """Add or replace documents in one commit; see SupportsBatches.

        Raises:
            InputInvalid: One holds a text or value that no file can hold; none was written.
            StoreError: None was written.
        """
        if not documents:
            return
        await run_sync(self._make_folder)
        async with self._lock.held():
            table = await self._writable()
            gone = await writing.put_documents(table, self._known, documents)
            if gone:
                await writing.drop_vectors(await self._tables.all_vectors(), list(gone))
        if gone is not None:
            self._maintenance.count(table)

    async def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Number of documents removed.

        Raises:
            StoreError: Nothing was removed.
        """
        if await self._tables.chunks() is None or not document_ids:
            return 0
        async with self._lock.held():
            table = await self._writable()
            chunk_ids = await writing.chunk_ids_of(table, document_ids)
            count = await writing.delete_documents(table, self._known, document_ids)
            if count:
                await writing.drop_vectors(await self._tables.all_vectors(), chunk_ids)
        if count:
            self._maintenance.count(table)
        return count

    async def put_vectors(self, model_id: str, chunk_ids: Sequence[str], vectors: bytes) -> None:
        """Vectors of vanished chunks are dropped.

        Raises:
            InputInvalid: Not one finite row for each id, or another dimension than the model's vectors have.
            StoreError: Nothing was written.
        """
        if not chunk_ids:
            return
        values = as_matrix(vectors, len(chunk_ids))
        if await self._tables.chunks() is None:
            return
        async with self._lock.held():
            digests = (await self._catalogues.current()).digests
            place = {name: row for row, name in enumerate(chunk_ids) if name in digests}
            if not place:
                return
            table = await self._tables.vectors(model_id)
            table = table or await self._tables.make_vectors(model_id, values.shape[1])
            kept = {name: digests[name] for name in place}
            await writing.put_vectors(table, model_id, kept, values[list(place.values())])
        self._maintenance.count(table)

    async def drop_vectors(self, model_id: str) -> None:
        """Remove the table of a model's vectors.

        Raises:
            StoreError: It is still there.
        """
        if await self._tables.vectors(model_id) is None:
            return
        async with self._lock.held():
            await self._tables.drop_vectors(model_id)
            await self._sync.sync()

    async def chunks_without_vector(self, model_id: str, limit: int) -> Sequence[ChunkRow]:
        """The backlog, oldest first."""
        return await backlog(self._tables, self._catalogues, self._neighbours, model_id, limit)

    def read_view(self) -> VectorReader:
        """The same data without a way to write."""
        return LanceReader(self._tables, self._catalogues, self._neighbours)

    @property
    def is_lost(self) -> bool:
        """Whether there is no table of chunks."""
        return self._tables.pointer.stamp() is None

    async def rebuild(self, documents: AsyncIterable[Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]]) -> int:
        """Build a table aside and let it take over; see SupportsRebuild.

        Raises:
            InputInvalid: A document holds a text or value that no file can hold; nothing was changed.
            StoreError: Nothing was changed.
        """
        await run_sync(self._make_folder)
        async with self._lock.held():
            table = await self._tables.make_chunks()
            try:
                count = await self._filled(table, documents)
                await self._sync.sync()
                await self._tables.show(table)
            finally:
                # The new one if it broke off, the old one if it did not.
                await self._tables.drop_aside()
        return count

    async def _filled(
        self, table: AsyncTable, documents: AsyncIterable[Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]]
    ) -> int:
        known, count = writing.KnownDocuments(), 0
        async for batch in documents:
            await writing.put_documents(table, known, batch)
            count += len(batch)
        await self._maintenance.optimize_held(table)
        return count

    async def optimize(self) -> None:
        """Merge small files, index every row and remove old versions now.

        Raises:
            StoreError: It failed; nothing is lost.
        """
        await self._maintenance.optimize_all()
        await self._sync.sync()

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """Copy what is there into new tables and remove the old ones with all their versions; see SupportsErase.

        Raises:
            StoreError: It failed; nothing is lost.
        """
        if not self._tables.folder.exists():
            return
        await self._maintenance.aclose()
        async with self._lock.held():
            present = await self._tables.chunks()
            if present is not None:
                await self._moved(present)
            for table in await self._tables.all_vectors():
                await writing.write_anew(table)
                await self._maintenance.optimize_held(table)
                await writing.drop_versions(table)
            await run_sync(self._tables.drop_damaged)
        await self._sync.sync()

    async def _moved(self, present: AsyncTable) -> None:
        table = await self._tables.make_chunks()
        try:
            await writing.copy_rows(present, table)
            await self._maintenance.optimize_held(table)
            await writing.drop_versions(table)
            await self._sync.sync()
            await self._tables.show(table)
        finally:
            await self._tables.drop_aside()

    async def sync(self) -> None:
        """Make every write so far survive a power loss.

        Raises:
            StoreError: A file could not be synced.
        """
        await self._sync.sync()

    async def aclose(self) -> None:
        """Wait for the work on the tables that goes on in the background, and let go of them."""
        await self._maintenance.aclose()
        self._tables.close()

    def _make_folder(self) -> None:
        self._tables.folder.mkdir(parents=True, exist_ok=True)

    async def _writable(self) -> AsyncTable:
        """The present table, made if there is none; for whoever holds the lock."""
        table = await self._tables.chunks()
        if table is None:
            table = await self._tables.make_chunks()
            await self._sync.sync()
            await self._tables.show(table)
        return table
