"""The memory store of the comparable product, vectors given."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import struct
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import names, report, taken

from datamind.capabilities.memory.providers.sqlite_store import SQLiteMemoryStore

SAVES, RECALLS, DIMENSION = 100, 5, 384
INSERT = "INSERT INTO memory_v2 VALUES (?, 'profile', 'bench', NULL, 'fact', 'active', ?, '{}', ?, ?, ?, NULL)"


class GivenVector:
    name = "given"
    dimension = DIMENSION
    vector = np.random.default_rng(1).standard_normal(DIMENSION).tolist()

    async def embed_query(self, text: str) -> list[float]:
        return self.vector


def fill(path: Path, texts: list[str]) -> None:
    """As its ``save`` leaves them, without a transaction for each."""
    vectors = np.random.default_rng(2).standard_normal((len(texts), DIMENSION))
    now = time.time()
    rows = [
        (str(n), text, struct.pack(f"{DIMENSION}f", *vector), now, now)
        for n, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    with sqlite3.connect(path) as connection:
        connection.executemany(INSERT, rows)


def main(folder: Path) -> None:
    texts = json.loads((folder / "memories.json").read_text())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as below:
        path = Path(below) / "memory.db"
        store = SQLiteMemoryStore(db_path=path, embedding=GivenVector())
        fill(path, texts)

        async def save() -> None:
            for number in range(SAVES):
                await store.save(f"city {number}", profile="bench")

        async def recall() -> None:
            for text in texts[:RECALLS]:
                assert await store.recall(text, profile="bench", per_scope={"profile": 10}, top_k=10)

        results = {
            "save": taken(lambda: asyncio.run(save()), count=SAVES),
            "recall": taken(lambda: asyncio.run(recall()), count=RECALLS),
        }
    report(names("datamind"), "SQLiteMemoryStore, WAL, synchronous = NORMAL (ours FULL), a stub embedding", results)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
