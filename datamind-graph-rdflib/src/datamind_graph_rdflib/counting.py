"""Counts over the whole graph, made by the engine."""

from __future__ import annotations

from typing import Any, Final

import pyoxigraph as ox

from datamind.core.protocols.graph import GraphStats
from datamind_graph_rdflib.engine import Open
from datamind_graph_rdflib.vocabulary import META, UNIT

_MOST_PREDICATES: Final = 100
_PREDICATES: Final = "SELECT ?p (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?p"
_ENTITIES: Final = (
    "SELECT (COUNT(DISTINCT ?node) AS ?n) WHERE { { ?node ?p ?o } UNION { ?s ?p ?node FILTER(isIRI(?node)) } }"
)


def stats_of(opened: Open) -> GraphStats:
    """Statements, entities, predicates and receipts."""
    predicates = {row["p"].value: int(row["n"].value) for row in _rows(opened, _PREDICATES)}
    ordered = sorted(predicates.items(), key=lambda item: (-item[1], item[0]))
    return GraphStats(
        statements=sum(predicates.values()),
        entities=next(int(row["n"].value) for row in _rows(opened, _ENTITIES)),
        predicates=dict(ordered[:_MOST_PREDICATES]),
        receipts=sum(1 for _ in opened.graph.quads_for_pattern(None, UNIT, None, META)),
    )


def _rows(opened: Open, query: str) -> Any:
    rows = opened.graph.query(query)
    assert isinstance(rows, ox.QuerySolutions)  # a SELECT
    return rows
