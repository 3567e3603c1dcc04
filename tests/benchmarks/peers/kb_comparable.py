"""The knowledge base of the comparable product, its own chunks folder and its hybrid strategy, vectors given."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kb_set import DIMENSION, read_set
from report import names, report, taken

from datamind.capabilities.kb.service import build_kb_service
from datamind.config import Settings

QUERIES = 10


class GivenVectors:
    name = "given"
    dimension = DIMENSION

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    async def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.vectors[text] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return self.vectors[text]


def main(folder: Path) -> None:
    given = read_set(folder)
    pairs = (*zip(given.texts, given.vectors, strict=True), *zip(given.queries, given.query_vectors, strict=True))
    embedding = GivenVectors({text: vector.tolist() for text, vector in pairs})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as below:
        settings = Settings(llm={"api_key": "none"}, retrieval={"strategy": "hybrid"}, data={"base_dir": below})
        settings.ensure_dirs()
        (settings.data.data_dir / "chunks").mkdir()
        shutil.copy(folder / "chunks.jsonl", settings.data.data_dir / "chunks")
        service = build_kb_service(settings, embedding=embedding)
        count = len(given.texts)
        write = taken(lambda: asyncio.run(service.reindex()), count=count)
        assert asyncio.run(service.count()) == count

        async def ask() -> None:
            for text in given.queries[:QUERIES]:
                assert await service.search(text, top_k=16)

        service = build_kb_service(settings, embedding=embedding)  # as after a start
        first = taken(lambda: asyncio.run(service.search(given.queries[-1])))
        query = taken(lambda: asyncio.run(ask()), count=QUERIES)
    results = {"one JSONL file": write, "warm and first query": first, "hybrid query": query}
    report(names("datamind"), "strategy hybrid, 48 candidates a side, a stub embedding", results)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
