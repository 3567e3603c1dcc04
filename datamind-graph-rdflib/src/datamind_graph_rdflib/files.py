"""File formats: parsed and written by the engine; blank nodes get names that follow from the source."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
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


_HEAD_BYTES: Final = 256
_LINE_AGAIN: Final = re.compile(r" \(line \d+\)$")
_BEGINNINGS: Final = {
    "application/rdf+xml": (".rdf", (b"<?xml", b"<rdf:rdf")),
    "application/ld+json": (".jsonld", (b"{", b"[")),
    "text/turtle": (".ttl", (b"@prefix", b"@base")),
    "text/csv": (".csv", (b"subject,", b"subject;")),
}
WITH_GRAPHS: Final = ("application/n-quads", "application/trig")


def write(quads: Iterator[Any], path: Path, media_type: str) -> None:
    """Write them as a file."""
    ox.serialize(quads, str(path), format=FORMATS[media_type])


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
        # The engine says the line in its sentence, and again behind it.
        what = _LINE_AGAIN.sub("", str(error))[:300]
        file.seek(start)
        raise SourceUnreadable(
            f"the content is not well-formed {media_type}: {what}", hint=_hint(file, media_type)
        ) from None


def _hint(file: BinaryIO, media_type: str) -> str:
    head = file.read(_HEAD_BYTES).removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for other, (ending, beginnings) in _BEGINNINGS.items():
        if head.startswith(beginnings) and other != media_type and media_type != "application/trig":
            return f"It begins as {other} does; if it is that, let its name end in {ending}."
    return ""


class _Names:
    """Blank nodes by the order in which they are met, and IRIs, of which a file repeats most."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[str, Term] = {}
        self._iris: dict[str, Term] = {}

    def iri(self, value: str) -> Term | None:
        known = self._iris.get(value)
        if known is not None:
            return known
        if len(self._iris) >= _REMEMBERED:
            self._iris.clear()
        if value.startswith(RESERVED):
            return None
        self._iris[value] = term = Term(value)
        return term

    def of(self, label: str) -> Term:
        if label not in self._known:
            self._known[label] = Term(f"{BLANK}{self._source}-{len(self._known) + 1}")
        return self._known[label]


def _triple(quad: Any, names: _Names) -> Triple | None:
    subject, predicate, object_ = quad.subject, quad.predicate, quad.object
    first = names.iri(subject.value) if type(subject) is ox.NamedNode else _term(subject, names)
    relation = names.iri(predicate.value)
    last = names.iri(object_.value) if type(object_) is ox.NamedNode else _term(object_, names)
    if first is None or relation is None or last is None:
        return None
    return Triple(first, relation, last)


def _term(part: Any, names: _Names) -> Term | None:
    kind = type(part)
    if kind is ox.BlankNode:
        return names.of(part.value)
    return from_engine(part) if kind is ox.Literal and part.direction is None else None
