"""The ledger: an intent before every write, a receipt after it, and nothing in between that a crash could lose."""

from __future__ import annotations

import asyncio
import errno
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from datamind.capabilities.control.control import open_control
from datamind.core.context import ToolContext
from datamind.core.errors import Conflict, DataMindError, InputInvalid, IntegrityError, StoreError
from datamind.core.receipts import IngestReceipt
from datamind.core.tools import PlannedWrite, Refusal, ToolSpec
from datamind.core.types import DataSurface, ToolEffect
from tests.support.ledger_jobs import audit_faults
from tests.support.shelves import Shelf, open_shelf, request

LARGE = "tide " * 100_000


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return open_shelf(tmp_path)


def rows(shelf: Shelf, query: str) -> list[tuple[Any, ...]]:
    """What is committed, seen by a connection of our own."""
    with closing(sqlite3.connect(shelf.control.db.path)) as connection:
        return connection.execute(query).fetchall()


def states(shelf: Shelf) -> list[str]:
    return [state for (state,) in rows(shelf, "SELECT state FROM intents ORDER BY seq")]


def kinds(shelf: Shelf) -> list[str]:
    return [json.loads(body)["kind"] for (body,) in rows(shelf, "SELECT body FROM audit ORDER BY seq")]


def count(shelf: Shelf, table: str) -> int:
    return int(rows(shelf, f"SELECT count(*) FROM {table}")[0][0])


def watch(shelf: Shelf, event: str, look: Callable[[], Any]) -> list[Any]:
    """What ``look`` sees at the moment an event of the shelf happens."""
    seen: list[Any] = []
    happened = shelf.happened

    def note(name: str) -> None:
        if name == event:
            seen.append(look())
        happened(name)

    shelf.happened = note  # type: ignore[method-assign]
    return seen


async def test_the_intent_and_its_audit_record_are_durable_before_the_handler_runs(shelf: Shelf) -> None:
    seen = watch(shelf, "put", lambda: (states(shelf), kinds(shelf), count(shelf, "receipts")))
    await shelf.write("high water")
    assert seen == [(["intent"], ["intent"], 0)]


async def test_large_content_is_on_disk_before_the_intent_is(shelf: Shelf) -> None:
    def look() -> tuple[int, int]:
        ((size, inline),) = rows(shelf, "SELECT size, body IS NOT NULL FROM contents")
        return size, inline

    seen = watch(shelf, "put", look)
    receipt = await shelf.write(LARGE, large=True)
    assert seen == [(len(LARGE), 0)]
    assert shelf.texts[receipt.result.ids[0]] == LARGE


async def test_the_receipt_comes_after_sync_and_read_back(shelf: Shelf) -> None:
    synced = watch(shelf, "sync", lambda: (states(shelf), count(shelf, "receipts")))
    read = watch(shelf, "read back", lambda: (states(shelf), count(shelf, "receipts")))
    receipt = await shelf.write("high water")
    assert shelf.events == ["put", "new high water", "sync", "read back"]
    assert synced == read == [(["applied"], 0)]
    assert (receipt.status, receipt.read_back) == ("stored", "1 of 1 items")
    assert (states(shelf), kinds(shelf), count(shelf, "receipts")) == (["committed"], ["intent", "outcome"], 1)


async def test_a_receipt_is_stored_as_it_was_returned(shelf: Shelf) -> None:
    ctx = request("key-1", session="s1")
    receipt = await shelf.write("high water", ctx=ctx)
    assert await shelf.control.receipts.get(receipt.receipt_id) == receipt
    assert await shelf.control.receipts.of_trace(ctx.trace_id) == [receipt]
    assert receipt.receipt_id.endswith(".test")
    assert (receipt.tool, receipt.idempotency_key, receipt.trace_id) == ("shelf_put", "key-1#0", ctx.trace_id)
    assert receipt.started_at <= receipt.completed_at


