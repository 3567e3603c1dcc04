"""graph: drawings, queries and files of statements, through the same gate as an agent's."""

from __future__ import annotations

import csv
import io

import pytest

from datamind.core.evidence import Evidence, TripleLocator
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface
from datamind_cli.drawing import cut_of, drawn, make_tree

pytest.importorskip("pyoxigraph")
pytestmark = pytest.mark.usefixtures("scripted")

FACTS = """@prefix t: <urn:t:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
t:e1 rdfs:label "Ada Lovelace" ; t:knows t:e2 ; t:born "1815-12-10"^^<http://www.w3.org/2001/XMLSchema#date> .
t:e2 rdfs:label "张三" ; t:knows t:e1 .
t:e3 t:employs t:e2 ; rdfs:label "Acme"@en .
"""


@pytest.fixture
def facts(home, run):
    (home / "facts.ttl").write_text(FACTS, encoding="utf-8")
    result = run("graph", "import", "facts.ttl")
    assert result.exit_code == 0, result.stderr
    return result


def test_a_neighbourhood_is_drawn_with_sources_and_receipts(run, run_json, facts):
    (receipt,) = run_json("receipts", "--surface", "graph")
    shown = run("graph", "show", "ada lovelace", "--hops", "2")
    assert shown.exit_code == 0, shown.stderr
    head, *lines = shown.stdout.splitlines()
    assert head.split() == ["Ada", "Lovelace", "source", "receipts"]
    drawing = [
        line.partition("  ")[0] if not line.startswith("│") else line[:3] + line[3:].partition("  ")[0]
        for line in lines
    ]
    assert drawing == [
        "├─ born → 1815-12-10",
        "├─ knows → 张三",
        "│  ├─ label → 张三",
        "│  └─ employs ← Acme",
        "├─ label → Ada Lovelace",
        "└─ knows ← 张三",
    ]
    assert all(receipt["receipt_id"][:13] in line for line in lines)
    assert "6 statements; 1 node further away" in shown.stderr
    found = run_json("graph", "show", "urn:t:e1")
    assert found["start"] == ["<urn:t:e1>"]
    assert len(found["evidence"]) == 4
    assert run("graph", "show", "Nobody").exit_code == 2


def test_what_a_drawing_leaves_out_is_said(run, home):
    rows = "".join(f"hub,to,n{n}\n" for n in range(30))
    (home / "hub.csv").write_text("subject,predicate,object\n" + rows)
    run("graph", "import", "hub.csv")
    shown = run("graph", "show", "hub", "--limit", "5")
    assert len(shown.stdout.splitlines()) == 6
    assert "1 nodes have more statements" in shown.stderr


def test_relations_are_chosen_by_name_and_what_is_ambiguous_is_said(run, home):
    rows = "Ada,<http://a.example/leads>,Bo\nAda,<http://b.example/leads>,Cy\n张三,领导,李四\n张三,认识,王五\n"
    (home / "staff.csv").write_text("subject,predicate,object\n" + rows, encoding="utf-8")
    run("graph", "import", "staff.csv")
    shown = run("graph", "show", "Ada", "--relation", "leads")
    assert [line.split()[:4] for line in shown.stdout.splitlines()[1:]] == [
        ["├─", "leads", "→", "Bo"],
        ["└─", "leads", "→", "Cy"],
    ]
    assert "2 relations are called 'leads', all were followed: <http://a.example/leads>, " in shown.stderr
    shown = run("graph", "show", "张三", "--relation", "领导")
    assert [line.split()[:4] for line in shown.stdout.splitlines()[1:]] == [["└─", "领导", "→", "李四"]]
    refused = run("graph", "show", "张三", "--relation", "领到")
    assert refused.exit_code == 2
    assert "no relation is called '领到'. Nearest: 领导." in refused.stderr.replace("\n", " ")


def test_a_tree_hangs_each_statement_once_below_what_was_reached_first():
    around = [("a", "p", "b"), ("c", "q", "a"), ("a", "p", "a"), ("b", "p", '"5"')]
    lines = list(drawn(make_tree("a", [_evidence(*one) for one in around]), fancy=False))
    assert [front + text for front, text, _ in lines] == [
        "|- p -> b",
        '|  `- p -> "5"',
        "|- q <- c",
        "`- p -> a",
    ]
    assert [item.locator.predicate for _, _, item in lines] == ["p", "p", "q", "p"]
    assert cut_of({"cut": {"time": 3, "results": 2}}) == "3 nodes were not reached in time; 2 more were not looked at"


def _evidence(subject: str, predicate: str, object_: str) -> Evidence:
    source = SourceRef.of_text("t", profile="default")
    locator = TripleLocator(subject=subject, predicate=predicate, object=object_)
    return Evidence.of(DataSurface.GRAPH, source, locator, "t", receipt_ids=("rcpt_1",))


