"""Columns that point to another row of their own table: the dam of a goat, the manager of an employee."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.reading import Reading
from datamind_model_offline.tables.schema import Column, Table, name_words
from datamind_model_offline.tables.words import stem

_ROLES: Final = frozenset(
    stem(word)
    for word in (
        *("manager", "boss", "supervisor", "superior", "mentor", "chief", "lead", "leader", "parent", "mother"),
        *("father", "dam", "sire", "predecessor", "successor", "spouse", "wife", "husband", "partner", "deputy"),
        *("teacher", "coach", "captain", "owner", "buddy", "trainer", "head"),
    )
)
_HAN_ROLES: Final = re.compile(
    r"(?:经理|上级|主管|领导|导师|师父|师傅|父亲|母亲|父|母|教练|配偶|丈夫|妻子|搭档|前任|继任|负责人)\Z"
)
_AMOUNTS: Final = ("price", "howold", "howlong", "howbig", "howtall", "howheavy", "howfar", "when", "where")
_OF_IT: Final = re.compile(r"\A\s*(?:'s\b|的)")
_OF: Final = re.compile(r"\bof (?:the |its |his |her |their |[\w .-]{1,40}?'s? )?\Z")
_ITS: Final = re.compile(r"(?:\b(?:its|his|her|their|whose) |'s )\Z")


@dataclass(frozen=True, slots=True)
class Reference:
    """A column whose cells name rows of the same table, and the column that they name them by."""

    column: Column
    key: Column


def reference_of(table: Table, column: Column) -> Reference | None:
    """What a column points to in its own table: by number where it is one, by the label where it is called so."""
    parts = name_words(column.name)
    if column.is_key and len(parts) > 1:
        keys = [one for one in table.columns if name_words(one.name) == ("id",) and one.kind == column.kind]
        return Reference(column, keys[0]) if keys and _is_within(column, keys[0], table) else None
    label = table.label()
    if column.kind != "text" or column == label or column.is_key:
        return None
    is_role = (bool(parts) and parts[-1] in _ROLES) or _HAN_ROLES.search(column.name) is not None
    return Reference(column, label) if is_role else None


def is_followed(reading: Reading, name: Mention, free: Sequence[Mention]) -> bool:
    """Whether more is asked of the row that the mention points to: "the dam's weight", 经理的年龄, "its dam"."""
    low = reading.text.low
    before, behind = low[: name.start], low[name.end :]
    others = [one for one in free if reading.column(one) != reading.column(name)]
    same = [one for one in free if one != name and reading.column(one) == reading.column(name)]
    owns = _OF_IT.match(behind) is not None
    if not others and reading.cue(*_AMOUNTS) is not None:
        return True  # "how old is Ann's manager"
    return bool(same) or (bool(others) and (owns or _OF.search(before) is not None)) or _is_of_any(reading, before)


def _is_of_any(reading: Reading, before: str) -> bool:
    """Whether it is the reference of a row that nothing names: "which goat's dam", "its dam"."""
    owner = _ITS.search(before)
    return owner is not None and not any(value.end == owner.start() for value in reading.values)


def _is_within(column: Column, key: Column, table: Table) -> bool:
    """Whether its cells can be keys of the table. A column for another table's keys would seldom end so."""
    if key.distinct not in (-1, table.rows) or column == key:
        return False
    if column.minimum is None or key.minimum is None:
        return True
    try:
        return bool(key.minimum <= column.minimum and column.maximum <= key.maximum)
    except TypeError:
        return False
