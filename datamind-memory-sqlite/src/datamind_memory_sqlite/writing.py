"""What the writes do, each within one transaction that the caller opened."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from datamind.capabilities.memory.providers.rules import content_key, name_key
from datamind.core.errors import InputInvalid, NotFound
from datamind.core.protocols.memory import MemoryDraft, SaveOutcome
from datamind.core.record import now
from datamind.core.types import derived_id
from datamind_memory_sqlite.filters import marks
from datamind_memory_sqlite.reverting import note_new, noting
from datamind_memory_sqlite.rows import encode_tokens, to_microseconds

_SLICE: Final = 500
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SAME_FACT: Final = (
    "subject_key = :subject AND attribute_key = :attribute AND scope = :scope AND session = :session "
    "AND forget_receipt_id IS NULL"
)


@dataclass(frozen=True, slots=True)
class _Span:
    """A stored memory and when it begins to hold, in microseconds."""

    row: int
    memory_id: str
    start: int


def save(connection: sqlite3.Connection, draft: MemoryDraft) -> SaveOutcome:
    """Add a memory, or find that it is there."""
    if outcome := _first_outcome(connection, draft):
        return outcome
    start = to_microseconds(draft.valid_from)
    equal = _equal(connection, draft)
    others = [span for span in _held_then(connection, draft) if span != equal]
    if equal is None:
        _insert(connection, draft, _following(connection, draft))
    elif equal.start > start:
        others = []
    return _settle(connection, draft, equal, [(span, start) for span in others])


def update(connection: sqlite3.Connection, memory_id: str, draft: MemoryDraft) -> SaveOutcome:
    """Close one memory and add the draft, which holds whatever came after its ``valid_from``.

    Raises:
        NotFound: No such memory holds.
    """
    if outcome := _first_outcome(connection, draft):
        return outcome
    target = _holding(connection, memory_id)
    equal = _equal(connection, draft, holding_only=True)
    if equal == target:
        return _settle(connection, draft, equal, [])
    closing = dict.fromkeys([target, *_from_then_on(connection, draft)])
    if equal is None:
        _insert(connection, draft, None)
    start = to_microseconds(draft.valid_from)
    return _settle(connection, draft, equal, [(span, max(start, span.start)) for span in closing if span != equal])


def forget(connection: sqlite3.Connection, memory_ids: Sequence[str], receipt_id: str) -> int:
    """Number forgotten by this receipt, now or when it was first asked."""
    return sum(_forget(connection, part, receipt_id) for part in _slices(memory_ids))


def put_vectors(
    connection: sqlite3.Connection, model_id: str, memory_ids: Sequence[str], vectors: Sequence[bytes]
) -> None:
    """Keep one vector for each id; those of vanished memories are dropped.

    Raises:
        InputInvalid: Another dimension than the vectors of this model have.
    """
    model = _model(connection, model_id, len(vectors[0]) // 4)
    vector_of = dict(zip(memory_ids, vectors, strict=True))
    for part in _slices(memory_ids):
        known = connection.execute(
            f"SELECT row, memory_id FROM memories WHERE forget_receipt_id IS NULL AND memory_id IN ({marks(part)})",  # noqa: S608
            part,
        ).fetchall()
        connection.executemany(
            "INSERT OR REPLACE INTO vectors (row, model, vector) VALUES (?, ?, ?)",
            [(row, model, vector_of[memory_id]) for row, memory_id in known],
        )


def _first_outcome(connection: sqlite3.Connection, draft: MemoryDraft) -> SaveOutcome | None:
    found = connection.execute(
        "SELECT status, memory_id, closed_ids FROM outcomes WHERE draft_id = ?", (draft.memory_id,)
    ).fetchone()
    if found is None:
        return None
    status, memory_id, closed_ids = found
    return SaveOutcome(status=status, memory_id=memory_id, closed_ids=tuple(json.loads(closed_ids)))


def _settle(
    connection: sqlite3.Connection, draft: MemoryDraft, equal: _Span | None, ends: Sequence[tuple[_Span, int]]
) -> SaveOutcome:
    """Close memories in favour of the one that holds and keep what was done for a redo."""
    memory_id = equal.memory_id if equal else draft.memory_id
    with noting(connection, draft.receipt_id, [span.row for span, _ in ends]):
        connection.executemany(
            "UPDATE memories SET valid_to = ?, closed_by = ?, close_receipt_id = ? WHERE row = ?",
            [(end, memory_id, draft.receipt_id, span.row) for span, end in ends],
        )
    closed = sorted((span for span, _ in ends), key=lambda span: (span.start, span.memory_id))
    outcome = SaveOutcome(
        status="superseded" if ends else "unchanged" if equal else "added",
        memory_id=memory_id,
        closed_ids=tuple(span.memory_id for span in closed),
    )
    connection.execute(
        "INSERT INTO outcomes VALUES (?, ?, ?, ?)",
        (draft.memory_id, outcome.status, memory_id, json.dumps(outcome.closed_ids)),
    )
    return outcome


def _insert(connection: sqlite3.Connection, draft: MemoryDraft, following: _Span | None) -> None:
    values = draft.model_dump(mode="json", exclude={"tokens"}) | {
        "valid_from": to_microseconds(draft.valid_from),
        "valid_to": following.start if following else None,
        "created_at": to_microseconds(now()),
        "closed_by": following.memory_id if following else "",
        "close_receipt_id": draft.receipt_id if following else "",
        "subject_key": name_key(draft.subject),
        "attribute_key": name_key(draft.attribute),
        "content_key": _content_key(draft),
    }
    names = ", ".join(values)
    inserted = connection.execute(
        f"INSERT INTO memories ({names}) VALUES ({marks(tuple(values))})",  # noqa: S608
        tuple(values.values()),
    )
    connection.execute(
        "INSERT INTO words (rowid, tokens) VALUES (?, ?)",
        (inserted.lastrowid, " ".join(encode_tokens(draft.tokens))),
    )
    note_new(connection, draft.receipt_id, inserted.lastrowid or 0)


def erase(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    """Remove the rows of those that are forgotten, and the words that the index still holds of them."""
    connection.execute("PRAGMA secure_delete = ON")
    for part in _slices(memory_ids):
        chosen = f"memory_id IN ({marks(part)})"
        connection.execute(f"DELETE FROM outcomes WHERE {chosen}", part)  # noqa: S608
        connection.execute(f"DELETE FROM changes WHERE {chosen}", part)  # noqa: S608
        connection.execute(f"DELETE FROM memories WHERE forget_receipt_id IS NOT NULL AND {chosen}", part)  # noqa: S608
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


def _content_key(draft: MemoryDraft) -> str:
    return derived_id("content", *content_key(draft))


def _equal(connection: sqlite3.Connection, draft: MemoryDraft, *, holding_only: bool = False) -> _Span | None:
    """The equal memory that holds, or that held when a functional draft says it does."""
    return _one(
        connection,
        "content_key = :content AND forget_receipt_id IS NULL "
        "AND (valid_to IS NULL OR (:then AND valid_from <= :start AND valid_to > :start)) "
        "ORDER BY valid_to IS NOT NULL, valid_from, memory_id",
        {
            "content": _content_key(draft),
            "then": draft.functional and not holding_only,
            "start": to_microseconds(draft.valid_from),
        },
    )


def _holding(connection: sqlite3.Connection, memory_id: str) -> _Span:
    known = not _SURROGATE.search(memory_id)
    condition = "memory_id = :memory_id AND valid_to IS NULL AND forget_receipt_id IS NULL"
    span = _one(connection, condition, {"memory_id": memory_id}) if known else None
    if span is None:
        raise NotFound(f"no memory {memory_id[:60]!r} holds")
    return span


def _held_then(connection: sqlite3.Connection, draft: MemoryDraft) -> list[_Span]:
    """Memories of a functional draft's fact that hold at its ``valid_from``."""
    return _same_fact(connection, draft, "valid_from <= :start AND (valid_to IS NULL OR valid_to > :start)")


