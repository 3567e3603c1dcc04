"""What each write changed of which memory, and how that is taken back; within a transaction that the caller opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from datamind.capabilities.memory.words import memory_tokens
from datamind.core.errors import changed_since
from datamind.core.protocols.memory import MemoryItem, MemoryRevert
from datamind_memory_sqlite.rows import ITEM_COLUMNS, encode_tokens, make_item

_STATE: Final = "json_array(valid_to, closed_by, close_receipt_id, forget_receipt_id)"
_FORGOTTEN: Final = 3
_NOTE: Final = (
    "INSERT INTO changes VALUES (?, ?, ?, ?) ON CONFLICT (receipt_id, memory_id) DO UPDATE SET after = excluded.after"
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One memory and the state it goes to; None: it was not there."""

    row: int
    memory_id: str
    now: str
    to: str | None


@contextmanager
def noting(connection: sqlite3.Connection, receipt_id: str, rows: Sequence[int]) -> Iterator[None]:
    """Note what the block makes of these rows."""
    before = {row: _state(connection, row) for row in rows}
    yield
    connection.executemany(_NOTE, [(receipt_id, *before[row], _state(connection, row)[1]) for row in rows])


def note_new(connection: sqlite3.Connection, receipt_id: str, row: int) -> None:
    """Note that a row was added."""
    memory_id, state = _state(connection, row)
    connection.execute(_NOTE, (receipt_id, memory_id, None, state))


def plan(connection: sqlite3.Connection, receipt_id: str) -> MemoryRevert:
    """What ``revert`` would do.

    Raises:
        Conflict: A later write changed one of its memories, or the same fact.
    """
    connection.execute("SAVEPOINT plan")
    try:
        return revert(connection, receipt_id, "planned")
    finally:
        connection.execute("ROLLBACK TO plan")
        connection.execute("RELEASE plan")


def revert(connection: sqlite3.Connection, receipt_id: str, by_receipt: str) -> MemoryRevert:
    """Take back what a receipt wrote.

    Raises:
        Conflict: A later write changed one of its memories, or the same fact.
    """
    if found := connection.execute("SELECT body FROM reverts WHERE by_receipt = ?", (by_receipt,)).fetchone():
        # Ids alone are kept, so that no text outlives its memory.
        back, gone = (tuple(_items(connection, part)) for part in json.loads(found[0]))
        return MemoryRevert(back=back, gone=gone)
    steps = _steps(connection, receipt_id)
    before = {step.row: _item(connection, step.row) for step in steps}
    with noting(connection, by_receipt, [step.row for step in steps]):
        for step in steps:
            _go(connection, step, by_receipt)
    there = [step for step in steps if _is_there(step.to)]
    _check_facts(connection, receipt_id, there)
    done = MemoryRevert(
        back=tuple(_item(connection, step.row) for step in there),
        gone=tuple(before[step.row] for step in steps if not _is_there(step.to)),
    )
    ids = json.dumps([[item.memory_id for item in part] for part in (done.back, done.gone)])
    connection.execute("INSERT INTO reverts VALUES (?, ?)", (by_receipt, ids))
    return done


def _steps(connection: sqlite3.Connection, receipt_id: str) -> list[_Step]:
    query = (
        "SELECT m.row, m.memory_id, c.after, c.before, "  # noqa: S608
        f"{_STATE} FROM changes AS c JOIN memories AS m ON m.memory_id = c.memory_id WHERE c.receipt_id = ?"
    )
    steps = []
    for row, memory_id, after, before, state in connection.execute(query, (receipt_id,)).fetchall():
        if state != after:
            raise changed_since(receipt_id, _changed_by(connection, memory_id, state))
        steps.append(_Step(row, memory_id, state, before))
    return steps


def _changed_by(connection: sqlite3.Connection, memory_id: str, state: str) -> str:
    query = "SELECT receipt_id FROM changes WHERE memory_id = ? AND after = ? ORDER BY rowid DESC LIMIT 1"
    found = connection.execute(query, (memory_id, state)).fetchone()
    return str(found[0]) if found else ""


def _go(connection: sqlite3.Connection, step: _Step, by_receipt: str) -> None:
    state: list[Any] = json.loads(step.to or step.now)
    if step.to is None:
        state[_FORGOTTEN] = by_receipt
    connection.execute(
        "UPDATE memories SET valid_to = ?, closed_by = ?, close_receipt_id = ?, forget_receipt_id = ? WHERE row = ?",
        (*state, step.row),
    )
    if _is_there(step.to) == _is_there(step.now):
        return
    connection.execute("DELETE FROM words WHERE rowid = ?", (step.row,))
    connection.execute("DELETE FROM vectors WHERE row = ?", (step.row,))
    if _is_there(step.to):
        fact = connection.execute(
            "SELECT text, subject, attribute, value FROM memories WHERE row = ?", (step.row,)
        ).fetchone()
        words = " ".join(encode_tokens(memory_tokens(*fact)))
        connection.execute("INSERT INTO words (rowid, tokens) VALUES (?, ?)", (step.row, words))


def _check_facts(connection: sqlite3.Connection, receipt_id: str, there: Sequence[_Step]) -> None:
    """A functional fact has one value at any instant."""
    query = (
        "SELECT o.receipt_id FROM memories AS m JOIN memories AS o ON o.subject_key = m.subject_key"
        " AND o.attribute_key = m.attribute_key AND o.scope = m.scope AND o.session = m.session AND o.row <> m.row"
        " WHERE m.row = ? AND m.functional AND o.functional AND o.forget_receipt_id IS NULL"
        " AND m.valid_to IS NOT m.valid_from AND o.valid_to IS NOT o.valid_from"
        " AND (m.valid_to IS NULL OR o.valid_from < m.valid_to) AND (o.valid_to IS NULL OR m.valid_from < o.valid_to)"
        " LIMIT 1"
    )
    for step in there:
        if other := connection.execute(query, (step.row,)).fetchone():
            raise changed_since(receipt_id, str(other[0]))


def _is_there(state: str | None) -> bool:
    return state is not None and json.loads(state)[_FORGOTTEN] is None


def _state(connection: sqlite3.Connection, row: int) -> tuple[str, str]:
    found: tuple[str, str] = connection.execute(
        f"SELECT memory_id, {_STATE} FROM memories WHERE row = ?",  # noqa: S608
        (row,),
    ).fetchone()
    return found


def _items(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> Iterator[MemoryItem]:
    query = f"SELECT {ITEM_COLUMNS} FROM memories AS m WHERE m.memory_id IN (SELECT value FROM json_each(?))"  # noqa: S608
    yield from map(make_item, connection.execute(query, (json.dumps(memory_ids),)))


def _item(connection: sqlite3.Connection, row: int) -> MemoryItem:
    query = f"SELECT {ITEM_COLUMNS} FROM memories AS m WHERE m.row = ?"  # noqa: S608
    return make_item(connection.execute(query, (row,)).fetchone())
