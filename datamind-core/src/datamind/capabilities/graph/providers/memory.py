"""The graph store in memory: what the Protocol asks for and nothing else. Gone with the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from datamind.capabilities.graph.names import Label, is_name, make_entity, rank
from datamind.capabilities.graph.terms import check_triple
from datamind.capabilities.kb.providers.filtering import is_source
from datamind.core.protocols.graph import (
    AssertedBy,
    Assertion,
    Direction,
    Edges,
    Entity,
    EntityHit,
    GraphReader,
    GraphStats,
    GraphUnit,
    StatementPage,
    Term,
    Triple,
    TriplePattern,
)

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

_MOST_PREDICATES = 100


async def open_store(ctx: ProviderContext, options: Any) -> MemoryGraphStore:
    """An empty store."""
    return MemoryGraphStore()


@dataclass(frozen=True)
class _Asserting:
    unit: GraphUnit
    assertions: Mapping[Triple, Assertion]


@dataclass(frozen=True)
class _Snapshot:
    """Everything at one moment; a write makes another one, and whoever reads keeps the one it began with.

    Attributes:
        counts: What each receipt did, those that are dropped too.
    """

    receipts: Mapping[str, _Asserting] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def statements(self) -> Mapping[Triple, None]:
        return {triple: None for one in self.receipts.values() for triple in one.assertions}

    def without(self, receipt_ids: Sequence[str]) -> tuple[_Snapshot, int]:
        left = {key: one for key, one in self.receipts.items() if key not in receipt_ids}
        after = replace(self, receipts=left)
        return after, len(self.statements) - len(after.statements)


class MemoryGraphReader:
    """The reading side: each call answers from one snapshot."""

    def __init__(self, current: Callable[[], _Snapshot]) -> None:
        self._current = current

    async def statements(self, where: TriplePattern, *, offset: int = 0, limit: int = 100) -> StatementPage:
        """In the order of their terms."""
        found = sorted(triple for triple in self._asserted(where.receipt_id) if _agrees(triple, where))
        return StatementPage(triples=tuple(found[offset : offset + limit]), more=len(found) > offset + limit)

    def _asserted(self, receipt_id: str) -> Iterable[Triple]:
        now = self._current()
        if not receipt_id:
            return now.statements
        return now.receipts[receipt_id].assertions if receipt_id in now.receipts else ()

    async def asserted_by(self, triples: Sequence[Triple]) -> Sequence[tuple[AssertedBy, ...]]:
        """Oldest first."""
        units = sorted(self._current().receipts.values(), key=lambda one: _age(one.unit))
        return [tuple(_asserted(one, triple) for one in units if triple in one.assertions) for triple in triples]

    async def edges(
        self, nodes: Sequence[Term], *, direction: Direction, predicates: Sequence[Term] = (), limit: int = 100
    ) -> Edges:
        """In the order of their terms."""
        ordered = sorted(self._current().statements)
        found: dict[Triple, None] = {}
        cut: dict[Term, None] = {}
        for node in nodes:
            for end in ("subject", "object"):
                if direction == ("in" if end == "subject" else "out"):
                    continue
                around = [triple for triple in ordered if getattr(triple, end) == node]
                around = [triple for triple in around if not predicates or triple.predicate in predicates]
                found.update(dict.fromkeys(around[:limit]))
                if len(around) > limit:
                    cut[node] = None
        return Edges(triples=tuple(found), cut=tuple(cut))

    async def search_entities(self, text: str, limit: int) -> Sequence[EntityHit]:
        """Looks at every name."""
        statements = self._current().statements
        return rank(text, _entities(_nodes(statements), statements), limit)

    async def search_predicates(self, text: str, limit: int) -> Sequence[EntityHit]:
        """Looks at every name."""
        statements = self._current().statements
        predicates = {triple.predicate: None for triple in statements}
        return rank(text, _entities(predicates, statements), limit)

    async def entities(self, terms: Sequence[Term]) -> Sequence[Entity]:
        """Looks at every statement."""
        return list(_entities(terms, self._current().statements))

    async def units(self, *, receipt_ids: Sequence[str] = (), source: str = "") -> Sequence[GraphUnit]:
        """Oldest first."""
        found = [one.unit for key, one in self._current().receipts.items() if not receipt_ids or key in receipt_ids]
        return sorted((unit for unit in found if not source or is_source(unit.source, source)), key=_age)

    async def stats(self) -> GraphStats:
        """Counted anew."""
        now = self._current()
        predicates = Counter(triple.predicate.value for triple in now.statements)
        return GraphStats(
            statements=len(now.statements),
            entities=len(_nodes(now.statements)),
            predicates=dict(sorted(predicates.items(), key=lambda item: (-item[1], item[0]))[:_MOST_PREDICATES]),
            receipts=len(now.receipts),
        )


class MemoryGraphStore(MemoryGraphReader):
    """A graph for tests and for trying things out."""

    def __init__(self) -> None:
        self._snapshot = _Snapshot()
        super().__init__(lambda: self._snapshot)

    async def upsert(self, unit: GraphUnit, assertions: Iterable[Assertion], *, replaces: Sequence[str] = ()) -> int:
        """One new snapshot."""
        if unit.receipt_id in self._snapshot.counts:
            return self._snapshot.counts[unit.receipt_id]
        made = {assertion.triple: assertion for assertion in assertions}
        for triple in made:
            check_triple(triple)
        added = {unit.receipt_id: _Asserting(unit, made)} if made else {}
        before = {**self._snapshot.receipts, **added}
        after, _ = replace(self._snapshot, receipts=before).without(replaces)
        self._snapshot = replace(after, counts={**after.counts, unit.receipt_id: len(made)})
        return len(made)

    async def drop_receipts(self, receipt_ids: Sequence[str], by_receipt: str) -> int:
        """One new snapshot."""
        if by_receipt in self._snapshot.counts:
            return self._snapshot.counts[by_receipt]
        after, count = self._snapshot.without(receipt_ids)
        self._snapshot = replace(after, counts={**after.counts, by_receipt: count})
        return count

    async def remove(self, patterns: Sequence[TriplePattern], by_receipt: str) -> int:
        """One new snapshot; a receipt that asserts nothing more is gone."""
        if by_receipt in self._snapshot.counts:
            return self._snapshot.counts[by_receipt]
        gone = {triple for where in patterns for triple in self._asserted(where.receipt_id) if _agrees(triple, where)}
        left = {key: _without(one, gone) for key, one in self._snapshot.receipts.items()}
        receipts = {key: one for key, one in left.items() if one.assertions}
        counts = {**self._snapshot.counts, by_receipt: len(gone)}
        self._snapshot = _Snapshot(receipts, counts)
        return len(gone)

    def read_view(self) -> GraphReader:
        """Sees every later write."""
        return MemoryGraphReader(lambda: self._snapshot)

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """Nothing of it is on disk."""

    async def sync(self) -> None:
        """Nothing to do."""

    async def aclose(self) -> None:
        """Nothing to do."""


def _agrees(triple: Triple, where: TriplePattern) -> bool:
    pairs = ((where.subject, triple.subject), (where.predicate, triple.predicate), (where.object, triple.object))
    return all(wanted is None or wanted == term for wanted, term in pairs)


def _asserted(one: _Asserting, triple: Triple) -> AssertedBy:
    made = one.assertions[triple]
    return AssertedBy(unit=one.unit, start=made.start, end=made.end, confidence=made.confidence)


def _without(one: _Asserting, gone: set[Triple]) -> _Asserting:
    return _Asserting(one.unit, {triple: made for triple, made in one.assertions.items() if triple not in gone})


def _age(unit: GraphUnit) -> tuple[Any, str]:
    return unit.asserted_at, unit.receipt_id


def _nodes(statements: Iterable[Triple]) -> dict[Term, None]:
    ends = (end for triple in statements for end in (triple.subject, triple.object))
    return {term: None for term in ends if not term.is_literal}


def _entities(terms: Iterable[Term], statements: Iterable[Triple]) -> Iterator[Entity]:
    labels: dict[Term, list[Label]] = {}
    for triple in statements:
        if is_name(triple.predicate.value) and triple.object.is_literal:
            labels.setdefault(triple.subject, []).append(Label(triple.predicate.value, triple.object.value))
    return (make_entity(term, labels.get(term, ())) for term in terms)
