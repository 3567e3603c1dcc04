"""Writing the graph: each function is given the open files and runs in a thread, one write at a time.

A write of at most ``ONE_COMMIT`` assertions is one SPARQL update, and an update is one transaction of the engine. A
larger one goes through the engine's bulk loader in slices; what says that the write is whole comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import pyoxigraph as ox

from datamind.capabilities.graph.terms import RESERVED
from datamind.core.errors import InputInvalid
from datamind.core.protocols.graph import ONE_COMMIT, Assertion, GraphUnit, TriplePattern
from datamind_graph_rdflib.engine import Open
from datamind_graph_rdflib.reading import detail_node, matching, names_in
from datamind_graph_rdflib.vocabulary import (
    DEFAULT,
    DONE,
    META,
    UNIT,
    as_text,
    graph_node,
    parts,
    receipt_of,
    triple_of,
    value_of,
)

SLICE: Final = 20_000
_CONVERTED: Final = 2_000
# Of a dropped receipt: what it asserts and no receipt that stays does.
_ALONE: Final = (
    "{{ SELECT DISTINCT ?s ?p ?o WHERE {{ VALUES ?g {{ {graphs} }} GRAPH ?g {{ ?s ?p ?o }} }} }}"
    " FILTER NOT EXISTS {{ GRAPH ?h {{ ?s ?p ?o }} FILTER(?h NOT IN ({listed})) }}"
)


def done_count(opened: Open, receipt_id: str) -> int | None:
    """How many statements a receipt wrote or removed; None when it has done nothing yet."""
    for quad in opened.graph.quads_for_pattern(graph_node(receipt_id), DONE, None, META):
        return int(value_of(quad))
    return None


def upsert(opened: Open, unit: GraphUnit, assertions: Iterable[Assertion], replaces: Sequence[str]) -> int:
    """Assert statements under a receipt."""
    known = done_count(opened, unit.receipt_id)
    if known is not None:
        # The names are a file of their own, of which a power loss may have left less than of the graph.
        opened.labels.add(names_in(assertion.triple for assertion in assertions))
        return known
    writer = Writer(opened, unit)
    waiting = iter(assertions)
    try:
        while some := list(islice(waiting, _CONVERTED)):
            writer.add(some)
        writer.finish(replaces)
    except BaseException:
        writer.undo()
        raise
    # Without this mark a redo asserts the same again, which changes nothing.
    return _mark_done(opened, unit.receipt_id, _count(opened, f"GRAPH {graph_node(unit.receipt_id)} {{ ?s ?p ?o }}"))


class Writer:
    """Gathers a write as lines of text: so many objects alive would make each garbage collection hold everyone."""

    def __init__(self, opened: Open, unit: GraphUnit) -> None:
        self._opened = opened
        self._unit = unit
        self._graph = graph_node(unit.receipt_id)
        self._lines: list[str] = []
        self._details: list[str] = []
        self._is_loading = False

    def add(self, assertions: Sequence[Assertion]) -> None:
        """Gather some more, and load what is too much for one commit."""
        quads = _quads(self._unit, assertions)
        self._opened.labels.add(names_in(assertion.triple for assertion in assertions))
        self._lines += [f"{quad.subject} {quad.predicate} {quad.object}" for quad in quads]
        self._details += [as_text([quad]) for quad in _details(self._unit, assertions)]
        if len(self._lines) > (SLICE if self._is_loading else ONE_COMMIT):
            self.load()

    def load(self) -> None:
        """Write what was gathered, outside any transaction."""
        self._is_loading = True
        quads = "".join(f"{line} .\n{line} {self._graph} .\n" for line in self._lines)
        self._opened.graph.bulk_load(quads.encode(), ox.RdfFormat.N_QUADS)
        if self._details:
            self._opened.graph.update(_insert(self._details))
        self._lines.clear()
        self._details.clear()

    def finish(self, replaces: Sequence[str]) -> None:
        """Write the rest, and that the receipt asserts it; in one transaction, unless some was loaded."""
        if self._is_loading:
            self.load()
        # What is replaced goes first: it is slow to find among what the same transaction has just added.
        steps = _drop(replaces)
        if self._lines:
            stated = "".join(f"{line} .\n" for line in self._lines)
            steps.append(_insert([stated, f"GRAPH {self._graph} {{ {stated} }}", *self._details]))
        told = ox.Quad(self._graph, UNIT, ox.Literal(self._unit.model_dump_json()), META)
        steps.append(_insert([as_text([told])]))
        self._opened.graph.update(" ;\n".join(steps))

    def undo(self) -> None:
        """Take out again what was loaded."""
        if self._is_loading:
            self._opened.graph.update(" ;\n".join(_drop([self._unit.receipt_id])))


def _insert(parts: Sequence[str]) -> str:
    return "INSERT DATA {{ {} }}".format("\n".join(parts))


def _count(opened: Open, what: str) -> int:
    found = opened.graph.query(f"SELECT (COUNT(*) AS ?n) WHERE {{ {what} }}")
    assert isinstance(found, ox.QuerySolutions)  # a SELECT
    count = next(found)["n"]
    assert isinstance(count, ox.Literal)  # a number
    return int(count.value)


def _mark_done(opened: Open, receipt_id: str, count: int) -> int:
    opened.graph.update(_insert([as_text([_done(receipt_id, count)])]))
    return count


def _done(receipt_id: str, count: int) -> ox.Quad:
    return ox.Quad(graph_node(receipt_id), DONE, ox.Literal(str(count)), META)


def _quads(unit: GraphUnit, assertions: Iterable[Assertion]) -> list[ox.Quad]:
    graph = graph_node(unit.receipt_id)
    quads = []
    for assertion in assertions:
        subject, predicate, object_ = parts(assertion.triple)
        for term in (subject, predicate, object_):
            if isinstance(term, ox.NamedNode) and term.value.startswith(RESERVED):
                raise InputInvalid(f"{term.value[:80]!r} is reserved for the graph store")
        quads.append(ox.Quad(subject, predicate, object_, graph))
    return quads


def _details(unit: GraphUnit, assertions: Iterable[Assertion]) -> Iterator[ox.Quad]:
    told = [one for one in assertions if one.start is not None or one.confidence != 1.0]
    for one, quad in zip(told, _quads(unit, told), strict=True):
        span = "- -" if one.start is None else f"{one.start} {one.end}"
        node = detail_node(unit.receipt_id, _as_stored(quad))
        yield ox.Quad(node, graph_node(unit.receipt_id), ox.Literal(f"{span} {one.confidence!r}"), META)


def _as_stored(quad: ox.Quad) -> Any:
    # The engine keeps numbers and dates by value, so that they may come back in another form.
    memory = ox.Store()
    memory.add(quad)
    return next(iter(memory.quads_for_pattern(None, None, None, None)))


def drop(opened: Open, receipt_ids: Sequence[str], by_receipt: str) -> int:
    """Drop what receipts assert, and the statements that go with it."""
    known = done_count(opened, by_receipt)
    if known is not None:
        return known
    count = _count(opened, _alone(receipt_ids))
    opened.graph.update(" ;\n".join([*_drop(receipt_ids), _insert([as_text([_done(by_receipt, count)])])]))
    return count


def _alone(receipt_ids: Sequence[str]) -> str:
    graphs = [str(graph_node(one)) for one in receipt_ids]
    return _ALONE.format(graphs=" ".join(graphs), listed=", ".join(graphs))


def _drop(receipt_ids: Sequence[str]) -> list[str]:
    if not receipt_ids:
        return []
    steps = [f"DELETE {{ ?s ?p ?o }} WHERE {{ {_alone(receipt_ids)} }}"]
    for one in receipt_ids:
        graph = graph_node(one)
        steps += [
            # Deleting first takes a quarter of the time that dropping a full graph takes.
            f"DELETE WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} }}",
            f"DROP SILENT GRAPH {graph}",
            f"DELETE WHERE {{ GRAPH {META} {{ {graph} {UNIT} ?unit }} }}",
            f"DELETE WHERE {{ GRAPH {META} {{ ?detail {graph} ?value }} }}",
        ]
    return steps


def remove(opened: Open, patterns: Sequence[TriplePattern], by_receipt: str) -> int:
    """Take statements from the graph and from every receipt."""
    known = done_count(opened, by_receipt)
    if known is not None:
        return known
    gone = {triple_of(quad): quad for where in patterns for quad in matching(opened, where)}
    taken: list[ox.Quad] = []
    for quad in gone.values():
        taken += opened.graph.quads_for_pattern(quad.subject, quad.predicate, quad.object, None)
    taken = [quad for quad in taken if quad.graph_name == DEFAULT or receipt_of(quad.graph_name)]
    taken += list(_details_of(opened, taken))
    receipts = {receipt_of(quad.graph_name) for quad in taken} - {""}
    opened.graph.update(
        " ;\n".join(
            [
                f"DELETE DATA {{ {as_text(taken)} }}",
                _insert([as_text([_done(by_receipt, len(gone))])]),
                *(_end_of_empty(receipt_id) for receipt_id in sorted(receipts)),
            ]
        )
    )
    return len(gone)


def _details_of(opened: Open, taken: Sequence[ox.Quad]) -> Iterator[ox.Quad]:
    for quad in taken:
        receipt_id = receipt_of(quad.graph_name)
        if receipt_id:
            node = detail_node(receipt_id, quad)
            yield from opened.graph.quads_for_pattern(node, graph_node(receipt_id), None, META)


def _end_of_empty(receipt_id: str) -> str:
    graph = graph_node(receipt_id)
    told = f"GRAPH {META} {{ {graph} {UNIT} ?unit }}"
    return f"DELETE {{ {told} }} WHERE {{ {told} FILTER NOT EXISTS {{ GRAPH {graph} {{ ?s ?p ?o }} }} }}"
