"""The KB store: writing, searching by words and vectors together, memory; ranking with ``DATAMIND_BENCH_DATA``.

Vectors are random, of 384 dimensions. Writing goes through the store alone and through the whole system with its
ledger: one receipt a file ("files"), or one for all chunks of a file ("cut chunks"). Peers get the set of 10,000.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench_text import SETS, quality, read_paragraphs
from kb_data import DIMENSION, paragraph, question, unit_vectors, write_set
from measure import Taken, run_peer, taking

from datamind.agent import build_datamind
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.kb.retrieval import HYBRID_MEANING, HybridRetriever, LexicalRetriever, QueryVectors
from datamind.config import Settings
from datamind.core.protocols.models import EmbeddingDescription
from datamind.core.types import Role
from datamind.testing.kb_data import make_document, make_query
from datamind.testing.providers import ProviderTarget

MODEL = "stub-384"
GOAL_CHUNKS = 7_000
GOAL_BESIDE_COMPARABLE = 1 / 18
CHUNKS = 10_000
TARGET = ProviderTarget("kb.store", "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions")


def rows() -> Iterator[str]:
    yield from asyncio.run(ranking())
    yield from asyncio.run(files())
    with tempfile.TemporaryDirectory() as name:
        write_set(Path(name), CHUNKS)
        yield from beside_peers(Path(name))
    yield from asyncio.run(searching(100_000)).lines
    yield from asyncio.run(approximate())


def beside_peers(folder: Path) -> Iterator[str]:
    lines, one_file = asyncio.run(cut_chunks(folder))
    yield from lines
    comparable = run_peer("kb_comparable", folder, environment="comparable")
    yield comparable.beside("one JSONL file", one_file, max_ratio=GOAL_BESIDE_COMPARABLE)
    ours = asyncio.run(searching(CHUNKS))
    yield from ours.lines
    parts = run_peer("kb", folder)
    yield parts.beside("words and vectors", ours.written)
    yield parts.beside("hybrid query", ours.queries)
    yield comparable.beside("hybrid query", ours.queries)
    yield comparable.beside("warm and first query", ours.warm_and_first)
    yield from (f"  {parts}", f"  {comparable}")


@asynccontextmanager
async def opened() -> AsyncIterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        store = await TARGET.open(Path(folder))
        try:
            yield store
        finally:
            await store.aclose()


async def ranking() -> list[str]:
    """As the product ranks: paragraphs through the store, questions as they are."""
    folder = os.environ.get("DATAMIND_BENCH_DATA")
    if not folder:
        return ["ranking skipped: DATAMIND_BENCH_DATA is not set"]
    lines = []
    for name in ("xquad en", "xquad zh"):
        corpus = read_paragraphs(Path(folder) / SETS[name])
        documents = {key: make_document(key, text) for key, text in corpus.documents.items()}
        name_of = {one.chunk_ids[0]: key for key, one in documents.items()}
        async with opened() as store:
            await store.put_documents(list(documents.values()))
            for state in ("not indexed yet", "indexed"):
                found = {q.text: await store.search_words(make_query(q.text)) for q in corpus.questions}
                hits = {text: [name_of[hit.chunk.chunk_id] for hit in rows] for text, rows in found.items()}
                lines.append(f"{f'{name}, {state}':<44} {quality(corpus, hits.__getitem__)}  goal nDCG .950")
                await store.optimize()
    return lines


async def files() -> list[str]:
    """1,000 files of ten short passages each, through plan, ledger, chunking and sync, the store being open; again."""
    rng = random.Random(1)
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for below, count in (("first", 3), ("notes", CHUNKS // 10)):
            (folder / below).mkdir()
            for number in range(count):
                text = "\n\n".join(paragraph(rng, 45) for _ in range(10))
                (folder / below / f"{number:04}.txt").write_text(text)
        settings = Settings(
            data={"base_dir": folder / "base"},
            hooks={"audit_key": folder / "keys"},
            retrieval={"chunk_size": 640, "chunk_overlap": 0},
        )
        async with await build_datamind(settings, enable=["kb"]) as system:
            await system.ingest(folder / "first")
            before = await chunks_in(system)
            for what in ("a receipt each", "unchanged"):
                with taking() as taken:
                    await system.ingest(folder / "notes")
                taken.count = await chunks_in(system) - before
                lines.append(written(f"1,000 files, {taken.count:,} chunks, {what}", taken))
    return lines


async def chunks_in(system: Any) -> int:
    counted = await system.call("kb_count", {}, role=Role.RETRIEVE)
    return int(counted.data["chunks"])


async def cut_chunks(given: Path) -> tuple[list[str], Taken]:
    """10,000 chunks of one file in one commit with one receipt, the store being open; then as many others."""
    rng = random.Random(6)
    lines, runs = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(
            data={"base_dir": folder / "base"},
            hooks={"audit_key": folder / "keys", "path_allowlist_extra": [folder, given]},
        )
        others = [{"id": str(n), "title": f"Note {n}", "text": paragraph(rng, 45)} for n in range(CHUNKS)]
        (folder / "next.jsonl").write_text("".join(json.dumps(row) + "\n" for row in others))
        async with await build_datamind(settings, enable=["kb"]) as system:
            await system.call("kb_add_text", {"text": "opens the store"}, role=Role.STORE)
            for turn, path in (("first", given / "chunks.jsonl"), ("next", folder / "next.jsonl")):
                with taking(CHUNKS) as taken:
                    stored = await system.call("kb_add_chunks", {"path": str(path)}, role=Role.STORE)
                assert stored.receipts[0].result.items_written == CHUNKS
                runs.append(taken)
                lines.append(written(f"{turn} {CHUNKS:,} cut chunks of a file, one receipt", taken))
    return lines, runs[0]


@dataclass(frozen=True)
class Searched:
    """Lines of the table, and what peers are held against: all of the writing, tokens and vectors with it; queries."""

    lines: list[str]
    written: Taken
    warm_and_first: Taken
    queries: Taken


async def searching(size: int) -> Searched:
    rng = random.Random(2)
    vectors = unit_vectors(3, size)
    texts = [[paragraph(rng, 45) for _ in range(10)] for _ in range(size // 10)]
    lines = []
    async with opened() as store:
        with taking(size) as whole:
            documents = [make_document(f"{n}.txt", *some) for n, some in enumerate(texts)]
            with taking(size) as words:
                await store.put_documents(documents)
                await store.sync()
            ids = [chunk_id for one in documents for chunk_id in one.chunk_ids]
            for first in range(0, size, 5_000):
                await store.put_vectors(MODEL, ids[first : first + 5_000], vectors[first : first + 5_000].tobytes())
            await store.optimize()
        lines.append(written(f"{size:,} chunks with words, store alone", words, goal=False))
        lines.append(written(f"{size:,} with tokens, vectors and their index", whole, goal=False))
        del vectors, documents, texts
        with taking() as warm_and_first:
            with taking() as warmed:
                await store.warm(MODEL)
            with taking() as first_query:
                await hybrid(store, rng)
        with taking(50) as queries:
            taken = [await timed(lambda: hybrid(store, rng)) for _ in range(queries.count)]
    goal = 15 if size == 10_000 else 40
    lines.append(
        f"{f'hybrid at {size:,}, query vector given':<44} p50 {median(taken) * 1000:>6.1f} ms  goal {goal} ms  "
        f"first after warm {first_query.wall_s * 1000:.0f} ms  goal 300 ms  (warm {warmed.wall_s * 1000:.0f} ms)  "
        f"memory of the process {resident_mb():.0f} MB"
    )
    return Searched(lines, whole, warm_and_first, queries)


async def approximate() -> list[str]:
    """Vectors that lie in groups, as those of texts do, compared one by one and through the index."""
    size, lines = 30_000, []
    rng = np.random.default_rng(7)
    grouped = unit_vectors(8, 300)[rng.integers(0, 300, size + 50)] + 0.7 * unit_vectors(9, size + 50)
    documents = [make_document(f"{n}.txt", *(f"passage {n} {part}" for part in range(10))) for n in range(size // 10)]
    ids = [chunk_id for one in documents for chunk_id in one.chunk_ids]
    with tempfile.TemporaryDirectory() as name:
        for kind, limit in (("all compared", size), ("ivf_rq", size - 1)):
            store = await replace(TARGET, options={"exact_limit": limit}).open(Path(name))
            if limit == size:
                await store.put_documents(documents)
                await store.put_vectors(MODEL, ids, grouped[:size].astype(np.float32).tobytes())
            with taking() as made:
                await store.optimize()
            await store.warm(MODEL)
            queries = [row.astype(np.float32).tobytes() for row in grouped[size:]]
            taken = [
                await timed(lambda query=query, store=store: store.rank_vectors(MODEL, query, 50)) for query in queries
            ]
            (status,) = (await store.status()).vectors
            lines.append(
                f"{f'nearest 50 of {size:,}, {kind}':<44} p50 {median(taken) * 1000:>6.1f} ms  recall@10 "
                f"{1 if status.recall is None else status.recall:.3f}  (optimize {made.wall_s:.1f} s)"
            )
            await store.aclose()
    return lines


class GivenVector:
    """What the search costs without the embedding of its query."""

    description = EmbeddingDescription(model_id=MODEL, dim=DIMENSION)

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def embed_query(self, text: str) -> bytes:
        return unit_vectors(self._rng.randrange(1 << 30), 1).tobytes()


async def hybrid(store: Any, rng: random.Random) -> None:
    """As the product searches: 50 candidates a side, joined, the best 10 read."""
    vectors = QueryVectors(EmbeddingAccess.of(GivenVector(rng)))
    hits = await HybridRetriever(LexicalRetriever(), vectors).retrieve(make_query(question(rng), 10), store.read_view())
    assert len(hits) == 10 and hits[0].score_meaning == HYBRID_MEANING


async def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    await action()
    return time.perf_counter() - start


def written(what: str, taken: Taken, *, goal: bool = True) -> str:
    """The goal is one of writes that have their receipt; a part of the way cannot meet it."""
    speed = taken.count / taken.cpu_s
    verdict = f"  goal {GOAL_CHUNKS:,} {'met' if speed >= GOAL_CHUNKS else 'MISSED'}" if goal else ""
    return f"{what:<44} {speed:>8,.0f} chunks/CPU s  ({taken.count / taken.wall_s:,.0f}/s){verdict}"


def resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 1e6
