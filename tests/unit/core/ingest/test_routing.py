"""Where a path or records go when no model decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamind.capabilities.ingest.routing import route_path, route_records
from datamind.core.errors import SurfaceUnavailable

ALL = frozenset({"kb_add_path", "db_import_path", "db_import_records", "graph_import_path"})


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("prices.csv", "db_import_path"),
        ("PRICES.CSV", "db_import_path"),
        ("rows.jsonl", "db_import_path"),
        ("book.xlsx", "db_import_path"),
        ("facts.ttl", "graph_import_path"),
        ("facts.nq", "graph_import_path"),
        ("notes.md", "kb_add_path"),
        ("report.pdf", "kb_add_path"),
        ("no extension", "kb_add_path"),
        (".csv", "kb_add_path"),
        ("folder.d", "kb_add_path"),
    ],
)
def test_the_extension_decides(name: str, tool: str) -> None:
    route = route_path(Path("/home/u") / name, ALL)
    assert (route.tool, dict(route.arguments)) == (tool, {"path": f"/home/u/{name}"})


@pytest.mark.parametrize(("name", "tool"), [("a.csv", "db_import_path"), ("a.ttl", "graph_import_path")])
def test_a_surface_that_is_off_is_named_and_no_other_takes_its_files(name: str, tool: str) -> None:
    with pytest.raises(SurfaceUnavailable, match=tool) as caught:
        route_path(Path(name), ALL - {tool})
    assert name in str(caught.value)
    assert "doctor" in str(caught.value)


def test_records_go_to_the_database_as_they_are() -> None:
    records = [{"a": 1}, {"a": None, "b": "x"}]
    route = route_records(records, ALL)
    assert (route.tool, route.arguments["records"]) == ("db_import_records", records)
    with pytest.raises(SurfaceUnavailable, match="2 records"):
        route_records(records, ALL - {"db_import_records"})
