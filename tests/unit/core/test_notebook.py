"""What a notebook and ``print`` show of results."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from datamind.core.evidence import Citation, Claims, Evidence, InferenceResult, TableLocator, TextLocator, TripleLocator
from datamind.core.receipts import IngestReceipt, SkippedFile, StoreResult, SurfaceWriteResult, WriteError
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface

SCRIPT = "<script>alert(1)</script>"
SOURCE = SourceRef.of_text(SCRIPT, profile="default")


def evidence() -> tuple[Evidence, ...]:
    rows = json.dumps({"columns": ["<i>n</i>"], "rows": [[SCRIPT]]})
    return (
        Evidence.of(DataSurface.KB, SOURCE, TextLocator(start=3, end=9, page=2), f"Said: {SCRIPT}"),
        Evidence.of(DataSurface.DB, SOURCE, TableLocator(tables=("t",), statement=f"SELECT '{SCRIPT}'"), rows),
        Evidence.of(DataSurface.GRAPH, SOURCE, TripleLocator(subject=SCRIPT, predicate="p", object="o"), "s p o"),
        Evidence.of(DataSurface.KB, SOURCE, TextLocator(start=0, end=1), "read and not cited"),
    )


def answer(text: str = f"It says {SCRIPT} [1][2][3]; [9] is none.") -> InferenceResult:
    found = evidence()
    citations = tuple(
        Citation(number=number, evidence_id=found[number - 1].evidence_id, claim="", supported=True)
        for number in (1, 2, 3)
    )
    return InferenceResult(answer=text, evidence=found, citations=citations, claims=Claims(supported=3))


def receipt(**fields: object) -> IngestReceipt:
    result = SurfaceWriteResult(
        surface=DataSurface.KB, operation="added", status="stored", items_written=1, ids=("doc_1",), **fields
    )
    return IngestReceipt(
        receipt_id=f"rcpt_1{SCRIPT}",
        idempotency_key="k",
        trace_id="t",
        tool="kb_add_file",
        source=SOURCE.model_copy(update={"uri": f"file:{SCRIPT}.md"}),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        completed_at=datetime(2026, 1, 1, tzinfo=UTC),
        result=result,
        read_back="1 of 1 documents found",
    )


def is_harmless(shown: str) -> bool:
    """Nothing runs and nothing is fetched."""
    return "<script" not in shown and not re.search(r"\b(src|href|url)\s*[=(]|https?:|on\w+=", shown)


def test_an_answer_has_footnotes_that_open_what_they_cite() -> None:
    shown = answer()._repr_html_()
    assert is_harmless(shown)
    assert shown.count("<details>") == 3
    assert "<sup title=" in shown and "[9] is none" in shown
    assert "page 2, characters 3-9" in shown
    assert "Said: &lt;script&gt;" in shown
    assert "<th>&lt;i&gt;n&lt;/i&gt;</th>" in shown and "1 row" in shown
    assert "<th>relation</th>" in shown
    assert "read and not cited" not in shown
    assert "3 of 3 claims supported" in shown


def test_quotes_in_evidence_stay_inside_the_footnote() -> None:
    (first, *rest) = evidence()
    quoted = first.model_copy(update={"content": '" onmouseover="alert(1)'})
    shown = answer().model_copy(update={"evidence": (quoted, *rest)})._repr_html_()
    assert 'title="&quot; onmouseover=&quot;alert(1)"' in shown


def test_a_write_shows_its_receipts() -> None:
    failed = receipt(error=WriteError(code="store_error", message=SCRIPT))
    skipped = (SkippedFile(path="x", code="skipped.hidden"),)
    result = StoreResult(status="partial", answer=SCRIPT, receipts=(receipt(), failed), skipped=skipped)
    shown = result._repr_html_()
    assert is_harmless(shown)
    assert "<b>partial</b>" in shown and shown.count("<tr>") == 3
    assert "1 of 1 documents found" in shown and "store_error: &lt;script&gt;" in shown and "1 passed over" in shown
    assert receipt()._repr_html_().count("<tr>") == 2
    assert StoreResult(status="nothing_written")._repr_html_().count("no receipt") == 1


def test_print_shows_the_answer_and_its_sources() -> None:
    lines = str(answer("So it is. [1]")).splitlines()
    assert lines[0] == "So it is. [1]"
    assert lines[1].endswith(f", page 2, characters 3-9: Said: {SCRIPT}")
    assert len(lines) == 4
    assert str(InferenceResult(answer="Nothing is known.")) == "Nothing is known."


def test_print_shows_the_receipts_of_a_write() -> None:
    many = StoreResult(status="stored", receipts=(receipt(),) * 60)
    lines = str(many).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("stored", "  and 10 more", 52)
    assert f"stored: 1 added on kb from file:{SCRIPT}.md" in str(receipt())