def _from_then_on(connection: sqlite3.Connection, draft: MemoryDraft) -> list[_Span]:
    """Memories of a functional draft's fact that hold at any time from its ``valid_from`` on."""
    return _same_fact(connection, draft, "(valid_to IS NULL OR valid_to > max(valid_from, :start))")


def _following(connection: sqlite3.Connection, draft: MemoryDraft) -> _Span | None:
    """The next value of a functional fact; one that never held for a moment does not count."""
    later = _same_fact(
        connection,
        draft,
        "functional AND valid_from > :start AND valid_to IS NOT valid_from ORDER BY valid_from, memory_id LIMIT 1",
    )
    return later[0] if later else None


def _same_fact(connection: sqlite3.Connection, draft: MemoryDraft, condition: str) -> list[_Span]:
    if not draft.functional:
        return []
    return _spans(
        connection,
        f"{_SAME_FACT} AND {condition}",
        {
            "subject": name_key(draft.subject),
            "attribute": name_key(draft.attribute),
            "scope": draft.scope,
            "session": draft.session,
            "start": to_microseconds(draft.valid_from),
        },
    )


def _one(connection: sqlite3.Connection, condition: str, values: dict[str, object]) -> _Span | None:
    return next(iter(_spans(connection, f"{condition} LIMIT 1", values)), None)


def _spans(connection: sqlite3.Connection, condition: str, values: dict[str, object]) -> list[_Span]:
    found = connection.execute(f"SELECT row, memory_id, valid_from FROM memories WHERE {condition}", values)  # noqa: S608
    return [_Span(*row) for row in found.fetchall()]


def _forget(connection: sqlite3.Connection, memory_ids: Sequence[str], receipt_id: str) -> int:
    chosen = f"memory_id IN ({marks(memory_ids)})"
    rows = connection.execute(
        f"SELECT row FROM memories WHERE forget_receipt_id IS NULL AND {chosen}",  # noqa: S608
        memory_ids,
    ).fetchall()
    connection.executemany("DELETE FROM words WHERE rowid = ?", rows)
    connection.executemany("DELETE FROM vectors WHERE row = ?", rows)
    with noting(connection, receipt_id, [row for (row,) in rows]):
        changes = [(receipt_id, row) for (row,) in rows]
        connection.executemany("UPDATE memories SET forget_receipt_id = ? WHERE row = ?", changes)
    (count,) = connection.execute(
        f"SELECT count(*) FROM memories WHERE forget_receipt_id = ? AND {chosen}",  # noqa: S608
        (receipt_id, *memory_ids),
    ).fetchone()
    return int(count)


def _slices(memory_ids: Sequence[str]) -> Iterator[list[str]]:
    """Ids that can be stored at all, each once."""
    known = [memory_id for memory_id in dict.fromkeys(memory_ids) if not _SURROGATE.search(memory_id)]
    return (known[start : start + _SLICE] for start in range(0, len(known), _SLICE))


def _model(connection: sqlite3.Connection, model_id: str, dim: int) -> int:
    known = connection.execute("SELECT model, dim FROM models WHERE model_id = ?", (model_id,)).fetchone()
    if known is None:
        return connection.execute("INSERT INTO models (model_id, dim) VALUES (?, ?)", (model_id, dim)).lastrowid or 0
    if known[1] != dim:
        raise InputInvalid(
            f"vectors of {model_id[:60]!r} have {known[1]} dimensions, not {dim}",
            hint="Give a model with other vectors another id.",
        )
    return int(known[0])
