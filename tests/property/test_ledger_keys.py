"""Whatever happens in whatever order, a key has one effect, and every effect that is acknowledged has one receipt."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.core.errors import Conflict, InputInvalid, StoreError
from datamind.core.types import derived_id
from tests.support.ledger_jobs import audit_faults
from tests.support.shelves import Shelf, open_shelf

KEYS, TEXTS = ("k1", "k2", "k3"), ("high", "low")
FAULTS = (None, "put", "sync", "read back")


@dataclass(frozen=True)
class Step:
    """One write, how it fails, and whether its process dies before it is told."""

    key: str
    text: str
    fault: str | None
    lasting: bool
    dies: str | None


@dataclass
class Model:
    """What a key stands for: its text and how its last attempt ended."""

    text_of: dict[str, str] = field(default_factory=dict)
    state_of: dict[str, str] = field(default_factory=dict)
    receipt_of: dict[str, str] = field(default_factory=dict)


steps = st.builds(
    Step,
    key=st.sampled_from(KEYS),
    text=st.sampled_from(TEXTS),
    fault=st.sampled_from(FAULTS),
    lasting=st.booleans(),
    dies=st.sampled_from((None, None, None, "after the intent", "after the engine")),
)


@given(st.lists(steps, max_size=12))
@settings(max_examples=30)
def test_a_key_has_one_effect_and_one_receipt(history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(history, Path(folder)))


async def _live(history: list[Step], folder: Path) -> None:
    shelf, model = open_shelf(folder), Model()
    for step in history:
        if model.text_of.setdefault(step.key, step.text) != step.text:
            await _conflict(shelf, step)
        elif step.dies and model.state_of.get(step.key) in (None, "failed"):
            shelf = await _die(shelf, step, folder, model)
        else:
            await _write(shelf, step, model)
        _check(shelf, model, folder)
    shelf.control.close()


async def _conflict(shelf: Shelf, step: Step) -> None:
    try:
        await shelf.write(step.text, key=step.key)
    except Conflict:
        return
    raise AssertionError(f"{step.key} was used for another text")


async def _die(shelf: Shelf, step: Step, folder: Path, model: Model) -> Shelf:
    """The process dies in this write; the next one finishes whatever is open."""
    await shelf.leave_open(step.text, key=step.key, applied=step.dies == "after the engine")
    new = open_shelf(folder)
    new.texts = shelf.texts
    await new.ledger.recover({"shelf_put": new.spec}, new.control)
    for key, state in model.state_of.items():
        model.state_of[key] = "committed" if state == "applied" else state
    model.state_of[step.key] = "committed"
    return new


async def _write(shelf: Shelf, step: Step, model: Model) -> None:
    before = model.state_of.get(step.key)
    shelf.fails = {}
    if step.fault is not None:
        shelf.fails[step.fault] = InputInvalid("no") if step.lasting else StoreError("not now")
    puts = shelf.events.count("put")
    try:
        receipt = await shelf.write(step.text, key=step.key)
    except StoreError:
        model.state_of[step.key] = "applied"
        assert step.fault in ("sync", "read back")
        assert not step.lasting
        return
    finally:
        shelf.fails = {}
    if before == "committed":
        assert receipt.receipt_id == model.receipt_of.setdefault(step.key, receipt.receipt_id)
        assert shelf.events.count("put") == puts
        return
    assert shelf.events.count("put") == puts + (before != "applied")
    failed = step.fault is not None and not (step.fault == "put" and before == "applied")
    assert receipt.status == ("failed" if failed else "stored")
    model.state_of[step.key] = "failed" if failed else "committed"
    if not failed:
        model.receipt_of[step.key] = receipt.receipt_id


def _check(shelf: Shelf, model: Model, folder: Path) -> None:
    path = shelf.control.db.path
    rows = shelf.control.db.read_now(lambda db: db.execute("SELECT * FROM intents").fetchall())
    assert {row["idempotency_key"].partition("#")[0]: row["state"] for row in rows} == model.state_of
    stored = "SELECT count(*) FROM receipts WHERE status = 'stored'"
    receipts = shelf.control.db.read_now(lambda db: db.execute(stored).fetchone()[0])
    committed = [key for key, state in model.state_of.items() if state == "committed"]
    assert receipts == len(committed)
    assert len(shelf.texts) <= len(model.state_of)
    assert sorted(model.text_of[key] for key in committed) == sorted(
        text for item, text in shelf.texts.items() if item in _items(shelf, committed)
    )
    assert audit_faults(path, folder / "keys") == []


def _items(shelf: Shelf, keys: list[str]) -> set[str]:
    return {derived_id("item", derived_id("unit", "test", f"{key}#0")) for key in keys}
