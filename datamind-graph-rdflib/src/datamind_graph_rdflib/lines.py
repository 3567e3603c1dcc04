"""Statements as lines of text, and the names in them, gathered in one pass."""

from __future__ import annotations

from typing import Final

import pyoxigraph as ox

from datamind.capabilities.graph.names import is_name
from datamind.capabilities.graph.terms import RESERVED, name_of
from datamind.core.errors import InputInvalid
from datamind.core.protocols.graph import XSD_STRING, Term, Triple
from datamind_graph_rdflib.vocabulary import BLANK, named, to_engine

_REMEMBERED: Final = 250_000


class LineMaker:
    """Writes statements as N-Triples without their end; an IRI is looked at when it is met first.

    Attributes:
        names: Pairs of IRI and name that were met since they were taken.
        predicates: IRIs of predicates, likewise.
        keeps_forms: Whether the engine gives every literal back as it was written; numbers and dates it keeps by value.
    """

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        self._relations: set[str] = set()
        self.names: list[tuple[str, str]] = []
        self.predicates: list[str] = []
        self.keeps_forms = True

    def line(self, triple: Triple) -> str:
        """One statement.

        Raises:
            InputInvalid: A term is no IRI or literal, or is reserved.
        """
        subject, predicate, object_ = triple
        if subject.datatype or predicate.datatype:
            raise InputInvalid(f"the literal {subject.value[:40]!r} cannot be subject or predicate")
        if subject.value not in self._nodes:
            self._meet(subject)
        if predicate.value not in self._relations:
            self._relations.add(_checked(predicate))
            self.predicates.append(predicate.value)
        if object_.datatype:
            return f"<{subject.value}> <{predicate.value}> {self._literal(subject, predicate, object_)}"
        if object_.value not in self._nodes:
            self._meet(object_)
        return f"<{subject.value}> <{predicate.value}> <{object_.value}>"

    def take(self) -> tuple[list[tuple[str, str]], list[str]]:
        """The names and predicates so far, once."""
        taken = self.names, self.predicates
        self.names, self.predicates = [], []
        return taken

    def _meet(self, node: Term) -> None:
        # Forgetting all at once is cheap, and only makes the index look again at what it has.
        if len(self._nodes) >= _REMEMBERED:
            self._nodes.clear()
        self._nodes.add(_checked(node))
        if not node.value.startswith(BLANK):
            self.names.append((node.value, name_of(node)))

    def _literal(self, subject: Term, predicate: Term, literal: Term) -> str:
        if literal.datatype != XSD_STRING:
            self.keeps_forms = False
        if is_name(predicate.value):
            self.names.append((subject.value, literal.value))
        return str(to_engine(literal))


def _checked(node: Term) -> str:
    if node.value.startswith(RESERVED):
        raise InputInvalid(f"{node.value[:80]!r} is reserved for the graph store")
    iri: ox.NamedNode = named(node.value)
    return iri.value
