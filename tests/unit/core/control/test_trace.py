"""One chain from any id in it: answer, evidence, source, receipt, audit record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datamind.capabilities.control.control import open_control
from datamind.capabilities.control.trace import find_trace
from datamind.core.errors import NotFound
from datamind.core.evidence import Citation, Evidence, InferenceResult, MemoryLocator, TextLocator
from datamind.core.messages import Message, ToolCall
from datamind.core.receipts import IngestReceipt
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, Role
from tests.support.ledger_jobs import audit_faults
from tests.support.shelves import Shelf, open_shelf, request


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return open_shelf(tmp_path)


def evidence(text: str, *receipts: IngestReceipt) -> Evidence:
    source = SourceRef.of_text(text, profile="test")
    locator = TextLocator(start=0, end=len(text))
    ids = tuple(receipt.receipt_id for receipt in receipts)
    return Evidence.of(DataSurface.KB, source, locator, text, receipt_ids=ids)


def answer(trace_id: str, *items: Evidence) -> InferenceResult:
    citations = tuple(
        Citation(number=number, evidence_id=item.evidence_id, claim=item.content, supported=True)
        for number, item in enumerate(items, 1)
    )
    history = (Message.user("When?"),)
    return InferenceResult(
        answer="At noon [1].", evidence=items, citations=citations, history=history, trace_id=trace_id
    )


async def test_from_the_answer_to_the_audit_record_and_back(shelf: Shelf) -> None:
    one, two = await shelf.write("high water at noon"), await shelf.write("low water at six")
    items = (evidence("high water at noon", one), evidence("low water at six", two))
    await shelf.control.answers.add("When?", "s1", answer("trace_a", *items))

    whole = await find_trace("trace_a", [shelf.control])
    assert (whole.question, whole.answer and whole.answer.answer) == ("When?", "At noon [1].")
    assert whole.evidence == items
    assert whole.receipts == (one, two)
    assert {source.source_id for source in whole.sources} == {item.source.source_id for item in items}
    kinds = [(entry.kind, entry.receipt_id) for entry in whole.audit]
    assert sorted(kinds) == sorted(
        [
            ("answered", ""),
            ("intent", one.receipt_id),
            ("outcome", one.receipt_id),
            ("intent", two.receipt_id),
            ("outcome", two.receipt_id),
        ]
    )

    part = await find_trace(items[0].evidence_id, [shelf.control])
    assert (part.evidence, part.receipts) == ((items[0],), (one,))
    assert {entry.receipt_id for entry in part.audit} == {"", one.receipt_id}
    assert part.sources == (items[0].source,)

    back = await find_trace(one.receipt_id, [shelf.control])
    assert (back.receipts, back.cited_by) == ((one,), ("trace_a",))
    assert [entry.kind for entry in back.audit] == ["intent", "outcome"]
    assert (await find_trace(two.trace_id, [shelf.control])).receipts == (two,)


async def test_the_sentences_name_every_step(shelf: Shelf) -> None:
    receipt = await shelf.write("high water at noon")
    await shelf.control.answers.add("When?", "", answer("trace_a", evidence("high water at noon", receipt)))
    text = "\n".join((await find_trace("trace_a", [shelf.control])).sentences())
    for part in ("When?", "At noon [1].", "1 passage", "rests on 1 receipt", receipt.receipt_id, "outcome (record"):
        assert part in text
    assert "1 answer rest" in "\n".join((await find_trace(receipt.receipt_id, [shelf.control])).sentences())


async def test_a_failed_write_is_in_its_requests_trace(shelf: Shelf) -> None:
    shelf.fails["put"] = OSError("no")
    ctx = request()
    receipt = await shelf.write("x", ctx=ctx)
    trace = await find_trace(ctx.trace_id, [shelf.control])
    assert trace.receipts == (receipt,)
    assert [entry.kind for entry in trace.audit] == ["intent", "outcome"]
    assert trace.audit[1].body["status"] == "failed"


async def test_receipts_of_global_memories_are_found_in_their_own_ledger(shelf: Shelf, tmp_path: Path) -> None:
    shared = Shelf(open_control("_shared", tmp_path / "shared", tmp_path / "keys"))
    receipt = await shared.write("everybody's")
    source = SourceRef.of_text("everybody's", profile="_shared")
    item = Evidence.of(
        DataSurface.MEMORY, source, MemoryLocator(memory_id="m"), "everybody's", receipt_ids=(receipt.receipt_id,)
    )
    await shelf.control.answers.add("Whose?", "", answer("trace_a", item))
    controls = [shelf.control, shared.control]
    trace = await find_trace("trace_a", controls)
    assert trace.receipts == (receipt,)
    assert [entry.kind for entry in trace.audit] == ["answered", "intent", "outcome"]
    assert (await find_trace(receipt.receipt_id, controls)).cited_by == ("trace_a",)


@pytest.mark.parametrize("asked", ["", "x", "trace_x", "ev_x", "rcpt_x", "rcpt_x.test", "ev_" + "x" * 5000])
async def test_an_unknown_id_is_not_found(shelf: Shelf, asked: str) -> None:
    await shelf.write("x")
    with pytest.raises(NotFound) as caught:
        await find_trace(asked, [shelf.control])
    assert len(str(caught.value)) < 300


async def test_answers_are_kept_with_their_evidence_and_without_the_history(shelf: Shelf, tmp_path: Path) -> None:
    item = evidence("high water")
    for trace_id in ("trace_a", "trace_b"):
        await shelf.control.answers.add("When?", "s1", answer(trace_id, item))
    await shelf.control.answers.add("When exactly?", "s1", answer("trace_b", item))
    latest = await shelf.control.answers.latest(limit=5)
    assert [(stored.trace_id, stored.question) for stored in latest] == [
        ("trace_b", "When exactly?"),
        ("trace_a", "When?"),
    ]
    assert latest[0].result.evidence == (item,)
    assert latest[0].result.history == ()
    assert list(await shelf.control.answers.with_evidence(item.evidence_id)) == ["trace_a", "trace_b"]
    assert await shelf.control.answers.get("trace_c") is None
    assert audit_faults(shelf.control.db.path, tmp_path / "keys") == []


async def test_conversations_go_on_where_they_ended(shelf: Shelf) -> None:
    log = shelf.control.conversations
    for number in range(5):
        turn = [Message.user(f"question {number}"), Message.assistant(f"answer {number}")]
        await log.append("s1", Role.RETRIEVE, f"trace_{number}", turn)
    await log.append("s1", Role.STORE, "trace_x", [Message.user("remember")])
    history = await log.history("s1", Role.RETRIEVE, turns=2)
    assert [message.text for message in history] == ["question 3", "answer 3", "question 4", "answer 4"]
    assert await log.history("s2", Role.RETRIEVE, turns=2) == ()
    assert [(session, turns) for session, turns, _ in await log.sessions()] == [("s1", 6)]
    assert await log.delete("s1") == 6
    assert await log.history("s1", Role.STORE, turns=2) == ()


async def test_decisions_of_the_gate_are_in_the_chain(shelf: Shelf, tmp_path: Path) -> None:
    call = ToolCall(id="call_1", name="memory_forget" * 20, arguments="{}")
    await shelf.control.record_decision("denied", call, request(), code="access_denied", detail="x" * 2_000)
    (row,) = shelf.control.db.read_now(lambda db: db.execute("SELECT body FROM audit").fetchall())
    body = json.loads(row["body"])
    assert (body["kind"], body["code"], body["call_id"], body["role"]) == ("denied", "access_denied", "call_1", "store")
    assert (len(body["tool"]), len(body["detail"])) == (80, 500)
    assert audit_faults(shelf.control.db.path, tmp_path / "keys") == []