async def test_the_audit_record_of_the_outcome_is_in_the_transaction_of_the_receipt(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = shelf.control.audit.append

    def fail_outcome(connection: sqlite3.Connection, kind: str, **fields: Any) -> int:
        if kind == "outcome":
            raise StoreError("no more room in the chain")
        return append(connection, kind, **fields)

    monkeypatch.setattr(shelf.control.audit, "append", fail_outcome)
    with pytest.raises(StoreError, match="no more room"):
        await shelf.write("high water")
    assert (states(shelf), kinds(shelf), count(shelf, "receipts")) == (["applied"], ["intent"], 0)


async def test_a_write_without_an_audit_record_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file where the keys should be")
    shelf = open_shelf(tmp_path)
    with pytest.raises(StoreError, match="audit key"):
        await shelf.write("high water")
    assert (shelf.texts, shelf.events) == ({}, [])
    assert [count(shelf, table) for table in ("intents", "receipts", "audit", "contents")] == [0, 0, 0, 0]


async def test_a_read_back_that_disagrees_makes_a_failed_receipt(shelf: Shelf) -> None:
    shelf.shows_writes = False
    receipt = await shelf.write("high water")
    assert receipt.status == "failed"
    assert receipt.result.error is not None
    assert receipt.result.error.code == "integrity_error"
    assert receipt.read_back == "0 of 1 items"
    assert (states(shelf), kinds(shelf)) == (["failed"], ["intent", "outcome"])


@pytest.mark.parametrize("event", ["put", "sync", "read back"])
async def test_a76_a_failure_is_a_failed_receipt_with_its_code(shelf: Shelf, event: str) -> None:
    shelf.fails[event] = InputInvalid("the text 'x' is too short")
    receipt = await shelf.write("x")
    error = receipt.result.error
    assert receipt.status == "failed"
    assert error is not None
    assert (error.code, error.message) == ("input_invalid", "the text 'x' is too short")
    assert (states(shelf), count(shelf, "receipts")) == (["failed"], 1)
    assert shelf.texts == {} or event != "put"


@pytest.mark.parametrize("event", ["put", "sync", "read back"])
async def test_a76_an_exception_nobody_foresaw_is_a_failed_receipt_that_quotes_nothing(
    shelf: Shelf, event: str
) -> None:
    shelf.fails[event] = RuntimeError("secret sauce on /dev/sda")
    receipt = await shelf.write("x")
    assert receipt.status == "failed"
    assert receipt.result.error is not None
    assert receipt.result.error.code == "tool_failed"
    assert "secret" not in receipt.model_dump_json()
    assert (states(shelf), count(shelf, "receipts")) == (["failed"], 1)


@pytest.mark.parametrize("event", ["sync", "read back"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreError("no space left", code="store_error.disk_full"), "store_error.disk_full"),
        (OSError(errno.ENOSPC, "secret sauce"), "store_error.disk_full"),
        (OSError(errno.EIO, "secret sauce"), "store_error"),
    ],
)
async def test_b2_a_write_that_was_applied_and_not_confirmed_is_neither_stored_nor_failed(
    shelf: Shelf, event: str, error: Exception, code: str
) -> None:
    shelf.fails[event] = error
    with pytest.raises(StoreError, match="could not be confirmed") as caught:
        await shelf.write("high water", key="key-1")
    assert (caught.value.code, caught.value.retryable) == (code, True)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert (states(shelf), count(shelf, "receipts")) == (["applied"], 0)
    shelf.fails.clear()
    receipt = await shelf.write("high water", key="key-1")
    assert receipt.status == "stored"
    assert receipt.receipt_id in str(caught.value)
    assert shelf.events.count("put") == 1
    assert (states(shelf), count(shelf, "receipts")) == (["committed"], 1)


async def test_a_handler_that_returns_something_else_is_a_failed_receipt(shelf: Shelf) -> None:
    async def put(args: Any, ctx: ToolContext) -> Any:
        return {"status": "stored"}

    spec = ToolSpec("shelf_put", "Put.", {"type": "object"}, put, ToolEffect.WRITE, DataSurface.KB)
    output = await shelf.ledger.wrap(spec).handler({}, ToolContext(request(), "call_1", None))
    assert [receipt.status for receipt in output.receipts] == ["failed"]


async def test_reading_tools_are_not_wrapped(shelf: Shelf) -> None:
    spec = ToolSpec("shelf_get", "Get.", {"type": "object"}, shelf.put, ToolEffect.READ, DataSurface.KB)
    assert shelf.ledger.wrap(spec) is spec


async def test_the_same_key_fifty_times_at_once_is_one_effect_and_one_receipt(shelf: Shelf) -> None:
    receipts: list[IngestReceipt] = []

    async def write() -> None:
        receipts.append(await shelf.write("high water", key="key-1"))

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(write)
    assert len(receipts) == 50
    assert all(receipt == receipts[0] for receipt in receipts)
    assert shelf.events == ["put", "new high water", "sync", "read back"]
    assert (states(shelf), count(shelf, "receipts")) == (["committed"], 1)


