"""What the graph says about the writes that reached it."""

from __future__ import annotations

import pyoxigraph as ox

from datamind_graph_rdflib.vocabulary import DONE, LAST, META, graph_node, value_of


def last_written(graph: ox.Store) -> str:
    """The receipt of the last write; empty before the first."""
    for quad in graph.quads_for_pattern(LAST, DONE, None, META):
        return value_of(quad)
    return ""


def is_written(graph: ox.Store, receipt_id: str) -> bool:
    """Whether this write, of statements or of their removal, is in the graph."""
    return next(graph.quads_for_pattern(graph_node(receipt_id), DONE, None, META), None) is not None
