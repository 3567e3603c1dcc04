"""The tests of what a graph store can do beside its statements: files and SPARQL."""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar, Final

import pytest

from datamind.capabilities.graph.rows import ROW_MEDIA_TYPES, read_rows
from datamind.capabilities.graph.terms import make_iri, make_literal, make_node
from datamind.core.errors import DataMindError, InputInvalid, LimitExceeded, SourceUnreadable
from datamind.core.protocols.graph import Assertion, QueryResult, SupportsGraphFiles, SupportsSparql, Triple
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.graph_data import CHINESE, FOUNDED, HEIGHT, PEOPLE, WORKS, all_statements, make_triple, put

_S, _P = "urn:t:s", "urn:t:p"
_FILES: Final = {
    "text/turtle": '@prefix t: <urn:t:> . t:s t:p "hi"@en, 5, [ t:q t:s ] .',
    "application/n-triples": '<urn:t:s> <urn:t:p> "hi"@en .\n_:b <urn:t:q> <urn:t:s> .\n<urn:t:s> <urn:t:p> _:b .\n'
    '<urn:t:s> <urn:t:p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    "application/n-quads": '<urn:t:s> <urn:t:p> "hi"@en <urn:g:1> .\n_:b <urn:t:q> <urn:t:s> .\n'
    '<urn:t:s> <urn:t:p> _:b .\n<urn:t:s> <urn:t:p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:g:2> .',
    "application/trig": '@prefix t: <urn:t:> . <urn:g:1> { t:s t:p "hi"@en, 5 } t:s t:p [ t:q t:s ] .',
    "application/ld+json": '{"@id":"urn:t:s","urn:t:p":[{"@value":"hi","@language":"en"},5,'
    '{"urn:t:q":{"@id":"urn:t:s"}}]}',
    "application/rdf+xml": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:t="urn:t:">'
    '<rdf:Description rdf:about="urn:t:s"><t:p xml:lang="en">hi</t:p>'
    '<t:p rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">5</t:p>'
    '<t:p><rdf:Description><t:q rdf:resource="urn:t:s"/></rdf:Description></t:p></rdf:Description></rdf:RDF>',
}
_WITH_GRAPHS: Final = frozenset({"application/n-quads", "application/trig"})
_PROBE: Final = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"


class GraphFilesConformance(ProviderConformance):
    """Tests of SupportsGraphFiles, for a graph store.

    Troubleshooting: blank nodes must be named by what the file says, such as the order in which they are met.
    """

    protocols: ClassVar[tuple[type, ...]] = (SupportsGraphFiles,)
    kind = ProviderKind.GRAPH_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "processes", "files", "sparql"})

    async def test_g1_every_format_says_the_same_each_time(self, tmp_path: Path) -> None:
        """Blank nodes of one source are the same, of two sources others."""
        async with self.opened(tmp_path) as store:
            for media_type in store.media_types:
                content = _FILES[media_type].encode()
                first = list(store.parse(io.BytesIO(content), media_type, source_id="src_one"))
                assert first == list(store.parse(io.BytesIO(content), media_type, source_id="src_one"))
                other = list(store.parse(io.BytesIO(content), media_type, source_id="src_two"))
                assert len(first) == len(set(first) | set(other)) - 2 == 4
                values = {triple.object for triple in first if triple.object.is_literal}
                assert values == {make_literal("hi", language="en"), make_literal(5)}

    async def test_g2_the_graphs_of_a_file_are_joined(self, tmp_path: Path) -> None:
        """Quads become triples."""
        async with self.opened(tmp_path) as store:
            lines = b"<urn:t:s> <urn:t:p> <urn:t:o> <urn:g:1> .\n<urn:t:s> <urn:t:p> <urn:t:o> <urn:g:2> .\n"
            triples = list(store.parse(io.BytesIO(lines), "application/n-quads", source_id="src_one"))
            assert set(triples) == {Triple(make_iri(_S), make_iri(_P), make_iri("urn:t:o"))}

    async def test_g3_what_is_written_reads_the_same(self, tmp_path: Path) -> None:
        """In every format."""
        odd = make_triple("ödd <name>", "p q", make_literal('quotes " \\ \n \t 😀', language="de-at"))
        async with self.opened(tmp_path) as store:
            await put(store, "people", *PEOPLE, odd)
            await put(store, "again", WORKS)
            for media_type in (*store.media_types, *ROW_MEDIA_TYPES):
                content = b"".join([piece async for piece in store.read_view().export(media_type)])
                if media_type in ROW_MEDIA_TYPES:
                    read = [row.triple for row in read_rows(content, media_type) if isinstance(row, Assertion)]
                else:
                    read = list(store.parse(io.BytesIO(content), media_type, source_id="src_one"))
                assert sorted(set(read)) == sorted([*PEOPLE, odd]), media_type
                if media_type not in _WITH_GRAPHS:
                    assert len(read) == len(set(read)), media_type
            with pytest.raises(DataMindError):
                _ = [piece async for piece in store.export("text/nothing")]

    async def test_broken_content_names_its_place(self, tmp_path: Path) -> None:
        """Bytes that are no text, and text that breaks off."""
        async with self.opened(tmp_path) as store:
            for media_type in store.media_types:
                for content in (b"\xff\xfe\x00", b"<urn:a> <urn:b> \n", b"{", b"<x"):
                    with pytest.raises(SourceUnreadable):
                        list(store.parse(io.BytesIO(content), media_type, source_id="src_one"))


