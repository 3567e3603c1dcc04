"""Reading the graph: each function is given the open files and runs in a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import pyoxigraph as ox

from datamind.capabilities.graph.names import Label, make_entity, rank
from datamind.capabilities.kb.providers.filtering import is_source
from datamind.core.protocols.graph import (
    ALIAS_PREDICATES,
    LABEL_PREDICATES,
    AssertedBy,
    Direction,
    Edges,
    Entity,
    EntityHit,
    GraphUnit,
    StatementPage,
    Term,
    Triple,
    TriplePattern,
)
from datamind_graph_rdflib.engine import Open
from datamind_graph_rdflib.vocabulary import (
    DEFAULT,
    DETAIL,
    META,
    SOURCE,
    UNIT,
    graph_node,
    named,
    parts,
    receipt_of,
    to_engine,
    triple_of,
    value_of,
)

NAMING = tuple(ox.NamedNode(iri) for iri in (*LABEL_PREDICATES, *ALIAS_PREDICATES))


def page_of(opened: Open, where: TriplePattern, offset: int, limit: int) -> StatementPage:
    """Statements in the engine's order, which stays while nothing is written."""
    found = [triple_of(quad) for quad in islice(matching(opened, where), offset, offset + limit + 1)]
    return StatementPage(triples=tuple(found[:limit]), more=len(found) > limit)


def matching(opened: Open, where: TriplePattern) -> Iterator[Any]:
    """Quads of the default graph, or of a receipt's."""
    graph = graph_node(where.receipt_id) if where.receipt_id else DEFAULT
    subject, predicate, object_ = (
        None if term is None else to_engine(term) for term in (where.subject, where.predicate, where.object)
    )
    if isinstance(subject, ox.Literal) or isinstance(predicate, ox.Literal):
        return iter(())
    return opened.graph.quads_for_pattern(subject, predicate, object_, graph)


def with_assertions(opened: Open) -> Iterator[Any]:
    """Quads of the default graph and of every receipt's, as of one moment."""
    for quad in opened.graph.quads_for_pattern(None, None, None, None):
        if quad.graph_name == DEFAULT or receipt_of(quad.graph_name):
            yield quad


def asserted_by(opened: Open, triples: Sequence[Triple]) -> list[tuple[AssertedBy, ...]]:
    """Oldest first; empty for what is not in the default graph."""
    units: dict[str, GraphUnit | None] = {}
    return [_asserted_by(opened, triple, units) for triple in triples]


def _asserted_by(opened: Open, triple: Triple, units: dict[str, GraphUnit | None]) -> tuple[AssertedBy, ...]:
    found = []
    is_there = False
    for quad in opened.graph.quads_for_pattern(*parts(triple), None):
        is_there = is_there or quad.graph_name == DEFAULT
        receipt_id = receipt_of(quad.graph_name)
        if not receipt_id:
            continue
        if receipt_id not in units:
            units[receipt_id] = unit_of(opened, receipt_id)
        unit = units[receipt_id]
        if unit is not None:
            start, end, confidence = _detail(opened, receipt_id, quad)
            found.append(AssertedBy(unit=unit, start=start, end=end, confidence=confidence))
    found.sort(key=lambda by: (by.unit.asserted_at, by.unit.receipt_id))
    return tuple(found) if is_there else ()


def detail_node(receipt_id: str, quad: Any) -> ox.NamedNode:
    """Where span and confidence of one assertion are kept; ``quad`` as the engine gives it back."""
    stated = f"{receipt_id}\n{quad.subject}\n{quad.predicate}\n{quad.object}"
    return ox.NamedNode(DETAIL + blake2b(stated.encode(), digest_size=16).hexdigest())


def _detail(opened: Open, receipt_id: str, quad: Any) -> tuple[int | None, int | None, float]:
    node = detail_node(receipt_id, quad)
    for quad in opened.graph.quads_for_pattern(node, graph_node(receipt_id), None, META):
        start, end, confidence = value_of(quad).split()
        return (None, None, float(confidence)) if start == "-" else (int(start), int(end), float(confidence))
    return None, None, 1.0


