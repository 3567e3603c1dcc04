"""Bounds of what a model is shown, and that it is told what was left out and where to go on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from datamind.core.errors import DataMindError
from datamind.core.evidence import Evidence, TextLocator
from datamind.core.logging import redactor
from datamind.core.outcome import ToolOutcome, bounded, outcome_of_error
from datamind.core.source import SourceRef
from datamind.core.tools import ResultBound, ToolOutput
from datamind.core.types import DataSurface

DEFAULT = ResultBound()


def evidence(number: int, content: str = "") -> Evidence:
    text = content or f"passage {number}"
    source = SourceRef.of_text(f"source {number}", profile="test")
    return Evidence.of(DataSurface.KB, source, TextLocator(start=0, end=len(text)), text)


def outcome(output: ToolOutput, bound: ResultBound = DEFAULT, **paging: Any) -> ToolOutcome:
    data, items, cut = bounded(output, bound, **paging)
    return ToolOutcome("c", "look", data=data, evidence=items, truncated=cut, max_chars=bound.max_chars)


def test_b21_fifty_thousand_rows_are_cut_to_the_bound_and_counted() -> None:
    rows = [{"id": n, "text": "x" * 1500} for n in range(50_000)]
    found = outcome(ToolOutput({"rows": rows}, total=50_000))
    assert [row["id"] for row in found.data["rows"]] == list(range(12))
    assert found.truncated == {"shown": 12, "total": 50_000}
    assert len(found.to_text()) < 21_000
    assert json.loads(found.to_text())["truncated"] == {"shown": 12, "total": 50_000}


def test_b21_the_next_page_starts_where_the_shown_rows_end() -> None:
    rows = [{"id": n} for n in range(1000, 1200)]
    found = outcome(ToolOutput({"rows": rows}, total=50_000, next_offset=1200), ResultBound(max_items=50))
    assert found.data["rows"][-1] == {"id": 1049}
    assert found.truncated == {"shown": 50, "total": 50_000, "next_offset": 1050}


def test_the_last_page_that_does_not_fit_says_where_to_go_on_too() -> None:
    last = ToolOutput({"rows": list(range(60))}, total=160)
    assert outcome(last, offset=100).truncated == {"shown": 50, "total": 160, "next_offset": 150}
    assert outcome(ToolOutput(evidence=tuple(map(evidence, range(60)))), offset=0).truncated["next_offset"] == 50
    assert "next_offset" not in outcome(last).truncated, "a tool without pages cannot be asked for the next one"
    assert outcome(ToolOutput({"rows": [1, 2]}, total=2), offset=0).truncated == {}


def test_evidence_is_cut_by_items_and_by_characters_and_never_in_the_middle() -> None:
    items = tuple(evidence(n, f"{n:03d}" * 100) for n in range(20))
    by_items = outcome(ToolOutput(evidence=items, total=70, next_offset=20), ResultBound(max_items=3))
    assert by_items.evidence == items[:3]
    assert by_items.truncated == {"shown": 3, "total": 70, "next_offset": 3}
    by_chars = outcome(ToolOutput(evidence=items), ResultBound(max_chars=1000))
    assert by_chars.evidence == items[:3]
    assert by_chars.truncated == {"shown": 3, "total": 20}


def test_b21_one_piece_of_five_megabytes_is_shown_from_both_ends_and_kept_whole() -> None:
    text = "A" * 2_500_000 + "B" * 2_500_000
    found = outcome(ToolOutput(evidence=(evidence(1, text),)))
    assert found.evidence[0].content == text
    shown = json.loads(found.to_text())["results"][0]["content"]
    assert shown.startswith("AAAA") and shown.endswith("BBBB")
    assert "4980000 of 5000000 characters" in shown
    assert len(found.to_text()) < 21_000


def test_b21_five_megabytes_of_data_are_shown_from_both_ends() -> None:
    found = outcome(ToolOutput({"page": "A" * 5_000_000, "end": "B"}))
    assert set(found.data) == {"head", "tail"}
    assert found.truncated["total"] > 5_000_000
    assert len(found.to_text()) < 25_000


def test_the_longest_list_is_cut_and_the_facts_beside_it_stay() -> None:
    found = outcome(ToolOutput({"rows": list(range(500)), "columns": ["a", "b"], "table": "t"}))
    assert (found.data["columns"], found.data["table"], len(found.data["rows"])) == (["a", "b"], "t", 50)


def test_a_list_beside_evidence_that_is_cut_is_not_cut_in_silence() -> None:
    found = outcome(ToolOutput({"files": list(range(80))}, (evidence(1),)))
    assert found.truncated == {"shown": 50, "total": 80}


def test_numbers_to_cite_go_with_their_evidence() -> None:
    items = (evidence(1), evidence(2))
    text = outcome(ToolOutput({"found": 2}, items)).to_text({items[1].evidence_id: 7})
    rows = json.loads(text)["results"]
    assert ("cite" in rows[0], rows[1]["cite"], rows[1]["content"]) == (False, 7, "passage 2")
    assert "cite" in next(iter(rows[1])), "first, so that it is read first"


def test_chinese_is_shown_as_it_is() -> None:
    assert "周报用中文" in outcome(ToolOutput(evidence=(evidence(1, "周报用中文"),))).to_text()


@pytest.mark.parametrize("form", ["{}", "postgres://u:{}@host/db", "Authorization: Bearer {}"])
def test_b27_a_secret_in_the_text_of_an_error_does_not_reach_a_model(form: str) -> None:
    redactor.add("s3cr3t-canary-value")
    told = outcome_of_error("c", "look", DataMindError(f"no answer from {form.format('s3cr3t-canary-value')}"))
    assert "canary" not in told.to_text() + told.message
