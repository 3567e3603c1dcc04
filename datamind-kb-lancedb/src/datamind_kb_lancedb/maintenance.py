"""Merging small files, indexing new rows and removing old versions, from time to time and in the background."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Final

from lancedb import AsyncTable

from datamind.core.errors import StoreError
from datamind_kb_lancedb import approximate
from datamind_kb_lancedb.engine import committed, translated
from datamind_kb_lancedb.files import WriteLock
from datamind_kb_lancedb.tables import Tables, is_of_vectors

log = logging.getLogger(__name__)

_COMMITS: Final = 64
"""Commits of a table after which its files are merged."""


class Maintenance:
    """Counts the commits and sees to the tables when it is time; one at a time."""

    def __init__(self, tables: Tables, lock: WriteLock, keep_versions_s: float, exact_limit: int) -> None:
        self._tables = tables
        self._lock = lock
        self._exact_limit = exact_limit
        self._keep = timedelta(seconds=keep_versions_s)
        self._commits: dict[str, int] = {}
        self._running: asyncio.Task[None] | None = None

    def count(self, table: AsyncTable) -> None:
        """A commit was made to this table."""
        due = self._commits.get(table.name, 0) + 1
        self._commits[table.name] = due
        if due >= _COMMITS and (self._running is None or self._running.done()):
            self._commits[table.name] = 0
            self._running = asyncio.create_task(self._quietly(table))

    async def optimize_all(self) -> None:
        """See to every table now, once what goes on in the background is done.

        Raises:
            StoreError: It failed.
        """
        await self.aclose()
        chunks = await self._tables.chunks()
        for table in [*([chunks] if chunks is not None else []), *await self._tables.all_vectors()]:
            await self._optimize(table)
        async with self._lock.held():
            await self._tables.drop_aside()

    async def _optimize(self, table: AsyncTable) -> None:
        # A writer that commits meanwhile would undo the work, again and again under a steady flow of writes.
        async with self._lock.held():
            await self.optimize_held(table)

    async def optimize_held(self, table: AsyncTable) -> None:
        """See to a table now, for whoever holds the lock.

        Raises:
            StoreError: It failed.
        """
        self._commits[table.name] = 0
        if is_of_vectors(table.name) and await self._needs_index(table):
            await approximate.make_index(table)
        await committed("optimized", lambda: table.optimize(cleanup_older_than=self._keep))

    async def _needs_index(self, table: AsyncTable) -> bool:
        with translated("read"):
            count = await table.count_rows()
        return count > self._exact_limit and not await approximate.is_indexed(table)

    async def aclose(self) -> None:
        """Wait until it is done."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _quietly(self, table: AsyncTable) -> None:
        try:
            await self._optimize(table)
        except StoreError as error:
            log.warning("%s", error)