def unit_of(opened: Open, receipt_id: str) -> GraphUnit | None:
    """The write behind a receipt that asserts something."""
    for quad in opened.graph.quads_for_pattern(graph_node(receipt_id), UNIT, None, META):
        return GraphUnit.model_validate_json(value_of(quad))
    return None


def units(opened: Open, receipt_ids: Sequence[str], source: str) -> list[GraphUnit]:
    """Oldest first."""
    if receipt_ids:
        found = [unit for one in dict.fromkeys(receipt_ids) if (unit := unit_of(opened, one)) is not None]
    else:
        found = list(_units_of(opened, source))
    found = [unit for unit in found if not source or is_source(unit.source, source)]
    return sorted(found, key=lambda unit: (unit.asserted_at, unit.receipt_id))


def _units_of(opened: Open, source: str) -> Iterator[GraphUnit]:
    if not source:
        for quad in opened.graph.quads_for_pattern(None, UNIT, None, META):
            yield GraphUnit.model_validate_json(value_of(quad))
        return
    for named_so in opened.graph.quads_for_pattern(None, SOURCE, ox.Literal(source), META):
        for quad in opened.graph.quads_for_pattern(named_so.subject, UNIT, None, META):
            yield GraphUnit.model_validate_json(value_of(quad))


def edges(opened: Open, nodes: Sequence[Term], direction: Direction, predicates: Sequence[Term], limit: int) -> Edges:
    """Statements around nodes, each once."""
    found: dict[Triple, None] = {}
    cut: dict[Term, None] = {}
    wanted: list[Any] = [to_engine(predicate) for predicate in predicates if not predicate.is_literal]
    if not predicates:
        wanted = [None]
    for node in nodes:
        for end in ("out", "in"):
            if direction not in (end, "both"):
                continue
            around = list(islice(_around(opened, node, end, wanted), limit + 1))
            found.update((triple_of(quad), None) for quad in around[:limit])
            if len(around) > limit:
                cut[node] = None
    return Edges(triples=tuple(found), cut=tuple(cut))


def _around(opened: Open, node: Term, end: str, predicates: Sequence[Any]) -> Iterator[Any]:
    term = to_engine(node)
    for predicate in predicates:
        if end == "in":
            yield from opened.graph.quads_for_pattern(None, predicate, term, DEFAULT)
        elif isinstance(term, ox.NamedNode):
            yield from opened.graph.quads_for_pattern(term, predicate, None, DEFAULT)


def search(opened: Open, text: str, limit: int) -> list[EntityHit]:
    """Candidates of the index that are in the graph, ranked by their names."""
    found = [Term(iri) for iri in opened.labels.candidates(text)]
    there = [term for term in found if _is_there(opened, term)]
    return list(rank(text, (entity_of(opened, term) for term in there), limit))


def search_predicates(opened: Open, text: str, limit: int) -> list[EntityHit]:
    """Predicates that the index knows and a statement has, ranked by their names."""
    found = [Term(iri) for iri in opened.labels.predicates()]
    used = [term for term in found if next(matching(opened, TriplePattern(predicate=term)), None) is not None]
    return list(rank(text, (entity_of(opened, term) for term in used), limit))


def _is_there(opened: Open, term: Term) -> bool:
    node = named(term.value)
    graph = opened.graph
    return (
        next(graph.quads_for_pattern(node, None, None, DEFAULT), None) is not None
        or next(graph.quads_for_pattern(None, None, node, DEFAULT), None) is not None
    )


def entity_of(opened: Open, term: Term) -> Entity:
    """A node and what names it."""
    if term.is_literal:
        return make_entity(term, ())
    node = named(term.value)
    labels = [
        Label(predicate.value, quad.object.value)
        for predicate in NAMING
        for quad in opened.graph.quads_for_pattern(node, predicate, None, DEFAULT)
        if isinstance(quad.object, ox.Literal)
    ]
    return make_entity(term, labels)
