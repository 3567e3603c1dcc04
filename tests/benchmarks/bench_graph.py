"""The graph on Oxigraph: a million triples from N-Triples, one durable triple beside them, two hops, search, SPARQL.

With DATAMIND_BENCH_DATA first what it makes of public graphs and of the tests of the W3C. DATAMIND_BENCH_SIZES names
other numbers of triples; 0 leaves this part out.
"""

from __future__ import annotations

import asyncio
import io
import os
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import graph_conformance
import graph_sets

from datamind.capabilities.graph.terms import make_node
from datamind.capabilities.graph.walks import WalkLimits, traverse
from datamind.core.protocols.graph import Assertion, GraphStore
from datamind.testing.graph_data import make_triple, make_unit
from datamind.testing.providers import ProviderTarget

SIZES = (50_000, 1_000_000)
NODES = 200_000
RUNS = 40
TARGET = ProviderTarget(
    "graph.store", "datamind_graph_rdflib.store:open_store", "datamind_graph_rdflib.options:RdflibGraphOptions"
)


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    what: str
    value: float
    unit: str
    goal: float | None = None

    def __str__(self) -> str:
        verdict = "" if self.goal is None else f"  goal {self.goal:g} {'met' if self.value <= self.goal else 'MISSED'}"
        return f"{self.what:<48} {self.value:>9.2f} {self.unit}{verdict}"


@dataclass
class Lag:
    """The longest time that the event loop was held."""

    times_s: list[float] = field(default_factory=list)

    async def watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            self.times_s.append(time.perf_counter() - began - 0.005)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.watch())
        try:
            yield
        finally:
            task.cancel()

    def quantile_ms(self, share: float) -> float:
        return sorted(self.times_s)[int((len(self.times_s) - 1) * share)] * 1000


def rows() -> Iterator[Figure | str]:
    given = os.environ.get("DATAMIND_BENCH_DATA")
    if given:
        for module in (graph_sets, graph_conformance):
            yield from printed(module.figures(Path(given), TARGET))
    else:
        yield "public graphs and tests skipped: DATAMIND_BENCH_DATA is not set"
    sizes = os.environ.get("DATAMIND_BENCH_SIZES")
    for size in map(int, sizes.split(",")) if sizes else SIZES:
        if not size:
            continue
        with tempfile.TemporaryDirectory() as folder:
            yield from asyncio.run(measure(Path(folder), size))


def printed(lines: AsyncIterator[str]) -> list[str]:
    async def gathered() -> list[str]:
        return [line async for line in lines]

    return asyncio.run(gathered())


def content_of(size: int) -> bytes:
    return b"".join(
        b"<urn:t:e:item%d> <urn:t:p:link%d> <urn:t:e:item%d> .\n" % (n % NODES, n % 7, (n * 7919 + n // NODES) % NODES)
        for n in range(size)
    )


async def measure(folder: Path, size: int) -> list[Figure]:
    store = await TARGET.open(folder)
    content = content_of(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lag, began = Lag(), time.perf_counter()
    async with lag.watched():
        triples = store.parse(io.BytesIO(content), "application/n-triples", source_id="src_bench")
        assertions = (Assertion(triple) for triple in triples if triple)
        count = await store.upsert(make_unit("bench"), assertions)
        await store.sync()
    took = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    figures = [
        Figure(f"load {count:,} triples, sync", took, "s", goal=45 if size == 1_000_000 else None),
        Figure(f"memory that it took, beside {len(content) / 1e6:.0f} MB of file", grown, "MB", goal=250),
        Figure("event loop held while loading, p99", lag.quantile_ms(0.99), "ms", goal=50),
        Figure("event loop held while loading, longest", lag.quantile_ms(1), "ms", goal=250),
    ]
    await store.search_entities("item 7", 5)
    figures += [
        Figure(f"{what}, {size:,} stored, p50", await p50_ms(work), "ms", goal) for what, work, goal in works(store)
    ]
    await store.aclose()
    return figures


def works(store: GraphStore) -> list[tuple[str, Callable[[int], Awaitable[object]], float | None]]:
    async def one(n: int) -> None:
        await store.upsert(make_unit(f"one{n}"), [Assertion(make_triple(f"new {n}", "p", "hub"))])
        await store.sync()

    async def hops(n: int) -> None:
        await traverse(store, [make_node(f"urn:t:e:item{n * 31}")], WalkLimits(hops=2, fan_out=50, results=200))

    async def search(n: int) -> None:
        await store.search_entities(f"itme{n * 37}", 5)

    async def sparql(n: int) -> None:
        text = f"SELECT * {{ <urn:t:e:item{n * 31}> ?p ?o . ?o ?q ?r }} LIMIT 200"
        await store.query(text, limit_rows=200, timeout_s=10)  # type: ignore[attr-defined]

    return [
        ("one triple, durable", one, 5),
        ("two hops, both directions", hops, 5),
        ("entity search with a typing error", search, None),
        ("two hops in SPARQL, in its process", sparql, None),
    ]


async def p50_ms(work: Callable[[int], Awaitable[object]]) -> float:
    await work(1_000)
    times = []
    for n in range(RUNS):
        began = time.perf_counter()
        await work(n)
        times.append(time.perf_counter() - began)
    return median(times) * 1000
