"""``ask --save`` and ``verify``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def told(run: Run, light_set: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMIND__KB__BACKEND", "memory")
    assert run("store", "Remember: the parrot is called Moss.").exit_code == 0


@pytest.mark.parametrize("name", ["answer.html", "answer.JSON"])
def test_a_saved_answer_is_verified(run: Run, told: None, home: Path, name: str) -> None:
    result = run("ask", "What is the parrot called?", "--save", name)
    assert (result.exit_code, f"written: {name}" in result.stderr) == (0, True)
    assert "Moss" in (home / name).read_text()
    found = run("verify", name)
    assert found.exit_code == 0
    assert "all is as it was · 1 of 1 claim supported · 1 intact" in found.stdout
    (home / name).write_text((home / name).read_text().replace("Moss", "Fern"))
    found = run("verify", name)
    assert found.exit_code == 1
    assert "answer differs from the answer that was given" in found.stdout


def test_the_newest_answer_or_a_kept_one_is_verified(run: Run, run_json: Callable[..., Any], told: None) -> None:
    asked = run_json("ask", "What is the parrot called?")
    assert run_json("verify") == run_json("verify", asked["trace_id"])
    assert run_json("verify")["ok"] is True
    assert run("undo", "--yes").exit_code == 0
    found = run("verify", "--json")
    assert (found.exit_code, json.loads(found.stdout)["citations"][0]["state"]) == (1, "gone")


@pytest.mark.parametrize(
    ("name", "said"),
    [("answer.txt", "saved as .html or .json"), ("nowhere/a.json", "no folder"), ("there.json", "exists")],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_asked(
    run: Run, told: None, home: Path, name: str, said: str
) -> None:
    (home / "there.json").write_text("{}")
    result = run("ask", "What is the parrot called?", "--save", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert (home / "there.json").read_text() == "{}"


@pytest.mark.parametrize(("name", "said"), [("none.html", "no file"), ("other.json", "no saved answer")])
def test_a_file_that_holds_no_answer_is_one_line(run: Run, told: None, home: Path, name: str, said: str) -> None:
    (home / "other.json").write_text('{"a": 1}')
    result = run("verify", name)
    assert (result.exit_code, said in result.stderr) == (2, True)
