"""The index of names, opened with its graph."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox

from datamind_graph_rdflib.labels import LabelIndex
from datamind_graph_rdflib.lines import LineMaker
from datamind_graph_rdflib.marks import last_written
from datamind_graph_rdflib.vocabulary import DEFAULT, triple_of

_AT_ONCE: Final = 20_000


def open_labels(path: Path, graph: ox.Store) -> LabelIndex:
    """The index in this file; made anew where it is gone or behind, about 20 s for a million names."""
    labels = LabelIndex(path)
    last = last_written(graph)
    if not labels.is_up_to(last):
        _fill(labels, graph.quads_for_pattern(None, None, None, DEFAULT))
        labels.complete((), (), receipt_id=last, before=last)
    return labels


def _fill(labels: LabelIndex, quads: Iterator[Any]) -> None:
    maker = LineMaker()
    while some := list(islice(quads, _AT_ONCE)):
        for quad in some:
            maker.line(triple_of(quad))
        labels.add(*maker.take())
