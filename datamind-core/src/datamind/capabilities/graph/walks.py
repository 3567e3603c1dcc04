"""Walks over a graph that end: bounded in hops, in statements of a node, in all statements and in time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from datamind.core.protocols.graph import Direction, GraphReader, Term, Triple

_NODES_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """Where a walk ends.

    Attributes:
        fan_out: Statements of one node in each direction.
        results: Statements in all.
    """

    hops: int
    fan_out: int
    results: int
    timeout_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk found, nearest first.

    Attributes:
        hops: Distance of each statement from the start, from 1.
        cut: What was left out, by reason: ``fan_out`` (nodes with more statements), ``results`` and ``time`` (nodes
            that were not looked at).
        unseen: Nodes just beyond the last hop.
        starts: Where it began.
    """

    triples: tuple[Triple, ...] = ()
    hops: tuple[int, ...] = ()
    cut: Mapping[str, int] = field(default_factory=dict)
    unseen: int = 0
    starts: tuple[Term, ...] = ()


@dataclass
class _Search:
    reader: GraphReader
    limits: WalkLimits
    direction: Direction
    predicates: Sequence[Term]
    seen: set[Term]
    found: dict[Triple, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.limits.timeout_s

    async def step(self, frontier: Sequence[Term], hop: int, goal: Term | None = None) -> list[Term]:
        """Statements around the frontier; returns the nodes that were not seen before."""
        reached: dict[Term, None] = {}
        for start in range(0, len(frontier), _NODES_AT_ONCE):
            nodes = frontier[start : start + _NODES_AT_ONCE]
            if self._is_over(len(frontier) - start):
                break
            edges = await self.reader.edges(
                nodes, direction=self.direction, predicates=self.predicates, limit=self.limits.fan_out
            )
            self._count("fan_out", len(edges.cut))
            reached.update(dict.fromkeys(self._take(edges.triples, hop)))
            if goal is not None and goal in reached:
                break
        self.seen.update(reached)
        return list(reached)

    def _is_over(self, waiting: int) -> bool:
        reason = "results" if len(self.found) >= self.limits.results else ""
        reason = reason or ("time" if time.monotonic() > self.deadline else "")
        if reason:
            self._count(reason, waiting)
        return bool(reason)

    def _take(self, triples: Sequence[Triple], hop: int) -> list[Term]:
        reached = []
        for triple in triples:
            if triple not in self.found:
                if len(self.found) >= self.limits.results:
                    self._count("results", 1)
                    continue
                self.found[triple] = hop
            reached += [end for end in (triple.subject, triple.object) if not end.is_literal and end not in self.seen]
        return reached

    def _count(self, reason: str, number: int) -> None:
        if number:
            self.cut[reason] = self.cut.get(reason, 0) + number


async def traverse(
    reader: GraphReader,
    starts: Sequence[Term],
    limits: WalkLimits,
    *,
    direction: Direction = "both",
    predicates: Sequence[Term] = (),
) -> Walk:
    """Every statement within ``limits.hops`` of the starts."""
    search = _Search(reader, limits, direction, predicates, set(starts))
    frontier = list(dict.fromkeys(starts))
    for hop in range(1, limits.hops + 1):
        if frontier:
            frontier = await search.step(frontier, hop)
    ordered = sorted(search.found.items(), key=lambda item: item[1])
    triples, hops = tuple(triple for triple, _ in ordered), tuple(hop for _, hop in ordered)
    return Walk(triples, hops, search.cut, len(frontier), tuple(starts))


async def shortest_path(
    reader: GraphReader,
    start: Term,
    goal: Term,
    limits: WalkLimits,
    *,
    direction: Direction = "both",
    predicates: Sequence[Term] = (),
) -> Walk:
    """The statements of a shortest path in order; of several predicates between two neighbours, all.

    Empty when there is none within the limits; ``cut`` says whether the search was complete.
    """
    search = _Search(reader, limits, direction, predicates, {start})
    frontier, level = [start], {start: 0}
    for hop in range(1, limits.hops + 1):
        if goal in level or not frontier:
            break
        frontier = await search.step(frontier, hop, goal)
        level.update((node, hop) for node in frontier if node not in level)
    if goal not in level:
        return Walk(cut=search.cut, unseen=len(frontier))
    triples = _back(search.found, level, goal, direction)
    return Walk(tuple(triples), tuple(max(level[t.subject], level[t.object]) for t in triples), search.cut)


def _back(found: Mapping[Triple, int], level: Mapping[Term, int], goal: Term, direction: Direction) -> list[Triple]:
    steps: dict[Term, dict[Term, list[Triple]]] = {}
    for triple in found:
        for here, there in ((triple.subject, triple.object), (triple.object, triple.subject)):
            allowed = direction == "both" or (direction == "out") == (there == triple.object)
            if allowed and here in level and there in level and level[there] == level[here] + 1:
                steps.setdefault(there, {}).setdefault(here, []).append(triple)
    path: list[list[Triple]] = []
    node = goal
    while level[node]:
        node, triples = min(steps[node].items())
        path.append(sorted(triples))
    return [triple for step in reversed(path) for triple in step]
