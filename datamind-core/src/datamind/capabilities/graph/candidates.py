"""What a deletion may mean: found by code, shown to the person, pinned by id."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from datamind.capabilities.graph.evidence import names_of, sentence
from datamind.capabilities.graph.resolving import Resolver
from datamind.capabilities.graph.terms import line_of, name_of, read_line, to_ntriples
from datamind.core.hooks import Candidates
from datamind.core.protocols.graph import GraphReader, Term, Triple, TriplePattern

MAX_CANDIDATES: Final = 1_000
_READ_BACK: Final = 1_000
_COUNTED: Final = 100


class GraphCandidates:
    """Finds the receipts, entities and statements that a deletion names."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._resolver = Resolver(reader)

    async def named(self, name: str) -> Candidates:
        """The entities that a name means, with what is said of them."""
        found = await self._resolver.nodes(name)
        labels = [f"{to_ntriples(term)}  {await self._extent(term)}" for term in found]
        return Candidates(tuple(to_ntriples(term) for term in found), tuple(labels))

    async def asserted(self, *, receipt_ids: Sequence[str] = (), source: str = "") -> Candidates:
        """The writes of these receipts, or of a source."""
        units = await self._reader.units(receipt_ids=receipt_ids, source=source)
        labels = [f"{unit.receipt_id}  {unit.source.uri}  {unit.asserted_at.date()}" for unit in units]
        return Candidates(tuple(unit.receipt_id for unit in units), tuple(labels))

    async def statements(self, subject: str, predicate: str, object_: str) -> Candidates:
        """The statements whose subject, predicate and object are called so; empty names agree with everything."""
        resolver = self._resolver
        subjects: Sequence[Term | None] = await resolver.nodes(subject) if subject else (None,)
        objects: Sequence[Term | None] = (None,) if subject else await resolver.nodes(object_)
        relations: Sequence[Term | None] = await resolver.predicates_called(predicate) if predicate else (None,)
        found: dict[Triple, None] = {}
        for start, relation, end in product(subjects, relations, objects):
            where = TriplePattern(subject=start, predicate=relation, object=end)
            page = await self._reader.statements(where, limit=MAX_CANDIDATES)
            found.update(dict.fromkeys(page.triples))
        chosen = [triple for triple in found if not object_ or await resolver.is_called(triple.object, object_)]
        labels = [sentence(triple, await names_of(self._reader, [triple])) for triple in chosen]
        return Candidates(tuple(map(line_of, chosen)), tuple(labels))

    async def holding(self, ids: Sequence[str]) -> Candidates:
        """Those of these ids (receipts, entities, statements) that are in the graph."""
        receipts = receipts_in(ids)
        units = {unit.receipt_id for unit in await self._reader.units(receipt_ids=receipts)} if receipts else ()
        there = [one for one in ids if one in units or await self._resolver.holds(read_line(one))]
        return Candidates(tuple(there), tuple(there))

    async def present(self, receipt_id: str) -> int:
        """How many statements a receipt asserts that are in the graph; counted up to 1,000."""
        page = await self._reader.statements(TriplePattern(receipt_id=receipt_id), limit=_READ_BACK)
        return sum(bool(asserted) for asserted in await self._reader.asserted_by(page.triples))

    async def _extent(self, term: Term) -> str:
        edges = await self._reader.edges([term], direction="both", limit=_COUNTED)
        more = " or more" if edges.cut else ""
        return f"{name_of(term)}  ({len(edges.triples)}{more} statements)"


def receipts_in(ids: Sequence[str]) -> tuple[str, ...]:
    """Those of the ids that are receipts."""
    return tuple(one for one in ids if one.startswith("rcpt_"))
