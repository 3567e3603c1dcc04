"""File formats: parsed and written by the engine; blank nodes get names that follow from the source."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import pyoxigraph as ox

from datamind.capabilities.graph.terms import RESERVED
from datamind.core.errors import SourceUnreadable
from datamind.core.protocols.graph import Term, Triple
from datamind_graph_rdflib.vocabulary import BLANK, from_engine

_REMEMBERED: Final = 50_000

FORMATS: Final = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/n-quads": ox.RdfFormat.N_QUADS,
    "application/trig": ox.RdfFormat.TRIG,
    "application/ld+json": ox.RdfFormat.JSON_LD,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
}


def parse(file: BinaryIO, media_type: str, *, source_id: str) -> Iterator[Triple | None]:
    """Triples in the order of the file.

    Raises:
        SourceUnreadable: The content is not what the media type says.
    """
    names = _Names(source_id.partition("_")[2] or source_id)
    # Relative IRIs need something to stand on; this name can never be looked up.
    base = f"http://datamind.invalid/{source_id}/"
    try:
        # A byte order mark is no part of any of these formats, and editors write it.
        start = file.tell()
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(start)
        for quad in ox.parse(file, FORMATS[media_type], base_iri=base):
            yield _triple(quad, names)
    except (SyntaxError, ValueError) as error:
        raise SourceUnreadable(f"the content is not {media_type}: {str(error)[:300]}") from None


class _Names:
    """Blank nodes by the order in which they are met, and IRIs, of which a file repeats most."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[str, Term] = {}
        self._iris: dict[str, Term | None] = {}

    def iri(self, value: str) -> Term | None:
        if value in self._iris:
            return self._iris[value]
        if len(self._iris) >= _REMEMBERED:
            self._iris.clear()
        self._iris[value] = term = None if value.startswith(RESERVED) else Term(value)
        return term

    def of(self, label: str) -> Term:
        if label not in self._known:
            self._known[label] = Term(f"{BLANK}{self._source}-{len(self._known) + 1}")
        return self._known[label]


def _triple(quad: Any, names: _Names) -> Triple | None:
    subject, predicate, object_ = _node(quad.subject, names), _node(quad.predicate, names), _term(quad.object, names)
    if subject is None or predicate is None or object_ is None:
        return None
    return Triple(subject, predicate, object_)


def _node(part: Any, names: _Names) -> Term | None:
    kind = type(part)
    if kind is ox.NamedNode:
        return names.iri(part.value)
    return names.of(part.value) if kind is ox.BlankNode else None


def _term(part: Any, names: _Names) -> Term | None:
    if type(part) is ox.Literal:
        return from_engine(part) if part.direction is None else None
    return _node(part, names)
