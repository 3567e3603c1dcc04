"""undo: what goes is shown first, and goes only with a yes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("scripted")


@pytest.fixture
def notes(home):
    folder = home / "notes"
    folder.mkdir()
    for name in ("buoys", "charts"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAll about {name}.\n", encoding="utf-8")
    return folder


def test_what_one_command_added_is_shown_and_goes(run, run_json, notes):
    run("ingest", "notes")
    result = run("undo", "--yes")
    assert result.exit_code == 0, result.stderr
    shown, done = result.stdout.split("operation")
    assert "buoys" in shown and "charts" in shown
    assert done.count("deleted") == 2
    assert run("undo", "--yes").stdout == "There is nothing to undo.\n"
    assert run_json("kb", "status")["documents"] == 0


def test_without_a_terminal_and_without_yes_nothing_goes(run, run_json, notes):
    run("ingest", "notes")
    refused = run("undo")
    assert refused.exit_code == 4
    assert "--yes" in refused.stderr
    assert run_json("kb", "status")["documents"] == 2


def test_one_receipt_by_its_short_id_and_again(run, run_json, notes):
    first, second = run_json("ingest", "notes")["receipts"]
    assert run("undo", first["receipt_id"], "--yes").exit_code == 0
    assert run("undo", second["receipt_id"].partition(".")[0], "--yes").exit_code == 0
    again = run("undo", second["receipt_id"], "--yes")
    assert (again.exit_code, "reverted already, by rcpt_" in again.stdout) == (0, True)
    found = run_json("undo", second["receipt_id"], "--yes")
    assert found["gone"][0]["undone_by"]["result"]["operation"] == "deleted"


def test_what_was_replaced_comes_back_and_goes_again(run, run_json, notes):
    run("ingest", "notes")
    (first, *_) = [one for one in run_json("receipts") if one["source"]["uri"].endswith("buoys.md")]
    (notes / "buoys.md").write_text("# buoys\n\nNone is left.\n", encoding="utf-8")
    (second,) = [one for one in run_json("ingest", "notes")["receipts"] if one["result"]["operation"] == "replaced"]
    refused = run("revert", first["receipt_id"], "--yes")
    assert refused.exit_code != 0
    assert second["receipt_id"] in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    shown = run("revert", second["receipt_id"].partition(".")[0], "--yes")
    assert (shown.exit_code, "comes back: buoys" in shown.stdout, "restored" in shown.stdout) == (0, True, True)
    (redone,) = [one for one in run_json("receipts") if one["tool"] == "kb_restore"]
    assert run("revert", redone["receipt_id"], "--yes").exit_code == 0
    assert run("revert", "rcpt_nope.default", "--yes").exit_code != 0
