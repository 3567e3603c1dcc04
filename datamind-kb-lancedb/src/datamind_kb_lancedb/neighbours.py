"""Searching vectors: of a model's table through its matrix in memory, or through its index where there are many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import partial

import anyio
import pyarrow as pa
from anyio.to_thread import run_sync
from lancedb import AsyncTable
from lancedb.expr import col, lit

from datamind_kb_lancedb import approximate
from datamind_kb_lancedb.catalogue import Catalogue, Version, version_of
from datamind_kb_lancedb.engine import translated
from datamind_kb_lancedb.schema import keys_of
from datamind_kb_lancedb.tables import Tables, dimension_of
from datamind_kb_lancedb.vectors import Neighbour, VectorMatrix, as_matrix, check_dimension


class ModelVectors:
    """The vectors of one model, for one search at a time."""

    def __init__(self, model_id: str, tables: Tables, exact_limit: int) -> None:
        self._model_id = model_id
        self._tables = tables
        self._exact_limit = exact_limit
        self._is_exact = True
        self._matrix = VectorMatrix()
        self._version: Version | None = None
        self._incarnation: AsyncTable | None = None
        self._dimension = 0
        self._lock = anyio.Lock()

    async def nearest(
        self, vector: bytes, limit: int, catalogue: Catalogue, allowed: frozenset[str] | None
    ) -> Sequence[Neighbour]:
        """Living chunks that are nearest, best first.

        Raises:
            InputInvalid: Another dimension than the model's vectors have.
        """
        async with self._lock:
            table = await self._filled()
            if table is None:
                return []
            wanted = as_matrix(vector, 1)
            check_dimension(self._model_id, self._dimension, wanted.shape[1])
            if self._is_exact:
                return await run_sync(self._matrix.nearest, wanted, limit, catalogue.digests, allowed)
        return await approximate.nearest(table, wanted, limit, catalogue.digests, allowed)

    async def count(self, catalogue: Catalogue) -> int:
        """How many living chunks have a vector."""
        async with self._lock:
            await self._filled()
            return await run_sync(self._matrix.count, catalogue.digests)

    async def without(self, chunk_ids: Iterable[str], catalogue: Catalogue) -> list[str]:
        """Those of the chunks that have no vector, in the same order."""
        async with self._lock:
            await self._filled()
            return await run_sync(partial(_without, self._matrix, list(chunk_ids), catalogue))

    async def _filled(self) -> AsyncTable | None:
        table = await self._tables.vectors(self._model_id)
        if table is not self._incarnation:
            self._matrix, self._version, self._incarnation = VectorMatrix(), None, table
            self._is_exact = True
            self._dimension = dimension_of(await table.schema()) if table is not None else 0
        if table is None:
            return None
        version = await version_of(table)
        if version != self._version:
            await self._fill(table)
            self._version = version
        return table

    async def _fill(self, table: AsyncTable) -> None:
        with translated("read"):
            count = await table.count_rows()
            if self._is_exact != (count <= self._exact_limit):
                self._matrix, self._is_exact = VectorMatrix(), not self._is_exact
            self._matrix.reserve(count, self._dimension if self._is_exact else 0)
            query = table.query().where(col("batch") > lit(self._matrix.seen_batch))
            if not self._is_exact:
                query = query.select(["id", "digest", "batch"])
            newest = self._matrix.seen_batch
            async for part in await query.to_batches():
                newest = max(newest, await run_sync(self._matrix.add, pa.Table.from_batches([part])))
        # Only now: were it cut off in the middle, the rows that were not seen would stay unseen.
        self._matrix.seen_batch = newest


def _without(matrix: VectorMatrix, chunk_ids: Sequence[str], catalogue: Catalogue) -> list[str]:
    return [name for name in chunk_ids if not matrix.has(name, catalogue.digests.get(name))]


class Neighbours:
    """The vectors of every model that was asked for.

    Attributes:
        exact_limit: Vectors of a model up to which all are compared.
    """

    def __init__(self, tables: Tables, exact_limit: int) -> None:
        self._tables = tables
        self.exact_limit = exact_limit
        self._models: dict[str, ModelVectors] = {}
        self._counted: tuple[object, int] = (None, 0)

    def of(self, model_id: str) -> ModelVectors:
        """Those of one model, which may have none."""
        return self._models.setdefault(model_id, ModelVectors(model_id, self._tables, self.exact_limit))

    async def embedded(self, catalogue: Catalogue) -> int:
        """How many chunks have a vector of any model."""
        tables = await self._tables.all_vectors()
        state = (catalogue.version, *[await version_of(table) for table in tables])
        if self._counted[0] != state:
            keys: Set[tuple[str, int]] = set()
            for table in tables:
                keys = keys | await _keys(table)
            self._counted = (state, sum(key in keys for key in catalogue.digests.items()))
        return self._counted[1]


async def _keys(table: AsyncTable) -> Set[tuple[str, int]]:
    with translated("read"):
        rows = await table.query().select(["id", "digest"]).to_arrow()
    return set(keys_of(rows))
