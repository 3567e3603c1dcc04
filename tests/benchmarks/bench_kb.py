"""The KB store: writing, searching by words and vectors together, memory; ranking with ``DATAMIND_BENCH_DATA``.

Vectors are random, of 384 dimensions. Writing goes through the store alone and through the whole system with its
ledger: one receipt a file ("files"), or one for all chunks of a file ("cut chunks").
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench_text import SETS, quality, read_paragraphs

from datamind.agent import build_datamind
from datamind.capabilities.text.fusion import reciprocal_rank_fusion
from datamind.config import Settings
from datamind.core.types import Role
from datamind.testing.kb_data import make_document, make_query
from datamind.testing.providers import ProviderTarget

DIMENSION = 384
MODEL = "stub-384"
GOAL_CHUNKS = 7_000
CHUNKS = 10_000
TARGET = ProviderTarget("kb.store", "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions")
STEMS = [f"{a}{b}{c}" for a in "bcdfglmnprst" for b in ("ar", "el", "in", "ov", "ut") for c in ("da", "mo", "ni", "se")]
WORDS = [f"{one}{other}" for one in STEMS[::3] for other in STEMS[::2]]
WEIGHTS = [1 / (rank + 10) for rank in range(len(WORDS))]


def rows() -> Iterator[str]:
    yield from asyncio.run(ranking())
    yield from asyncio.run(files())
    yield from asyncio.run(cut_chunks())
    for size in (10_000, 100_000):
        yield from asyncio.run(searching(size))


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
                cpu, wall = time.process_time(), time.perf_counter()
                await system.ingest(folder / "notes")
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                chunks = await chunks_in(system) - before
                lines.append(written(f"1,000 files, {chunks:,} chunks, {what}", chunks, cpu, wall))
    return lines


async def chunks_in(system: Any) -> int:
    counted = await system.call("kb_count", {}, role=Role.RETRIEVE)
    return int(counted.data["chunks"])


async def cut_chunks() -> list[str]:
    """10,000 chunks of one file in one commit with one receipt, the store being open; then as many others."""
    rng = random.Random(4)
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(
            data={"base_dir": folder / "base"},
            hooks={"audit_key": folder / "keys", "path_allowlist_extra": [folder]},
        )
        async with await build_datamind(settings, enable=["kb"]) as system:
            await system.call("kb_add_text", {"text": "opens the store"}, role=Role.STORE)
            for turn in ("first", "next"):
                path = folder / f"{turn}.jsonl"
                rows = [{"id": str(n), "title": f"Note {n}", "text": paragraph(rng, 45)} for n in range(CHUNKS)]
                path.write_text("".join(json.dumps(row) + "\n" for row in rows))
                cpu, wall = time.process_time(), time.perf_counter()
                stored = await system.call("kb_add_chunks", {"path": str(path)}, role=Role.STORE)
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                assert stored.receipts[0].result.items_written == CHUNKS
                lines.append(written(f"{turn} {CHUNKS:,} cut chunks of a file, one receipt", CHUNKS, cpu, wall))
    return lines


async def searching(size: int) -> list[str]:
    rng = random.Random(2)
    documents = [make_document(f"{n}.txt", *(paragraph(rng, 45) for _ in range(10))) for n in range(size // 10)]
    vectors = np.random.default_rng(3).standard_normal((size, DIMENSION)).astype(np.float32)
    lines = []
    async with opened() as store:
        cpu, wall = time.process_time(), time.perf_counter()
        await store.put_documents(documents)
        await store.sync()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        lines.append(written(f"{size:,} chunks with words, store alone", size, cpu, wall, goal=False))
        ids = [chunk_id for one in documents for chunk_id in one.chunk_ids]
        for first in range(0, size, 5_000):
            await store.put_vectors(MODEL, ids[first : first + 5_000], vectors[first : first + 5_000].tobytes())
        await store.optimize()
        del vectors, documents
        start = time.perf_counter()
        await store.warm(MODEL)
        warmed = time.perf_counter() - start
        start = time.perf_counter()
        await hybrid(store, rng)
        first_query = time.perf_counter() - start
        taken = [await timed(lambda: hybrid(store, rng)) for _ in range(50)]
    goal = 15 if size == 10_000 else 40
    lines.append(
        f"{f'hybrid at {size:,}, query vector given':<44} p50 {median(taken) * 1000:>6.1f} ms  goal {goal} ms  "
        f"first after warm {first_query * 1000:.0f} ms  goal 300 ms  (warm {warmed * 1000:.0f} ms)  "
        f"memory of the process {resident_mb():.0f} MB"
    )
    return lines


async def hybrid(store: Any, rng: random.Random) -> None:
    query = make_query(" ".join(rng.choices(WORDS, k=4)), 50)
    words = await store.search_words(query)
    vector = np.random.default_rng(rng.randrange(1 << 30)).standard_normal(DIMENSION).astype(np.float32).tobytes()
    near = await store.search_vectors(MODEL, vector, 50)
    waiting = await store.unembedded(MODEL, [hit.chunk.chunk_id for hit in words])
    sides: list[Sequence[str]] = [[hit.chunk.chunk_id for hit in side] for side in (words, near)]
    assert reciprocal_rank_fusion(sides, unembedded=waiting)


async def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    await action()
    return time.perf_counter() - start


def paragraph(rng: random.Random, words: int) -> str:
    """About that many words, frequent and rare ones as in a language."""
    return " ".join(rng.choices(WORDS, WEIGHTS, k=words + rng.randrange(-9, 10))) + f" {rng.randrange(10**6)}."


def written(what: str, chunks: int, cpu: float, wall: float, *, goal: bool = True) -> str:
    """The goal is one of writes that have their receipt; a part of the way cannot meet it."""
    speed = chunks / cpu
    verdict = f"  goal {GOAL_CHUNKS:,} {'met' if speed >= GOAL_CHUNKS else 'MISSED'}" if goal else ""
    return f"{what:<44} {speed:>8,.0f} chunks/CPU s  ({chunks / wall:,.0f}/s){verdict}"


def resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 1e6
