"""The vector side: exact cosine over a matrix in memory, filled up from the table before each search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datamind.core.errors import InputInvalid

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

COSINE: Final = "cosine"
_ABOUT: Final = 1e-5


@dataclass(frozen=True)
class Neighbour:
    """A chunk and how near it is."""

    chunk_id: str
    digest: int
    score: float


def as_matrix(vectors: bytes, count: int) -> Floats:
    """Vectors of shape (count, dim), float32.

    Raises:
        InputInvalid: Not that many vectors of one dimension, or a value that is no finite number.
    """
    size, rest = divmod(len(vectors), count)
    if rest or size % 4 or not size:
        raise InputInvalid(f"{len(vectors)} bytes are not {count} float32 vectors of one dimension")
    values = np.frombuffer(vectors, np.float32).reshape(count, -1)
    if not np.isfinite(values).all():
        raise InputInvalid("a vector holds a value that is not finite", hint="Embed the text again.")
    return values


def check_dimension(model_id: str, known: int, given: int) -> None:
    """Refuse vectors that cannot be compared with those of their model.

    Raises:
        InputInvalid: They have another dimension.
    """
    if known != given:
        raise InputInvalid(
            f"vectors of {model_id[:60]!r} have {known} dimensions, not {given}.",
            hint="If the model was changed under its name, `datamind kb reindex --vectors` lets it start anew.",
        )


class VectorMatrix:
    """Unit vectors of one model, ``(n, dim)`` float32; ids that are gone stay in it, and are never found.

    Of rows without their vectors it knows which there are.
    """

    def __init__(self) -> None:
        self.seen_batch = -1
        self._place: dict[str, int] = {}
        self._ids: list[str] = []
        self._digests: Integers = np.empty(0, np.int64)
        self._values: Floats = np.empty((0, 0), np.float32)
        self._live: tuple[object, int, npt.NDArray[np.bool_]] = (None, 0, np.empty(0, np.bool_))

    def add(self, rows: pa.Table) -> int:
        """Take rows of the table in, in place of those that had their ids; returns the newest batch among them."""
        if not rows.num_rows:
            return -1
        values = _values_of(rows)
        places = []
        for chunk_id in rows["id"].to_pylist():
            place = self._place.setdefault(chunk_id, len(self._ids))
            if place == len(self._ids):
                self._ids.append(chunk_id)
            places.append(place)
        self.reserve(len(self._ids), values.shape[1])
        self._digests[places] = rows["digest"].to_numpy()
        self._values[places] = _unit(values)
        self._live = (None, 0, self._live[2])
        return int(np.max(rows["batch"].to_numpy()))

    def has(self, chunk_id: str, digest: int | None) -> bool:
        """Whether the row with this digest has a vector."""
        place = self._place.get(chunk_id)
        return place is not None and digest is not None and int(self._digests[place]) == digest

    def count(self, digests: Mapping[str, int]) -> int:
        """How many of the living chunks have one."""
        return int(np.count_nonzero(self._alive(digests)))

    def nearest(
        self, wanted: Floats, limit: int, digests: Mapping[str, int], allowed: frozenset[str] | None
    ) -> list[Neighbour]:
        """Best first, ties by id, among the living chunks and, of these, the allowed ones."""
        count = len(self._ids)
        if not count or limit < 1:
            return []
        # A dot product a row: a product of matrices has threads that wait by spinning, and takes three times as long.
        scores = np.vecdot(self._values[:count], _unit(wanted)[0])
        scores[~self._alive(digests)] = -np.inf
        if allowed is not None:
            places = [self._place[chunk_id] for chunk_id in allowed if chunk_id in self._place]
            masked = np.full(count, -np.inf, np.float32)
            masked[places] = scores[places]
            scores = masked
        return self._ranked(scores, wanted, limit)

    def _ranked(self, scores: Floats, wanted: Floats, limit: int) -> list[Neighbour]:
        best = np.sort(scores)[::-1][:limit] if limit >= len(scores) else -np.partition(-scores, limit - 1)[:limit]
        # The product of a matrix differs in its last digits with the place of a row: equals are all looked at again.
        places = np.flatnonzero((scores >= best.min() - _ABOUT) & np.isfinite(scores))
        exact = np.round(self._values[places].astype(np.float64) @ _unit(wanted)[0].astype(np.float64), 6)
        order = sorted(zip((-exact).tolist(), (self._ids[place] for place in places), places.tolist(), strict=True))
        return [Neighbour(name, int(self._digests[place]), -score) for score, name, place in order[:limit]]

    def _alive(self, digests: Mapping[str, int]) -> npt.NDArray[np.bool_]:
        of, count, mask = self._live
        if of is not digests or count != len(self._ids):
            same = (
                digests.get(name) == digest for name, digest in zip(self._ids, self._digests.tolist(), strict=False)
            )
            mask = np.fromiter(same, np.bool_, len(self._ids))
            self._live = (digests, len(self._ids), mask)
        return mask

    def reserve(self, count: int, dimension: int) -> None:
        """Make room for that many vectors at once."""
        if count <= len(self._digests):
            return
        size = max(count, len(self._digests) * 3 // 2)
        digests, values = np.zeros(size, np.int64), np.zeros((size, dimension), np.float32)
        digests[: len(self._digests)] = self._digests
        if len(self._values):
            values[: len(self._values)] = self._values
        self._digests, self._values = digests, values


def _values_of(rows: pa.Table) -> Floats:
    if "vector" not in rows.column_names:
        return np.empty((rows.num_rows, 0), np.float32)
    values: Floats = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return values.reshape(rows.num_rows, -1)


def _unit(values: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units: Floats = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    return units


def rows_of_vectors(
    ids: Sequence[str], digests: Sequence[int], values: Floats, batch: int, schema: pa.Schema
) -> pa.Table:
    """What vectors look like in their table."""
    flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
    return pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "digest": pa.array(digests, pa.int64()),
            "batch": pa.array([batch] * len(ids), pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(flat, values.shape[1]),
        },
        schema=schema,
    )
