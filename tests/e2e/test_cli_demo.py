"""The demo and a first session with what a plain installation brings: no key, no network, no scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamind_cli import demonstration
from datamind_cli.main import cli
from tests.support.cli import Datamind


@pytest.fixture
def datamind(tmp_path: Path) -> Datamind:
    home, site = tmp_path / "home", tmp_path / "site"
    home.mkdir()
    site.mkdir()
    return Datamind(home, site, {})


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> tuple[Datamind, str]:
    """One run of the demo in a profile, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    home, site = folder / "home", folder / "site"
    home.mkdir()
    site.mkdir()
    datamind = Datamind(home, site, {})
    # A model that costs is never used, whatever the settings say.
    result = datamind.run("demo", "--profile", "show", DATAMIND__LLM__PROTOCOL="anthropic", DATAMIND__LLM__MODEL="m")
    assert result.code == 0, result.out[-2_000:] + result.err
    return datamind, result.out


def test_the_demo_is_right_on_every_surface_and_in_both_languages(shown):
    _, text = shown
    assert "all as expected" in text
    assert "not asked: " not in text
    assert text.count("> ask    ") >= 20
    assert text.splitlines()[-1].endswith(" s")


def test_the_demo_shows_evidence_a_trace_and_the_status_line(shown):
    _, text = shown
    for part in (
        "> store  ",
        "> why    ",
        "rcpt_",
        "employee-handbook.md",
        "norsund-contract.pdf",
        "offline (extractive) · ",
    ):
        assert part in text


def test_the_demo_keeps_its_profile_and_refuses_one_that_is_used(shown):
    datamind, _ = shown
    assert len(json.loads(datamind.run("receipts", "--profile", "show", "--json").out)) >= 20
    again = datamind.run("demo", "--profile", "show")
    assert again.code == 5
    assert "the demo needs one that is empty" in again.err


@pytest.fixture
def small_example(tmp_path, monkeypatch):
    """The example, cut down to one memory and one document, with questions of a test's own."""
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "note.md").write_text("# Note\n\nThe quay has four ramps.\n", encoding="utf-8")
    (folder / "memory.jsonl").write_text('{"text": "I live in Bergen."}\n', encoding="utf-8")

    def ask(**question):
        head = {"ingest": ["note.md", "memory.jsonl"]}
        lines = [json.dumps(row) for row in (head, {"id": "one", **question})]
        (folder / demonstration.QUESTIONS).write_text("\n".join(lines), encoding="utf-8")

    monkeypatch.setattr(demonstration, "_placed", lambda _: folder)
    return ask


@pytest.mark.parametrize(
    ("answers", "sources"),
    [(["Trondheim"], ["I live in Bergen."]), (["Bergen"], ["note.md"]), (None, [])],
    ids=["answer", "source", "claimed"],
)
def test_the_demo_fails_when_an_expected_answer_or_citation_is_missing(small_example, answers, sources):
    small_example(question="Where do I live?", answers=answers, sources=sources)
    result = CliRunner().invoke(cli, ["demo"])
    assert result.exit_code == 1
    assert "wrong: Where do I live?" in result.stdout


def test_the_demo_says_what_it_does_not_ask_without_an_engine(small_example, monkeypatch):
    small_example(question="How many ships are there?", answers=["4"], sources=["ships"], kind="db")
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "db-duckdb")
    result = CliRunner().invoke(cli, ["demo"])
    assert "not asked: How many ships are there? (db is off)" in result.stdout
    assert "no answer cites anything" in result.stdout


def test_the_demo_leaves_nothing_behind_unless_it_is_told_to(small_example, tmp_path, monkeypatch):
    small_example(question="Where do I live?", answers=["Bergen"], sources=["I live in Bergen."])
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "work"))
    assert CliRunner().invoke(cli, ["demo"]).exit_code == 0
    assert list(work.iterdir()) == []
    kept = CliRunner().invoke(cli, ["demo", "--keep"])
    (folder,) = work.glob("datamind-*")
    assert str(folder) in kept.stderr
    assert "all as expected" in kept.stdout
    assert (folder / "storage" / "demo" / "control.db").is_file()


def test_b10_a_first_session_over_several_processes(datamind):
    notes = datamind.home / "notes.md"
    notes.write_text("# Workshop\n\nThe kiln is fired every Tuesday at 17:30.\n", encoding="utf-8")
    assert datamind.run("init").code == 0
    assert datamind.run("store", "I live in Oslo.").code == 0
    assert datamind.run("store", "I moved to Bergen.").code == 0
    assert datamind.run("ingest", "notes.md").code == 0
    assert "Bergen" in datamind.run("ask", "Where do I live?").out.splitlines()[0]
    kiln = datamind.run("ask", "When is the kiln fired?").out
    assert "17:30" in kiln.splitlines()[0]
    assert "notes.md" in kiln
    assert "notes.md" in datamind.run("why").out
    assert datamind.run("doctor").code == 0
