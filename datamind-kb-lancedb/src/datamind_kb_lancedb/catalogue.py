"""Which chunks there are now, held in memory as long as the table does not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import anyio
import pyarrow as pa
from anyio.to_thread import run_sync
from lancedb import AsyncTable

from datamind_kb_lancedb import filters, schema
from datamind_kb_lancedb.engine import translated
from datamind_kb_lancedb.tables import Tables

Version = tuple[str, int]
"""Name of a table and its version."""


@dataclass(frozen=True)
class Catalogue:
    """Digests of the chunks by id, in the order they were written."""

    version: Version
    digests: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def words_revision(self) -> str:
        """The same for the same chunks, in whatever order and wherever they are stored."""
        return f"{len(self.digests):x}-{sum(self.digests.values()) & (1 << 64) - 1:x}"


EMPTY = Catalogue(("", 0))


async def version_of(table: AsyncTable) -> Version:
    """What the table is now; asks the disk."""
    with translated("read"):
        return table.name, await table.version()


class Catalogues:
    """The catalogue of the present table, read again when the table has moved on."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known = EMPTY
        self._lock = anyio.Lock()

    async def current(self) -> Catalogue:
        """Of a version that was the newest at some moment of this call.

        Raises:
            StoreError: The table cannot be read.
        """
        table = await self._tables.chunks()
        if table is None:
            return EMPTY
        if await version_of(table) != self._known.version:
            async with self._lock:
                # Asked before the rows are read: rows newer than their version are read once more, never missed.
                version = await version_of(table)
                if version != self._known.version:
                    self._known = await run_sync(_catalogue, version, await _read(table))
        return self._known


async def _read(table: AsyncTable) -> pa.Table:
    with translated("read"):
        query = table.query().where(filters.is_chunk()).select(["id", "digest", "sequence", "position"])
        return await query.to_arrow()


def _catalogue(version: Version, rows: pa.Table) -> Catalogue:
    ordered = rows.sort_by([("sequence", "ascending"), ("position", "ascending")])
    return Catalogue(version, dict(schema.keys_of(ordered)))
