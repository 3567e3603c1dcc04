"""The graph: statements in under a receipt, and out as evidence that names who asserts them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import anyio.to_thread

from datamind.capabilities.control.sources import SourceLog
from datamind.capabilities.graph.names import fold
from datamind.capabilities.graph.results import render
from datamind.capabilities.graph.rows import ROW_MEDIA_TYPES, read_rows, write_rows
from datamind.capabilities.graph.sparql_guard import check_size, judge
from datamind.capabilities.graph.terms import line_of, make_node, name_of, read_line, to_ntriples
from datamind.capabilities.graph.walks import Walk, WalkLimits, shortest_path, traverse
from datamind.core.context import WriteUnit
from datamind.core.errors import InputInvalid, NotFound, SourceUnreadable, SurfaceUnavailable
from datamind.core.evidence import Evidence, TableLocator, TripleLocator
from datamind.core.hooks import Candidates
from datamind.core.protocols.graph import (
    AssertedBy,
    Assertion,
    Direction,
    EntityHit,
    GraphReader,
    GraphStats,
    GraphStore,
    GraphUnit,
    QueryResult,
    SupportsGraphFiles,
    SupportsSparql,
    Term,
    Triple,
    TriplePattern,
)
from datamind.core.receipts import Detected, RejectedRow, RevertKind, SurfaceWriteResult, WriteStatus
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, content_hash, derived_id

MAX_CANDIDATES: Final = 1_000
_SHOWN_REJECTS: Final = 100
_CHECKED_AT_ONCE: Final = 1_000
_READ_BACK: Final = 1_000
_MAX_ROWS: Final = 1_000
_QUERY_TIMEOUT_S: Final = 10.0
_RESTORABLE: Final = 20_000
_EXPORTED_AT_ONCE: Final = 1_000

OpenStore = Callable[[], Awaitable[GraphStore]]


class GraphReads:
    """What the reading side may do. Holds read views only."""

    def __init__(self, open_store: OpenStore, profile: str) -> None:
        self._open_store = open_store
        self._profile = profile

    async def search(self, text: str, *, limit: int) -> Sequence[EntityHit]:
        """Entities by name, best first."""
        return await (await self._reader()).search_entities(text, limit)

    async def resolve(self, name: str) -> Term:
        """The one node that a name or an IRI means.

        Raises:
            NotFound: None is called so, or several are; those that are alike are named.
        """
        found = await self._called(name)
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(to_ntriples(term) for term in found[:5])
            raise NotFound(f"{len(found)} entities are called {name[:80]!r}", hint=f"Give one of {listed}.")
        alike = [hit.entity.name for hit in await self.search(name, limit=3)]
        hint = f"Similar: {', '.join(alike)}." if alike else "graph_search_entities finds entities by name."
        raise NotFound(f"no entity is called {name[:80]!r}", hint=hint)

    async def walk(
        self, names: Sequence[str], limits: WalkLimits, *, direction: Direction, predicates: Sequence[Term]
    ) -> tuple[Walk, tuple[Evidence, ...]]:
        """Every statement within some hops of the named entities."""
        starts = [await self.resolve(name) for name in names]
        found = await traverse(await self._reader(), starts, limits, direction=direction, predicates=predicates)
        return found, await self._evidence(found.triples, found.hops)

    async def path(
        self, start: str, goal: str, limits: WalkLimits, *, direction: Direction, predicates: Sequence[Term]
    ) -> tuple[Walk, tuple[Evidence, ...]]:
        """A shortest path between two named entities."""
        ends = await self.resolve(start), await self.resolve(goal)
        found = await shortest_path(await self._reader(), *ends, limits, direction=direction, predicates=predicates)
        return found, await self._evidence(found.triples)

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
        judge(parsed, await self._known_graphs() if parsed.datasets else frozenset())
        result = await reader.query(text, limit_rows=_MAX_ROWS, timeout_s=_QUERY_TIMEOUT_S)
        return result, self._table(text, result)

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

    async def named(self, name: str) -> Candidates:
        """The entities that a name means, with what is said of them."""
        found = await self._called(name)
        labels = [f"{to_ntriples(term)}  {await self._extent(term)}" for term in found]
        return Candidates(tuple(to_ntriples(term) for term in found), tuple(labels))

    async def asserted(self, *, receipt_ids: Sequence[str] = (), source: str = "") -> Candidates:
        """The writes of these receipts, or of a source."""
        units = await (await self._reader()).units(receipt_ids=receipt_ids, source=source)
        labels = [f"{unit.receipt_id}  {unit.source.uri}  {unit.asserted_at.date()}" for unit in units]
        return Candidates(tuple(unit.receipt_id for unit in units), tuple(labels))

    async def statements(self, subject: str, predicate: Term | None, object_: str) -> Candidates:
        """The statements whose subject, predicate and object are called so; empty names agree with everything."""
        reader = await self._reader()
        subjects: Sequence[Term | None] = await self._called(subject) if subject else (None,)
        objects: Sequence[Term | None] = (None,) if subject else await self._called(object_)
        found: dict[Triple, None] = {}
        for start in subjects:
            for end in objects:
                where = TriplePattern(subject=start, predicate=predicate, object=end)
                page = await reader.statements(where, limit=MAX_CANDIDATES)
                found.update(dict.fromkeys(page.triples))
        chosen = [triple for triple in found if not object_ or await self._is_called(triple.object, object_)]
        return Candidates(tuple(map(line_of, chosen)), tuple([await self._text(triple) for triple in chosen]))

    async def holding(self, ids: Sequence[str]) -> Candidates:
        """Those of these ids (receipts, entities, statements) that are in the graph."""
        reader = await self._reader()
        units = {unit.receipt_id for unit in await reader.units(receipt_ids=_receipts(ids))} if _receipts(ids) else ()
        there = [one for one in ids if one in units or await self._holds(read_line(one))]
        return Candidates(tuple(there), tuple(there))

    async def present(self, receipt_id: str) -> int:
        """How many statements a receipt asserts that are in the graph; counted up to 1,000."""
        reader = await self._reader()
        page = await reader.statements(TriplePattern(receipt_id=receipt_id), limit=_READ_BACK)
        return sum(bool(asserted) for asserted in await reader.asserted_by(page.triples))

    async def _holds(self, terms: tuple[Term, ...]) -> bool:
        reader = await self._reader()
        if len(terms) == 3:
            return bool((await reader.asserted_by([Triple(*terms)]))[0])
        return len(terms) == 1 and bool((await reader.edges(terms, direction="both", limit=1)).triples)

    async def _called(self, name: str) -> Sequence[Term]:
        node = make_node(name)
        if await self._holds((node,)):
            return (node,)
        hits = await self.search(name, limit=20)
        return [hit.entity.term for hit in hits if hit.match in ("exact", "alias")]

    async def _is_called(self, term: Term, name: str) -> bool:
        if term.is_literal:
            return fold(term.value) == fold(name)
        return term in await self._called(name)

    async def _extent(self, term: Term) -> str:
        edges = await (await self._reader()).edges([term], direction="both", limit=100)
        more = " or more" if edges.cut else ""
        return f"{name_of(term)}  ({len(edges.triples)}{more} statements)"

    async def _text(self, triple: Triple) -> str:
        names = await self._names([triple])
        return _sentence(triple, names)

    async def _evidence(self, triples: Sequence[Triple], hops: Sequence[int] = ()) -> tuple[Evidence, ...]:
        reader = await self._reader()
        names = await self._names(triples)
        asserted = await reader.asserted_by(triples)
        rows = zip(triples, asserted, hops or [0] * len(triples), strict=True)
        # A statement that went while the walk went on is no evidence.
        return tuple(self._statement(triple, by, hop, names) for triple, by, hop in rows if by)

    def _statement(self, triple: Triple, by: tuple[AssertedBy, ...], hop: int, names: Mapping[Term, str]) -> Evidence:
        locator = TripleLocator(
            subject=to_ntriples(triple.subject),
            predicate=to_ntriples(triple.predicate),
            object=to_ntriples(triple.object),
            names=tuple(names.get(term, term.value) for term in triple),
        )
        receipts = tuple(one.unit.receipt_id for one in by)
        note = _note(by, hop)
        return Evidence.of(
            DataSurface.GRAPH, by[0].unit.source, locator, _sentence(triple, names), receipt_ids=receipts, note=note
        )

    async def _names(self, triples: Sequence[Triple]) -> Mapping[Term, str]:
        terms = {term for triple in triples for term in (triple.subject, triple.predicate, triple.object)}
        nodes = [term for term in terms if not term.is_literal]
        entities = await (await self._reader()).entities(nodes)
        return {entity.term: entity.name for entity in entities}

    def _table(self, text: str, result: QueryResult) -> Evidence:
        content = render(result)
        hashed = content_hash(content)
        uri = f"graph:{self._profile}"
        source = SourceRef(
            source_id=derived_id("src", uri, hashed),
            kind="records",
            uri=uri,
            checksum=hashed,
            media_type="application/sparql-results",
            profile=self._profile,
            origin="derived",
        )
        locator = TableLocator(tables=("graph",), columns=result.columns, statement=text, result_hash=hashed)
        return Evidence.of(DataSurface.GRAPH, source, locator, content, note="cut" if result.cut else "")

    async def _known_graphs(self) -> frozenset[str]:
        units = await (await self._reader()).units()
        return frozenset(graph_of(unit.receipt_id) for unit in units)

    async def _reader(self) -> GraphReader:
        return (await self._open_store()).read_view()


@dataclass
class _Reading:
    """Assertions of a file as they go by, and what was left out of it."""

    rejected: list[RejectedRow] = field(default_factory=list)
    rejected_total: int = 0

    def keep(self, rows: Iterable[Assertion | RejectedRow]) -> Iterator[Assertion]:
        for row in rows:
            if isinstance(row, Assertion):
                yield row
                continue
            self.rejected_total += 1
            if len(self.rejected) < _SHOWN_REJECTS:
                self.rejected.append(row)


class GraphWrites:
    """What the writing side may do.

    Attributes:
        folder: Where a large file is copied to while it is imported.
    """

    def __init__(self, open_store: OpenStore, sources: SourceLog, max_bytes: int, folder: Path) -> None:
        self._open_store = open_store
        self._sources = sources
        self.max_bytes = max_bytes
        self.folder = folder

    async def upsert(
        self, assertions: Sequence[Assertion], source: SourceRef, text: str, unit: WriteUnit
    ) -> SurfaceWriteResult:
        """Assert statements that a text makes."""
        if not assertions:
            raise InputInvalid("there is no triple to write")
        store = await self._open_store()
        held = await self._held_by(store, source, lambda: assertions, unit)
        if held:
            return _result("none", 0, held, revert="exact")
        count = await store.upsert(_graph_unit(source, unit), assertions)
        await self._keep_source(source, text, unit)
        return _result("added", count, (unit.receipt_id,), revert="exact")

    async def import_file(self, file: BinaryIO, source: SourceRef, unit: WriteUnit) -> SurfaceWriteResult:
        """Assert what a file says, in the place of what it said before.

        Raises:
            SourceUnreadable: No reader takes this type, or the bytes are not what it says.
            InputInvalid: It holds no statement.
        """
        store = await self._open_store()
        reading = _Reading()
        held = await self._held_by(store, source, lambda: _Reading().keep(_rows(store, file, source)), unit)
        if held:
            return _result("none", 0, held, revert="exact")
        earlier = [one.receipt_id for one in await store.units(source=source.uri) if one.receipt_id != unit.receipt_id]
        assertions = reading.keep(_rows(store, file, source))
        count = await store.upsert(_graph_unit(source, unit), _some(assertions, source), replaces=earlier)
        await self._keep_source(source, "", unit)
        detected = Detected(
            media_type=source.media_type, rejected=tuple(reading.rejected), rejected_total=reading.rejected_total
        )
        return _result(
            "replaced" if earlier else "added",
            count,
            (unit.receipt_id,),
            detected=detected,
            closed_ids=tuple(earlier),
            status="partial" if reading.rejected_total else "stored",
            revert="restores_previous" if earlier else "exact",
        )

    async def assertions_of(self, ids: Sequence[str]) -> list[list[str]] | None:
        """What a deletion of these ids takes, as statement, receipt, span and confidence; None above the bound."""
        store = await self._open_store()
        receipts = _receipts(ids)
        patterns = [TriplePattern(receipt_id=one) for one in receipts] if receipts else patterns_of(ids)
        kept: list[list[str]] = []
        for where in patterns:
            page = await store.statements(where, limit=_RESTORABLE + 1)
            for triple, asserted in zip(page.triples, await store.asserted_by(page.triples), strict=True):
                going = [one for one in asserted if not receipts or one.unit.receipt_id == where.receipt_id]
                kept += [_kept(triple, one) for one in going]
            if len(kept) > _RESTORABLE:
                return None
        return kept

    async def delete(self, ids: Sequence[str], unit: WriteUnit, *, restorable: bool) -> SurfaceWriteResult:
        """Remove statements, everything about entities, or what receipts alone assert."""
        store = await self._open_store()
        receipts = _receipts(ids)
        if receipts:
            count = await store.drop_receipts(receipts, unit.receipt_id)
        else:
            count = await store.remove(patterns_of(ids), unit.receipt_id)
        await self._end_documents(store, unit)
        changed = bool(receipts) or bool(count)
        return SurfaceWriteResult(
            surface=DataSurface.GRAPH,
            operation="deleted" if changed else "none",
            status="stored" if changed else "unchanged",
            items_written=count,
            ids=tuple(ids),
            revert="exact" if restorable else "none",
        )

    async def sync(self) -> None:
        """Make the writes so far survive a power loss."""
        await (await self._open_store()).sync()

    async def _held_by(
        self, store: GraphStore, source: SourceRef, read: Callable[[], Iterable[Assertion]], unit: WriteUnit
    ) -> tuple[str, ...]:
        """Receipts of this very source when they still assert all of it; none for a redo of this unit."""
        units = [one for one in await store.units(source=source.source_id) if one.source.source_id == source.source_id]
        receipts = {one.receipt_id for one in units}
        if not receipts or unit.receipt_id in receipts:
            return ()
        waiting = iter(read())
        while some := await anyio.to_thread.run_sync(lambda: list(islice(waiting, _CHECKED_AT_ONCE))):
            for by in await store.asserted_by([assertion.triple for assertion in some]):
                if not receipts & {one.unit.receipt_id for one in by}:
                    return ()
        return tuple(sorted(receipts))

    async def _keep_source(self, source: SourceRef, text: str, unit: WriteUnit) -> None:
        await self._sources.put(
            DataSurface.GRAPH, document_of(source), source, text, unit.receipt_id, title=source.uri, metadata={}
        )

    async def _end_documents(self, store: GraphStore, unit: WriteUnit) -> None:
        left = {document_of(one.source) for one in await store.units()}
        active = await self._sources.active(DataSurface.GRAPH)
        gone = [one.document_id for one in active if one.document_id not in left]
        if gone:
            await self._sources.end(DataSurface.GRAPH, gone, unit.receipt_id)


def document_of(source: SourceRef) -> str:
    """Stable over the versions of one source."""
    return derived_id("graph", source.uri)


def graph_of(receipt_id: str) -> str:
    """The named graph that holds what a receipt asserts."""
    return f"urn:datamind:r:{receipt_id}"


def patterns_of(ids: Sequence[str]) -> list[TriplePattern]:
    """What ids of statements and of entities name."""
    patterns = []
    for one in ids:
        terms = read_line(one)
        if len(terms) == 3:
            patterns.append(TriplePattern(subject=terms[0], predicate=terms[1], object=terms[2]))
        elif len(terms) == 1:
            patterns += [TriplePattern(subject=terms[0]), TriplePattern(object=terms[0])]
        else:
            raise InputInvalid(f"{one[:80]!r} is no statement, entity or receipt of the graph")
    return patterns


def _kept(triple: Triple, by: AssertedBy) -> list[str]:
    span = "" if by.start is None else f"{by.start}-{by.end}"
    return [line_of(triple), by.unit.receipt_id, by.unit.source.model_dump_json(), span, str(by.confidence)]


def _receipts(ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in ids if one.startswith("rcpt_"))


def _rows(store: GraphStore, file: BinaryIO, source: SourceRef) -> Iterator[Assertion | RejectedRow]:
    file.seek(0)
    if source.media_type in ROW_MEDIA_TYPES:
        yield from read_rows(file.read(), source.media_type)
        return
    if not isinstance(store, SupportsGraphFiles) or source.media_type not in store.media_types:
        raise SourceUnreadable(
            f"the graph store reads no {source.media_type}",
            code="source_unreadable.no_loader",
            hint="Tables with the columns subject, predicate and object are always read.",
        )
    for number, triple in enumerate(store.parse(file, source.media_type, source_id=source.source_id), 1):
        yield RejectedRow(line=number, code="not_a_triple") if triple is None else Assertion(triple)


def _some(assertions: Iterator[Assertion], source: SourceRef) -> Iterator[Assertion]:
    first = next(assertions, None)
    if first is None:
        raise InputInvalid(f"{source.uri[:80]!r} holds no statement")
    yield first
    yield from assertions


def _graph_unit(source: SourceRef, unit: WriteUnit) -> GraphUnit:
    return GraphUnit(receipt_id=unit.receipt_id, source=source, asserted_at=now())


def _result(
    operation: str,
    count: int,
    ids: tuple[str, ...],
    *,
    revert: RevertKind,
    detected: Detected | None = None,
    closed_ids: tuple[str, ...] = (),
    status: WriteStatus = "stored",
) -> SurfaceWriteResult:
    return SurfaceWriteResult(
        surface=DataSurface.GRAPH,
        operation=operation,
        status=status if count else "unchanged",
        items_written=count,
        ids=ids[:MAX_CANDIDATES],
        closed_ids=closed_ids[:MAX_CANDIDATES],
        detected=detected or Detected(),
        revert=revert,
    )


def _sentence(triple: Triple, names: Mapping[Term, str]) -> str:
    parts = (triple.subject, triple.predicate, triple.object)
    return " ".join(names.get(term, term.value) for term in parts)


def _note(by: tuple[AssertedBy, ...], hop: int) -> str:
    parts = [f"hop {hop}"] if hop else []
    if len(by) > 1:
        parts.append(f"{len(by)} receipts")
    least = max(one.confidence for one in by)
    if least < 1:
        parts.append(f"confidence {least:g}")
    spans = [f"{one.start}-{one.end}" for one in by if one.start is not None]
    if spans:
        parts.append(f"characters {', '.join(spans[:3])}")
    return "; ".join(parts)
