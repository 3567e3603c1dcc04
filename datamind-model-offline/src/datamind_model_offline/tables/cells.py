"""Counts of rows and of values, and single cells."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from datamind_model_offline.tables import words
from datamind_model_offline.tables.asked import ASKED, is_of_people
from datamind_model_offline.tables.conditions import is_unique
from datamind_model_offline.tables.cues import Cue
from datamind_model_offline.tables.named import Named
from datamind_model_offline.tables.query import Query
from datamind_model_offline.tables.schema import Column, name_words

_ROWS: Final = re.compile(r"[人笔单条份次]\Z")


def counted(named: Named, cue: Cue) -> Query | None:
    """How many; None where what is counted has no column."""
    behind = [name for name in named.reading.names if name.start >= cue.end - 1]
    first = min(behind, key=lambda name: name.start, default=None)
    if first is not None and first.kind == "column":
        column = named.reading.column(first)
        if column in named.measures:
            rest = [one for one in named.columns if one != column]
            return None if rest else replace(named.base, aggregate="sum", measure=column)
        if column in named.columns:
            return _counted_values(named, column)
    if named.measures and not named.has_table():
        return replace(named.base, aggregate="sum", measure=named.measures[0])
    others = [column for column in named.columns if column not in named.measures]
    if len(others) == 1 and not named.has_table():
        return _counted_values(named, others[0])
    if named.columns or not (named.has_table() or named.base.filters):
        return None
    said = named.reading.text.low[cue.start : cue.end]
    held = named.called((f"{said[-1:]}数", f"{said[-1:]}数量"), "number") if not said.isascii() else None
    if held is not None and any(is_unique(named.reading, one.column) for one in named.base.filters):
        return replace(named.base, aggregate="sum", measure=held)
    if not named.has_table():
        pieces = None if _ROWS.search(named.reading.text.low[cue.start : cue.end]) else named.pieces()
        if pieces is not None:
            return replace(named.base, aggregate="sum", measure=pieces)
        return replace(named.base, aggregate="count") if _is_of_a_kind(named, cue) else None
    return replace(named.base, aggregate="count", measure=what_is_counted(named, None))


def _is_of_a_kind(named: Named, cue: Cue) -> bool:
    """Whether a cell that several rows share says what is counted: "how many dogs", 销售部有多少人."""
    kinds = [value for value in named.reading.values if not is_unique(named.reading, named.reading.column(value))]
    if named.reading.text.language == "zh":
        said = named.reading.text.low[cue.start : cue.end]
        return bool(kinds) and said.endswith(("人", "名", "位", "个", "只", "条", "笔", "单", "份", "辆", "台", "本"))
    return any(0 <= value.start - cue.end <= 2 for value in kinds)


def _counted_values(named: Named, column: Column) -> Query | None:
    rest = [one for one in named.columns if one != column]
    return None if rest else replace(named.base, aggregate="distinct", measure=column)


def looked_up(named: Named) -> Query | None:
    """The cells of the rows that the conditions name, or a list of values."""
    shown = list(named.columns)
    asked = next((cue.name for cue in named.reading.cues if cue.name in ASKED or cue.name == "when"), "")
    if not shown and asked:
        column = named.when() if asked == "when" else named.called(ASKED[asked])
        if column is None and not (asked == "who" and named.reading.cue("list", "who")):
            return None
        shown = [column] if column is not None else []
    if asked == "when" and not any(
        column.kind == "date" or "year" in name_words(column.name) or "年" in column.name for column in shown
    ):
        column = named.when()
        if column is None:
            return None
        shown = [column]
    if named.reading.cue("who", "where") is not None and any(
        c.kind in ("number", "date", "other") or c.is_flag for c in shown
    ):
        return None
    if not named.base.filters:
        return _listed(named, shown)
    table = named.reading.relation.tables[0] if not shown else named.reading.relation.table(shown[0].table)
    label = table.label()
    if not shown:
        if not (named.has_table() or named.reading.cue("list", "who")):
            return None
        if named.reading.cue("who") is not None and not named.has_table() and not is_of_people(label):
            return None
        told = {one.column for one in named.base.filters}
        repeated = 0 < label.distinct < table.rows
        return replace(named.base, shown=(label,), is_distinct=repeated) if label not in told else None
    filtered = {one.column for one in named.base.filters if one.values}
    if len(shown) == 1 and shown[0].kind == "number" and label not in filtered:
        if shown[0].is_additive:
            return replace(named.base, aggregate="sum", measure=shown[0])
        if filtered and set(words.HAN_EACH + tuple(words.EACH)) & {shown[0].name, *name_words(shown[0].name)}:
            return replace(named.base, shown=(shown[0],), is_distinct=True)  # one price of many sales
    is_said = label in filtered or label in shown
    return replace(named.base, shown=tuple(shown), label=None if is_said else label)


def _listed(named: Named, shown: list[Column]) -> Query | None:
    """ "Which regions are there?": the values of a column, or the names of all rows."""
    if named.reading.cue("list", "distinct") is None:
        return None
    if len(shown) == 1 and not named.measures:
        return replace(named.base, shown=(shown[0],), is_distinct=True)
    if not shown and named.has_table() and len(named.reading.relation.tables) == 1:
        return replace(named.base, shown=(named.reading.relation.tables[0].label(),), is_distinct=True)
    return None


def what_is_counted(named: Named, group: Column | None) -> Column | None:
    """A column of which values are counted, or nothing for rows."""
    left = [column for column in named.columns if column != group]
    tables = [name.table for name in named.reading.names if name.kind == "table"]
    if left and not tables:
        return left[0]
    main = named.reading.relation.tables
    if len(main) > 1 and tables and tables[0] == main[1].name and named.reading.relation.keys:
        return named.reading.relation.keys[1]
    label = main[0].label()
    if len(main) == 1 and tables and not any(n.score == 1 for n in named.reading.names if n.kind == "table"):
        # "how many students" of a table of their marks
        return label if label.distinct < main[0].rows else None
    return None
