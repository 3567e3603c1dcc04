"""Searching many vectors through an index on disk: IVF with RabitQ codes, the best of them compared exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from lancedb.index import IvfRq
from lancedb.query import AsyncVectorQuery

from datamind_kb_lancedb import filters
from datamind_kb_lancedb.engine import committed, translated
from datamind_kb_lancedb.vectors import Floats, Neighbour

KIND: Final = "ivf_rq"
_INDEX: Final = "vector_idx"
_PROBES: Final = 50
_REFINE: Final = 20
"""How many times more codes than hits are compared exactly; without this half of the nearest are missed."""
_ON_TOP: Final = 16
_SAMPLES: Final = 8
_DEPTH: Final = 10


async def is_indexed(table: AsyncTable) -> bool:
    """Whether the vectors have an index."""
    with translated("read"):
        return any(index.name == _INDEX for index in await table.list_indices())


async def make_index(table: AsyncTable) -> None:
    """Train it on the vectors of the table. For whoever holds the lock."""
    config = IvfRq(distance_type="cosine")
    await committed("indexed", lambda: table.create_index("vector", config=config, name=_INDEX))


async def nearest(
    table: AsyncTable, wanted: Floats, limit: int, digests: Mapping[str, int], allowed: frozenset[str] | None
) -> Sequence[Neighbour]:
    """Living chunks that are nearest, best first, ties by id. Rows that no index knows yet are compared one by one."""
    if limit < 1 or (allowed is not None and not allowed):
        return []
    asked = limit + _ON_TOP
    while True:
        rows = await _near(table, wanted, asked, allowed)
        found = _living(rows, digests)
        if len(found) >= limit or rows.num_rows < asked:
            return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]
        asked *= 4


async def recall(table: AsyncTable) -> float:
    """Share of the 10 nearest that the index finds, for a few vectors of the table."""
    with translated("read"):
        sample = await table.query().select(["vector"]).limit(_SAMPLES).to_arrow()
        hits = wanted = 0
        for vector in sample["vector"].to_pylist():
            query = np.asarray(vector, np.float32)
            found = await _ids(_query(table, query))
            exact = await _ids(_query(table, query).bypass_vector_index())
            hits, wanted = hits + len(found & exact), wanted + len(exact)
    return hits / wanted if wanted else 1.0


async def _ids(query: AsyncVectorQuery) -> set[str]:
    return set((await query.select(["id"]).limit(_DEPTH).to_arrow())["id"].to_pylist())


def _query(table: AsyncTable, wanted: Floats) -> AsyncVectorQuery:
    query = table.query().nearest_to(wanted.reshape(-1).tolist()).column("vector").distance_type("cosine")
    return query.nprobes(_PROBES).refine_factor(_REFINE)


async def _near(table: AsyncTable, wanted: Floats, count: int, allowed: frozenset[str] | None) -> pa.Table:
    query = _query(table, wanted)
    if allowed is not None:
        query = query.where(filters.is_one_of("id", allowed))
    with translated("read"):
        return await query.select(["id", "digest", "_distance"]).limit(count).to_arrow()


def _living(rows: pa.Table, digests: Mapping[str, int]) -> list[Neighbour]:
    columns = (rows[name].to_pylist() for name in ("id", "digest", "_distance"))
    return [
        Neighbour(name, digest, round(1 - distance, 6))
        for name, digest, distance in zip(*columns, strict=True)
        if distance is not None and np.isfinite(distance) and digests.get(name) == digest
    ]
