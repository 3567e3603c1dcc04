"""The graph on Oxigraph: a million triples from N-Triples, one durable triple beside them, two hops, search, SPARQL.

Each size in a process of its own, for its memory; beside it the engine's own bulk loader, and a peer. With
DATAMIND_BENCH_DATA first what it makes of public graphs and of the tests of the W3C. DATAMIND_BENCH_SIZES names other
numbers of triples; 0 leaves this part out.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import graph_conformance
import graph_sets
from measure import Taken, middle, run_peer, taking

from datamind.capabilities.graph.terms import make_node
from datamind.capabilities.graph.walks import WalkLimits, traverse
from datamind.core.protocols.graph import Assertion, GraphStore
from datamind.testing.graph_data import make_triple, make_unit
from datamind.testing.providers import ProviderTarget

SIZES = (50_000, 1_000_000)
MOST_OF_PEER = 100_000  # it holds everything in memory, and writes all of it for each triple
FILE = "graph.nt"
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
        return f"{self.what:<58} {self.value:>9.2f} {self.unit}{verdict}"


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
        if size:
            yield from of_size(size)


def of_size(size: int) -> Iterator[Figure | str]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / FILE).write_bytes(content_of(size))
        command = [sys.executable, __file__, str(folder)]
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        yield from (Figure(**figure) for figure in said["figures"])
        ours = {what: Taken(**taken) for what, taken in said["taken"].items()}
        os.environ["DATAMIND_BENCH_OURS"] = sys.executable
        for script, environment in (("graph_engine", "ours"), ("graph", "peers")):
            if script == "graph_engine" or size <= MOST_OF_PEER:
                peer = run_peer(script, folder, environment=environment)
                yield from (peer.beside(what, ours[what]) for what in peer.results or ours)
                yield f"  {peer}"


def printed(lines: AsyncIterator[str]) -> list[str]:
    async def gathered() -> list[str]:
        return [line async for line in lines]

    return asyncio.run(gathered())


def content_of(size: int) -> bytes:
    return b"".join(
        b"<urn:t:e:item%d> <urn:t:p:link%d> <urn:t:e:item%d> .\n" % (n % NODES, n % 7, (n * 7919 + n // NODES) % NODES)
        for n in range(size)
    )


async def measure(folder: Path) -> dict[str, object]:
    store = await TARGET.open(folder)
    await store.search_entities("item 7", 5)
    lag, before = Lag(), peak_mb()
    size = (folder / FILE).read_bytes().count(b"\n")
    async with lag.watched():
        with taking(size) as load, (folder / FILE).open("rb") as file:
            triples = store.parse(file, "application/n-triples", source_id="src_bench")
            assertions = (Assertion(triple) for triple in triples if triple)
            count = await store.upsert(make_unit("bench"), assertions)
            await store.sync()
    grown = peak_mb() - before
    is_large = size == SIZES[-1]
    figures = [
        Figure(f"load {count:,} triples, sync", load.wall_s, "s", goal=45 if is_large else None),
        Figure("the same in CPU seconds", load.cpu_s, "s"),
        Figure(f"memory it took, beside {(folder / FILE).stat().st_size / 1e6:.0f} MB of file", grown, "MB", goal=250),
        Figure("event loop held while loading, p99", lag.quantile_ms(0.99), "ms", goal=50),
        Figure("event loop held while loading, longest", lag.quantile_ms(1), "ms", goal=250),
    ]
    ours = {"load": load}
    for key, what, work, goal in works(store):
        runs = await runs_of(work)
        ours[key] = middle(runs[1:])
        figures.append(Figure(f"{what}, {size:,} stored, p50", ours[key].wall_s * 1000, "ms", goal))
        figures.append(Figure("  the first of them", runs[0].wall_s * 1000, "ms"))
    await store.aclose()
    return {"figures": [asdict(one) for one in figures], "taken": {key: asdict(one) for key, one in ours.items()}}


def peak_mb() -> float:
    # What getrusage says begins with the peak of the process that started this one.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def works(store: GraphStore) -> list[tuple[str, str, Callable[[int], Awaitable[object]], float | None]]:
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
        ("one", "one triple, durable", one, 5),
        ("two hops", "two hops, both directions", hops, 5),
        ("search", "entity search with a typing error", search, None),
        ("sparql", "two hops in SPARQL, in its process", sparql, None),
    ]


async def runs_of(work: Callable[[int], Awaitable[object]]) -> list[Taken]:
    runs = []
    for n in range(RUNS):
        with taking() as taken:
            await work(n)
        runs.append(taken)
    return runs


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(Path(sys.argv[1])))))
