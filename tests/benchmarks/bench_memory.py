"""Memory on SQLite: a durable save, and recall by words, by vectors of 384 dimensions and by both."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from measure import Taken, middle, run_peer, taking

from datamind.core.protocols.memory import MemoryDraft, MemoryQuery, MemoryScope
from datamind.testing.memory_data import make_filter, make_home, make_memory
from datamind_memory_sqlite import writing
from datamind_memory_sqlite.store import SqliteMemoryStore

SIZES = (10_000, 100_000)
DIM = 384
WORDS = 20_000
RUNS = 40
SAVES = 300
FILL_SLICE = 10_000


@dataclass(frozen=True)
class Figure:
    """One line of the table: what single calls took."""

    what: str
    runs: list[Taken]
    goal_ms: float | None = None

    @property
    def taken(self) -> Taken:
        return middle(self.runs)

    def __str__(self) -> str:
        times_s = sorted(run.wall_s for run in self.runs)
        p50, p95 = median(times_s), times_s[int(len(times_s) * 0.95)]
        verdict = ""
        if self.goal_ms is not None:
            verdict = f"  goal {self.goal_ms:g} ms {'met' if p50 * 1000 <= self.goal_ms else 'MISSED'}"
        return f"{self.what:<40} p50 {p50 * 1000:>8.2f} ms  p95 {p95 * 1000:>8.2f} ms{verdict}"


def rows() -> Iterator[Figure | str]:
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            figures = asyncio.run(measure(Path(folder), size))
        yield from figures
        if size == SIZES[0]:
            yield from beside_peer(figures)


def beside_peer(figures: list[Figure]) -> Iterator[str]:
    rng = random.Random(SIZES[0])
    with tempfile.TemporaryDirectory() as name:
        memories = [" ".join(words(rng, rng.randint(6, 25))) for _ in range(SIZES[0])]
        (Path(name) / "memories.json").write_text(json.dumps(memories))
        peer = run_peer("memory_comparable", Path(name), environment="comparable")
    by_what = {figure.what: figure for figure in figures}
    yield peer.beside("save", by_what[f"save and sync, {SIZES[0]:,} stored"].taken)
    yield peer.beside("recall", by_what[f"recall by words and vector, {SIZES[0]:,}"].taken)
    yield f"  {peer}"


async def measure(folder: Path, size: int) -> list[Figure]:
    rng = random.Random(size)
    store = SqliteMemoryStore(folder / "memory.db", 30)
    ids = await fill(store, rng, size)
    figures = [Figure(f"save and sync, {size:,} stored", await saves(store), goal_ms=10)]
    queries = [words(rng, 6) for _ in range(RUNS)]
    vectors = [row.tobytes() for row in np.random.default_rng(1).standard_normal((RUNS, DIM), np.float32)]
    figures += [
        await recalls(store, f"recall by words, {size:,}", queries, [b""] * RUNS),
        await recalls(store, f"recall in a small session, {size:,}", queries, [b""] * RUNS, session="s1"),
    ]
    await store.put_vectors("bench", ids, np.random.default_rng(2).standard_normal((size, DIM), np.float32).tobytes())
    figures += [
        await recalls(store, f"first recall by vector (loads), {size:,}", queries[:1], vectors[:1], goal_ms=None),
        await recalls(store, f"recall by vector, {size:,}", [()] * RUNS, vectors),
        await recalls(store, f"recall by words and vector, {size:,}", queries, vectors),
        await recalls(store, f"  in a small session, {size:,}", queries, vectors, session="s1"),
        Figure(f"newest 20, {size:,}", await timed([lambda: store.find(make_filter(), limit=20)] * RUNS)),
        Figure(f"count, {size:,}", await timed([lambda: store.count(make_filter())] * RUNS)),
    ]
    await store.aclose()
    return figures


async def fill(store: SqliteMemoryStore, rng: random.Random, size: int) -> list[str]:
    """Short memories with words as uneven as those of a language; every hundredth belongs to a session."""
    ids: list[str] = []
    for start in range(0, size, FILL_SLICE):
        drafts = [make_draft(rng, number) for number in range(start, min(start + FILL_SLICE, size))]
        ids += [draft.memory_id for draft in drafts]
        await store._writer.run(lambda connection, some=drafts: [writing.save(connection, draft) for draft in some])
    return ids


def make_draft(rng: random.Random, number: int) -> MemoryDraft:
    tokens = words(rng, rng.randint(6, 25))
    session = "" if number % 100 else f"s{number // 100 % 50}"
    scope = MemoryScope.SESSION if session else MemoryScope.PROFILE
    return make_memory(" ".join(tokens), at=number / 1000, scope=scope, session=session, tokens=tokens)


def words(rng: random.Random, count: int) -> tuple[str, ...]:
    # The rank of a word is spread evenly over its logarithm (Zipf); the 20 most common are stop words, left out.
    return tuple(f"w{int(20 * (WORDS / 20) ** rng.random())}" for _ in range(count))


async def saves(store: SqliteMemoryStore) -> list[float]:
    async def save(number: int) -> None:
        await store.save(make_home(f"city {number}", at=1000 + number))
        await store.sync()

    return await timed([lambda n=n: save(n) for n in range(SAVES)])


async def recalls(
    store: SqliteMemoryStore,
    what: str,
    queries: list[tuple[str, ...]],
    vectors: list[bytes],
    *,
    session: str = "",
    goal_ms: float | None = 50,
) -> Figure:
    scopes = (MemoryScope.SESSION,) if session else (MemoryScope.PROFILE,)
    where = make_filter(scopes=scopes, session=session)
    made = [
        MemoryQuery(tokens=tokens, where=where, limit=10, vector=vector, model_id="bench" if vector else "")
        for tokens, vector in zip(queries, vectors, strict=True)
    ]
    return Figure(what, await timed([lambda query=query: store.recall(query) for query in made]), goal_ms)


async def timed(calls: list[Callable[[], Awaitable[object]]]) -> list[Taken]:
    runs = []
    for call in calls:
        with taking() as taken:
            await call()
        runs.append(taken)
    return runs
