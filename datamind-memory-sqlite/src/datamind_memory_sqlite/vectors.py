"""The vector side: exact cosine over a matrix kept in memory. Imports numpy, so it loads on the first vector."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from datamind.core.errors import InputInvalid
from datamind_memory_sqlite.filters import Condition, marks
from datamind_memory_sqlite.words import Ranked

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

_SLICE: Final = 2000
_LOOKUP: Final = 500


def split_vectors(vectors: bytes, count: int) -> list[bytes]:
    """One buffer for each of ``count`` float32 vectors.

    Raises:
        InputInvalid: Not that many vectors of one dimension, or a value that is no finite number.
    """
    size, rest = divmod(len(vectors), count)
    if rest or size % 4 or not size:
        raise InputInvalid(f"{len(vectors)} bytes are not {count} float32 vectors of one dimension")
    if not np.isfinite(np.frombuffer(vectors, np.float32)).all():
        raise InputInvalid("a vector holds a value that is not finite", hint="Embed the text again.")
    return [vectors[start : start + size] for start in range(0, len(vectors), size)]


class VectorMatrix:
    """Unit vectors of one model, ``(n, dim)`` float32, filled up from the table before each search.

    Vectors of memories that were forgotten since stay in it, and no condition lets them through.
    """

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id
        self._seen = 0
        self._place: dict[int, int] = {}
        self._rows: Integers = np.empty(0, np.int64)
        self._values: Floats = np.empty((0, 0), np.float32)

    def __contains__(self, row: int) -> bool:
        return row in self._place

    def nearest(self, connection: sqlite3.Connection, vector: bytes, condition: Condition, limit: int) -> list[Ranked]:
        """Memories nearest to a vector of shape (1, dim) by cosine, best first; a cosine of 0 or less is no hit.

        Raises:
            InputInvalid: Another dimension than the vectors of this model have, or a value that is not finite.
        """
        self._fill(connection)
        count = len(self._place)
        if not count:
            return []
        # A dot product a row: a product of matrices has threads that wait by spinning, and takes three times as long.
        scores: Floats = np.vecdot(self._values[:count], self._wanted(vector))
        found = self._lookup(connection, scores, _best(scores, 4 * limit), condition)
        if len(found) < limit and 4 * limit < count:
            scores = np.where(np.isin(self._rows[:count], _allowed(connection, condition)), scores, 0)
            found = self._lookup(connection, scores, _best(scores, limit), condition)
        return sorted(found, key=lambda hit: hit.order)[:limit]

    def _wanted(self, vector: bytes) -> Floats:
        (buffer,) = split_vectors(vector, 1)
        wanted = np.frombuffer(buffer, np.float32)
        if len(wanted) != self._values.shape[1]:
            raise InputInvalid(
                f"a query vector of {len(wanted)} dimensions cannot be compared with {self._values.shape[1]} "
                f"of {self.model_id[:60]!r}"
            )
        unit: Floats = _unit(wanted[None, :])[0]
        return unit

    def _lookup(
        self, connection: sqlite3.Connection, scores: Floats, places: Integers, condition: Condition
    ) -> list[Ranked]:
        """Those of the places that fit the condition, in no order."""
        score_of = {int(self._rows[place]): float(scores[place]) for place in places if scores[place] > 0}
        rows = list(score_of)
        found: list[Ranked] = []
        for first in range(0, len(rows), _LOOKUP):
            part = rows[first : first + _LOOKUP]
            known = connection.execute(
                "SELECT m.row, m.memory_id, m.valid_from FROM memories AS m "  # noqa: S608
                f"WHERE m.row IN ({marks(part)}) AND {condition.sql}",
                (*part, *condition.values),
            )
            found += [Ranked(row, memory_id, start, score_of[row]) for row, memory_id, start in known]
        return found

    def _fill(self, connection: sqlite3.Connection) -> None:
        (newest,) = connection.execute("SELECT max(seq) FROM vectors").fetchone()
        if newest is None or newest <= self._seen:
            return
        cursor = connection.execute(
            "SELECT v.row, v.vector FROM vectors AS v JOIN models USING (model) "
            "WHERE models.model_id = ? AND v.seq > ? ORDER BY v.seq",
            (self.model_id, self._seen),
        )
        while part := cursor.fetchmany(_SLICE):
            values = np.frombuffer(b"".join(vector for _, vector in part), np.float32).reshape(len(part), -1)
            self._put([row for row, _ in part], _unit(values))
        self._seen = newest

    def _put(self, rows: Sequence[int], values: Floats) -> None:
        places = [self._place.setdefault(row, len(self._place)) for row in rows]
        self._reserve(len(self._place), values.shape[1])
        self._rows[places] = rows
        self._values[places] = values

    def _reserve(self, count: int, dim: int) -> None:
        if count <= len(self._rows):
            return
        size = max(count, len(self._rows) * 3 // 2)
        rows, values = np.zeros(size, np.int64), np.zeros((size, dim), np.float32)
        rows[: len(self._rows)] = self._rows
        if len(self._values):
            values[: len(self._values)] = self._values
        self._rows, self._values = rows, values


def fuse(words: Sequence[Ranked], neighbours: Sequence[Ranked], matrix: VectorMatrix) -> Iterator[Ranked]:
    """Both rankings in one, in no order."""
    from datamind.capabilities.text.fusion import reciprocal_rank_fusion

    known = {hit.memory_id: hit for hit in (*neighbours, *words)}
    rankings = [[hit.memory_id for hit in words], [hit.memory_id for hit in neighbours]]
    unembedded = {hit.memory_id for hit in words if hit.row not in matrix}
    for memory_id, score in reciprocal_rank_fusion(rankings, unembedded=unembedded):
        yield replace(known[memory_id], score=score)


def _best(scores: Floats, count: int) -> Integers:
    """Places of the highest scores, in no order."""
    if count >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, -count)[-count:]


def _allowed(connection: sqlite3.Connection, condition: Condition) -> Integers:
    rows = connection.execute(f"SELECT m.row FROM memories AS m WHERE {condition.sql}", condition.values)  # noqa: S608
    return np.fromiter((row for (row,) in rows), np.int64)


def _unit(values: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units: Floats = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    return units