class SparqlConformance(ProviderConformance):
    """Tests of SupportsSparql, for a graph store.

    Troubleshooting: most engines cannot stop a query; run it in a process that can be killed.
    """

    protocols: ClassVar[tuple[type, ...]] = (SupportsSparql,)
    kind = ProviderKind.GRAPH_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "processes", "files", "sparql"})

    async def test_g1_three_sources_of_one_fact_count_once(self, tmp_path: Path) -> None:
        """And a query sees every write so far."""
        async with self.opened(tmp_path) as store:
            assert await _count(store) == "0"
            for name in "abc":
                await put(store, name, WORKS)
            assert await _count(store) == "1"
            await put(store, "d", HEIGHT)
            assert await _count(store.read_view()) == "2"

    async def test_g1_what_is_kept_about_receipts_is_no_data(self, tmp_path: Path) -> None:
        """A query that names no graph sees the graphs of receipts at most, and nothing of what was dropped."""
        async with self.opened(tmp_path) as store:
            kept = await put(store, "kept", WORKS)
            gone = await put(store, "gone", FOUNDED)
            await store.drop_receipts([gone], "rcpt_end.test")
            result = await _ask(store, "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }")
            assert {row[1:] for row in result.rows} <= {tuple(WORKS)}
            assert all(row[0] is not None and row[0].value.endswith(kept) for row in result.rows)

    async def test_every_form_answers(self, tmp_path: Path) -> None:
        """Rows, triples and truth, with terms as they are and None for what is unbound."""
        async with self.opened(tmp_path) as store:
            await put(store, "people", *PEOPLE)
            rows = await _ask(
                store, f"SELECT ?o ?none WHERE {{ <{HEIGHT.subject.value}> <{HEIGHT.predicate.value}> ?o }}"
            )
            assert (rows.columns, rows.rows, rows.cut) == (("o", "none"), ((make_literal(170), None),), False)
            assert (await _ask(store, f"ASK {{ ?s ?p <{CHINESE.object.value}> }}")).answer is True
            assert (await _ask(store, "ASK { ?s ?p <urn:t:none> }")).answer is False
            made = await _ask(store, f"CONSTRUCT WHERE {{ ?s <{FOUNDED.predicate.value}> ?o }}")
            assert made.rows == ((FOUNDED.subject, FOUNDED.predicate, FOUNDED.object),)
            assert (await _ask(store, f"DESCRIBE <{make_node('张三').value}>")).rows

    async def test_parsing_says_what_a_query_would_do(self, tmp_path: Path) -> None:
        """However deep it stands."""
        async with self.opened(tmp_path) as store:
            for text, form in (("SELECT * { ?s ?p ?o }", "select"), ("ASK { }", "ask"), ("nonsense", "unparsed")):
                assert (await store.parse_query(text)).form == form
            for text in ("INSERT DATA { <urn:a> <urn:b> 1 }", "DROP ALL", "LOAD <file:///etc/passwd>", "CLEAR DEFAULT"):
                assert (await store.parse_query(text)).form == "update"
            parsed = await store.parse_query(
                "SELECT * FROM <urn:g> { ?s ?p ?o"
                " FILTER NOT EXISTS { { SERVICE ?x { ?a ?b ?c } } FILTER(<urn:f>(?s)) } }"
            )
            assert (parsed.services, parsed.datasets, parsed.functions) == (("?x",), ("urn:g",), ("urn:f",))
            assert (await store.parse_query("ASK FROM NAMED <file:///etc/passwd> { ?s ?p ?o }")).datasets

    async def test_g2_a_query_without_end_is_stopped(self, tmp_path: Path) -> None:
        """Joins and paths; the next query is answered."""
        async with self.opened(tmp_path) as store:
            await put(
                store,
                "ring",
                *(make_triple(f"n{n}", "to", f"n{(n * 7 + k) % 400}") for n in range(400) for k in (1, 2)),
            )
            bombs = (
                "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
                "SELECT (COUNT(*) AS ?n) { ?a (<urn:p>|!<urn:p>)* ?b . ?c (<urn:p>|!<urn:p>)* ?d . ?e !<urn:x> ?f }",
            )
            for text in bombs:
                with pytest.raises(LimitExceeded):
                    await store.query(text, limit_rows=10, timeout_s=1.0)
                assert await _count(store) == "800"

    async def test_g3_no_query_changes_reads_or_asks_something_else(self, tmp_path: Path) -> None:
        """Even one that no guard has seen."""
        outside = tmp_path / "outside.nt"
        outside.write_text("<urn:secret> <urn:p> <urn:o> .\n")
        async with self.opened(tmp_path) as store:
            await put(store, "people", *PEOPLE)
            before = await all_statements(store)
            for text in (
                "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
                "DELETE WHERE { ?s ?p ?o }",
                "DROP ALL",
                f"LOAD <{outside.as_uri()}>",
                "SELECT * WHERE { SERVICE SILENT <http://127.0.0.1:9/?q=secret> { ?s ?p ?o } }",
                "SELECT * WHERE { ?s ?p ?o FILTER EXISTS { SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } } }",
            ):
                with pytest.raises(DataMindError):
                    await store.query(text, limit_rows=10, timeout_s=5.0)
            for clause in ("FROM", "FROM NAMED"):
                found = await _ask(store, f"SELECT * {clause} <{outside.as_uri()}> WHERE {{ ?s ?p <urn:o> }}")
                assert found.rows == ()
            assert await all_statements(store) == before

    async def test_g3_broken_queries_are_refused_in_one_line(self, tmp_path: Path) -> None:
        """With what is wrong."""
        async with self.opened(tmp_path) as store:
            for text in ("", "SELECT", "SELECT * { ?s ?p", "\x00", "SELECT * { ?s <a b> ?o }", "{" * 5_000):
                with pytest.raises(InputInvalid) as refused:
                    await store.query(text, limit_rows=10, timeout_s=10.0)
                assert "\n" not in str(refused.value)

    async def test_g4_rows_are_bounded(self, tmp_path: Path) -> None:
        """Exactly the limit is not cut."""
        async with self.opened(tmp_path) as store:
            await put(store, "people", *PEOPLE)
            whole = await store.query("SELECT * { ?s ?p ?o }", limit_rows=4, timeout_s=10.0)
            assert (len(whole.rows), whole.cut) == (4, False)
            some = await store.query("SELECT * { ?s ?p ?o }", limit_rows=3, timeout_s=10.0)
            assert (len(some.rows), some.cut) == (3, True)


async def _ask(store: SupportsSparql, text: str) -> QueryResult:
    return await store.query(text, limit_rows=100, timeout_s=20.0)


async def _count(store: SupportsSparql) -> str:
    result = await store.query(_PROBE, limit_rows=10, timeout_s=20.0)
    (cell,) = result.rows[0]
    assert cell is not None
    return cell.value
