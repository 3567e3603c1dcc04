"""The ledger under every surface of a whole system: keys, interruptions, and the chain from an answer to its audit."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from datamind.agent import DataMind
from datamind.capabilities.memory.service import MemoryWrites
from datamind.core.context import RequestContext
from datamind.core.errors import StoreError
from datamind.core.evidence import Citation, Evidence, InferenceResult
from datamind.core.outcome import ToolOutcome
from datamind.core.types import Role, new_id
from tests.support.ledger_jobs import ledger_of, on_disk
from tests.support.systems import contents, open_system, read, status, write

SKILL = {"name": "close-the-shop", "description": "How to close the shop", "body": "Lock the door."}
WRITES: dict[str, dict[str, Any]] = {
    "memory_save": {"text": "The parrot is called Moss."},
    "kb_add_text": {"text": "The ferry sails at high water."},
    "kb_add_path": {"path": "notes"},
    "skill_upsert": SKILL,
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of two files in the profile's own data folder."""
    folder = tmp_path / "data" / "profiles" / "default" / "notes"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("# Tides\n\nHigh water at noon.\n")
    (folder / "b.txt").write_text("Bees sleep at night.\n")
    return folder


async def keyed(system: DataMind, tool: str, arguments: dict[str, Any], key: str = "key-1") -> ToolOutcome:
    ctx = RequestContext(system.profile.name, Role.STORE, idempotency_key=key, by_application=True)
    return await system.call(tool, arguments, role=Role.STORE, ctx=ctx)


@pytest.mark.parametrize("tool", WRITES)
async def test_the_same_key_and_call_give_the_same_receipts_and_after_a_restart_too(
    tmp_path: Path, notes: Path, tool: str
) -> None:
    async with open_system(tmp_path) as system:
        outcomes = [await keyed(system, tool, WRITES[tool]) for _ in range(2)]
    async with open_system(tmp_path) as system:
        outcomes.append(await keyed(system, tool, WRITES[tool]))
    assert [outcome.message for outcome in outcomes] == [""] * 3
    assert outcomes[0].receipts == outcomes[1].receipts == outcomes[2].receipts
    assert {receipt.status for receipt in outcomes[0].receipts} == {"stored"}
    assert len(ledger_of(tmp_path)["receipts"]) == len(outcomes[0].receipts)


@pytest.mark.parametrize("tool", ["memory_save", "kb_add_text", "skill_upsert"])
async def test_the_same_key_for_another_call_is_a_conflict_and_changes_nothing(
    tmp_path: Path, notes: Path, tool: str
) -> None:
    async with open_system(tmp_path) as system:
        await keyed(system, tool, WRITES[tool])
        before = on_disk(tmp_path)
        part = "body" if tool == "skill_upsert" else "text"
        other = await keyed(system, tool, {**WRITES[tool], part: "Something else."})
        assert (other.is_error, other.code, other.receipts) == (True, "conflict", ())
        assert on_disk(tmp_path) == before


async def test_the_same_key_for_a_folder_that_has_changed_is_a_conflict(tmp_path: Path, notes: Path) -> None:
    async with open_system(tmp_path) as system:
        await keyed(system, "kb_add_path", {"path": "notes"})
        (notes / "b.txt").write_text("Bees sleep by day.\n")
        outcome = await keyed(system, "kb_add_path", {"path": "notes"})
        assert outcome.is_error
        assert "conflict" in outcome.code
        assert "Bees sleep at night." in contents(await read(system, "kb_search", query="bees sleep"))[0]


