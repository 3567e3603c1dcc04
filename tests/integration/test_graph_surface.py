"""The graph surface through the gate: statements with their sources, walks, selectors, files, receipts."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from pathlib import Path
from typing import Any

import pytest

from datamind.core.context import RequestContext
from datamind.core.outcome import ToolOutcome
from datamind.core.types import Role
from tests.support.systems import contents, open_system, read, status, write


@pytest.fixture(params=["rdflib", "memory"])
def graph(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"graph": {"backend": request.param}}


RDFLIB = {"graph": {"backend": "rdflib"}}


def triple(subject: str, predicate: str, object_: object, **more: object) -> dict[str, object]:
    return {"subject": subject, "predicate": predicate, "object": object_, **more}


async def upsert(system: Any, *triples: dict[str, object], **more: object) -> ToolOutcome:
    return await write(system, "graph_upsert_triples", triples=list(triples), **more)


async def told(system: Any, entity: str) -> list[str]:
    return sorted(contents(await read(system, "graph_neighbors", entity=entity)))


def file(folder: Path, name: str, text: str) -> None:
    path = folder / "data/profiles/default" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def test_a46_two_relations_between_the_same_pair_come_back_with_their_sources(
    tmp_path: Path, graph: dict[str, Any]
) -> None:
    async with open_system(tmp_path, **graph) as system:
        first = await upsert(system, triple("Ada", "founded", "Acme"), text="Ada founded Acme.")
        second = await upsert(system, triple("Ada", "works_at", "Acme"), text="Ada works at Acme.")
        found = await read(system, "graph_traverse", start=["Acme"], hops=1)
        assert sorted(contents(found)) == ["Ada founded Acme", "Ada works_at Acme"]
        receipts = {item.content: item.receipt_ids for item in found.evidence}
        assert receipts["Ada founded Acme"] == (first.receipts[0].receipt_id,)
        assert receipts["Ada works_at Acme"] == (second.receipts[0].receipt_id,)
        assert {item.locator.predicate for item in found.evidence} == {
            "<urn:datamind:p:founded>",
            "<urn:datamind:p:works_at>",
        }


async def test_a68_a_dense_graph_gives_a_bounded_answer_that_says_what_was_cut(
    tmp_path: Path, graph: dict[str, Any]
) -> None:
    names = [f"node {n}" for n in range(25)]
    triples = [triple(one, "linked_to", other) for one in names for other in names if one != other]
    async with open_system(tmp_path, **graph) as system:
        assert status(await upsert(system, *triples)) == "stored"
        found = await read(system, "graph_traverse", start=["node 3"], hops=4, limit=100)
        assert len(found.evidence) == 100
        assert found.data["cut"]["results"] > 0
        narrow = await read(system, "graph_traverse", start=["node 3"], hops=4, fan_out=5, limit=200)
        assert narrow.data["cut"]["fan_out"] > 0


async def test_a_span_and_a_doubt_are_kept(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        text = "It seems that Ada knows Bo."
        await upsert(system, triple("Ada", "knows", "Bo", start=14, end=26, confidence=0.5), text=text)
        (item,) = (await read(system, "graph_neighbors", entity="ada")).evidence
        assert item.note == "hop 1; confidence 0.5; characters 14-26"
        assert item.source.checksum
        refused = await upsert(system, triple("Ada", "knows", "Cy", start=20, end=90), text=text)
        assert refused.is_error
        assert refused.code == "input_invalid"


async def test_said_again_by_the_same_text_nothing_changes_and_by_another_it_has_two_sources(
    tmp_path: Path, graph: dict[str, Any]
) -> None:
    async with open_system(tmp_path, **graph) as system:
        fact = triple("Ada", "works_at", "Acme")
        assert status(await upsert(system, fact, text="Ada works at Acme.")) == "stored"
        assert status(await upsert(system, fact, text="Ada works at Acme.")) == "unchanged"
        assert status(await upsert(system, fact, text="The firm of Ada is Acme.")) == "stored"
        (item,) = (await read(system, "graph_neighbors", entity="Ada")).evidence
        assert len(item.receipt_ids) == 2
        assert (await read(system, "graph_stats")).data["statements"] == 1
        assert status(await write(system, "graph_delete", subject="Ada", object="Acme")) == "stored"
        assert status(await upsert(system, fact, text="Ada works at Acme.")) == "stored"


async def test_values_names_and_paths(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        await upsert(
            system,
            triple("Ada", "works_at", "Acme"),
            triple("Acme", "based_in", "Oslo"),
            triple("Oslo", "inhabitants", 700000),
            triple("Oslo", "skos:altLabel", "Christiania", object_type="literal"),
            triple("张三", "就职于", "星河科技"),
            triple("Ada", "born", "1815-12-10", datatype="xsd:date"),
        )
        found = await read(system, "graph_path", start="ada", goal="christiania")
        assert contents(found) == ["Ada works_at Acme", "Acme based_in Oslo"]
        assert found.data["length"] == 2
        assert contents(await read(system, "graph_path", start="Oslo", goal="Ada", direction="out")) == []
        assert "Oslo inhabitants 700000" in await told(system, "oslo")
        assert await told(system, "星河科技") == ["张三 就职于 星河科技"]
        hits = (await read(system, "graph_search_entities", query="星河")).data["entities"]
        assert [(hit["name"], hit["match"]) for hit in hits] == [("星河科技", "prefix")]
        missing = await read(system, "graph_neighbors", entity="Acne")
        assert missing.code == "not_found"
        assert "Acme" in missing.message


STAFF = """@prefix ex: <http://staff.example/rel/> . @prefix hr: <http://hr.example/> .
@prefix p: <http://staff.example/person/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
p:ada ex:leads p:bo ; ex:worksAt p:acme . p:bo hr:leads p:cy ; hr:P7 p:dora .
hr:P7 rdfs:label "reports to", "汇报给"@zh . p:zhang <http://staff.example/rel/领导> p:li .
p:zhang rdfs:label "张三"@zh . p:li rdfs:label "李四"@zh .
"""


async def test_relations_of_imported_files_are_named_as_entities_are(tmp_path: Path) -> None:
    file(tmp_path, "staff.ttl", STAFF)
    async with open_system(tmp_path, **RDFLIB) as system:
        assert status(await write(system, "graph_import_path", path="staff.ttl")) == "stored"

        async def around(entity: str, *relations: str) -> list[str]:
            found = await read(system, "graph_neighbors", entity=entity, predicates=list(relations), direction="out")
            assert not found.is_error, found.message
            return sorted(contents(found))

        for name in ("Leads", "ex:leads", "http://staff.example/rel/leads", "<http://staff.example/rel/leads>"):
            assert await around("ada", name) == ["ada leads bo"], name
        for name in ("works at", "works_at", "worksAt"):
            assert await around("ada", name) == ["ada worksAt acme"], name
        for name in ("reports to", "汇报给", "P7", "hr:P7"):
            assert await around("bo", name) == ["bo reports to dora"], name
        assert await around("张三", "领导") == ["张三 领导 李四"]
        assert await around("张三", "rdfs:label") == ["张三 label 张三"]
        assert await around("ada", "leads", "worksAt") == ["ada leads bo", "ada worksAt acme"]
        chain = await read(system, "graph_path", start="ada", goal="cy", predicates=["leads"])
        assert contents(chain) == ["ada leads bo", "bo leads cy"]
        assert chain.data["several_relations"] == {
            "leads": ["<http://hr.example/leads>", "<http://staff.example/rel/leads>"]
        }
        far = await read(system, "graph_traverse", start=["ada"], hops=2, predicates=["leads"], direction="out")
        assert contents(far) == ["ada leads bo", "bo leads cy"]
        one = await read(system, "graph_traverse", start=["ada"], predicates=["http://hr.example/leads"])
        assert contents(one) == []
        assert "several_relations" not in one.data


async def test_a_relation_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        await upsert(system, triple("Ada", "leads", "Bo"), triple("张三", "领导团队", "李四"))
        for wrong, nearest in (("laeds", "leads"), ("领导团", "领导团队"), ("http://x.example/leads", "leads")):
            refused = await read(system, "graph_neighbors", entity="Ada", predicates=[wrong])
            assert refused.code == "not_found"
            assert f"no relation is called {wrong!r}" in refused.message
            assert f"Nearest: {nearest}." in refused.message
            assert "\n" not in refused.message
        refused = await read(system, "graph_path", start="Ada", goal="Bo", predicates=["zzz"])
        assert "graph_stats lists the relations" in refused.message


async def test_a_deletion_finds_the_relations_of_imported_files_by_name(tmp_path: Path) -> None:
    file(tmp_path, "staff.ttl", STAFF)
    async with open_system(tmp_path, **RDFLIB) as system:
        await write(system, "graph_import_path", path="staff.ttl")
        none = await write(system, "graph_delete", subject="ada", predicate="knows")
        assert none.data == {"matched": 0}
        gone = await write(system, "graph_delete", subject="张三", predicate="领导")
        assert gone.receipts[0].result.items_written == 1
        assert await told(system, "李四") == ["李四 label 李四"]


async def test_b19_what_a_deleted_source_said_is_gone_at_once(tmp_path: Path, graph: dict[str, Any]) -> None:
    file(tmp_path, "one.csv", "subject,predicate,object\nAda,works_at,Acme\nAda,knows,Bo\n")
    file(tmp_path, "two.csv", "subject,predicate,object\nAda,knows,Bo\n")
    async with open_system(tmp_path, **graph) as system:
        for name in ("one.csv", "two.csv"):
            assert status(await write(system, "graph_import_path", path=name)) == "stored"
        assert await told(system, "Acme") == ["Ada works_at Acme"]
        assert status(await write(system, "graph_delete", source="one.csv")) == "stored"
        assert (await read(system, "graph_neighbors", entity="Acme")).code == "not_found"
        assert (await read(system, "graph_search_entities", query="Acme")).data["entities"] == []
        assert await told(system, "Ada") == ["Ada knows Bo"]
        (item,) = (await read(system, "graph_neighbors", entity="Ada")).evidence
        assert item.source.uri == "file:two.csv"
        statuses = {one.surface: one.items for one in await system.services.statuses("")}
        assert statuses["graph"] == 1


async def test_a_later_version_of_a_file_replaces_the_earlier(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        file(tmp_path, "a.csv", "subject;predicate;object\nAda;lives_in;Oslo\nAda;knows;Bo\n")
        assert status(await write(system, "graph_import_path", path="a.csv")) == "stored"
        assert status(await write(system, "graph_import_path", path="a.csv")) == "unchanged"
        file(tmp_path, "a.csv", "subject;predicate;object\nAda;lives_in;Bergen\nAda;knows;Bo\n")
        changed = await write(system, "graph_import_path", path="a.csv")
        assert changed.receipts[0].result.operation == "replaced"
        assert changed.receipts[0].result.closed_ids
        assert await told(system, "Ada") == ["Ada knows Bo", "Ada lives_in Bergen"]


async def test_rows_that_are_no_triples_are_counted_and_the_rest_is_stored(
    tmp_path: Path, graph: dict[str, Any]
) -> None:
    file(tmp_path, "a.jsonl", '{"s":"Ada","p":"age","o":36}\nnot json\n{"s":"Ada","p":"knows"}\n')
    file(tmp_path, "b.csv", "name,age\nAda,36\n")
    async with open_system(tmp_path, **graph) as system:
        (receipt,) = (await write(system, "graph_import_path", path="a.jsonl")).receipts
        assert receipt.status == "partial"
        assert [(row.line, row.code) for row in receipt.result.detected.rejected] == [
            (2, "malformed"),
            (3, "input_invalid.missing"),
        ]
        assert await told(system, "Ada") == ["Ada age 36"]
        (failed,) = (await write(system, "graph_import_path", path="b.csv")).receipts
        assert failed.result.error.code == "source_unreadable.columns"


async def test_a_folder_of_files_has_a_receipt_for_each(tmp_path: Path) -> None:
    file(tmp_path, "facts/a.ttl", '@prefix s: <urn:s:> . s:ada s:knows s:bo ; <urn:s:name> "Ada"@en .')
    file(tmp_path, "facts/b.nt", "<urn:s:bo> <urn:s:knows> <urn:s:cy> .\n")
    file(tmp_path, "facts/broken.ttl", "@prefix")
    file(tmp_path, "facts/note.md", "# Not a graph\n")
    async with open_system(tmp_path, **RDFLIB) as system:
        outcome = await write(system, "graph_import_path", path="facts")
        found = {receipt.source.uri.rpartition("/")[2]: receipt.status for receipt in outcome.receipts}
        # What is no graph file is none of this tool's; ingesting the folder sends it where it belongs.
        assert found == {"a.ttl": "stored", "b.nt": "stored", "broken.ttl": "failed"}
        assert outcome.data["status"] == "partial"
        assert contents(await read(system, "graph_path", start="urn:s:ada", goal="urn:s:cy")) == [
            "ada knows bo",
            "bo knows cy",
        ]


async def test_files_given_as_paths_go_to_the_graph_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "facts.ttl"
    path.write_text("<urn:s:ada> <urn:s:knows> <urn:s:bo> .")
    async with open_system(tmp_path, **RDFLIB) as system:
        assert (await system.ingest(path)).status == "stored"
        assert contents(await read(system, "graph_neighbors", entity="bo")) == ["ada knows bo"]


async def test_what_a_selector_finds_decides(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        await upsert(system, triple("Ada", "knows", "Bo"), triple("Ada", "knows", "Cy"), triple("Bo", "age", 5))
        none = await write(system, "graph_delete", subject="Nobody")
        assert (none.receipts, none.data) == ((), {"matched": 0})
        several = await write(system, "graph_delete", subject="Ada", predicate="knows")
        assert several.code == "approval_required"
        assert len(await told(system, "Ada")) == 2
        one = await write(system, "graph_delete", subject="Bo", predicate="age", object="5")
        assert one.receipts[0].result.ids == (
            '<urn:datamind:e:Bo> <urn:datamind:p:age> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        )
        assert one.receipts[0].result.revert == "none"
        assert status(await write(system, "graph_delete", entity="bo")) == "stored"
        assert await told(system, "Ada") == ["Ada knows Cy"]
        for unclear in (
            {"predicate": "knows"},
            {},
            {"subject": "Ada", "entity": "Cy"},
            {"entity": "Ada", "predicate": "p"},
        ):
            assert (await write(system, "graph_delete", **unclear)).code == "arguments_invalid"


async def test_what_was_deleted_is_kept_with_its_intent(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        stored = await upsert(system, triple("Ada", "knows", "Bo"))
        (receipt,) = (await write(system, "graph_delete", receipt=stored.receipts[0].receipt_id)).receipts
        assert receipt.result.ids == (stored.receipts[0].receipt_id,)
        assert (receipt.result.items_written, receipt.result.revert) == (1, "none")  # kept, and not yet brought back


async def test_sparql_is_evidence_with_its_statement(tmp_path: Path) -> None:
    async with open_system(tmp_path, **RDFLIB) as system:
        for text in ("One.", "Two.", "Three."):
            await upsert(system, triple("Ada", "works_at", "Acme"), text=text)
        query = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
        (item,) = (await read(system, "graph_query", sparql=query)).evidence
        assert (item.content, item.locator.statement) == ('{"columns":["n"],"rows":[["1"]]}', query)
        (item,) = (await read(system, "graph_query", sparql="ASK { ?s <urn:datamind:p:works_at> ?o }")).evidence
        assert item.table().rows == ((True,),)


async def test_c12_nothing_that_the_reading_side_can_say_changes_the_graph(tmp_path: Path) -> None:
    async with open_system(tmp_path, **RDFLIB) as system:
        stored = await upsert(system, triple("Ada", "works_at", "Acme"))
        graph_name = f"urn:datamind:r:{stored.receipts[0].receipt_id}"
        for query in ("DELETE WHERE { ?s ?p ?o }", "DROP ALL", f"CLEAR GRAPH <{graph_name}>"):
            assert (await read(system, "graph_query", sparql=query)).code == "access_denied.sparql_update"
        for tool in ("graph_delete", "graph_upsert_triples", "graph_import_path"):
            refused = await system.call(tool, {}, role=Role.RETRIEVE)
            assert refused.code.startswith("access_denied")
        known = await read(system, "graph_query", sparql=f"SELECT * FROM <{graph_name}> {{ ?s ?p ?o }}")
        assert len(known.evidence) == 1
        assert not hasattr((await system.services.hub.open("graph.store")).read_view(), "remove")


async def test_a_large_file_does_not_hold_the_event_loop(tmp_path: Path) -> None:
    lines = "".join(f"<urn:s:{n % 3000}> <urn:p:{n % 5}> <urn:s:{n}> .\n" for n in range(30_000))
    file(tmp_path, "large.nt", lines)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            longest = max(longest, time.perf_counter() - began - 0.005)

    # What the test runner holds is no part of it, and would make each garbage collection a long one.
    gc.collect()
    gc.freeze()
    async with open_system(tmp_path, **RDFLIB) as system:
        task = asyncio.create_task(watch())
        assert status(await write(system, "graph_import_path", path="large.nt")) == "stored"
        task.cancel()
        assert (await read(system, "graph_stats")).data["statements"] == 30_000
    gc.unfreeze()
    assert longest <= 0.25


async def test_b18_a_file_again_under_another_name_and_after_its_deletion(
    tmp_path: Path, graph: dict[str, Any]
) -> None:
    for name in ("a.csv", "b.csv"):
        file(tmp_path, name, "subject,predicate,object\nAda,knows,Bo\n")
    async with open_system(tmp_path, **graph) as system:
        assert status(await write(system, "graph_import_path", path="a.csv")) == "stored"
        for _ in range(2):
            assert status(await write(system, "graph_import_path", path="a.csv")) == "unchanged"
        assert status(await write(system, "graph_import_path", path="b.csv")) == "stored"
        assert (await read(system, "graph_stats")).data["statements"] == 1
        (item,) = (await read(system, "graph_neighbors", entity="Ada")).evidence
        assert len(item.receipt_ids) == 2
        for name in ("a.csv", "b.csv"):
            assert status(await write(system, "graph_delete", source=name)) == "stored"
        assert (await read(system, "graph_stats")).data["statements"] == 0
        assert status(await write(system, "graph_import_path", path="a.csv")) == "stored"
        assert await told(system, "Ada") == ["Ada knows Bo"]


async def test_what_an_application_exports_is_what_the_graph_says(tmp_path: Path, graph: dict[str, Any]) -> None:
    async with open_system(tmp_path, **graph) as system:
        await upsert(system, triple("Ada", "knows", "Bo"), triple("Bo", "age", 5))
        pieces: list[bytes] = []
        ctx = RequestContext(system.profile.name, Role.RETRIEVE, by_application=True, sink=pieces.append)
        done = await system.call("graph_export", {"format": "jsonl"}, role=Role.RETRIEVE, ctx=ctx)
        lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
        assert {line["object"] for line in lines} == {"<urn:datamind:e:Bo>", "5"}
        assert done.data["bytes"] == len(b"".join(pieces))
        for unclear in ("docx", "mp3"):
            refused = await system.call("graph_export", {"format": unclear}, role=Role.RETRIEVE, ctx=ctx)
            assert refused.code == "input_invalid"
        assert (await read(system, "graph_export", format="nt")).code == "input_invalid"


async def exported(system: Any, ending: str) -> str:
    pieces: list[bytes] = []
    ctx = RequestContext(system.profile.name, Role.RETRIEVE, by_application=True, sink=pieces.append)
    await system.call("graph_export", {"format": ending}, role=Role.RETRIEVE, ctx=ctx)
    return b"".join(pieces).decode()


async def test_formats_with_graphs_say_who_asserts_what_and_every_format_comes_back(tmp_path: Path) -> None:
    async with open_system(tmp_path / "first", **RDFLIB) as system:
        first = await upsert(
            system, triple("Ada", "knows", "Bo"), triple("Ada", "born", "1815-12-10", datatype="xsd:date")
        )
        second = await upsert(system, triple("Ada", "knows", "Bo"), text="Ada and Bo are friends.")
        receipts = [outcome.receipts[0].receipt_id for outcome in (first, second)]
        files = {ending: await exported(system, ending) for ending in ("nq", "trig", "ttl", "nt")}
    lines = files["nq"].splitlines()
    knows = "<urn:datamind:e:Ada> <urn:datamind:p:knows> <urn:datamind:e:Bo>"
    assert sorted(line for line in lines if line.startswith(knows)) == sorted(
        [f"{knows} .", *(f"{knows} <urn:datamind:r:{receipt}> ." for receipt in receipts)]
    )
    assert len(lines) == 5
    assert all(receipt in files["trig"] for receipt in receipts)
    assert not any(receipt in files[ending] for receipt in receipts for ending in ("ttl", "nt"))
    assert not any("urn:datamind:x:" in text for text in files.values())
    for ending, text in files.items():
        file(tmp_path / ending, f"graph.{ending}", text)
        async with open_system(tmp_path / ending, **RDFLIB) as fresh:
            (receipt,) = (await write(fresh, "graph_import_path", path=f"graph.{ending}")).receipts
            assert (receipt.status, receipt.result.items_written) == ("stored", 2)
            assert sorted((await exported(fresh, "nt")).splitlines()) == sorted(files["nt"].splitlines())


async def test_a_syntax_error_names_the_line_and_what_the_file_looks_like(tmp_path: Path) -> None:
    good = "@prefix e: <urn:e:> .\n" + "".join(f"e:s{n} e:p e:o .\n" for n in range(498))
    file(tmp_path, "late.ttl", good + "e:a e:p e:o e:q .\n" + good)
    file(tmp_path, "json.ttl", '{"@id": "urn:a"}')
    file(tmp_path, "turtle.nt", good)
    async with open_system(tmp_path, **RDFLIB) as system:
        said = {}
        for name in ("late.ttl", "json.ttl", "turtle.nt"):
            (receipt,) = (await write(system, "graph_import_path", path=name)).receipts
            assert receipt.status == "failed"
            said[name] = receipt.result.error.message
        assert said["late.ttl"].count("line 500") == 1
        assert "begins as" not in said["late.ttl"]
        assert "let its name end in .jsonld" in said["json.ttl"]
        assert "let its name end in .ttl" in said["turtle.nt"]
        assert (await read(system, "graph_stats")).data["statements"] == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.ttl", b""),
        ("only_prefix.ttl", b"@prefix a: <urn:a:> .\n"),
        ("nul.nt", b"<urn:a> <urn:b> \x00 .\n"),
        ("binary.ttl", bytes(range(256)) * 40),
        ("latin.nt", b'<urn:a> <urn:b> "\xe9" .\n'),
        ("surrogate.jsonl", b'{"s": "\\ud800", "p": "b", "o": "c"}\n'),
        ("page.csv", b"<!doctype html><html><body>no table</body></html>"),
        ("far.jsonld", b'{"@context": "http://127.0.0.1:9/c.jsonld", "@id": "urn:a", "b": 1}'),
        ("entity.rdf", b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rdf:RDF xmlns:rdf='
         b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:t="urn:t:"><rdf:Description rdf:about="urn:s">'
         b"<t:p>&x;</t:p></rdf:Description></rdf:RDF>"),
        ("reserved.nt", b"<urn:datamind:x:meta> <urn:b> <urn:c> .\n"),
    ],
)  # fmt: skip
async def test_a_file_that_says_nothing_fails_in_one_line_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / "data/profiles/default" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    async with open_system(tmp_path, **RDFLIB) as system:
        outcome = await write(system, "graph_import_path", path=name)
        assert (outcome.is_error, "\n" in outcome.message) == (True, False)
        assert (await read(system, "graph_stats")).data["statements"] == 0