async def test_the_same_key_and_large_content_fifty_times_at_once(shelf: Shelf) -> None:
    receipts: list[IngestReceipt] = []

    async def write() -> None:
        receipts.append(await shelf.write(LARGE, key="key-1", large=True))

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(write)
    assert all(receipt == receipts[0] for receipt in receipts)
    assert shelf.events.count("put") == 1


async def test_the_same_key_waits_for_the_write_that_has_it(shelf: Shelf) -> None:
    shelf.may_go_on = anyio.Event()
    receipts: list[IngestReceipt] = []

    async def write() -> None:
        receipts.append(await shelf.write("high water", key="key-1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await shelf.entered.wait()
        tasks.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        assert receipts == []
        shelf.may_go_on.set()
    assert all(receipt == receipts[0] for receipt in receipts)
    assert shelf.events.count("put") == 1


@pytest.mark.parametrize(
    "other", [{"text": "low water"}, {"text": "high water", "large": True}, {"text": "high water", "session": "s2"}]
)
async def test_the_same_key_for_something_else_is_a_conflict(shelf: Shelf, other: dict[str, Any]) -> None:
    await shelf.write("high water", key="key-1")
    session = other.pop("session", "")
    with pytest.raises(Conflict, match="key-1#0"):
        await shelf.write(**other, ctx=request("key-1", session=session))
    assert shelf.events.count("put") == 1
    assert (count(shelf, "intents"), count(shelf, "receipts")) == (1, 1)


async def test_what_the_plan_adds_on_its_own_does_not_make_another_call(shelf: Shelf) -> None:
    times = iter(range(10))

    async def plan(args: Any, ctx: ToolContext) -> Any:
        yield PlannedWrite({**args, "planned_at": next(times)})

    tool = shelf.ledger.wrap(ToolSpec("shelf_put", "Put.", {}, shelf.put, ToolEffect.WRITE, DataSurface.KB, plan=plan))
    outputs = [
        await tool.handler({"text": "high water"}, ToolContext(request("key-1"), "call_1", None)) for _ in range(2)
    ]
    assert outputs[0].receipts == outputs[1].receipts
    assert shelf.events.count("put") == 1


async def test_a_write_that_failed_may_be_tried_again_with_its_key(shelf: Shelf) -> None:
    shelf.fails["put"] = StoreError("the shelf is locked")
    failed = await shelf.write("high water", key="key-1")
    shelf.fails.clear()
    ctx = request("key-1")
    stored = await shelf.write("high water", ctx=ctx)
    assert (failed.status, stored.status) == ("failed", "stored")
    assert failed.receipt_id != stored.receipt_id
    assert stored.trace_id == ctx.trace_id
    assert stored.started_at > failed.completed_at
    assert await shelf.write("high water", key="key-1") == stored
    assert (states(shelf), count(shelf, "receipts")) == (["committed"], 2)
    assert kinds(shelf) == ["intent", "outcome"] * 2


async def test_a_receipt_that_could_not_be_stored_does_not_lock_its_key(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> Any:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(shelf.control.intents, "finish", full)
        with pytest.raises(StoreError, match="full"):
            await shelf.write("high water", key="key-1")
    with anyio.fail_after(10):  # it used to wait for itself
        receipt = await shelf.write("high water", key="key-1")
    assert receipt.status == "stored"
    assert list(shelf.texts.values()) == ["high water"]
    assert (states(shelf), count(shelf, "receipts")) == (["committed"], 1)


async def test_a66_no_key_is_derived_from_the_content(shelf: Shelf) -> None:
    receipts = [await shelf.write("high water") for _ in range(2)]
    assert len({receipt.receipt_id for receipt in receipts}) == 2
    assert len({receipt.idempotency_key for receipt in receipts}) == 2
    assert shelf.events.count("put") == 2


async def test_every_unit_of_a_call_has_its_own_key_and_a_refused_one_its_receipt(shelf: Shelf) -> None:
    async def plan(args: Any, ctx: ToolContext) -> Any:
        yield PlannedWrite({"text": "a"}, label="a")
        yield Refusal("b", "limit_exceeded", "'b' has more than 10 bytes")
        yield PlannedWrite({"text": "c"}, label="c")

    progress: list[tuple[int, str]] = []
    ctx = request("key-1", progress=lambda done, label: progress.append((done, label)))
    tool = shelf.ledger.wrap(ToolSpec("shelf_put", "Put.", {}, shelf.put, ToolEffect.WRITE, DataSurface.KB, plan=plan))
    output = await tool.handler({}, ToolContext(ctx, "call_1", None))
    assert [receipt.status for receipt in output.receipts] == ["stored", "failed", "stored"]
    assert [receipt.idempotency_key for receipt in output.receipts] == ["key-1#0", "key-1#1", "key-1#2"]
    assert progress == [(1, "a"), (2, "b"), (3, "c")]
    assert output.data["status"] == "partial"
    assert kinds(shelf) == ["intent", "outcome", "refused", "intent", "outcome"]


@pytest.mark.parametrize("error", [StoreError("the other shelf is locked"), ValueError("secret sauce")])
async def test_a_plan_that_breaks_off_does_not_hide_what_was_written(shelf: Shelf, error: Exception) -> None:
    async def plan(args: Any, ctx: ToolContext) -> Any:
        yield PlannedWrite({"text": "a"})
        raise error

    tool = shelf.ledger.wrap(ToolSpec("shelf_put", "Put.", {}, shelf.put, ToolEffect.WRITE, DataSurface.KB, plan=plan))
    output = await tool.handler({}, ToolContext(request(), "call_1", None))
    assert [receipt.status for receipt in output.receipts] == ["stored", "failed"]
    assert "secret" not in json.dumps(dict(output.data))
    assert (output.data["status"], count(shelf, "receipts")) == ("partial", 2)


async def test_a_plan_that_breaks_off_at_once_is_an_error_and_no_receipt(shelf: Shelf) -> None:
    async def plan(args: Any, ctx: ToolContext) -> Any:
        raise InputInvalid("blank")
        yield PlannedWrite({})

    tool = shelf.ledger.wrap(ToolSpec("shelf_put", "Put.", {}, shelf.put, ToolEffect.WRITE, DataSurface.KB, plan=plan))
    with pytest.raises(InputInvalid):
        await tool.handler({}, ToolContext(request(), "call_1", None))
    assert count(shelf, "receipts") == 0


async def test_callers_of_two_profiles_may_use_one_key_for_what_they_share(shelf: Shelf, tmp_path: Path) -> None:
    shared = Shelf(open_control("_shared", tmp_path / "shared", tmp_path / "keys"))
    receipts = []

    async def plan(args: Any, ctx: ToolContext) -> Any:
        yield PlannedWrite(dict(args), ledger_profile="_shared")

    for profile in ("alpha", "beta"):
        tool = replace(shared.ledger, profile=profile).wrap(replace(shared.spec, plan=plan))
        output = await tool.handler(
            {"text": profile}, ToolContext(replace(request("import-1"), profile=profile), "call_1", None)
        )
        receipts += output.receipts
    assert [receipt.status for receipt in receipts] == ["stored", "stored"]
    assert sorted(shared.texts.values()) == ["alpha", "beta"]


async def test_what_a_model_is_told_of_a_write_quotes_no_stored_text(shelf: Shelf) -> None:
    output = await shelf.tool.handler({"text": "canary"}, ToolContext(request(), "call_1", None))
    assert "canary" not in json.dumps(dict(output.data))


async def test_a75_cancelled_before_the_intent_nothing_is_left(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    planning = anyio.Event()

    async def plan(args: Any, ctx: ToolContext) -> Any:
        planning.set()
        await anyio.sleep_forever()
        yield PlannedWrite(dict(args))

    tool = shelf.ledger.wrap(ToolSpec("shelf_put", "Put.", {}, shelf.put, ToolEffect.WRITE, DataSurface.KB, plan=plan))
    task = asyncio.create_task(tool.handler({"text": "x"}, ToolContext(request(), "call_1", None)))
    await planning.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [count(shelf, table) for table in ("intents", "receipts", "audit")] == [0, 0, 0]
    assert shelf.events == []


async def test_a75_task_cancel_after_the_intent_lets_the_write_finish(shelf: Shelf) -> None:
    shelf.may_go_on = anyio.Event()
    task = asyncio.create_task(shelf.write("high water", key="key-1"))
    await shelf.entered.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    shelf.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (states(shelf), count(shelf, "receipts")) == (["committed"], 1)
    assert (await shelf.write("high water", key="key-1")).status == "stored"
    assert shelf.events.count("put") == 1


async def test_a75_an_anyio_scope_cancelled_after_the_intent_lets_the_write_finish(shelf: Shelf) -> None:
    shelf.may_go_on = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shelf.write, "high water")
        await shelf.entered.wait()
        tasks.cancel_scope.cancel()
        shelf.may_go_on.set()
    assert (states(shelf), kinds(shelf), count(shelf, "receipts")) == (["committed"], ["intent", "outcome"], 1)


async def test_a75_cancelled_while_the_intent_is_on_its_way_nothing_is_left_open(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, committing = asyncio.get_running_loop(), asyncio.Event()
    write_now = shelf.control.db.write_now

    def tell(*args: Any) -> Any:
        loop.call_soon_threadsafe(committing.set)
        return write_now(*args)

    with closing(sqlite3.connect(shelf.control.db.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that the intent has to wait
        monkeypatch.setattr(shelf.control.db, "write_now", tell)
        task = asyncio.create_task(shelf.write("high water"))
        await committing.wait()
        task.cancel()
        await asyncio.sleep(0)
        other.execute("ROLLBACK")
    with pytest.raises(asyncio.CancelledError):
        await task
    write_now(lambda _: None)  # behind the thread that was at work
    left = (states(shelf), count(shelf, "receipts"), list(shelf.texts.values()))
    assert left in [([], 0, []), (["committed"], 1, ["high water"])]


async def test_a78_of_several_units_none_begins_after_a_cancellation(shelf: Shelf) -> None:
    shelf.may_go_on = anyio.Event()

    async def plan(args: Any, ctx: ToolContext) -> Any:
        for number in range(5):
            yield PlannedWrite({"text": str(number)})

    tool = shelf.ledger.wrap(ToolSpec("shelf_put", "Put.", {}, shelf.put, ToolEffect.WRITE, DataSurface.KB, plan=plan))
    task = asyncio.create_task(tool.handler({}, ToolContext(request(), "call_1", None)))
    await shelf.entered.wait()
    task.cancel()
    shelf.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(shelf.texts.values()) == ["0"]
    assert (states(shelf), count(shelf, "receipts")) == (["committed"], 1)


async def test_a77_a_slow_write_does_not_hold_back_another(shelf: Shelf) -> None:
    shelf.may_go_on = anyio.Event()
    gate = shelf.may_go_on
    slow = asyncio.create_task(shelf.write("slow"))
    await shelf.entered.wait()
    shelf.may_go_on = anyio.Event()
    shelf.may_go_on.set()
    assert (await shelf.write("quick")).status == "stored"
    assert not slow.done()
    gate.set()
    assert (await slow).status == "stored"


async def test_a_mark_that_fails_does_not_fail_the_write(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: Any) -> None:
        raise StoreError("database is locked")

    monkeypatch.setattr(shelf.control.db, "write_soft", busy)
    assert (await shelf.write("high water")).status == "stored"
    assert states(shelf) == ["committed"]


async def reopened(shelf: Shelf, tmp_path: Path) -> tuple[Shelf, list[IngestReceipt]]:
    """The next process, which finds the engine as the last one left it."""
    new = open_shelf(tmp_path)
    new.texts = shelf.texts
    return new, list(await new.ledger.recover({"shelf_put": new.spec}, new.control))


async def test_recovery_finishes_what_a_dead_process_began(shelf: Shelf, tmp_path: Path) -> None:
    await shelf.leave_open("a", "b")
    new, receipts = await reopened(shelf, tmp_path)
    assert [receipt.status for receipt in receipts] == ["stored", "stored"]
    assert new.events == ["put", "again a", "sync", "read back", "put", "again b", "sync", "read back"]
    assert states(new) == ["committed", "committed"]
    assert sorted(new.texts.values()) == ["a", "b"]
    assert kinds(new) == ["intent", "intent", "outcome", "outcome"]
    assert audit_faults(new.control.db.path, tmp_path / "keys") == []


async def test_recovery_does_not_run_again_what_was_applied(shelf: Shelf, tmp_path: Path) -> None:
    await shelf.leave_open("a", applied=True)
    new, (receipt,) = await reopened(shelf, tmp_path)
    assert new.events == ["sync", "read back"]
    assert receipt.status == "stored"


async def test_recovery_brings_large_content_back(shelf: Shelf, tmp_path: Path) -> None:
    await shelf.leave_open(LARGE, large=True)
    shelf.texts.clear()
    new, _ = await reopened(shelf, tmp_path)
    assert list(new.texts.values()) == [LARGE]


async def test_damaged_content_fails_its_own_write_and_no_other(shelf: Shelf, tmp_path: Path) -> None:
    await shelf.leave_open(LARGE, large=True, key="key-1")
    await open_shelf(tmp_path).leave_open("b", key="key-2")
    (blob,) = [path for path in (tmp_path / "storage" / "blobs").rglob("*") if path.is_file()]
    blob.write_bytes(b"damaged")
    shelf.texts.clear()
    new, receipts = await reopened(shelf, tmp_path)
    assert [receipt.status for receipt in receipts] == ["failed", "stored"]
    assert receipts[0].result.error is not None
    assert receipts[0].result.error.code == IntegrityError.default_code
    assert states(new) == ["failed", "committed"]


async def test_an_applied_write_is_finished_even_if_its_content_is_damaged(shelf: Shelf, tmp_path: Path) -> None:
    await shelf.leave_open(LARGE, large=True, applied=True)
    for path in (tmp_path / "storage" / "blobs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")
    _, (receipt,) = await reopened(shelf, tmp_path)
    assert receipt.status == "stored"


async def test_a_key_that_a_dead_process_left_open_is_finished_by_its_next_caller(shelf: Shelf, tmp_path: Path) -> None:
    await shelf.leave_open("a", key="key-1")
    other = open_shelf(tmp_path)
    await other.leave_open("b", key="key-2", applied=True)
    new = open_shelf(tmp_path)
    assert (await new.write("a", key="key-1")).status == "stored"
    assert new.events == ["put", "new a", "sync", "read back"]
    new.texts |= other.texts
    assert (await new.write("b", key="key-2")).result.operation == "added"
    assert new.events.count("put") == 1, "the engine has it already"
    assert states(new) == ["committed", "committed"]


async def test_a_write_of_a_living_process_is_left_alone(shelf: Shelf, tmp_path: Path) -> None:
    shelf.may_go_on = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shelf.write, "a")
        await shelf.entered.wait()
        new, receipts = await reopened(shelf, tmp_path)
        assert (receipts, new.events, states(new)) == ([], [], ["intent"])
        shelf.may_go_on.set()
    assert states(new) == ["committed"]


async def test_a_write_whose_tool_is_gone_waits_for_it(
    shelf: Shelf, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await shelf.leave_open("a")
    new = open_shelf(tmp_path)
    assert await new.ledger.recover({}, new.control) == []
    assert "shelf_put" in caplog.text
    assert states(new) == ["intent"]
    assert len(await new.ledger.recover({"shelf_put": new.spec}, new.control)) == 0, "this process has taken it"
    new.control.close()
    again, receipts = await reopened(shelf, tmp_path)
    assert [receipt.status for receipt in receipts] == ["stored"]
    assert states(again) == ["committed"]


@pytest.mark.parametrize("event", ["put", "sync", "read back"])
async def test_a_store_that_does_not_open_now_leaves_its_writes_for_the_next_start(
    shelf: Shelf, tmp_path: Path, event: str
) -> None:
    await shelf.leave_open("a", applied=event != "put")
    broken = open_shelf(tmp_path)
    broken.fails[event] = StoreError("the shelf is locked")
    assert await broken.ledger.recover({"shelf_put": broken.spec}, broken.control) == []
    assert states(broken) == ["intent" if event == "put" else "applied"]
    assert count(broken, "receipts") == 0
    broken.control.close()
    _, receipts = await reopened(shelf, tmp_path)
    assert [receipt.status for receipt in receipts] == ["stored"]


@pytest.mark.parametrize("error", [InputInvalid("blank"), IntegrityError("torn"), ValueError("what")])
async def test_recovery_of_a_write_that_cannot_succeed_ends_in_a_failed_receipt(
    shelf: Shelf, tmp_path: Path, error: Exception
) -> None:
    await shelf.leave_open("a")
    new = open_shelf(tmp_path)
    new.fails["put"] = error
    (receipt,) = await new.ledger.recover({"shelf_put": new.spec}, new.control)
    assert receipt.status == "failed"
    assert states(new) == ["failed"]


async def test_the_lock_files_of_the_dead_are_swept(shelf: Shelf, tmp_path: Path) -> None:
    owners = tmp_path / "storage" / "owners"
    await shelf.leave_open("a")
    (owners / "1-dead.lock").touch()
    new, _ = await reopened(shelf, tmp_path)
    assert len(list(owners.iterdir())) == 1
    new.control.close()
    assert list(owners.iterdir()) == []


async def test_errors_of_the_ledger_are_single_lines(shelf: Shelf) -> None:
    await shelf.write("high water", key="key-1")
    with pytest.raises(DataMindError) as caught:
        await shelf.write("low water", key="key-1")
    assert "\n" not in str(caught.value)
