"""The reading side: recall by words and vectors, and by filter alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from datamind.capabilities.memory.providers.rules import check_page
from datamind.core.protocols.memory import MemoryFilter, MemoryHit, MemoryItem, MemoryQuery
from datamind_memory_sqlite.connections import ReadConnection
from datamind_memory_sqlite.filters import Condition, make_condition, marks
from datamind_memory_sqlite.rows import ITEM_COLUMNS, make_item
from datamind_memory_sqlite.words import Ranked, rank_words

if TYPE_CHECKING:
    from datamind_memory_sqlite.vectors import VectorMatrix

_MIN_DEPTH: Final = 50
_SLICE: Final = 500
_BY_WORDS: Final = "bm25"
_BY_BOTH: Final = "reciprocal rank fusion, k=60, of bm25 and cosine"


class SqliteMemoryReader:
    """Reads memory.db over a connection that cannot write; empty while there is no file.

    A read sees everything that any process committed before it, and nothing of a write in progress.
    """

    def __init__(self, connection: ReadConnection) -> None:
        self._connection = connection
        self._matrix: VectorMatrix | None = None

    async def recall(self, query: MemoryQuery) -> Sequence[MemoryHit]:
        """By words, and by vector where one is given: the two rankings are fused, and a hit of either counts.

        Exact, and within ``O(n)`` of the vectors of the model. The first vector loads them, ``4 * n * dim`` bytes.

        Raises:
            InputInvalid: A limit below 1, an ``as_of`` without a zone, or a vector that does not fit its model.
            StoreError: The file cannot be read.
        """
        check_page(query.where, query.limit)
        condition = make_condition(query.where)
        if condition is None:
            return []
        return await self._connection.run(lambda c: self._recall(c, query, condition), absent=[])

    async def find(self, where: MemoryFilter, *, offset: int = 0, limit: int = 100) -> Sequence[MemoryItem]:
        """By filter alone, newest ``valid_from`` first, ties by id.

        Raises:
            InputInvalid: A limit below 1, an offset below 0, or an ``as_of`` without a zone.
            StoreError: The file cannot be read.
        """
        check_page(where, limit, offset)
        condition = make_condition(where)
        if condition is None:
            return []
        return await self._connection.run(partial(_find, condition=condition, offset=offset, limit=limit), absent=[])

    async def count(self, where: MemoryFilter) -> int:
        """How many ``find`` would return without a limit.

        Raises:
            InputInvalid: An ``as_of`` without a zone.
            StoreError: The file cannot be read.
        """
        check_page(where, 1)
        condition = make_condition(where)
        return await self._connection.run(partial(_count, condition=condition), absent=0) if condition else 0

    async def has_vectors(self, model_id: str) -> bool:
        """Whether any memory has a vector of the model.

        Raises:
            StoreError: The file cannot be read.
        """
        return await self._connection.run(partial(_has_vectors, model_id=model_id), absent=False)

    def _recall(self, connection: sqlite3.Connection, query: MemoryQuery, condition: Condition) -> list[MemoryHit]:
        depth = max(_MIN_DEPTH, 2 * query.limit) if query.vector else query.limit
        ranked = rank_words(connection, query.tokens, condition, depth)
        meaning = _BY_WORDS
        if query.vector:
            from datamind_memory_sqlite.vectors import fuse

            matrix = self._matrix_of(query.model_id)
            neighbours = matrix.nearest(connection, query.vector, condition, depth)
            if neighbours:
                ranked = sorted(fuse(ranked, neighbours, matrix), key=lambda hit: hit.order)
                meaning = _BY_BOTH
        return _hits(connection, ranked[: query.limit], meaning)

    def _matrix_of(self, model_id: str) -> VectorMatrix:
        from datamind_memory_sqlite.vectors import VectorMatrix

        if self._matrix is None or self._matrix.model_id != model_id:
            self._matrix = VectorMatrix(model_id)
        return self._matrix


def backlog(connection: sqlite3.Connection, model_id: str, limit: int) -> list[MemoryItem]:
    """Memories without a vector of the model, in the order they were saved."""
    rows = connection.execute(
        f"SELECT {ITEM_COLUMNS} FROM memories AS m WHERE m.forget_receipt_id IS NULL AND NOT EXISTS ("  # noqa: S608
        "SELECT 1 FROM vectors AS v JOIN models USING (model) WHERE v.row = m.row AND models.model_id = ?"
        ") ORDER BY m.row LIMIT ?",
        (model_id, limit),
    )
    return [make_item(row) for row in rows.fetchall()]


def _find(connection: sqlite3.Connection, *, condition: Condition, offset: int, limit: int) -> list[MemoryItem]:
    rows = connection.execute(
        f"SELECT {ITEM_COLUMNS} FROM memories AS m WHERE {condition.sql} "  # noqa: S608
        "ORDER BY m.valid_from DESC, m.memory_id LIMIT ? OFFSET ?",
        (*condition.values, limit, offset),
    )
    return [make_item(row) for row in rows.fetchall()]


def _has_vectors(connection: sqlite3.Connection, *, model_id: str) -> bool:
    sql = "SELECT EXISTS (SELECT 1 FROM models JOIN vectors USING (model) WHERE models.model_id = ?)"
    (found,) = connection.execute(sql, (model_id,)).fetchone()
    return bool(found)


def _count(connection: sqlite3.Connection, *, condition: Condition) -> int:
    sql = f"SELECT count(*) FROM memories AS m WHERE {condition.sql}"  # noqa: S608
    (count,) = connection.execute(sql, condition.values).fetchone()
    return int(count)


def _hits(connection: sqlite3.Connection, ranked: Sequence[Ranked], meaning: str) -> list[MemoryHit]:
    items: dict[int, MemoryItem] = {}
    for start in range(0, len(ranked), _SLICE):
        rows = [hit.row for hit in ranked[start : start + _SLICE]]
        found = connection.execute(
            f"SELECT m.row, {ITEM_COLUMNS} FROM memories AS m WHERE m.row IN ({marks(rows)})",  # noqa: S608
            rows,
        )
        items |= {row: make_item(rest) for row, *rest in found.fetchall()}
    return [MemoryHit(item=items[hit.row], score=hit.score, score_meaning=meaning) for hit in ranked]
