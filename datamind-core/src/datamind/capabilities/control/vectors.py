"""Vectors kept by what they were made from, so that the same text is embedded once by each model."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from datamind.capabilities.control.database import ControlDB
from datamind.core.types import content_hash

_SLICE: Final = 500


class VectorCache:
    """A profile's embedding cache. It can be lost: whoever misses a vector makes it again."""

    def __init__(self, db: ControlDB) -> None:
        self._db = db

    async def get(self, model_id: str, texts: Sequence[str]) -> Mapping[str, bytes]:
        """Text to vector, for those it has."""
        text_of = {content_hash(text): text for text in texts}
        hashes = list(text_of)

        def read(connection: sqlite3.Connection) -> dict[str, bytes]:
            found: dict[str, bytes] = {}
            for start in range(0, len(hashes), _SLICE):
                part = hashes[start : start + _SLICE]
                marks = ", ".join("?" * len(part))
                rows = connection.execute(
                    "SELECT content_hash, vector FROM embedding_cache "  # noqa: S608
                    f"WHERE model_id = ? AND content_hash IN ({marks})",
                    (model_id, *part),
                )
                found |= {text_of[hashed]: bytes(vector) for hashed, vector in rows}
            return found

        return await self._db.read(read) if hashes else {}

    async def put(self, model_id: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by text; a power loss may take them back."""
        rows = [(model_id, content_hash(text), vector) for text, vector in vectors.items()]
        await self._db.write_soft(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?)", rows)
        )

    async def drop(self, model_id: str) -> None:
        """Forget what a model made."""
        await self._db.write(
            lambda connection: connection.execute("DELETE FROM embedding_cache WHERE model_id = ?", (model_id,))
        )
