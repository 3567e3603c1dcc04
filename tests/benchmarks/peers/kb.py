"""chromadb and rank-bm25, joined by reciprocal rank fusion: what one would put together by hand."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import chromadb
import numpy as np
from kb_set import read_set
from rank_bm25 import BM25Okapi
from report import names, report, taken

SIDE = 50
WANTED = 10
K = 60
BATCH = 5_000
SETTINGS = (
    f"PersistentClient, HNSW as it comes, cosine, {BATCH} a batch; BM25Okapi over split(); "
    f"best {SIDE} a side, {WANTED} read"
)


class Index:
    def __init__(self, folder: str) -> None:
        client = chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False))
        self.collection = client.create_collection("bench", configuration={"hnsw": {"space": "cosine"}})

    def write(self, texts: list[str], vectors: np.ndarray) -> None:
        for first in range(0, len(texts), BATCH):
            some = texts[first : first + BATCH]
            ids = [str(first + n) for n in range(len(some))]
            self.collection.add(ids=ids, documents=some, embeddings=vectors[first : first + BATCH])
        self.words = BM25Okapi([text.split() for text in texts])

    def search(self, text: str, vector: np.ndarray) -> list[str]:
        scores = self.words.get_scores(text.split())
        best = [str(n) for n in np.argsort(-scores)[:SIDE] if scores[n] > 0]
        near = self.collection.query(query_embeddings=[vector], n_results=SIDE)["ids"][0]
        fused: dict[str, float] = {}
        for side in (best, near):
            for rank, name in enumerate(side):
                fused[name] = fused.get(name, 0) + 1 / (K + rank + 1)
        found = sorted(fused, key=lambda name: -fused[name])[:WANTED]
        assert self.collection.get(ids=found)["documents"]
        return found


def main(folder: Path) -> None:
    given = read_set(folder)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as below:
        index = Index(below)
        write = taken(lambda: index.write(given.texts, given.vectors), count=len(given.texts))
        index.search(given.queries[0], given.query_vectors[0])
        asked = list(zip(given.queries, given.query_vectors, strict=True))
        query = taken(lambda: [index.search(*one) for one in asked], count=len(asked))
    results = {"words and vectors": write, "hybrid query": query}
    report(names("chromadb", "rank-bm25"), SETTINGS, results)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
