"""The honest status line, evidence and receipts as rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from datamind.core.evidence import (
    Citation,
    Claims,
    Evidence,
    InferenceResult,
    MemoryLocator,
    SkillLocator,
    TableLocator,
    TextLocator,
    ToolLocator,
    TripleLocator,
)
from datamind.core.messages import Usage
from datamind.core.receipts import IngestReceipt, StoreResult, SurfaceWriteResult, WriteError
from datamind.core.results import ToolTrace
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface
from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import outcome_of, show_store_result
from datamind_cli.records import answer_status, show_evidence, show_receipt, source_label, span_label, store_status
from datamind_cli.render import Output
from datamind_cli.state import State

SOURCE = SourceRef.of_content(
    "file", "file:notes/buoys%20and%20bells.md", b"", media_type="text/markdown", profile="p", origin="file"
)


def passage(content="Buoy 4 is red.", receipts=("rcpt_1.p",), locator=None):
    return Evidence.of(DataSurface.KB, SOURCE, locator or TextLocator(start=3, end=17), content, receipt_ids=receipts)


def result(*evidence, cite=(), **fields):
    citations = tuple(
        Citation(number=number, evidence_id=evidence[number - 1].evidence_id, claim="c", supported=True)
        for number in cite
    )
    return InferenceResult(
        **{
            "answer": "a",
            "evidence": evidence,
            "citations": citations,
            "claims": Claims(supported=len(cite)),
            "model": "m-1",
            "surfaces_used": (DataSurface.KB,),
            "duration_s": 0.125,
            **fields,
        }
    )


def status(answer):
    return answer_status(Output(State()), answer).split(" · ")


def test_the_status_line_of_a_supported_answer():
    assert status(result(passage(), cite=[1])) == [
        "m-1",
        "kb",
        "1 of 1 claim supported",
        "1 of 1 receipt-backed",
        "0.12 s",
    ]


def test_it_says_what_is_not_supported_not_backed_and_not_cited():
    answer = result(
        passage("a", receipts=()), passage("b"), cite=[1], claims=Claims(supported=1, unsupported=2, stale=1)
    )
    assert status(answer)[2:5] == ["1 of 4 claims supported, 1 stale", "0 of 1 receipt-backed", "1 read, not cited"]


def test_it_says_that_nothing_was_claimed_and_that_no_model_wrote():
    assert status(result(extractive=True, model="offline", surfaces_used=())) == [
        "offline (extractive)",
        "no surface used",
        "nothing claimed",
        "0.12 s",
    ]


@pytest.mark.parametrize("reason", ["max_turns", "wall_clock", "repeated_call", "max_cost", "refusal"])
def test_b37_it_says_why_a_run_stopped(reason):
    assert f"stopped: {reason}" in status(result(stop_reason=reason))


def test_it_says_what_it_cost():
    usage = Usage(input_tokens=1234, output_tokens=56, cost_usd=0.0123)
    assert status(result(usage=usage))[3:5] == ["1,234 tokens in, 56 out", "$0.0123"]
    assert "about 1,234 tokens in, 56 out" in status(result(usage=usage.model_copy(update={"estimated": True})))
    assert not any("$" in part for part in status(result(usage=Usage(cost_usd=0.0))))


@pytest.mark.parametrize(
    ("locator", "label"),
    [
        (TextLocator(start=3, end=17), "3-17"),
        (TextLocator(start=3, end=17, page=2), "p. 2, 3-17"),
        (TableLocator(tables=("prices",), columns=("id", "amount")), "prices, id, amount"),
        (TripleLocator(subject="<a>", predicate="<b>", object='"c"'), '<a> <b> "c"'),
        (MemoryLocator(memory_id="mem_0123456789"), "mem_01234567"),
        (SkillLocator(name="refund"), "refund"),
        (ToolLocator(tool="calculator", arguments={}), "calculator"),
    ],
)
def test_every_locator_has_a_label(locator, label):
    assert span_label(locator) == label


def test_a_source_is_named_as_a_person_knows_it():
    assert source_label(SOURCE) == "notes/buoys and bells.md"
    assert source_label(SourceRef.of_text("x", profile="p")).startswith("text ")
    assert source_label(None) == ""


def test_evidence_keeps_the_numbers_of_the_answer(capsys):
    answer = result(passage("first"), passage("second"), passage("third"), cite=[2])
    show_evidence(Output(State()), answer)
    cited = capsys.readouterr().out.splitlines()
    assert [line[0] for line in cited] == ["n", "2"]
    show_evidence(Output(State()), answer, everything=True)
    assert [line[0] for line in capsys.readouterr().out.splitlines()] == ["n", "1", "2", "3"]


def receipt(status="stored", error=None, **fields):
    at = datetime(2026, 5, 4, 12, tzinfo=UTC)
    written = SurfaceWriteResult(surface=DataSurface.KB, operation="added", status=status, items_written=1, error=error)
    return IngestReceipt(
        receipt_id="rcpt_1.p",
        idempotency_key="k",
        trace_id="trace_1",
        tool="kb_add_path",
        source=SOURCE,
        started_at=at,
        completed_at=at,
        result=written,
        **fields,
    )


def stored(status, *receipts, **fields):
    return StoreResult(status=status, receipts=receipts, model="m-1", duration_s=0.5, **fields)


def test_the_status_line_of_a_write():
    assert (
        store_status(Output(State()), stored("stored", receipt(), receipt()))
        == "stored · 2 receipts (kb) · m-1 · 0.50 s"
    )
    direct = stored("failed", stop_reason="direct")
    assert store_status(Output(State()), direct) == "failed · 0 receipts · no model · 0.50 s"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (stored("stored", receipt()), ExitCode.OK),
        (stored("unchanged", receipt("unchanged")), ExitCode.OK),
        (
            stored("partial", receipt(), receipt("failed", WriteError(code="store_error", message="m"))),
            ExitCode.NEGATIVE,
        ),
        (stored("failed", receipt("failed", WriteError(code="path_denied.link", message="m"))), ExitCode.DENIED),
        (stored("nothing_written"), ExitCode.NEGATIVE),
        (stored("nothing_written", approvals=("apr_1",)), ExitCode.DENIED),
    ],
)
def test_the_exit_code_of_a_write(outcome, code):
    assert outcome_of(outcome) is code


def test_everything_that_went_wrong_is_said(capsys):
    refused = ToolTrace(call_id="c", name="memory_forget", input={}, is_error=True, code="approval_required")
    failed = receipt("failed", WriteError(code="store_error", message="the disk is full"))
    outcome = stored("failed", failed, approvals=("apr_1",), tool_trace=(refused,), flags=("unreceipted_claim",))
    show_store_result(Output(State()), outcome)
    shown = capsys.readouterr().out
    for part in (
        "notes/buoys and bells.md: the disk is full",
        "apr_1",
        "datamind explain approval_required",
        "no receipt",
    ):
        assert part in shown


def test_a_receipt_in_full_leaves_out_what_is_empty(capsys):
    show_receipt(Output(State()), receipt(read_back="1 of 1 documents found"))
    shown = capsys.readouterr().out
    assert "source     notes/buoys and bells.md (text/markdown, file)" in shown
    assert "read back  1 of 1 documents found" in shown
    assert "error" not in shown
    assert "closed" not in shown
