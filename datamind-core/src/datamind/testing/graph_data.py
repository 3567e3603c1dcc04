"""Small graphs for tests of graph stores."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from datamind.capabilities.graph.rows import make_assertion
from datamind.capabilities.graph.terms import make_literal, make_node
from datamind.core.protocols.graph import (
    AssertedBy,
    Assertion,
    GraphReader,
    GraphStore,
    GraphUnit,
    Term,
    Triple,
    TriplePattern,
)
from datamind.core.source import SourceRef

_START = datetime(2026, 1, 1, tzinfo=UTC)


def make_unit(name: str, *, at: int = 1, uri: str = "") -> GraphUnit:
    """A write of a source of its own, ``at`` days after the first of January 2026."""
    source = SourceRef.of_content(
        "file", uri or f"file:{name}.ttl", name.encode(), media_type="text/turtle", profile="test", origin="file"
    )
    return GraphUnit(receipt_id=f"rcpt_{name}.test", source=source, asserted_at=_START + timedelta(days=at))


def make_triple(subject: str, predicate: str, object_: str | Term) -> Triple:
    """A statement of plain names; the object may be a literal."""
    made = make_assertion({"subject": subject, "predicate": predicate, "object": "unused"}).triple
    return Triple(made.subject, made.predicate, object_ if isinstance(object_, Term) else make_node(object_))


def say(*triples: Triple) -> list[Assertion]:
    """Assertions without span or doubt."""
    return [Assertion(triple) for triple in triples]


async def put(store: GraphStore, name: str, *triples: Triple, at: int = 1, replaces: Iterable[str] = ()) -> str:
    """Assert statements under a receipt of their own; its id."""
    unit = make_unit(name, at=at)
    await store.upsert(unit, say(*triples), replaces=list(replaces))
    return unit.receipt_id


async def all_statements(reader: GraphReader, where: TriplePattern | None = None) -> list[Triple]:
    """Every statement, sorted."""
    found: list[Triple] = []
    while True:
        page = await reader.statements(where or TriplePattern(), offset=len(found), limit=100)
        found += page.triples
        if not page.more:
            return sorted(found)


async def receipts_of(reader: GraphReader, triple: Triple) -> list[str]:
    """Who asserts a statement, oldest first."""
    return [by.unit.receipt_id for by in (await reader.asserted_by([triple]))[0]]


async def assertion_of(reader: GraphReader, triple: Triple) -> AssertedBy:
    """The only assertion of a statement."""
    (by,) = (await reader.asserted_by([triple]))[0]
    return by


async def found(reader: GraphReader, text: str, limit: int = 10) -> list[str]:
    """Names of the entities that a search finds, best first."""
    return [hit.entity.name for hit in await reader.search_entities(text, limit)]


WORKS = make_triple("Ada Lovelace", "works_at", "Acme")
FOUNDED = make_triple("Ada Lovelace", "founded", "Acme")
HEIGHT = make_triple("Ada Lovelace", "height", make_literal(170))
CHINESE = make_triple("张三", "就职于", "星河科技")
PEOPLE = (WORKS, FOUNDED, HEIGHT, CHINESE)
