"""The graph: statements, who asserted them, and the entities they are about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, Final, Literal, NamedTuple, Protocol, runtime_checkable

from datamind.core.protocols.terms import LANG_STRING as LANG_STRING
from datamind.core.protocols.terms import XSD_STRING as XSD_STRING
from datamind.core.protocols.terms import Term as Term
from datamind.core.protocols.terms import Triple as Triple
from datamind.core.record import Instant, Record
from datamind.core.source import SourceRef

LABEL_PREDICATES: Final = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
    "https://schema.org/name",
    "http://schema.org/name",
)
"""Statements with these say what an entity is called; the earlier in this list, the more a label counts."""
ALIAS_PREDICATES: Final = (
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "https://schema.org/alternateName",
    "http://schema.org/alternateName",
)

ONE_COMMIT: Final = 100_000
"""A write of at most this many assertions is one commit; a larger one goes in slices that can be seen while it runs."""

Direction = Literal["out", "in", "both"]
MatchKind = Literal["exact", "alias", "prefix", "words", "similar"]


class Assertion(NamedTuple):
    """A statement as one source makes it.

    Attributes:
        start: With ``end``: the character span of the stored source text it was read from.
        confidence: 1.0 for what was stated as it stands.
    """

    triple: Triple
    start: int | None = None
    end: int | None = None
    confidence: float = 1.0


class GraphUnit(Record):
    """One write: whose assertions they are."""

    receipt_id: str
    source: SourceRef
    asserted_at: Instant


class AssertedBy(Record):
    """Who asserts a statement, and where in the source."""

    unit: GraphUnit
    start: int | None = None
    end: int | None = None
    confidence: float = 1.0


class TriplePattern(Record):
    """Statements that agree with every given term, and are asserted by the receipt if one is given."""

    subject: Term | None = None
    predicate: Term | None = None
    object: Term | None = None
    receipt_id: str = ""


class StatementPage(Record):
    """Part of the statements that a pattern names.

    Attributes:
        more: There are others after these.
    """

    triples: tuple[Triple, ...]
    more: bool = False


class Edges(Record):
    """Statements around some nodes.

    Attributes:
        cut: Nodes that have more than were given.
    """

    triples: tuple[Triple, ...]
    cut: tuple[Term, ...] = ()


class Entity(Record):
    """A node and what it is called.

    Attributes:
        name: The first of its labels by ``LABEL_PREDICATES``, then by text; without one, what its IRI says.
        aliases: Its other labels, then its aliases by text, then what its IRI says; none twice.
    """

    term: Term
    name: str
    aliases: tuple[str, ...] = ()


class EntityHit(Record):
    """An entity with how it was found; best first, ties by IRI.

    Attributes:
        score: In (0, 1]; 1 for the very name.
    """

    entity: Entity
    match: MatchKind
    score: float


class GraphStats(Record):
    """How much there is.

    Attributes:
        statements: Each counted once, however many receipts assert it.
        entities: Different nodes that are subject or object of a statement.
        predicates: Statements by predicate IRI, the most frequent first, at most 100.
        receipts: Writes that assert something.
    """

    statements: int
    entities: int
    predicates: Mapping[str, int]
    receipts: int


@runtime_checkable
class GraphReader(Protocol):
    """The reading half of a graph store.

    G1 What a write acknowledged is found by the next read of any reader of the same profile.
    G2 Two nodes may be joined by any number of predicates; every one of them is a statement.
    G3 A statement is there once, however many receipts assert it; each of them is named, with its span and
    confidence, oldest first.
    G4 A literal keeps value, datatype and language; literals that differ in one of them are different.
    G5 Entities are found by exact name, alias, beginning, words in any script and with a typing error, in this order
    of rank and whatever the case; one that no statement is about is not found. Predicates are found alike, by their
    labels and by what their IRIs say; one that no statement has is not found.
    G6 ``edges`` gives at most ``limit`` statements of a node in each direction and names the nodes it cut.
    """

    async def statements(self, where: TriplePattern, *, offset: int = 0, limit: int = 100) -> StatementPage:
        """In an order that stays while nothing is written."""
        ...

    async def asserted_by(self, triples: Sequence[Triple]) -> Sequence[tuple[AssertedBy, ...]]:
        """For each triple who asserts it; empty for one that is not there."""
        ...

    async def edges(
        self, nodes: Sequence[Term], *, direction: Direction, predicates: Sequence[Term] = (), limit: int = 100
    ) -> Edges:
        """Statements with one of the nodes as subject (``out``) or object (``in``), each once; see G6."""
        ...

    async def search_entities(self, text: str, limit: int) -> Sequence[EntityHit]:
        """See G5."""
        ...

    async def search_predicates(self, text: str, limit: int) -> Sequence[EntityHit]:
        """See G5."""
        ...

    async def entities(self, terms: Sequence[Term]) -> Sequence[Entity]:
        """What these nodes are called, in their order, known or not."""
        ...

    async def units(self, *, receipt_ids: Sequence[str] = (), source: str = "") -> Sequence[GraphUnit]:
        """The writes that assert something, oldest first; of these receipts or of this uri, source id or file name."""
        ...

    async def stats(self) -> GraphStats:
        """Counts."""
        ...


@runtime_checkable
class GraphStore(GraphReader, Protocol):
    """A graph store.

    G7 Upserting a receipt again gives the first count and changes nothing, also after a death in the middle.
    G8 ``replaces`` drops those receipts' assertions as ``drop_receipts`` does, in the same commit; a write above
    ``ONE_COMMIT`` assertions is the exception, and is whole once it returned.
    G9 ``drop_receipts`` removes the statements that no other receipt asserts, and only these.
    G10 ``remove`` takes the statements that a pattern names from the graph and from every receipt.
    G11 Dropping and removing under a receipt again gives the first count and changes nothing.
    G12 What returned survives the death of the process; after ``sync`` also a power loss.
    G13 ``read_view`` has no method that writes.
    """

    async def upsert(self, unit: GraphUnit, assertions: Iterable[Assertion], *, replaces: Sequence[str] = ()) -> int:
        """Number of different statements the receipt asserts; see G7, G8.

        The iterable is read once, maybe in another thread.

        Raises:
            InputInvalid: A term is no IRI or literal. Nothing was written, unless in slices.
        """
        ...

    async def drop_receipts(self, receipt_ids: Sequence[str], by_receipt: str) -> int:
        """Number of statements that went; see G9, G11."""
        ...

    async def remove(self, patterns: Sequence[TriplePattern], by_receipt: str) -> int:
        """Number of statements that went; see G10, G11."""
        ...

    def read_view(self) -> GraphReader:
        """The same data without a way to write."""
        ...

    async def sync(self) -> None:
        """Make every write so far survive a power loss."""
        ...

    async def aclose(self) -> None:
        """Close files; may be called twice."""
        ...


@runtime_checkable
class SupportsGraphFiles(Protocol):
    """A reader that knows the file formats of its engine.

    Attributes:
        media_types: What it reads, such as ``text/turtle``; it writes these, and tables of triples.

    G1 The same content gives the same triples, blank nodes included; those of two sources are different.
    G2 Graph names of a file are left out: its statements are joined.
    G3 ``export`` gives every statement once, as of one moment; reading it again gives the same statements. A format
    that names graphs may also give each statement in the graph of every receipt that asserts it.
    """

    @property
    def media_types(self) -> tuple[str, ...]:
        """See above."""
        ...

    def parse(self, file: BinaryIO, media_type: str, *, source_id: str) -> Iterator[Triple | None]:
        """Triples as they stand; None for a statement that cannot be kept. Blocking, lazy.

        The file is read from where it stands, and is not held in memory.

        Raises:
            SourceUnreadable: The content is not what the media type says; names the line.
        """
        ...

    def export(self, media_type: str) -> AsyncIterator[bytes]:
        """The graph as a file, piece by piece.

        Raises:
            InputInvalid: It writes no such type.
        """
        ...


class ParsedQuery(Record):
    """What the algebra of a query says.

    Attributes:
        form: What it does; ``update`` for every form that changes something.
        services: Endpoints it would call; a variable as ``?name``.
        datasets: Graphs it asks for with FROM and FROM NAMED.
        functions: IRIs of functions it calls.
        error: Why it cannot be parsed, in one line.
    """

    form: Literal["select", "ask", "construct", "describe", "update", "unparsed"]
    services: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    error: str = ""


class QueryResult(Record):
    """What a query gave.

    Attributes:
        columns: Variables in the order of the query; subject, predicate and object for triples.
        rows: One term for each column, or None where it is unbound.
        answer: Of ASK.
        cut: There were more rows, or more bytes, than the limits.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Term | None, ...], ...] = ()
    answer: bool | None = None
    cut: bool = False


@runtime_checkable
class SupportsSparql(Protocol):
    """A reader that answers SPARQL.

    G1 A query sees each statement once, without naming a graph.
    G2 At its deadline a query is stopped for good, whatever it does; the next one is answered.
    G3 No query changes the store, reads a file or opens a connection, even one that no guard has seen.
    G4 At most ``limit_rows`` rows, and it says when there were more.
    """

    async def parse_query(self, text: str) -> ParsedQuery:
        """What it would do; runs nothing and never raises for what the text says."""
        ...

    async def query(self, text: str, *, limit_rows: int, timeout_s: float) -> QueryResult:
        """Run it; see G1 to G4.

        Raises:
            InputInvalid: It is no query.
            LimitExceeded: Time or memory ran out.
        """
        ...