def test_counts(run, run_json, facts):
    counted = run_json("graph", "stats")
    assert (counted["statements"], counted["entities"], counted["receipts"]) == (7, 3, 1)
    assert "7 statements · 3 entities · 1 receipt" in run("graph", "stats").stdout


def test_entities_are_found_by_name(run, run_json, facts):
    assert run_json("graph", "search", "Ada", "Lovelance")[0]["iri"] == "urn:t:e1"
    assert "张三" in run("graph", "search", "张").stdout
    assert run("graph", "search", "zzzz").exit_code == 1


def test_a_query_prints_a_table_csv_or_the_json_of_sparql(run, run_json, facts):
    select = "SELECT ?s ?l ?none { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?l } ORDER BY ?s"
    assert [line.split() for line in run("graph", "query", select).stdout.splitlines()[1:]] == [
        ["urn:t:e1", "Ada", "Lovelace"],
        ["urn:t:e2", "张三"],
        ["urn:t:e3", "Acme"],
    ]
    rows = list(csv.reader(io.StringIO(run("graph", "query", "--csv", select).stdout)))
    assert rows[:2] == [["s", "l", "none"], ["urn:t:e1", "Ada Lovelace", ""]]
    found = run_json("graph", "query", select)
    assert found["head"] == {"vars": ["s", "l", "none"]}
    assert found["results"]["bindings"][2]["l"] == {"type": "literal", "value": "Acme", "xml:lang": "en"}
    (born,) = run_json("graph", "query", "SELECT ?o { ?s <urn:t:born> ?o }")["results"]["bindings"]
    assert born["o"]["datatype"] == "http://www.w3.org/2001/XMLSchema#date"
    assert run("graph", "query", "ASK { <urn:t:e1> ?p ?o }").stdout == "yes\n"
    no = run("graph", "query", "ASK { <urn:t:e9> ?p ?o }")
    assert (no.stdout, no.exit_code) == ("no\n", 1)
    assert run("graph", "query", "-", stdin=select).exit_code == 0


@pytest.mark.parametrize(
    "text", ["DROP ALL", "INSERT DATA { <urn:a> <urn:b> 1 }", "SELECT * { SERVICE <http://x.invalid/> { ?s ?p ?o } }"]
)
def test_c19_what_changes_or_leaves_the_graph_is_refused(run, run_json, facts, text):
    refused = run("graph", "query", text)
    assert refused.exit_code == 4
    assert run_json("graph", "stats")["statements"] == 7


@pytest.mark.parametrize("ending", ["ttl", "nt", "nq", "trig", "jsonld", "rdf", "csv", "tsv", "jsonl"])
def test_an_export_comes_back_as_it_was(run, run_json, home, facts, ending):
    assert run("graph", "export", f"out.{ending}").exit_code == 0
    assert [path.name for path in home.glob("*out*")] == [f"out.{ending}"]
    (receipt,) = run_json("graph", "import", f"out.{ending}")
    assert receipt["result"]["items_written"] == 7
    # Everything was there already, so both files say the very same.
    counted = run_json("graph", "stats")
    assert (counted["statements"], counted["receipts"]) == (7, 2)


def test_a_file_is_replaced_only_when_told_and_never_by_half(run, home, facts):
    (home / "out.nt").write_text("mine")
    assert run("graph", "export", "out.nt").exit_code == 2
    assert (home / "out.nt").read_text() == "mine"
    assert run("graph", "export", "out.nt", "--force").exit_code == 0
    assert (home / "out.nt").read_text(encoding="utf-8").count("\n") == 7
    for name in ("out.doc", "out", "nowhere/out.nt"):
        assert run("graph", "export", name).exit_code == 2
    assert not [path for path in home.iterdir() if path.name.startswith((".out", "out.doc"))]


def test_rows_left_out_are_named_and_the_exit_code_says_so(run, home):
    (home / "t.csv").write_text("subject,predicate,object\nAda,knows,Bo\nAda,,Cy\n")
    result = run("graph", "import", "t.csv")
    assert result.exit_code == 1
    assert "t.csv: 1 row left out: 3 (input_invalid.missing)" in result.stdout


def test_every_call_went_through_the_gate(run_json, facts):
    (receipt,) = run_json("receipts", "--surface", "graph")
    assert receipt["tool"] == "graph_import_path"
    assert run_json("trace", receipt["receipt_id"])


def test_no_model_is_told_of_the_export(run_json):
    assert [row["name"] for row in run_json("tools") if row["name"] == "graph_export"] == ["graph_export"]
