"""Writing the graph: each function is given the open files and runs in a thread, one write at a time.

A write of at most ``ONE_COMMIT`` assertions is one SPARQL update, and an update is one transaction of the engine. A
larger one goes through the engine's bulk loader in slices; what says that the write is whole comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
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
_COUNT: Final = (
    "INSERT {{ GRAPH {meta} {{ {receipt} {done} ?n }} }} WHERE {{ SELECT (COUNT(*) AS ?n) WHERE {{ {what} }} }}"
)
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
    waiting = iter(assertions)
    first = list(islice(waiting, ONE_COMMIT + 1))
    body = "" if len(first) > ONE_COMMIT else _body(opened, unit, first)
    if not body:
        _load(opened, unit, chain(first, waiting))
    opened.graph.update(" ;\n".join([*([body] if body else []), *_finish(unit), *_drop(replaces)]))
    return done_count(opened, unit.receipt_id) or 0


def _body(opened: Open, unit: GraphUnit, assertions: Sequence[Assertion]) -> str:
    quads = _quads(unit, assertions)
    opened.labels.add(names_in(assertion.triple for assertion in assertions))
    graph = graph_node(unit.receipt_id)
    stated = "\n".join(f"{quad.subject} {quad.predicate} {quad.object} ." for quad in quads)
    details = as_text(_details(unit, assertions))
    return f"INSERT DATA {{ {stated}\nGRAPH {graph} {{ {stated} }}\n{details} }}"


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


def _load(opened: Open, unit: GraphUnit, assertions: Iterator[Assertion]) -> None:
    graph = graph_node(unit.receipt_id)
    try:
        while some := list(islice(assertions, SLICE)):
            quads = _quads(unit, some)
            opened.labels.add(names_in(assertion.triple for assertion in some))
            triples = ox.serialize((quad.triple for quad in quads), format=ox.RdfFormat.N_TRIPLES)
            assert triples is not None  # no file was named
            opened.graph.bulk_load(triples, ox.RdfFormat.N_TRIPLES, to_graph=graph)
            opened.graph.bulk_load(triples, ox.RdfFormat.N_TRIPLES)
            details = as_text(_details(unit, some))
            if details:
                opened.graph.update(f"INSERT DATA {{ {details} }}")
    except BaseException:
        opened.graph.update(" ;\n".join(_drop([unit.receipt_id])))
        raise


def _finish(unit: GraphUnit) -> list[str]:
    receipt = graph_node(unit.receipt_id)
    told = ox.Quad(receipt, UNIT, ox.Literal(unit.model_dump_json()), META)
    what = f"GRAPH {receipt} {{ ?s ?p ?o }}"
    return [
        f"INSERT DATA {{ {as_text([told])} }}",
        _COUNT.format(meta=META, receipt=receipt, done=DONE, what=what),
    ]


def drop(opened: Open, receipt_ids: Sequence[str], by_receipt: str) -> int:
    """Drop what receipts assert, and the statements that go with it."""
    known = done_count(opened, by_receipt)
    if known is not None:
        return known
    count = _COUNT.format(meta=META, receipt=graph_node(by_receipt), done=DONE, what=_alone(receipt_ids))
    opened.graph.update(" ;\n".join([count, *_drop(receipt_ids)]))
    return done_count(opened, by_receipt) or 0


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
    done = ox.Quad(graph_node(by_receipt), DONE, ox.Literal(str(len(gone))), META)
    receipts = {receipt_of(quad.graph_name) for quad in taken} - {""}
    opened.graph.update(
        " ;\n".join(
            [
                f"DELETE DATA {{ {as_text(taken)} }}",
                f"INSERT DATA {{ {as_text([done])} }}",
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
