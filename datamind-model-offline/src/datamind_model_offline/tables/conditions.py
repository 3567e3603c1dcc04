"""The filters of a question: values, amounts, times and blanks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from datamind_model_offline.tables.cues import Cue
from datamind_model_offline.tables.dates import When
from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.query import Filter
from datamind_model_offline.tables.reading import Reading
from datamind_model_offline.tables.schema import Column, name_words
from datamind_model_offline.tables.words import ADJECTIVES, stem

_TESTS: Final = {"above": ">", "below": "<", "at_least": ">=", "at_most": "<=", "between": "between"}
_NEAR: Final = 40
_NOT_NEAR: Final = 16


@dataclass(frozen=True, slots=True)
class Conditions:
    """Filters, and the mentions that they use up."""

    filters: tuple[Filter, ...]
    used: frozenset[Mention]


def filters_of(reading: Reading) -> Conditions | None:
    """All conditions of a question; None when one of them has no column."""
    negated = _negated(reading)
    if negated is None:
        return None
    filters = _values(reading, negated)
    used = _flagged(reading, filters, negated)
    for cue in reading.cues:
        if cue.name in _TESTS or cue.name == "missing":
            found = _compared(reading, cue)
            if found is None:
                return None
            filters.append(found[0])
            used |= found[1]
    for when in reading.dates:
        dated = _dated(reading, when)
        if dated is None:
            return None
        filters.append(dated[0])
        used |= dated[1]
    used |= _repeated(reading, filters)
    return Conditions(tuple(filters), frozenset(used))


def _values(reading: Reading, negated: frozenset[Mention]) -> list[Filter]:
    by_column: dict[tuple[Column, bool], list[str]] = {}
    for value in reading.values:
        by_column.setdefault((reading.column(value), value in negated), []).append(value.value)
    return [Filter(column, tuple(dict.fromkeys(values)), is_negated=no) for (column, no), values in by_column.items()]


def _negated(reading: Reading) -> frozenset[Mention] | None:
    """The values and flags that "not" and the like are about; None when it is about something else."""
    mentions = [*reading.values, *(one for one in reading.names if _is_flag(reading, one))]
    found = set()
    for cue in reading.cues:
        if cue.name != "not":
            continue
        said = reading.text.low[cue.start : cue.end]
        if said in ("以外", "之外"):
            near = [one for one in mentions if 0 <= cue.start - one.end <= _NOT_NEAR]
            near = sorted(near, key=lambda one: cue.start - one.end)
        else:
            near = [one for one in mentions if 0 <= one.start - cue.end <= _NOT_NEAR]
            near = sorted(near, key=lambda one: one.start)
        if not near:
            return None
        found.add(near[0])
    return frozenset(found)


def _is_flag(reading: Reading, name: Mention) -> bool:
    return name.kind == "column" and reading.column(name).is_flag


def _flagged(reading: Reading, filters: list[Filter], negated: frozenset[Mention]) -> set[Mention]:
    """Flags as conditions: "which are adopted", "unpaid"; of one thing that is named its flag is what is asked for."""
    named = {one.column for one in filters}
    if any(is_unique(reading, column) for column in named):
        return set()
    flags = {name for name in reading.names if _is_flag(reading, name)}
    for name in flags:
        said = reading.text.low[name.start : name.end]
        no = (name in negated) != (said.startswith("un") and not name_words(name.column)[-1].startswith("un"))
        filters.append(Filter(reading.column(name), test="no" if no else "yes"))
    return flags


def is_unique(reading: Reading, column: Column) -> bool:
    """Whether a cell of it says which row is meant."""
    table = reading.relation.table(column.table)
    if column == table.label():
        return not 0 < column.distinct < table.rows - column.nulls
    return 0 < column.distinct == table.rows and column.kind != "date"


def _repeated(reading: Reading, filters: list[Filter]) -> set[Mention]:
    """Names of columns that stand right beside their value: "in the Sales department", "status is open"."""
    used = set()
    columns = {one.column for one in filters if one.values}
    for name in reading.names:
        if name.kind == "column" and reading.column(name) in columns:
            beside = any(
                (value.column == name.column and -4 <= name.start - value.end <= 1) or 0 <= value.start - name.end <= 6
                for value in reading.values
                if value.column == name.column
            )
            if beside:
                used.add(name)
    return used


def _compared(reading: Reading, cue: Cue) -> tuple[Filter, set[Mention]] | None:
    if cue.name == "missing":
        name = next((one for one in reading.names if one.kind == "column" and one.start >= cue.end), None)
        return None if name is None else (Filter(reading.column(name), test="missing"), {name})
    numeric = [name for name in reading.names if name.kind == "column" and reading.column(name).kind == "number"]
    before = [name for name in numeric if name.end <= cue.start and cue.start - name.end <= _NEAR]
    behind = [name for name in numeric if name.start >= cue.end and name.start - cue.end <= 12]
    bounds = (cue.first, cue.second) if cue.second else (cue.first,)
    if cue.name == "between" and not (before or behind) and all(len(one) == 4 for one in bounds):
        return _years(reading, bounds)
    near = behind[:1] if behind and (not before or cue.start - before[-1].end > 8) else before[-1:] or behind[:1]
    column = reading.column(near[0]) if near else _implied(reading, cue)
    if column is None or not all(bounds):
        return None
    return Filter(column, test=_TESTS[cue.name], bounds=bounds), set(near)


def _implied(reading: Reading, cue: Cue) -> Column | None:
    """The column that "older than 30" means, or the only one that holds amounts."""
    said = reading.text.low[cue.start : cue.end + 2]
    numbers = [column for column in reading.relation.columns if column.kind == "number" and not column.is_key]
    for words, parts in (
        (("older", "younger", "岁"), ("age", "年龄")),
        (("cheaper", "$", "€", "£", "¥", "元"), ("price", "cost", "amount", "fee", "价", "金额", "费")),
    ):
        if any(word in said for word in words):
            fitting = [c for c in numbers if any(p in name_words(c.name) or p in c.name for p in parts)]
            return fitting[0] if len(fitting) == 1 else None
    for start, asked in ADJECTIVES.items():
        if said.startswith(start):
            fitting = [c for c in numbers if any(stem(p) in name_words(c.name) for p in asked)]
            return fitting[0] if len(fitting) == 1 else None
    return numbers[0] if len(numbers) == 1 else None


def _years(reading: Reading, bounds: tuple[str, ...]) -> tuple[Filter, set[Mention]] | None:
    first, last = date(int(bounds[0]), 1, 1), date(int(bounds[1]) + 1, 1, 1)
    dated = [column for column in reading.relation.columns if column.kind == "date"]
    if len(dated) == 1:
        return Filter(dated[0], days=(first, last)), set()
    years = _year_columns(reading)
    return (Filter(years[0], test="between", bounds=bounds), set()) if len(years) == 1 else None


def _year_columns(reading: Reading) -> list[Column]:
    numbers = [column for column in reading.relation.columns if column.kind == "number"]
    named = [
        column
        for column in numbers
        if "year" in name_words(column.name) or column.name.endswith(("年", "年份", "年度"))
    ]
    return named or [column for column in numbers if _holds_years(column)]


def _holds_years(column: Column) -> bool:
    low, high = column.minimum, column.maximum
    return isinstance(low, int) and isinstance(high, int) and 1500 <= low <= high <= 2199


def _dated(reading: Reading, when: When) -> tuple[Filter, set[Mention]] | None:
    columns = [column for column in reading.relation.columns if column.kind == "date"]
    named = [name for name in reading.names if name.kind == "column" and reading.column(name) in columns]
    column = reading.column(named[0]) if named else columns[0] if len(columns) == 1 else None
    if column is None:
        years = _year_columns(reading) if when.is_year else []
        if len(years) != 1:
            return None
        return _year_test(reading, when, years[0])
    if when.first is None or when.after is None:
        return Filter(column, month=when.month, day=when.day), set(named)
    return Filter(column, days=_side(reading, when)), set(named)


def _side(reading: Reading, when: When) -> tuple[date, date]:
    assert when.first is not None and when.after is not None
    before = reading.text.low[max(0, when.start - 8) : when.start].split()
    behind = reading.text.low[when.end : when.end + 3]
    if (before and before[-1] == "before") or behind.startswith(("之前", "以前")):
        return date.min, when.first
    if (before and before[-1] == "after") or behind.startswith(("之后", "以后")):
        return when.after, date.max
    if (before and before[-1] == "since") or behind.startswith(("以来", "起")):
        return when.first, date.max
    if before and before[-1] in ("until", "till"):
        return date.min, when.after
    return when.first, when.after


def _year_test(reading: Reading, when: When, column: Column) -> tuple[Filter, set[Mention]]:
    assert when.first is not None and when.after is not None
    first, after = _side(reading, when)
    used = {name for name in reading.names if name.kind == "column" and reading.column(name) == column}
    if first == date.min:
        return Filter(column, test="<", bounds=(str(after.year),)), used
    if after == date.max:
        return Filter(column, test=">=", bounds=(str(first.year),)), used
    return Filter(column, values=(str(when.first.year),)), used
