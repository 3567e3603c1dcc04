"""datamind kb: status, optimize, reindex."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("scripted")


@pytest.fixture
def filled(run, home, monkeypatch, scripted):
    monkeypatch.setenv("DATAMIND__KB__BACKEND", "lancedb")
    (home / "a.md").write_text("The heron waits.\n")
    assert run("ingest", "a.md").exit_code == 0


@pytest.mark.usefixtures("filled")
def test_status_counts_documents_passages_vectors_and_bytes(run, run_json):
    told = run_json("kb", "status")
    assert (told["documents"], told["chunks"]) == (1, 1)
    assert told["store"]["size_bytes"] > 0
    assert told["store"]["versions"] >= 1
    text = run("kb", "status").stdout
    assert text.startswith("lancedb: 1 document, 1 passage\n")
    assert "on disk: " in text


@pytest.mark.usefixtures("filled")
def test_optimize_and_reindex_keep_what_there_is(run, run_json):
    assert "before, " in run("kb", "optimize").stdout
    assert run_json("kb", "reindex")[0]["result"]["items_written"] == 1
    told = run_json("kb", "status")
    assert (told["documents"], told["store"]["unindexed_chunks"]) == (1, 0)


def test_a_store_in_memory_needs_no_optimizing(run):
    assert "no such thing" in run("kb", "optimize").stdout
    assert run("kb", "status").exit_code == 0