async def test_a66_what_was_removed_is_stored_again(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        for save, remove in (
            (("memory_save", WRITES["memory_save"]), ("memory_forget", {"query": "parrot called Moss"})),
            (("kb_add_text", WRITES["kb_add_text"]), ("kb_delete", {"query": "ferry sails high water"})),
            (("skill_upsert", SKILL), ("skill_delete", {"name": "close-the-shop"})),
        ):
            for _ in range(2):
                stored = await write(system, save[0], **save[1])
                assert (status(stored), stored.receipts[0].result.operation) == ("stored", "added")
                assert status(await write(system, save[0], **save[1])) == "unchanged"
                removed = await write(system, remove[0], **remove[1])
                assert status(removed) == "stored", removed
                assert removed.receipts[0].result.operation in ("forgotten", "deleted")


async def test_b12_a_delete_is_acknowledged_only_when_nothing_is_found(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        receipts = []
        for number in range(3):
            receipts += (await write(system, "memory_save", text=f"The parrot has {number} feathers.")).receipts
        ids = [memory for receipt in receipts for memory in receipt.result.ids]
        async with open_system(tmp_path, approver=Yes()) as asked:
            removed = await write(asked, "memory_forget", memory_ids=ids)
        assert (status(removed), removed.receipts[0].read_back) == ("stored", "0 of 3 memories found")
        assert contents(await read(system, "memory_recall", query="parrot feathers")) == []
        assert contents(await read(system, "memory_list")) == []


async def test_b12_a_delete_that_leaves_something_is_a_failed_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pretend(self: MemoryWrites, memory_ids: Any, receipt_id: str, *, shared: bool) -> int:
        return len(memory_ids)

    async with open_system(tmp_path) as system:
        await write(system, "memory_save", text="The parrot is called Moss.")
        monkeypatch.setattr(MemoryWrites, "forget", pretend)
        removed = await write(system, "memory_forget", query="parrot called Moss")
        assert (removed.is_error, removed.code, status(removed)) == (True, "integrity_error", "failed")
        assert removed.receipts[0].read_back == "1 of 1 memories found"


async def test_a76_a_failed_write_is_an_error_and_the_store_is_as_it_was(tmp_path: Path, notes: Path) -> None:
    async with open_system(tmp_path) as system:
        before = on_disk(tmp_path)
        for tool, arguments in (
            ("memory_save", {"text": "   "}),
            ("memory_save", {"text": "x", "scope": "session"}),
            ("kb_add_text", {"text": " \n "}),
        ):
            outcome = await write(system, tool, **arguments)
            assert (outcome.is_error, status(outcome)) == (True, "failed")
            assert outcome.code.startswith("input_invalid")
            assert json.loads(outcome.to_text())["error"]["code"] == outcome.code
        assert on_disk(tmp_path) == before
        assert ledger_of(tmp_path)["audit"] == []


async def test_a76_of_a_folder_each_file_is_told_and_the_whole_is_partial(tmp_path: Path, notes: Path) -> None:
    (notes / "c.bin").write_bytes(bytes(range(256)))
    (notes / "d.txt").symlink_to(notes / "a.md")
    async with open_system(tmp_path) as system:
        result = await system.ingest(notes)
        assert result.status == "partial"
        told = {str(receipt.source.uri).rpartition("/")[2]: receipt.status for receipt in result.receipts}
        assert told == {"a.md": "stored", "b.txt": "stored", "c.bin": "failed"}
        assert len(on_disk(tmp_path)["sources"]["default"]) == 2


async def test_b2_what_was_interrupted_after_its_commit_is_found_by_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, go_on = anyio.Event(), anyio.Event()
    really_save = MemoryWrites.save

    async def save(self: MemoryWrites, draft: Any) -> Any:
        outcome = await really_save(self, draft)
        saved.set()
        await go_on.wait()
        return outcome

    monkeypatch.setattr(MemoryWrites, "save", save)
    async with open_system(tmp_path) as system:
        ctx = RequestContext("default", Role.STORE, by_application=True, idempotency_key="key-1")
        task = asyncio.create_task(
            system.call("memory_save", WRITES["memory_save"], role=Role.STORE, ctx=ctx), name="the write"
        )
        await saved.wait()
        task.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        (receipt,) = (await system.trace(ctx.trace_id)).receipts
        assert receipt.status == "stored"
        assert (await keyed(system, "memory_save", WRITES["memory_save"])).receipts == (receipt,)
        assert contents(await read(system, "memory_recall", query="parrot")) == ["The parrot is called Moss."]


async def test_a77_a_slow_write_does_not_hold_back_one_of_another_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on = anyio.Event(), anyio.Event()
    really_save = MemoryWrites.save

    async def save(self: MemoryWrites, draft: Any) -> Any:
        if draft.text == "slow":
            entered.set()
            await go_on.wait()
        return await really_save(self, draft)

    monkeypatch.setattr(MemoryWrites, "save", save)
    async with open_system(tmp_path) as system:
        slow = asyncio.create_task(write(system, "memory_save", text="slow"))
        await entered.wait()
        assert status(await write(system, "memory_save", text="quick")) == "stored"
        assert status(await write(system, "kb_add_text", text="The ferry sails.")) == "stored"
        assert not slow.done()
        go_on.set()
        assert status(await slow) == "stored"


@pytest.mark.parametrize("scope", ["profile", "global"])
async def test_the_chain_leads_from_an_answer_to_the_audit_and_back(tmp_path: Path, scope: str) -> None:
    async with open_system(tmp_path) as system:
        memory = await write(system, "memory_save", text="The parrot is called Moss.", scope=scope)
        document = await write(system, "kb_add_text", text="The ferry sails at high water.", title="Ferry")
        skill = await write(system, "skill_upsert", **SKILL)
        found = (
            *(await read(system, "memory_recall", query="What is the parrot called?")).evidence,
            *(await read(system, "kb_search", query="When does the ferry sail?")).evidence,
            *(await read(system, "skill_get", name="close-the-shop")).evidence,
        )
        trace_id = new_id("trace")
        await system.answers.add("What, when and how?", "", answer(trace_id, found))
        written = [receipt for outcome in (memory, document, skill) for receipt in outcome.receipts]

        trace = await system.trace(trace_id)
        assert trace.evidence == found
        assert trace.receipts == tuple(written)
        assert len(trace.sources) >= 3
        kinds = [(entry.kind, entry.receipt_id) for entry in trace.audit]
        expected = [("answered", "")]
        for receipt in written:
            expected += [("intent", receipt.receipt_id), ("outcome", receipt.receipt_id)]
        assert sorted(kinds) == sorted(expected)
        for receipt in written:
            assert (await system.trace(receipt.receipt_id)).cited_by == (trace_id,)
        for item in found:
            assert (await system.trace(item.evidence_id)).evidence == (item,)
    assert ledger_of(tmp_path)["audit"] == []


def answer(trace_id: str, found: tuple[Evidence, ...]) -> InferenceResult:
    citations = tuple(
        Citation(number=number, evidence_id=item.evidence_id, claim=item.content[:20], supported=True)
        for number, item in enumerate(found, 1)
    )
    return InferenceResult(answer="Moss [1].", evidence=found, citations=citations, trace_id=trace_id)


async def test_a67_a_denied_call_is_in_the_chain(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        ctx = RequestContext("default", Role.RETRIEVE)
        await system.call("memory_save", {"text": "x"}, role=Role.RETRIEVE, ctx=ctx)
        await write(system, "kb_add_file", path="/etc/passwd")
        (entry,) = (await system.trace(ctx.trace_id)).audit
        assert (entry.kind, entry.body["code"]) == ("denied", "access_denied.unknown_tool")
    assert ledger_of(tmp_path)["audit"] == []
    assert ledger_of(tmp_path)["receipts"] == []


async def test_without_an_audit_key_nothing_is_written_and_reading_goes_on(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        await write(system, "memory_save", text="The parrot is called Moss.")
    (tmp_path / "keys").rename(tmp_path / "away")
    (tmp_path / "keys").write_text("no folder")
    before = on_disk(tmp_path)
    async with open_system(tmp_path) as system:
        for tool, arguments in WRITES.items():
            outcome = await write(system, tool, **arguments)
            if tool != "kb_add_path":  # there is no folder of notes here
                assert (outcome.is_error, outcome.code) == (True, "store_error.audit_key"), outcome
        assert contents(await read(system, "memory_recall", query="parrot")) == ["The parrot is called Moss."]
    assert on_disk(tmp_path) == before


async def test_a_damaged_control_db_is_one_clear_line_and_is_not_touched(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        await write(system, "memory_save", text="The parrot is called Moss.")
    path = tmp_path / "storage" / "default" / "control.db"
    path.write_bytes(b"\xa5" * 50_000)
    with pytest.raises(StoreError, match="damaged") as caught:
        async with open_system(tmp_path):
            pass
    assert str(path) in str(caught.value)
    assert path.read_bytes() == b"\xa5" * 50_000


class Yes:
    async def decide(self, request: object) -> bool:
        return True
