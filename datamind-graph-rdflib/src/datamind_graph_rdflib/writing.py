"""Writing the graph: each function is given the open files and runs in a thread, one write at a time.

A write of at most ``ONE_COMMIT`` assertions is one SPARQL update, and an update is one transaction of the engine. A
larger one goes through the engine's bulk loader in slices; what says that the write is whole comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import pyoxigraph as ox

from datamind.capabilities.kb.providers.filtering import last_part
from datamind.core.protocols.graph import ONE_COMMIT, Assertion, GraphUnit, TriplePattern
from datamind_graph_rdflib.engine import Open
from datamind_graph_rdflib.lines import LineMaker
from datamind_graph_rdflib.marks import last_written
from datamind_graph_rdflib.reading import detail_node, matching
from datamind_graph_rdflib.vocabulary import (
    DEFAULT,
    DONE,
    LAST,
    META,
    SOURCE,
    UNIT,
    Blocks,
    as_text,
    graph_node,
    insert_of,
    line_of,
    nquads_of,
    parts,
    receipt_of,
    triple_of,
    value_of,
)

SLICE: Final = 20_000
_CONVERTED: Final = 2_000
_ONE_UPDATE: Final = 1_000
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
        return known
    writer = Writer(opened, unit)
    waiting = iter(assertions)
    try:
        while some := list(islice(waiting, _CONVERTED)):
            writer.add(some)
        return writer.finish(replaces)
    except BaseException:
        writer.undo()
        raise


class Writer:
    """Gathers a write as lines of text: so many objects alive would make each garbage collection hold everyone."""

    def __init__(self, opened: Open, unit: GraphUnit) -> None:
        self._opened = opened
        self._unit = unit
        self._graph = graph_node(unit.receipt_id)
        self._maker = LineMaker()
        self._lines: list[str] = []
        self._details: list[str] = []
        self._loader = _Loader(opened.graph)
        self._is_loading = False

    def add(self, assertions: Sequence[Assertion]) -> None:
        """Gather some more, and load what is too much for one commit."""
        make = self._maker.line
        self._lines += [make(assertion.triple) for assertion in assertions]
        self._details += [line_of(quad) for quad in _details(self._unit, assertions)]
        if len(self._lines) > (SLICE if self._is_loading else ONE_COMMIT):
            self.load()

    def load(self) -> None:
        """Write what was gathered, outside any transaction."""
        self._is_loading = True
        # Names first: an entity that is there is found.
        self._opened.labels.add(*self._maker.take())
        for start in range(0, len(self._lines), SLICE):
            some = self._lines[start : start + SLICE]
            self._loader.put(nquads_of({DEFAULT: some, self._graph: some}))
        if self._details:
            self._loader.wait()
            self._opened.graph.update(insert_of({META: self._details}))
        self._lines.clear()
        self._details.clear()

    def finish(self, replaces: Sequence[str]) -> int:
        """Write the rest, and that the receipt asserts it; in one transaction, unless some was loaded."""
        if self._is_loading:
            self.load()
        self._loader.close()
        receipt_id = self._unit.receipt_id
        before = last_written(self._opened.graph)
        self._opened.labels.complete(*self._maker.take(), receipt_id=receipt_id, before=before)
        told = [line_of(quad) for quad in _told(self._unit)]
        blocks: Blocks = {DEFAULT: self._lines, self._graph: self._lines, META: [*self._details, *told]}
        if len(self._lines) <= _ONE_UPDATE and self._maker.keeps_forms and not self._is_loading:
            count = len(set(self._lines))
            self._opened.graph.update(_joined([*_drop(replaces), insert_of(blocks), *_done(receipt_id, count)]))
            return count
        self._write(blocks, replaces)
        count = _count(self._opened, f"GRAPH {self._graph} {{ ?s ?p ?o }}")
        # Without this mark a redo asserts the same again, which changes nothing.
        self._opened.graph.update(_joined(_done(receipt_id, count)))
        return count

    def _write(self, blocks: Blocks, replaces: Sequence[str]) -> None:
        if replaces:
            # What is replaced goes first: it is slow to find among what the same transaction has just added.
            self._opened.graph.update(_joined([*_drop(replaces), insert_of(blocks)]))
        else:
            # One transaction too, and two thirds of the memory.
            self._opened.graph.load(nquads_of(blocks), ox.RdfFormat.N_QUADS)

    def undo(self) -> None:
        """Take out again what was loaded."""
        with suppress(Exception):  # what it failed with is why this is undone
            self._loader.close()
        if self._is_loading:
            self._opened.graph.update(_joined(_drop([self._unit.receipt_id])))


class _Loader:
    """Loads slices in a thread of its own: the next one is made ready meanwhile."""

    def __init__(self, graph: ox.Store) -> None:
        self._graph = graph
        self._pool: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    def put(self, quads: bytes) -> None:
        """Load them once those before are; raises what these met."""
        self.wait()
        self._pool = self._pool or ThreadPoolExecutor(1)
        self._last = self._pool.submit(self._graph.bulk_load, quads, ox.RdfFormat.N_QUADS)

    def close(self) -> None:
        """Wait for the last; may be called twice."""
        try:
            self.wait()
        finally:
            if self._pool is not None:
                self._pool.shutdown()

    def wait(self) -> None:
        """Until the last is there; raises what it met."""
        last, self._last = self._last, None
        if last is not None:
            last.result()


def _told(unit: GraphUnit) -> Iterator[ox.Quad]:
    graph, source = graph_node(unit.receipt_id), unit.source
    yield ox.Quad(graph, UNIT, ox.Literal(unit.model_dump_json()), META)
    for name in sorted({source.uri, source.source_id, last_part(source.uri)}):
        yield ox.Quad(graph, SOURCE, ox.Literal(name), META)


def _joined(steps: Iterable[str]) -> str:
    return " ;\n".join(steps)


def _count(opened: Open, what: str) -> int:
    found = opened.graph.query(f"SELECT (COUNT(*) AS ?n) WHERE {{ {what} }}")
    assert isinstance(found, ox.QuerySolutions)  # a SELECT
    count = next(found)["n"]
    assert isinstance(count, ox.Literal)  # a number
    return int(count.value)


def _done(receipt_id: str, count: int) -> list[str]:
    """That a receipt has done its work, and did so last."""
    marks = [
        ox.Quad(graph_node(receipt_id), DONE, ox.Literal(str(count)), META),
        ox.Quad(LAST, DONE, ox.Literal(receipt_id), META),
    ]
    last = f"GRAPH {META} {{ {LAST} {DONE} ?last }}"
    return [f"DELETE WHERE {{ {last} }}", insert_of({META: [line_of(mark) for mark in marks]})]


def _details(unit: GraphUnit, assertions: Iterable[Assertion]) -> Iterator[ox.Quad]:
    graph = graph_node(unit.receipt_id)
    for one in assertions:
        if one.start is not None or one.confidence != 1.0:
            span = "- -" if one.start is None else f"{one.start} {one.end}"
            node = detail_node(unit.receipt_id, _as_stored(ox.Quad(*parts(one.triple), graph)))
            yield ox.Quad(node, graph, ox.Literal(f"{span} {one.confidence!r}"), META)


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
    _name_nothing(opened, by_receipt)
    opened.graph.update(_joined([*_drop(receipt_ids), *_done(by_receipt, count)]))
    return count


def _name_nothing(opened: Open, by_receipt: str) -> None:
    opened.labels.complete((), (), receipt_id=by_receipt, before=last_written(opened.graph))


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
            f"DELETE WHERE {{ GRAPH {META} {{ {graph} {SOURCE} ?name }} }}",
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
    _name_nothing(opened, by_receipt)
    opened.graph.update(
        _joined(
            [
                f"DELETE DATA {{ {as_text(taken)} }}",
                *_done(by_receipt, len(gone)),
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
    told = f"GRAPH {META} {{ {graph} ?told ?value }}"
    asked = f"VALUES ?told {{ {UNIT} {SOURCE} }} {told}"
    return f"DELETE {{ {told} }} WHERE {{ {asked} FILTER NOT EXISTS {{ GRAPH {graph} {{ ?s ?p ?o }} }} }}"
