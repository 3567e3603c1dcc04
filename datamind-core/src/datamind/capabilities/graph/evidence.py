"""Statements and query results as evidence, in sentences that use the names of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datamind.capabilities.graph.results import render
from datamind.capabilities.graph.terms import to_ntriples
from datamind.core.evidence import Evidence, TableLocator, TripleLocator
from datamind.core.protocols.graph import AssertedBy, GraphReader, QueryResult, Term, Triple
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, content_hash, derived_id


async def evidence_of(reader: GraphReader, triples: Sequence[Triple], hops: Sequence[int] = ()) -> tuple[Evidence, ...]:
    """One item for each statement, with everyone who asserts it."""
    names = await names_of(reader, triples)
    asserted = await reader.asserted_by(triples)
    rows = zip(triples, asserted, hops or [0] * len(triples), strict=True)
    # A statement that went while the walk went on is no evidence.
    return tuple(_statement(triple, by, hop, names) for triple, by, hop in rows if by)


def _statement(triple: Triple, by: tuple[AssertedBy, ...], hop: int, names: Mapping[Term, str]) -> Evidence:
    locator = TripleLocator(
        subject=to_ntriples(triple.subject),
        predicate=to_ntriples(triple.predicate),
        object=to_ntriples(triple.object),
        names=tuple(names.get(term, term.value) for term in triple),
    )
    receipts = tuple(one.unit.receipt_id for one in by)
    note = _note(by, hop)
    return Evidence.of(
        DataSurface.GRAPH, by[0].unit.source, locator, sentence(triple, names), receipt_ids=receipts, note=note
    )


async def names_of(reader: GraphReader, triples: Sequence[Triple]) -> Mapping[Term, str]:
    """What the nodes and predicates of the statements are called."""
    terms = {term for triple in triples for term in (triple.subject, triple.predicate, triple.object)}
    nodes = [term for term in terms if not term.is_literal]
    return {entity.term: entity.name for entity in await reader.entities(nodes)}


def sentence(triple: Triple, names: Mapping[Term, str]) -> str:
    """Subject, predicate and object by name."""
    return " ".join(names.get(term, term.value) for term in triple)


def table_of(profile: str, text: str, result: QueryResult) -> Evidence:
    """The result of the SPARQL query ``text``."""
    content = render(result)
    hashed = content_hash(content)
    uri = f"graph:{profile}"
    source = SourceRef(
        source_id=derived_id("src", uri, hashed),
        kind="records",
        uri=uri,
        checksum=hashed,
        media_type="application/sparql-results",
        profile=profile,
        origin="derived",
    )
    locator = TableLocator(tables=("graph",), columns=result.columns, statement=text, result_hash=hashed)
    return Evidence.of(DataSurface.GRAPH, source, locator, content, note="cut" if result.cut else "")


def _note(by: tuple[AssertedBy, ...], hop: int) -> str:
    parts = [f"hop {hop}"] if hop else []
    if len(by) > 1:
        parts.append(f"{len(by)} receipts")
    least = max(one.confidence for one in by)
    if least < 1:
        parts.append(f"confidence {least:g}")
    spans = [f"{one.start}-{one.end}" for one in by if one.start is not None]
    if spans:
        parts.append(f"characters {', '.join(spans[:3])}")
    return "; ".join(parts)
