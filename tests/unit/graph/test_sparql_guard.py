"""SPARQL that must be refused is, before a store sees it; what only reads is answered, or stopped in time."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from datamind.capabilities.graph.service import GraphReads
from datamind.capabilities.graph.sparql_guard import MAX_BYTES, check_size, judge
from datamind.core.errors import AccessDenied, DataMindError, InputInvalid, LimitExceeded
from datamind.core.protocols.graph import ParsedQuery
from datamind.engine_host import EngineRequest
from datamind.testing.graph_data import make_triple, put
from datamind.testing.providers import ProviderTarget
from datamind_graph_rdflib import querying

FILE = Path(__file__).resolve().parents[2] / "cases" / "sparql_cases.tsv"
TARGET = ProviderTarget(
    "graph.store", "datamind_graph_rdflib.store:open_store", "datamind_graph_rdflib.options:RdflibGraphOptions"
)


def cases():
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def triples():
    return [make_triple(f"n{n}", "p", f"n{n * 7 % 300}") for n in range(300)]


async def test_every_acceptance_case_is_decided_right(tmp_path, triples):
    assert len(cases()) >= 14
    store = await TARGET.open(tmp_path)
    reads = GraphReads(_given(store), "test")
    reads_seen: list[str] = []
    try:
        await put(store, "some", *triples)
        reader_query = store.query

        async def seen(text, **limits):
            reads_seen.append(text)
            return await reader_query(text, limit_rows=limits["limit_rows"], timeout_s=1.0)

        store.read_view = lambda: _Spy(store, seen)
        for case in cases():
            text = case["query"].replace('\\"', '"')
            if case["expected"] == "deny":
                with pytest.raises(AccessDenied):
                    await reads.query(text)
                assert text not in reads_seen, case["id"]
            else:
                try:
                    await reads.query(text)
                except LimitExceeded as error:
                    assert error.code == "limit_exceeded.time"
                assert text in reads_seen, case["id"]
    finally:
        await store.aclose()


class _Spy:
    def __init__(self, store, query):
        self.parse_query = store.parse_query
        self.units = store.units
        self.query = query


def _given(store):
    async def open_store():
        return store

    return open_store


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT * { ?s ?p ?o }" + " " * MAX_BYTES, LimitExceeded),
        ("ASK { " + "?s ?p ?o . " * 1_000 + "}", LimitExceeded),
        ("ASK " + "{" * 101 + "}" * 101, LimitExceeded),
        ("ASK\u00a0{ ?s ?p ?o }", InputInvalid),
        ("ASK { ?s ?p ?o } \ufeff", InputInvalid),
        ("ASK { ?s ?p\u200b ?o }", InputInvalid),
        ("ASK { ?s\x00 ?p ?o }", InputInvalid),
        ("\u2028ASK { ?s ?p ?o }", InputInvalid),
        ("# \u202e\nASK { ?s ?p ?o }", InputInvalid),
        ('ASK { ?s ?p """open }', InputInvalid),
    ],
)
def test_bounds_hold_before_anything_parses(text, error):
    with pytest.raises(error):
        check_size(text)


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?s ?p 'a\u00a0b \u200b {{{ SERVICE' }",
        'ASK { ?s ?p """ "" \n \u2003 """ }',
        "ASK { ?s ?p <http://例え/é> } # { { {",
        "ASK {\t?s\r\n?p ?o }",
        r'ASK { ?s ?p "quote \" {" }',
    ],
)
def test_what_stands_in_a_literal_is_free(text):
    check_size(text)


@pytest.mark.parametrize("piece", ['\\"""x', "'", '"', "<", '"""', "''' ", "{}", "\\", "#", '""'])
def test_the_bounds_themselves_end(piece):
    with contextlib.suppress(DataMindError):
        check_size(piece * (MAX_BYTES // len(piece)))


@pytest.mark.parametrize(
    ("parsed", "code"),
    [
        (ParsedQuery(form="update"), "access_denied.sparql_update"),
        (ParsedQuery(form="select", services=("?x",)), "access_denied.sparql_service"),
        (ParsedQuery(form="select", datasets=("urn:g", "urn:other")), "access_denied.sparql_dataset"),
        (ParsedQuery(form="select", functions=("urn:f",)), "access_denied.sparql_function"),
        (ParsedQuery(form="unparsed", error="why"), "input_invalid.sparql"),
    ],
)
def test_what_is_refused_and_how(parsed, code):
    with pytest.raises(DataMindError) as refused:
        judge(parsed, {"urn:g"})
    assert refused.value.code == code


def test_what_is_let_through():
    cast = "http://www.w3.org/2001/XMLSchema#integer"
    judge(ParsedQuery(form="select", datasets=("urn:g",), functions=(cast,)), {"urn:g"})


@pytest.mark.parametrize(
    "told", [FileNotFoundError("gone"), RuntimeError("Corruption: IO error: No such file or directory: 000009.sst")]
)
def test_a_file_that_the_writer_has_just_replaced_is_looked_for_again(tmp_path, monkeypatch, told):
    tries = []

    def open_late(folder):
        tries.append(folder)
        if len(tries) < 3:
            raise told
        return ox.Store()

    monkeypatch.setattr(querying, "_open", open_late)
    engine = querying.QueryEngine(tmp_path)
    reply = engine.operations["query"](EngineRequest({"limit_rows": 5}, (memoryview(b"ASK { ?s ?p ?o }"),)))
    assert json.loads(reply.payloads[0])["answer"] is False
    assert len(tries) == 3


def test_a_graph_that_is_damaged_is_told_at_once(tmp_path, monkeypatch):
    tries = []

    def open_never(folder):
        tries.append(folder)
        raise RuntimeError("Corruption: bad block")

    monkeypatch.setattr(querying, "_open", open_never)
    engine = querying.QueryEngine(tmp_path)
    with pytest.raises(RuntimeError, match="bad block"):
        engine.operations["query"](EngineRequest({"limit_rows": 5}, (memoryview(b"ASK { ?s ?p ?o }"),)))
    assert len(tries) == 1
