"""The demo and a first session with what a plain installation brings: no key, no network, no scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamind_cli import demonstration
from datamind_cli.evaluation.questions import Question
from datamind_cli.main import cli
from tests.support.cli import Datamind


@pytest.fixture
def datamind(tmp_path: Path) -> Datamind:
    home, site = tmp_path / "home", tmp_path / "site"
    home.mkdir()
    site.mkdir()
    return Datamind(home, site, {})


def test_the_demo_is_right_and_leaves_nothing_behind(datamind):
    result = datamind.run("demo", "--json")
    story = json.loads(result.out)
    assert story["problems"] == []
    assert result.code == 0, result.err
    assert len(story["asked"]) >= 8
    assert len(story["trace"]["receipts"]) >= 1
    assert {stored["result"]["status"] for stored in story["stored"]} == {"stored"}
    assert list(datamind.home.iterdir()) == []


def test_the_demo_shows_evidence_receipts_a_trace_and_the_status_line(datamind):
    text = datamind.run("demo").out
    for part in (
        "> store  ",
        "> ask    ",
        "> why    ",
        "rcpt_",
        "handbook.md",
        "superseded",
        "offline (extractive) · ",
    ):
        assert part in text
    assert text.splitlines()[-1].endswith(" s")
    assert "all as expected" in text


def test_the_demo_in_a_profile_keeps_it_and_refuses_one_that_is_used(datamind):
    assert datamind.run("demo", "--profile", "show").code == 0
    assert len(json.loads(datamind.run("receipts", "--profile", "show", "--json").out)) >= 8
    again = datamind.run("demo", "--profile", "show")
    assert again.code == 5
    assert "the demo needs one that is empty" in again.err


def test_the_demo_never_uses_a_model_that_costs(datamind):
    result = datamind.run("demo", DATAMIND__LLM__PROTOCOL="anthropic", DATAMIND__LLM__MODEL="m")
    assert result.code == 0, result.err


def test_the_demo_keeps_its_folder_when_it_is_told_to(datamind, tmp_path):
    result = datamind.run("demo", "--keep", TMPDIR=str(tmp_path))
    (folder,) = tmp_path.glob("datamind-*")
    assert str(folder) in result.err
    assert (folder / "storage" / "demo" / "control.db").is_file()


@pytest.mark.parametrize(
    "question",
    [
        Question("wrong", "Where do I live?", ("Trondheim",), ("I moved to Bergen.",)),
        Question("source", "Where do I live?", ("Bergen",), ("handbook.md",)),
        Question("claimed", "Where do I live?", None, ()),
    ],
    ids=lambda question: question.id,
)
def test_the_demo_fails_when_an_expected_answer_or_citation_is_missing(monkeypatch, question):
    monkeypatch.setattr(demonstration, "QUESTIONS", (question,))
    result = CliRunner().invoke(cli, ["demo"])
    assert result.exit_code == 1
    assert "wrong: Where do I live?" in result.stdout


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
