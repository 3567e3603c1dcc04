"""Where a path or records go when no model decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamind.agent.direct_plan import plan_paths, plan_records
from datamind.capabilities.ingest.files import Located, PathPolicy
from datamind.capabilities.ingest.routing import surface_of
from tests.support.documents import make_docx, make_pdf, make_xlsx, paragraph

ALL = frozenset({"kb_add_path", "db_import_path", "db_import_records", "graph_import_path", "skill_upsert"})
PAGE = b"<!doctype html><html><body><p>prices</p></body></html>"


@pytest.mark.parametrize(
    ("name", "content", "surface"),
    [
        ("prices.csv", b"a,b\n1,2\n", "db"),
        ("PRICES.CSV", b"a,b\n1,2\n", "db"),
        ("prices.tsv", b"a\tb\n", "db"),
        ("prices.csv", PAGE, "kb"),
        ("prices.csv", b"", "db"),
        ("prices.parquet", b"PAR1\x15", "db"),
        ("rows.jsonl", b'{"a": 1}\n', "db"),
        ("rows.jsonl", b'\xef\xbb\xbf{"a": 1}\n', "db"),
        ("words.jsonl", b'"a"\n"b"\n', "kb"),
        ("rows.json", b' [\n {"a": 1}]', "db"),
        ("settings.json", b'{"a": [1]}', "kb"),
        ("numbers.json", b"[1, 2]", "kb"),
        ("book.xlsx", make_xlsx({"A": [[1]]}), "db"),
        ("facts.ttl", b"<a> <b> <c> .", "graph"),
        ("facts.nq", b"", "graph"),
        ("facts.jsonld", b'{"@id": "a"}', "graph"),
        ("notes.md", b"# Notes", "kb"),
        ("notes.md", make_pdf(["x"]), "kb"),
        ("report.pdf", make_pdf(["x"]), "kb"),
        ("report.pdf", make_docx(paragraph("x")), "kb"),
        ("report.docx", make_docx(paragraph("x")), "kb"),
        ("no extension", b"plain words", "kb"),
        (".csv", b"plain words", "kb"),
        ("SKILL.md", b"---\nname: a\n---\n", "skills"),
        ("photo.png", b"\x89PNG\r\n\x1a\n", None),
        ("photo.csv", b"\x89PNG\r\n\x1a\n", None),
        ("tune.mp3", b"ID3\x04", None),
        ("things.zip", b"PK\x03\x04", None),
        ("data.bin", b"\0\1\2\3", "kb"),
    ],
)
def test_the_name_and_the_bytes_decide(tmp_path: Path, name: str, content: bytes, surface: str | None) -> None:
    (tmp_path / name).write_bytes(content)
    assert surface_of(Located(tmp_path, (name,))) == surface


@pytest.mark.parametrize(
    ("name", "tool"), [("a.csv", "db_import_path"), ("a.ttl", "graph_import_path"), ("a.md", "kb_add_path")]
)
def test_a_surface_that_is_off_is_named_and_no_other_takes_its_files(tmp_path: Path, name: str, tool: str) -> None:
    (tmp_path / name).write_bytes(b"a,b\n")
    policy = PathPolicy(tmp_path)
    assert [step.tool for step in plan_paths([tmp_path / name], policy, ALL).steps] == [tool]
    plan = plan_paths([tmp_path / name], policy, ALL - {tool})
    surface = tool.partition("_")[0]
    assert not plan.steps
    assert [(skipped.path, skipped.code) for skipped in plan.off] == [(str(tmp_path / name), f"surface_off.{surface}")]


def test_records_go_to_the_database_as_they_are() -> None:
    records = [{"a": 1}, {"a": None, "b": "x"}]
    (step,) = plan_records(records, ALL).steps
    assert (step.tool, step.arguments["records"]) == ("db_import_records", records)
    assert plan_records(records, ALL - {"db_import_records"}).off[0].code == "surface_off.db"
