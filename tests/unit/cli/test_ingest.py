"""ingest: real files, and everything a path may be instead of one."""

from __future__ import annotations

import asyncio
import os

import pytest

pytestmark = pytest.mark.usefixtures("scripted")


@pytest.fixture
def notes(home):
    folder = home / "notes"
    folder.mkdir()
    for name in ("buoys", "charts", "tides"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAll about {name}.\n", encoding="utf-8")
    return folder


def test_a_folder_is_stored_file_by_file_without_a_model(run, notes, run_json):
    result = run("ingest", "notes")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("rcpt_") == 3
    assert result.stdout.splitlines()[-1].startswith("stored · 3 receipts (kb) · no model · ")
    again = run_json("ingest", "notes")
    assert again["status"] == "unchanged"


def test_stopped_before_anything_began_it_counts_no_earlier_receipts(run, notes, monkeypatch):
    assert run("ingest", "notes").exit_code == 0

    async def stopped(*args, **options):
        raise asyncio.CancelledError

    monkeypatch.setattr("datamind.agent.builder.build_datamind", stopped)
    result = run("ingest", "notes")
    assert result.exit_code == 130
    assert "Stopped; nothing was written." in result.stderr


def test_several_paths_in_one_call(run_json, notes):
    assert len(run_json("ingest", "notes/buoys.md", str(notes / "tides.md"))["receipts"]) == 2


def test_more_receipts_than_a_person_reads_are_counted(run, notes):
    for number in range(30):
        (notes / f"more{number}.md").write_text(f"Note {number}.\n")
    result = run("ingest", "notes")
    assert result.stdout.count("rcpt_") == 20
    assert "and 13 receipts more" in result.stdout


@pytest.mark.parametrize("path", ["absent.md", "notes/absent.md", "no/such/folder", "x" * 5000])
def test_a_path_that_does_not_exist_is_one_line_and_opens_nothing(run, path, home):
    result = run("ingest", path)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert not (home / "storage").exists()


def test_one_absent_path_stores_none_of_the_others(run, notes, home):
    assert run("ingest", "notes", "absent.md").exit_code == 2
    assert not (home / "storage").exists()


def test_no_path_at_all_is_a_mistake(run):
    assert run("ingest").exit_code == 2


def test_a_fifo_a_link_and_a_hidden_file_are_denied(run, home, notes):
    os.mkfifo(home / "pipe")
    (home / "link.md").symlink_to(notes / "tides.md")
    for path, said in (("pipe", "not a plain file"), ("link.md", "is a link")):
        result = run("ingest", path)
        assert result.exit_code == 4, path
        assert said in result.stderr
    assert run("receipts").stdout == ""


def test_a16_a_link_inside_a_folder_is_passed_over(run, notes, tmp_path, run_json):
    secret = tmp_path / "secret.md"
    secret.write_text("canary-4471\n")
    (notes / "link.md").symlink_to(secret)
    assert len(run_json("ingest", "notes")["receipts"]) == 3
    assert "canary-4471" not in run("ask", "canary-4471").stdout


def test_a_file_that_is_no_text_fails_with_its_reason(run, home):
    (home / "bytes.md").write_bytes(b"a\0b")
    result = run("ingest", "bytes.md")
    assert result.exit_code == 1
    assert "bytes.md: " in result.stdout
    assert result.stdout.splitlines()[-1].startswith("failed · 1 receipt (kb)")


def test_a_good_and_a_bad_file_are_partly_stored(run, home, notes):
    (notes / "bytes.md").write_bytes(b"a\0b")
    result = run("ingest", "notes")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("partial · 4 receipts")


@pytest.mark.usefixtures("light_set")
def test_a_table_names_the_surface_that_is_off(run, home):
    (home / "prices.csv").write_text("a,b\n1,2\n")
    result = run("ingest", "prices.csv")
    assert result.exit_code == 5
    assert "db is off" in result.stderr and "doctor" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_same_key_has_one_effect_and_the_same_receipts(run_json, notes):
    first, again = (run_json("ingest", "notes", "--key", "monday")["receipts"] for _ in range(2))
    assert [receipt["receipt_id"] for receipt in first] == [receipt["receipt_id"] for receipt in again]


def test_what_is_passed_over_is_counted_by_reason_and_listed_when_asked(run, run_json, notes):
    (notes / ".hidden").write_text("x")
    (notes / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (notes / ".gitignore").write_text("tides.md\n")
    result = run("ingest", "notes")
    assert result.exit_code == 0
    assert "passed over: 2 (hidden; `datamind explain skipped.hidden`)" in result.stdout
    assert "passed over: 1 (ignored; `datamind explain skipped.ignored`)" in result.stdout
    assert "  tides.md" not in result.stdout
    assert "\n  tides.md\n" in run("ingest", "-v", "notes").stdout
    told = {item["path"]: item["code"] for item in run_json("ingest", "notes")["skipped"]}
    assert told["photo.png"] == "skipped.no_loader"


@pytest.mark.usefixtures("light_set")
def test_a_surface_that_is_off_is_told_file_by_file(run, notes):
    (notes / "prices.csv").write_text("a,b\n1,2\n")
    result = run("ingest", "notes")
    assert result.exit_code != 0
    assert "passed over: 1 (db; `datamind explain surface_off.db`)\n  prices.csv\n" in result.stdout
    assert result.stdout.count("rcpt_") == 3


def test_a72_documents_of_files_that_are_gone_are_told_and_dropped_with_yes(run, run_json, notes):
    run("ingest", "notes")
    (notes / "tides.md").unlink()
    kept = run("ingest", "notes")
    assert kept.exit_code == 0
    assert "gone from there and still stored: what 1 file gave; `--yes` drops it" in kept.stdout
    assert "tides.md" in kept.stdout
    dropped = run_json("ingest", "--yes", "notes")
    assert dropped["gone"] == [] and dropped["receipts"][-1]["result"]["operation"] == "deleted"
    assert run_json("ingest", "notes")["gone"] == []
