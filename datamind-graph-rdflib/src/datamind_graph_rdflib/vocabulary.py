"""The names the store gives to graphs and to what it keeps about receipts, and terms on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyoxigraph as ox

from datamind.core.errors import InputInvalid
from datamind.core.protocols.terms import LANG_STRING, XSD_STRING, Term, Triple

DEFAULT: Final = ox.DefaultGraph()
META: Final = ox.NamedNode("urn:datamind:x:meta")
UNIT: Final = ox.NamedNode("urn:datamind:x:unit")
"""Of a receipt that asserts something: its GraphUnit as JSON."""
SOURCE: Final = ox.NamedNode("urn:datamind:x:source")
"""Of a receipt that asserts something: what its source may be called by."""
DONE: Final = ox.NamedNode("urn:datamind:x:done")
"""Of a receipt that was written or that removed something: how many statements; kept for a redo."""
LAST: Final = ox.NamedNode("urn:datamind:x:last")
"""What was written last: its DONE is the receipt's id."""
DETAIL: Final = "urn:datamind:x:detail:"
"""Beginning of the IRIs that hold span and confidence of one assertion."""
RECEIPT: Final = "urn:datamind:r:"
BLANK: Final = "urn:datamind:b:"

Blocks = Mapping[ox.NamedNode | ox.DefaultGraph, Sequence[str]]
"""Lines of ``line_of`` by the graph that they belong to."""


def graph_node(receipt_id: str) -> ox.NamedNode:
    """The named graph of a receipt."""
    return named(RECEIPT + receipt_id)


def receipt_of(graph: object) -> str:
    """The receipt of a named graph; empty for any other graph."""
    value = graph.value if isinstance(graph, ox.NamedNode) else ""
    return value.removeprefix(RECEIPT) if value.startswith(RECEIPT) else ""


def named(iri: str) -> ox.NamedNode:
    """An IRI in the engine's form.

    Raises:
        InputInvalid: It is none.
    """
    try:
        return ox.NamedNode(iri)
    except ValueError as error:
        raise InputInvalid(f"{iri[:80]!r} is no IRI ({error})") from None


def to_engine(term: Term) -> ox.NamedNode | ox.Literal:
    """A term in the engine's form.

    Raises:
        InputInvalid: It is none.
    """
    if not term.is_literal:
        return named(term.value)
    try:
        if term.language:
            return ox.Literal(term.value, language=term.language)
        if term.datatype == XSD_STRING:
            return ox.Literal(term.value)
        return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))
    except ValueError as error:
        raise InputInvalid(f"{term.value[:80]!r} is no literal ({error})") from None


def from_engine(term: Any) -> Term:
    """A node or literal of the engine; a blank node, which only a query can make, under its label."""
    if isinstance(term, ox.NamedNode):
        return Term(term.value)
    if isinstance(term, ox.Literal):
        return Term(term.value, LANG_STRING if term.language else term.datatype.value, term.language or "")
    return Term(str(term))


def value_of(quad: ox.Quad) -> str:
    """The text of a quad's object."""
    return quad.object.value if isinstance(quad.object, ox.NamedNode | ox.Literal) else str(quad.object)


def triple_of(quad: Any) -> Triple:
    """A quad or triple of the engine, without its graph."""
    return Triple(from_engine(quad.subject), from_engine(quad.predicate), from_engine(quad.object))


def parts(triple: Triple) -> tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode | ox.Literal]:
    """The three terms in the engine's form."""
    subject, predicate, object_ = to_engine(triple.subject), to_engine(triple.predicate), to_engine(triple.object)
    if isinstance(subject, ox.Literal) or isinstance(predicate, ox.Literal):
        raise InputInvalid(f"the literal {triple.subject.value[:40]!r} cannot be subject or predicate")
    return subject, predicate, object_


def insert_of(blocks: Blocks) -> str:
    """Statements by graph as INSERT DATA."""
    inside = []
    for graph, lines in blocks.items():
        text = "".join(f"{line} .\n" for line in lines)
        inside.append(text if graph == DEFAULT else f"GRAPH {graph} {{ {text} }}\n")
    return "INSERT DATA {{ {} }}".format("".join(inside))


def nquads_of(blocks: Blocks) -> bytes:
    """Statements by graph as N-Quads."""
    parts = []
    for graph, lines in blocks.items():
        end = ".\n" if graph == DEFAULT else f"{graph} .\n"
        parts += [f"{line} {end}" for line in lines]
    return "".join(parts).encode()


def line_of(quad: ox.Quad) -> str:
    """Subject, predicate and object as SPARQL and N-Quads write them."""
    return f"{quad.subject} {quad.predicate} {quad.object}"


def as_text(quads: Iterable[ox.Quad]) -> str:
    """The quads as the body of DELETE DATA."""
    lines = []
    for quad in quads:
        line = f"{line_of(quad)} ."
        lines.append(line if quad.graph_name == DEFAULT else f"GRAPH {quad.graph_name} {{ {line} }}")
    return "\n".join(lines)
