"""A MemoryFilter as the condition of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from datamind.capabilities.memory.providers.rules import name_key
from datamind.core.errors import LimitExceeded
from datamind.core.protocols.memory import MemoryFilter, MemoryScope
from datamind_memory_sqlite.rows import to_microseconds

MAX_FILTER_IDS: Final = 10_000
"""Below the bound of SQLite on parameters of one statement (32,766)."""


@dataclass(frozen=True, slots=True)
class Condition:
    """SQL over ``memories AS m`` with its parameters; forgotten memories never fit."""

    sql: str
    values: tuple[Any, ...]


def make_condition(where: MemoryFilter) -> Condition | None:
    """The condition; None when nothing can fit.

    Raises:
        LimitExceeded: More than ``MAX_FILTER_IDS`` ids.
    """
    scopes, values = _scopes(where)
    if not scopes:
        return None
    if len(where.memory_ids) > MAX_FILTER_IDS:
        raise LimitExceeded(f"{len(where.memory_ids)} memory ids in one filter, at most {MAX_FILTER_IDS}")
    parts = ["m.forget_receipt_id IS NULL", f"({' OR '.join(scopes)})"]
    for column, wanted in (
        ("kind", where.kinds),
        ("memory_id", where.memory_ids),
        ("subject_key", (name_key(where.subject),) if where.subject else ()),
        ("attribute_key", (name_key(where.attribute),) if where.attribute else ()),
    ):
        if wanted:
            parts.append(f"m.{column} IN ({marks(wanted)})")
            values += wanted
    if not where.include_closed:
        parts.append(_held(where, values))
    return Condition(" AND ".join(parts), tuple(values))


def marks(values: Sequence[Any]) -> str:
    """One question mark for each value."""
    return ", ".join("?" * len(values))


def _scopes(where: MemoryFilter) -> tuple[list[str], list[Any]]:
    wide: list[Any] = [scope for scope in where.scopes if scope is not MemoryScope.SESSION]
    sql = [f"m.scope IN ({marks(wide)})"] if wide else []
    if MemoryScope.SESSION in where.scopes and where.session:
        return [*sql, "(m.scope = ? AND m.session = ?)"], [*wide, MemoryScope.SESSION, where.session]
    return sql, wide


def _held(where: MemoryFilter, values: list[Any]) -> str:
    if where.as_of is None:
        return "m.valid_to IS NULL"
    instant = to_microseconds(where.as_of)
    values += [instant, instant]
    return "m.valid_from <= ? AND (m.valid_to IS NULL OR m.valid_to > ?)"
