"""Reading the graph: walks, queries and files, out as evidence that names who asserts each statement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from datamind.capabilities.graph.candidates import GraphCandidates
from datamind.capabilities.graph.evidence import evidence_of, table_of
from datamind.capabilities.graph.resolving import Resolver
from datamind.capabilities.graph.rows import ROW_MEDIA_TYPES, write_rows
from datamind.capabilities.graph.sparql_guard import check_size, judge
from datamind.capabilities.graph.terms import read_line
from datamind.capabilities.graph.walks import Walk, WalkLimits, shortest_path, traverse
from datamind.core.errors import InputInvalid, SurfaceUnavailable
from datamind.core.evidence import Evidence, TripleLocator
from datamind.core.protocols.graph import (
    Direction,
    EntityHit,
    GraphReader,
    GraphStats,
    GraphStore,
    QueryResult,
    SupportsGraphFiles,
    SupportsSparql,
    Term,
    Triple,
    TriplePattern,
)

_MAX_ROWS: Final = 1_000
_QUERY_TIMEOUT_S: Final = 10.0
_EXPORTED_AT_ONCE: Final = 1_000

OpenStore = Callable[[], Awaitable[GraphStore]]


@dataclass(frozen=True)
class Walked:
    """A walk with its evidence.

    Attributes:
        predicates: What each given relation was taken to mean.
    """

    walk: Walk
    evidence: tuple[Evidence, ...]
    predicates: Mapping[str, tuple[Term, ...]]


class GraphReads:
    """What the reading side may do. Holds read views only."""

    def __init__(self, open_store: OpenStore, profile: str) -> None:
        self._open_store = open_store
        self._profile = profile

    async def search(self, text: str, *, limit: int) -> Sequence[EntityHit]:
        """Entities by name, best first."""
        return await (await self._reader()).search_entities(text, limit)

    async def walk(
        self, names: Sequence[str], limits: WalkLimits, *, direction: Direction, predicates: Sequence[str]
    ) -> Walked:
        """Every statement within some hops of the named entities.

        Raises:
            NotFound: An entity or a relation is not there, or the name of an entity means several.
        """
        reader = await self._reader()
        resolver = Resolver(reader)
        starts = [await resolver.node(name) for name in names]
        meant = await resolver.predicates(predicates)
        found = await traverse(reader, starts, limits, direction=direction, predicates=_all_of(meant))
        return Walked(found, await evidence_of(reader, found.triples, found.hops), meant)

    async def path(
        self, start: str, goal: str, limits: WalkLimits, *, direction: Direction, predicates: Sequence[str]
    ) -> Walked:
        """A shortest path between two named entities.

        Raises:
            NotFound: An entity or a relation is not there, or the name of an entity means several.
        """
        reader = await self._reader()
        resolver = Resolver(reader)
        ends = await resolver.node(start), await resolver.node(goal)
        meant = await resolver.predicates(predicates)
        found = await shortest_path(reader, *ends, limits, direction=direction, predicates=_all_of(meant))
        return Walked(found, await evidence_of(reader, found.triples), meant)

    async def statement(self, cited: TripleLocator) -> Evidence | None:
        """One statement as it stands now; None if nobody asserts it."""
        terms = read_line(f"{cited.subject} {cited.predicate} {cited.object}")
        if len(terms) != len(Triple._fields):
            return None
        found = await evidence_of(await self._reader(), [Triple(*terms)])
        return found[0] if found else None

    async def query(self, text: str) -> tuple[QueryResult, Evidence]:
        """The result of a SPARQL query that the guard lets through.

        Raises:
            AccessDenied: It leaves the graph or changes it.
            InputInvalid: It cannot be read.
            LimitExceeded: It is too large, or its time is over.
            SurfaceUnavailable: The store answers no SPARQL.
        """
        check_size(text)
        reader = await self._reader()
        if not isinstance(reader, SupportsSparql):
            raise SurfaceUnavailable("this graph store answers no SPARQL", hint="Use graph_traverse or graph_path.")
        parsed = await reader.parse_query(text)
        judge(parsed, await _known_graphs(reader) if parsed.datasets else frozenset())
        result = await reader.query(text, limit_rows=_MAX_ROWS, timeout_s=_QUERY_TIMEOUT_S)
        return result, table_of(self._profile, text, result)

    async def stats(self) -> GraphStats:
        """Counts."""
        return await (await self._reader()).stats()

    async def export(self, media_type: str) -> AsyncIterator[bytes]:
        """Every statement once, as a file that an import reads.

        Raises:
            InputInvalid: The store does not write this type.
        """
        reader = await self._reader()
        if isinstance(reader, SupportsGraphFiles):
            async for piece in reader.export(media_type):
                yield piece
            return
        if media_type not in ROW_MEDIA_TYPES:
            raise InputInvalid(f"this graph store writes no {media_type[:80]!r}", hint="It writes csv, tsv and jsonl.")
        offset, more = 0, True
        while more:
            page = await reader.statements(TriplePattern(), offset=offset, limit=_EXPORTED_AT_ONCE)
            yield write_rows(page.triples, media_type, header=not offset).encode()
            offset, more = offset + _EXPORTED_AT_ONCE, page.more

    async def candidates(self) -> GraphCandidates:
        """Finds what a deletion may mean."""
        return GraphCandidates(await self._reader())

    async def _reader(self) -> GraphReader:
        return (await self._open_store()).read_view()


def graph_of(receipt_id: str) -> str:
    """The named graph that holds what a receipt asserts."""
    return f"urn:datamind:r:{receipt_id}"


async def _known_graphs(reader: GraphReader) -> frozenset[str]:
    return frozenset(graph_of(unit.receipt_id) for unit in await reader.units())


def _all_of(meant: Mapping[str, tuple[Term, ...]]) -> list[Term]:
    return list(dict.fromkeys(term for terms in meant.values() for term in terms))
