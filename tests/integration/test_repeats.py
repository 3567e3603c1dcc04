"""A repeat under one key gives the first receipts, also where what was selected is not there any more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from datamind.agent import DataMind
from datamind.capabilities.control.intents import IntentLog
from datamind.capabilities.memory.service import MemoryWrites
from datamind.core.context import RequestContext
from datamind.core.errors import Conflict, StoreError
from datamind.core.hooks import Deny
from datamind.core.outcome import ToolOutcome
from datamind.core.types import Role
from datamind.testing.fakes import RecordingHook, ScriptedApprover
from tests.support.ledger_jobs import ledger_of, on_disk
from tests.support.systems import contents, open_system, read, status, write

SKILL = {"description": "How to close the shop", "body": "Lock the door."}
SELECTING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "memory_update": (
        {"query": "parrot called", "text": "The parrot is called Fern."},
        {"query": "parrot called", "text": "The parrot is called Reed."},
    ),
    "memory_forget": ({"query": "parrot called Moss"}, {"query": "kettle colour"}),
    "kb_delete": ({"query": "ferry sails high water"}, {"source": "somewhere else"}),
    "skill_delete": ({"name": "close-the-shop"}, {"name": "open-the-shop"}),
    "graph_delete": ({"subject": "Bo"}, {"subject": "Di"}),
    "db_drop_table": ({"table": "orders"}, {"table": "customers"}),
}
"""For each tool with a selector: arguments that match one thing, and others that match something else."""

every_tool = pytest.mark.parametrize("tool", SELECTING)


def _knows(subject: str) -> dict[str, Any]:
    return {"triples": [{"subject": subject, "predicate": "knows", "object": "Cy"}]}


FILLING: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "memory": (
        ("memory_save", {"text": "The parrot is called Moss."}),
        ("memory_save", {"text": "The kettle has the colour green."}),
    ),
    "kb": (("kb_add_text", {"text": "The ferry sails at high water."}),),
    "skill": tuple(("skill_upsert", {"name": name, **SKILL}) for name in ("close-the-shop", "open-the-shop")),
    "graph": tuple(("graph_upsert_triples", _knows(subject)) for subject in ("Bo", "Di")),
    "db": tuple(("db_import_records", {"table": table, "records": [{"id": 1}]}) for table in ("orders", "customers")),
}


def fillings(tool: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    return FILLING[tool.partition("_")[0]]


async def fill(system: DataMind, tool: str) -> None:
    """One thing for the tool to find, and something beside it."""
    for filling, arguments in fillings(tool):
        await write(system, filling, **arguments)


async def keyed(system: DataMind, tool: str, arguments: dict[str, Any], key: str = "key-1") -> ToolOutcome:
    ctx = RequestContext(system.profile.name, Role.STORE, idempotency_key=key, by_application=True)
    return await system.call(tool, arguments, role=Role.STORE, ctx=ctx)


async def test_every_tool_with_a_selector_is_here(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        # These name a receipt; the tests of undo and of reverts repeat them.
        by_receipt = {"db_remove_import", "kb_restore", "memory_restore", "skill_restore"}
        assert {spec.name for spec in system.catalogue if spec.selector} == {*SELECTING, *by_receipt}


@every_tool
async def test_a_repeat_gives_the_first_receipts_and_after_a_restart_too(tmp_path: Path, tool: str) -> None:
    asked, _ = SELECTING[tool]
    async with open_system(tmp_path, approver=ScriptedApprover([True])) as system:
        await fill(system, tool)
        first = await keyed(system, tool, asked)
        assert status(first) == "stored", first
        before = on_disk(tmp_path)
        again = await keyed(system, tool, asked)
        assert (again.receipts, again.message, again.data) == (first.receipts, "", first.data)
        assert on_disk(tmp_path) == before
    async with open_system(tmp_path) as system:
        assert (await keyed(system, tool, asked)).receipts == first.receipts
    assert len(ledger_of(tmp_path)["receipts"]) == len(fillings(tool)) + 1


@every_tool
async def test_a_repeat_leaves_alone_what_matches_since(tmp_path: Path, tool: str) -> None:
    asked, _ = SELECTING[tool]
    async with open_system(tmp_path, approver=ScriptedApprover([True])) as system:
        await fill(system, tool)
        first = await keyed(system, tool, asked)
        await fill(system, tool)
        before = on_disk(tmp_path)
        assert (await keyed(system, tool, asked)).receipts == first.receipts
        assert on_disk(tmp_path) == before
        fresh = await keyed(system, tool, asked, "key-2")
        assert fresh.code == "input_invalid.ambiguous" if tool == "memory_update" else status(fresh) == "stored"


@every_tool
async def test_the_same_key_for_other_arguments_is_a_conflict_and_changes_nothing(tmp_path: Path, tool: str) -> None:
    asked, other = SELECTING[tool]
    async with open_system(tmp_path, approver=ScriptedApprover([True])) as system:
        await fill(system, tool)
        await keyed(system, tool, asked)
        before = on_disk(tmp_path)
        outcome = await keyed(system, tool, other)
        assert (outcome.is_error, outcome.code, outcome.receipts) == (True, "conflict", ())
        assert on_disk(tmp_path) == before


async def test_the_keys_of_two_callers_that_look_alike_are_two(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        await fill(system, "memory_forget")
        assert status(await keyed(system, "memory_forget", {"query": "kettle colour"}, "key#0.1")) == "stored"
        assert status(await keyed(system, "memory_forget", {"query": "parrot called Moss"}, "key")) == "stored"


async def test_a_call_over_two_ledgers_is_repeated_whole(tmp_path: Path) -> None:
    asked = {"subject": "parrot"}
    async with open_system(tmp_path, approver=ScriptedApprover([True])) as system:
        for scope in ("profile", "global"):
            await write(system, "memory_save", text=f"The parrot of the {scope}.", subject="parrot", scope=scope)
        first = await keyed(system, "memory_forget", asked)
        assert len(first.receipts) == 2
        assert (await keyed(system, "memory_forget", asked)).receipts == first.receipts
        # The place of a call counts, not what it found: the next one is not taken for it.
        ctx = RequestContext("default", Role.STORE, idempotency_key="key-1", by_application=True)
        await system.call("memory_forget", asked, role=Role.STORE, ctx=ctx)
        saved = await system.call("memory_save", {"text": "A finch."}, role=Role.STORE, ctx=ctx)
        assert status(saved) == "stored"


async def test_what_found_nothing_takes_its_place_all_the_same(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        outcomes = []
        for _ in range(2):
            ctx = RequestContext("default", Role.STORE, idempotency_key="key-1", by_application=True)
            await system.call("memory_forget", {"query": "an ostrich"}, role=Role.STORE, ctx=ctx)
            outcomes.append(await system.call("memory_save", {"text": "A finch."}, role=Role.STORE, ctx=ctx))
        assert outcomes[0].receipts == outcomes[1].receipts != ()


@every_tool
async def test_what_was_left_open_is_finished_by_the_repeat(
    tmp_path: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, _ = SELECTING[tool]

    async def full(*_: Any) -> Any:
        raise StoreError("the disk is full", code="store_error.disk_full")

    async with open_system(tmp_path, approver=ScriptedApprover([True, True])) as system:
        await fill(system, tool)
        with monkeypatch.context() as patch:
            patch.setattr(IntentLog, "finish", full)
            assert (await keyed(system, tool, asked)).code == "store_error.disk_full"
        done = await keyed(system, tool, asked)
        assert status(done) == "stored", done
        assert (await keyed(system, tool, asked)).receipts == done.receipts


async def test_a_failed_call_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def pretend(self: MemoryWrites, memory_ids: Any, receipt_id: str, *, shared: bool) -> int:
        return len(memory_ids)

    asked = {"query": "parrot called Moss"}
    async with open_system(tmp_path) as system:
        await fill(system, "memory_forget")
        with monkeypatch.context() as patch:
            patch.setattr(MemoryWrites, "forget", pretend)
            assert status(await keyed(system, "memory_forget", asked)) == "failed"
        assert status(await keyed(system, "memory_forget", asked)) == "stored"
        assert contents(await read(system, "memory_recall", query="parrot called Moss")) == []


async def test_of_two_at_once_both_get_the_one_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, go_on = anyio.Event(), anyio.Event()
    really_forget = MemoryWrites.forget

    async def forget(self: MemoryWrites, memory_ids: Any, receipt_id: str, *, shared: bool) -> int:
        count = await really_forget(self, memory_ids, receipt_id, shared=shared)
        gone.set()
        await go_on.wait()
        return count

    monkeypatch.setattr(MemoryWrites, "forget", forget)
    async with open_system(tmp_path) as system:
        await fill(system, "memory_forget")
        asked = {"query": "parrot called Moss"}
        first = asyncio.create_task(keyed(system, "memory_forget", asked))
        await gone.wait()
        second = asyncio.create_task(keyed(system, "memory_forget", asked))
        await asyncio.sleep(0.1)
        assert not second.done()
        go_on.set()
        assert (await first).receipts == (await second).receipts != ()


async def test_a_repeat_passes_the_hooks_and_asks_nobody(tmp_path: Path) -> None:
    asked = {"subject": "parrot"}
    approver = ScriptedApprover([True])
    async with open_system(tmp_path, approver=approver) as system:
        for number in range(2):
            await write(system, "memory_save", text=f"The parrot has {number} feathers.", subject="parrot")
        first = await keyed(system, "memory_forget", asked)
        assert (await keyed(system, "memory_forget", asked)).receipts == first.receipts
        assert len(approver.requests) == 1
    hook = RecordingHook(Deny("not today"))
    async with open_system(tmp_path) as system:
        chain = system.agents[Role.STORE].gate.hooks
        object.__setattr__(chain, "_ordered", (*chain._ordered, _named(hook)))
        denied = await keyed(system, "memory_forget", asked)
        assert (denied.denied, denied.receipts) == (True, ())
        assert len(hook.after) == 1


def _named(hook: RecordingHook) -> Any:
    from datamind.core.hooks import NamedHook

    return NamedHook("last", 999, hook)


@pytest.mark.parametrize("many", [False, True])
async def test_the_same_key_for_a_path_with_other_content_is_a_conflict(tmp_path: Path, many: bool) -> None:
    path = tmp_path / "tides.md"
    path.write_text("# Tides\n\nHigh water at noon.\n")
    source: Any = [path] if many else path
    async with open_system(tmp_path) as system:
        first = await system.ingest(source, idempotency_key="key-1")
        assert (await system.ingest(source, idempotency_key="key-1")).receipts == first.receipts
        path.write_text("# Tides\n\nHigh water at one.\n")
        with pytest.raises(Conflict, match="used for something else"):
            await system.ingest(source, idempotency_key="key-1")
