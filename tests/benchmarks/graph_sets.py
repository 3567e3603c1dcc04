"""Public graphs of DATAMIND_BENCH_DATA: neighbours and two hops of every entity beside a computation on plain sets."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from datamind.capabilities.graph.rows import make_assertion
from datamind.capabilities.graph.terms import make_node, name_of
from datamind.capabilities.graph.walks import WalkLimits, traverse
from datamind.core.protocols.graph import GraphStore, Triple
from datamind.testing.graph_data import make_unit
from datamind.testing.providers import ProviderTarget

Statement = tuple[str, str, str]
EVERYTHING = WalkLimits(hops=2, fan_out=10**6, results=10**6, timeout_s=60)


async def figures(data: Path, target: ProviderTarget) -> AsyncIterator[str]:
    for folder in sorted(path for path in (data / "graph-pykeen-small").iterdir() if path.is_dir()):
        statements = set(read(folder))
        with tempfile.TemporaryDirectory() as scratch:
            store = await target.open(Path(scratch))
            rows = [
                make_assertion(dict(zip(("subject", "predicate", "object"), one, strict=True))) for one in statements
            ]
            await store.upsert(make_unit(folder.name), rows)
            yield await compared(folder.name, store, statements)
            await store.aclose()


def read(folder: Path) -> Iterator[Statement]:
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            subject, predicate, object_ = line.split("\t")
            yield subject, predicate, object_


async def compared(name: str, store: GraphStore, statements: set[Statement]) -> str:
    around: dict[str, set[Statement]] = {}
    for one in statements:
        for end in (one[0], one[2]):
            around.setdefault(end, set()).add(one)
    near = far = 0
    for entity in around:
        expected = {end for one in around[entity] for end in (one[0], one[2])}
        found = await store.edges([make_node(entity)], direction="both", limit=10**6)
        near += {plain(triple) for triple in found.triples} == around[entity] and not found.cut
        walk = await traverse(store, [make_node(entity)], EVERYTHING)
        hops = {plain(triple): hop for triple, hop in zip(walk.triples, walk.hops, strict=True)}
        two = set().union(*(around[end] for end in expected))
        far += hops == {one: 1 if one in around[entity] else 2 for one in two} and not walk.cut
    total = len(around)
    return f"{name:<9} {len(statements):>6} statements: neighbours equal {near} of {total}, two hops {far} of {total}"


def plain(triple: Triple) -> Statement:
    return name_of(triple.subject), name_of(triple.predicate), name_of(triple.object)
