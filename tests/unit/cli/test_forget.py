"""forget: what goes is shown first, and goes only with a yes; --erase leaves nothing in the files."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("scripted")
WORD = "qzvkwmtrbxyplnsahedjouif"


@pytest.fixture
def note(home):
    path = home / "buoys.md"
    path.write_text(f"# buoys\n\nThe last one is called {WORD}.\n", encoding="utf-8")
    return path


def held(home):
    files = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".md")
    return [path.name for path in files if WORD.encode() in path.read_bytes()]


def test_a_source_is_shown_and_forgotten_and_then_erased(run, run_json, home, note):
    run("ingest", "buoys.md")
    result = run("forget", "--source", "buoys.md", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "stays: the file" in result.stdout and "deleted" in result.stdout
    assert run_json("kb", "status")["documents"] == 0
    assert "--erase" in run("forget", "--source", "buoys.md", "--yes").stdout
    assert held(home)
    erased = run_json("forget", "--source", "buoys.md", "--erase", "--yes")
    assert [receipt["result"]["operation"] for receipt in erased["receipts"]] == ["erased"]
    assert held(home) == []
    assert run("forget", "--source", "buoys.md", "--yes").stdout == "Nothing of it is stored.\n"


def test_a_receipt_by_its_short_id(run, run_json, note):
    (receipt,) = run_json("ingest", "buoys.md")["receipts"]
    assert run("forget", receipt["receipt_id"].partition(".")[0], "--yes").exit_code == 0
    assert run_json("kb", "status")["documents"] == 0


def test_without_a_terminal_and_without_yes_nothing_goes(run, run_json, note):
    run("ingest", "buoys.md")
    refused = run("forget", "--source", "buoys.md")
    assert refused.exit_code == 4 and "--yes" in refused.stderr
    assert run_json("kb", "status")["documents"] == 1


def test_one_thing_is_said(run):
    assert run("forget").exit_code == 2
    assert run("forget", "--source", "a", "--entity", "b").exit_code == 2
