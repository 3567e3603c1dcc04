"""Terms and statements of the graph. Light: the process for queries needs nothing else of the protocols."""

from __future__ import annotations

from typing import Final, NamedTuple

XSD_STRING: Final = "http://www.w3.org/2001/XMLSchema#string"
LANG_STRING: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


# Tuples, because a load makes millions of them.
class Term(NamedTuple):
    """An IRI or a literal; blank nodes are named when they are read, so there are none.

    Attributes:
        value: The IRI, or the literal's lexical form.
        datatype: Of a literal; empty for an IRI.
        language: Lower-case tag of a literal whose datatype is ``rdf:langString``.
    """

    value: str
    datatype: str = ""
    language: str = ""

    @property
    def is_literal(self) -> bool:
        """Whether it is a value and no node."""
        return bool(self.datatype)


class Triple(NamedTuple):
    """One statement."""

    subject: Term
    predicate: Term
    object: Term
