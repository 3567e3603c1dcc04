"""The memory store in one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from datamind.capabilities.memory.providers.rules import check_draft
from datamind.core.errors import InputInvalid, StoreError
from datamind.core.protocols.memory import (
    MemoryDraft,
    MemoryFilter,
    MemoryHit,
    MemoryItem,
    MemoryQuery,
    MemoryReader,
    MemoryRevert,
    SaveOutcome,
)
from datamind.core.protocols.repair import DAMAGED, damaged
from datamind.core.set_aside import is_marked, set_aside
from datamind_memory_sqlite import reverting, writing
from datamind_memory_sqlite.connections import ReadConnection, WriteConnection
from datamind_memory_sqlite.files import is_behind, translated
from datamind_memory_sqlite.reading import SqliteMemoryReader, backlog

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext
    from datamind_memory_sqlite.options import SqliteMemoryOptions

FILE_NAME = "memory.db"


async def open_store(ctx: ProviderContext, options: SqliteMemoryOptions) -> SqliteMemoryStore:
    """The store of ``<storage_dir>/memory.db``. The file is made by the first write, not here.

    Raises:
        StoreError: The file is no memory store, or of a later version. It was not changed.
    """
    path = ctx.storage_dir / FILE_NAME
    store = SqliteMemoryStore(path, options.busy_timeout_s)
    if await run_sync(_is_behind, path, options.busy_timeout_s):
        await store.migrate()
    return store


def _is_behind(path: Path, busy_timeout_s: float) -> bool:
    try:
        with translated(path, "opened"):
            return is_behind(path, busy_timeout_s)
    except StoreError as error:
        if error.code != DAMAGED:
            raise
        return False  # whoever uses it is told, or sets it aside


class SqliteMemoryStore:
    """Memories in one file. Several processes may read and write it at once; a write waits for its turn.

    Writes commit with ``synchronous=FULL``. One that is cancelled while it runs may have committed; saving the same
    draft again tells.
    """

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self._writer = WriteConnection(path, busy_timeout_s)
        self._read_connection = ReadConnection(path, busy_timeout_s)
        self._reader = SqliteMemoryReader(self._read_connection)

    async def migrate(self) -> None:
        """Bring the file to the newest version now, making it if need be."""
        await self._writer.run(lambda _: None)

    async def save(self, draft: MemoryDraft) -> SaveOutcome:
        """Add a memory, or find that it is there; durable when this returns.

        Raises:
            InputInvalid: See ``check_draft``.
            StoreError: Nothing was written.
        """
        check_draft(draft)
        return await self._writer.run(partial(writing.save, draft=draft))

    async def update(self, memory_id: str, draft: MemoryDraft) -> SaveOutcome:
        """Close ``memory_id`` and add ``draft``, which holds whatever came after its ``valid_from``.

        Raises:
            InputInvalid: See ``check_draft``.
            NotFound: No such memory holds.
            StoreError: Nothing was written.
        """
        check_draft(draft)
        return await self._writer.run(partial(writing.update, memory_id=memory_id, draft=draft))

    async def forget(self, memory_ids: Sequence[str], receipt_id: str) -> int:
        """Number forgotten by this receipt, now or when it was first asked. The text stays in the file, unread.

        Raises:
            StoreError: Nothing was written.
        """
        return await self._writer.run(partial(writing.forget, memory_ids=memory_ids, receipt_id=receipt_id))

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """Remove the rows of forgotten memories, and write the file anew; see SupportsErase.

        Raises:
            StoreError: It failed, or another process is reading an older state of the file.
        """
        if not self._writer.path.exists():
            return
        await self._writer.run(partial(writing.erase, memory_ids=ids))
        await self._read_connection.let_go()
        await self._writer.write_anew()

    async def reverting(self, receipt_id: str) -> MemoryRevert:
        """What ``revert`` would do; nothing is changed.

        Raises:
            Conflict: A later write changed one of its memories, or the same fact.
            StoreError: The file cannot be read.
        """
        return await self._writer.run(partial(reverting.plan, receipt_id=receipt_id))

    async def revert(self, receipt_id: str, by_receipt: str) -> MemoryRevert:
        """Take back what a receipt wrote; what comes back is found by its words at once.

        Raises:
            Conflict: A later write changed one of its memories, or the same fact.
            StoreError: Nothing was written.
        """
        return await self._writer.run(partial(reverting.revert, receipt_id=receipt_id, by_receipt=by_receipt))

    async def put_vectors(self, model_id: str, memory_ids: Sequence[str], vectors: bytes) -> None:
        """float32, shape (len(memory_ids), dim), row i for id i; those of vanished memories are dropped.

        Raises:
            InputInvalid: Not one finite row for each id, or another dimension than this model's vectors have.
            StoreError: Nothing was written.
        """
        if not memory_ids:
            return
        from datamind_memory_sqlite.vectors import split_vectors

        rows = await run_sync(split_vectors, vectors, len(memory_ids))
        await self._writer.run(partial(writing.put_vectors, model_id=model_id, memory_ids=memory_ids, vectors=rows))

    async def memories_without_vector(self, model_id: str, limit: int) -> Sequence[MemoryItem]:
        """The backlog of a model, closed memories too, oldest first.

        Raises:
            InputInvalid: ``limit`` is below 1.
        """
        if limit < 1:
            raise InputInvalid(f"limit {limit!r} must be at least 1")
        return await self._read_connection.run(partial(backlog, model_id=model_id, limit=limit), absent=[])

    async def recall(self, query: MemoryQuery) -> Sequence[MemoryHit]:
        """See ``SqliteMemoryReader.recall``."""
        return await self._reader.recall(query)

    async def find(self, where: MemoryFilter, *, offset: int = 0, limit: int = 100) -> Sequence[MemoryItem]:
        """See ``SqliteMemoryReader.find``."""
        return await self._reader.find(where, offset=offset, limit=limit)

    async def count(self, where: MemoryFilter) -> int:
        """See ``SqliteMemoryReader.count``."""
        return await self._reader.count(where)

    async def has_vectors(self, model_id: str) -> bool:
        """See ``SqliteMemoryReader.has_vectors``."""
        return await self._reader.has_vectors(model_id)

    def read_view(self) -> MemoryReader:
        """A reader whose connection the engine keeps from writing; closed with the store."""
        return self._reader

    async def sync(self) -> None:
        """Make every write so far survive a power loss.

        A commit with ``synchronous=FULL`` already does for the contents; this syncs the folders whose entries are
        new since the store was opened, and costs nothing after that.

        Raises:
            StoreError: A folder could not be synced.
        """
        await self._writer.sync()

    @property
    def is_doubtful(self) -> bool:
        """See SupportsRepair."""
        return is_marked(self._writer.path)

    async def check(self) -> bool:
        """See SupportsRepair: every memory is read."""
        if self.is_doubtful:
            raise damaged(f"{str(self._writer.path)!r} could not be read")
        query = "SELECT count(*), max(length(text)) FROM memories"
        found = await self._read_connection.run(lambda db: db.execute(query).fetchone(), absent=None)
        return found is not None

    async def set_aside(self) -> str:
        """See SupportsRepair."""
        await self._read_connection.let_go()
        await self._writer.let_go()
        path = self._writer.path
        return await run_sync(set_aside, path, [f"{path.name}-wal", f"{path.name}-shm"])

    async def aclose(self) -> None:
        """Close both connections; may be called twice."""
        await self._read_connection.aclose()  # first, so that the last one to close can clear the log away
        await self._writer.aclose()
