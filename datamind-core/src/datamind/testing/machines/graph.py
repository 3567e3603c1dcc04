"""A graph store against a model made of dicts, in any order of writes and readings. Needs hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from datamind.capabilities.graph.terms import make_literal
from datamind.core.protocols.graph import Assertion, Term, Triple, TriplePattern
from datamind.testing.graph_data import all_statements, make_triple, make_unit
from datamind.testing.machines.base import ProviderMachine

_NAMES = st.sampled_from(["Ada", "Acme", "张三"])
_PREDICATES = st.sampled_from(["knows", "works_at"])
_LITERALS = st.sampled_from([make_literal("Ada"), make_literal(1), make_literal("1"), make_literal("x", language="en")])
_SPANS = st.sampled_from([(None, None, 1.0), (0, 3, 1.0), (2, 9, 0.5), (None, None, 0.25)])
_RECEIPTS = st.integers(1, 9)

Span = tuple[int | None, int | None, float]


@st.composite
def triples(draw: st.DrawFn) -> Triple:
    """Statements so few and alike that they meet."""
    object_: str | Term = draw(st.one_of(_NAMES, _LITERALS))
    return make_triple(draw(_NAMES), draw(_PREDICATES), object_)


@st.composite
def patterns(draw: st.DrawFn) -> TriplePattern:
    """Patterns that some of those statements agree with; never all of them."""
    made = draw(triples())
    return draw(
        st.sampled_from(
            [
                TriplePattern(subject=made.subject),
                TriplePattern(object=made.object),
                TriplePattern(subject=made.subject, predicate=made.predicate),
                TriplePattern(subject=made.subject, predicate=made.predicate, object=made.object),
            ]
        )
    )


class GraphMachine(ProviderMachine):
    """A store that is a GraphStore."""

    def __init__(self) -> None:
        super().__init__()
        self.asserted: dict[str, dict[Triple, Span]] = {}
        self.done: dict[str, int] = {}

    @property
    def statements(self) -> set[Triple]:
        """What stands in the graph."""
        return {triple for made in self.asserted.values() for triple in made}

    @rule(
        number=_RECEIPTS,
        made=st.dictionaries(triples(), _SPANS, min_size=1, max_size=4),
        replaces=st.lists(_RECEIPTS, max_size=2, unique=True),
    )
    def upsert(self, number: int, made: dict[Triple, Span], replaces: list[int]) -> None:
        """A receipt that was used before gives what it gave then."""
        unit = make_unit(f"w{number}", at=number)
        others = [_receipt(one) for one in replaces if one != number]
        assertions = [Assertion(triple, *span) for triple, span in made.items()]
        count = self.run(self.provider.upsert(unit, assertions, replaces=others))
        if unit.receipt_id not in self.done:
            self.done[unit.receipt_id] = len(made)
            for other in others:
                self.asserted.pop(other, None)
            self.asserted[unit.receipt_id] = made
        assert count == self.done[unit.receipt_id]

    @rule(numbers=st.lists(_RECEIPTS, min_size=1, max_size=3, unique=True), by=_RECEIPTS)
    def drop(self, numbers: list[int], by: int) -> None:
        """Only what nobody else asserts goes."""
        before = self.statements
        count = self.run(self.provider.drop_receipts([_receipt(one) for one in numbers], f"rcpt_drop{by}.test"))
        if f"rcpt_drop{by}.test" not in self.done:
            for one in numbers:
                self.asserted.pop(_receipt(one), None)
            self.done[f"rcpt_drop{by}.test"] = len(before) - len(self.statements)
        assert count == self.done[f"rcpt_drop{by}.test"]

    @rule(chosen=st.lists(patterns(), min_size=1, max_size=2), by=_RECEIPTS)
    def remove(self, chosen: list[TriplePattern], by: int) -> None:
        """From every receipt; those that assert nothing more are gone."""
        count = self.run(self.provider.remove(chosen, f"rcpt_remove{by}.test"))
        if f"rcpt_remove{by}.test" not in self.done:
            gone = {triple for triple in self.statements if any(_agrees(triple, where) for where in chosen)}
            left = {key: {t: s for t, s in made.items() if t not in gone} for key, made in self.asserted.items()}
            self.asserted = {key: made for key, made in left.items() if made}
            self.done[f"rcpt_remove{by}.test"] = len(gone)
        assert count == self.done[f"rcpt_remove{by}.test"]

    @rule(where=patterns())
    def read(self, where: TriplePattern) -> None:
        """A pattern names what agrees with it."""
        wanted = sorted(triple for triple in self.statements if _agrees(triple, where))
        assert self.run(all_statements(self.provider.read_view(), where)) == wanted

    @rule(name=_NAMES)
    def find(self, name: str) -> None:
        """An entity is found exactly while a statement is about it."""
        hits = self.run(self.provider.search_entities(name, 10))
        nodes = {end for triple in self.statements for end in (triple.subject, triple.object)}
        term = make_triple(name, "knows", name).subject
        assert ([hit.entity.term for hit in hits if hit.match == "exact"] == [term]) is (term in nodes)

    @rule(name=_NAMES, limit=st.integers(1, 4))
    def look_around(self, name: str, limit: int) -> None:
        """At most the limit in each direction, and cut is said."""
        node = make_triple(name, "knows", name).subject
        edges = self.run(self.provider.edges([node], direction="both", limit=limit))
        out = {triple for triple in self.statements if triple.subject == node}
        into = {triple for triple in self.statements if triple.object == node}
        assert set(edges.triples) <= out | into
        for some in (out, into):
            assert len(some & set(edges.triples)) >= min(limit, len(some))
        assert (edges.cut == (node,)) is (len(out) > limit or len(into) > limit)

    @invariant()
    def it_is_what_the_model_says(self) -> None:
        """Statements once, receipts and spans of each, counts."""
        statements = sorted(self.statements)
        assert self.run(all_statements(self.provider)) == statements
        asserted = self.run(self.provider.asserted_by(statements))
        for triple, by in zip(statements, asserted, strict=True):
            found: dict[str, Any] = {one.unit.receipt_id: (one.start, one.end, one.confidence) for one in by}
            assert found == {key: made[triple] for key, made in self.asserted.items() if triple in made}
            assert list(found) == sorted(found)
        assert [unit.receipt_id for unit in self.run(self.provider.units())] == sorted(self.asserted)
        stats = self.run(self.provider.stats())
        assert (stats.statements, stats.receipts) == (len(statements), len(self.asserted))


def _receipt(number: int) -> str:
    return f"rcpt_w{number}.test"


def _agrees(triple: Triple, where: TriplePattern) -> bool:
    pairs = ((where.subject, triple.subject), (where.predicate, triple.predicate), (where.object, triple.object))
    return all(wanted is None or wanted == term for wanted, term in pairs)
