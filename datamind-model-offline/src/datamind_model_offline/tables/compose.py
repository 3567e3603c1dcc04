"""From what a question names to one query; a question that is not fully understood becomes none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from datamind_model_offline.tables.asked import ASKED, ORDERS, is_compound, is_mistaken
from datamind_model_offline.tables.cells import counted, looked_up, what_is_counted
from datamind_model_offline.tables.claims import compared, confirmed
from datamind_model_offline.tables.conditions import filters_of
from datamind_model_offline.tables.cues import Cue
from datamind_model_offline.tables.extremes import direction_of, extreme, grouping
from datamind_model_offline.tables.followed import followed_reference, of_the_other
from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.named import Named
from datamind_model_offline.tables.query import Query
from datamind_model_offline.tables.reading import Reading, is_ambiguous
from datamind_model_offline.tables.schema import Column

_SOLD: Final = re.compile(r"[卖买销购进订]")


def compose(reading: Reading, mentions: Sequence[Mention]) -> Query | None:
    """The query, or None when a word stays unexplained or something asked for has no column."""
    if reading.unexplained:
        return None
    if not reading.names and not reading.values:
        return None
    filters = filters_of(reading)
    if filters is None:
        return None
    free = [name for name in reading.names if name.kind == "column" and name not in filters.used]
    if any(is_ambiguous(reading.relation, name, mentions) or is_mistaken(reading, name) for name in free):
        return None
    if is_compound(reading, free):
        return None
    followed = followed_reference(reading, free)
    if followed is not None:
        return of_the_other(reading, free, followed, Query(reading.relation, filters=filters.filters))
    return _query(Named(reading, free, Query(reading.relation, filters=filters.filters)))


def _query(named: Named) -> Query | None:
    of_two = named.reading.cue("more", "fewer")
    if of_two is not None:
        return compared(named, of_two)
    if named.reading.cue("yes_no") is not None:
        return confirmed(named)
    group, part, wanted = _group(named)
    if wanted and group is None:
        return None
    order = next((cue for cue in named.reading.cues if cue.name in ORDERS), None)
    if named.reading.cue("average", "sum") is not None or group is not None:
        return _aggregated(named, group, part, order)
    if order is not None or named.reading.cue("top") is not None:
        return extreme(named, order)
    count = named.reading.cue("count")
    if count is not None:
        return counted(named, count)
    return looked_up(named)


def _group(named: Named) -> tuple[Column | None, int, bool]:
    cue = named.reading.cue("group")
    if cue is None:
        return None, 0, False
    behind = named.reading.text.low[cue.end :].lstrip()
    for word, part in (("month", 7), ("year", 4), ("月", 7), ("年", 4)):
        dated = [column for column in named.reading.relation.columns if column.kind == "date"]
        if behind.startswith(word) and len(dated) == 1:
            return dated[0], part, True
    name = next((one for one in named.reading.names if cue.end <= one.start <= cue.end + 3), None)
    if name is None:
        return None, 0, named.reading.text.language == "zh" or "each" in named.reading.text.low
    if name.kind == "table":
        table = named.reading.relation.table(name.table)
        return (table.label() if len(named.reading.relation.tables) > 1 else None), 0, True
    column = named.reading.column(name)
    if column in named.measures and named.reading.cue("top", *ORDERS) is not None:
        return None, 0, False  # "the top 3 by capacity" is an order
    named.drop(column)
    return column, 0, True


def _aggregated(named: Named, group: Column | None, part: int, order: Cue | None) -> Query | None:
    averaged = named.reading.cue("average") is not None
    measure = _measure(named)
    direction, limit = direction_of(named, order)
    if direction and group is None:
        group = grouping(named)
        if group is None:
            # "the highest total": the largest cell of a column that is called so
            return extreme(named, order)
    counts = named.reading.cue("count") is not None or (measure is None and not averaged)
    base = replace(named.base, group=group, part=part, order=direction, limit=limit)
    if counts and (measure is None or not named.reading.cue("sum", "average")):
        if measure is None and named.reading.cue("sum") and not named.reading.cue("count") and not named.has_table():
            return None
        return replace(base, aggregate="count", measure=what_is_counted(named, group))
    if measure is None:
        return None
    named.drop(measure)
    left = [column for column in named.columns if column != group]
    if left:
        return None
    return replace(base, aggregate="average" if averaged else "sum", measure=measure)


def _measure(named: Named) -> Column | None:
    if named.measures:
        return named.measures[0]
    asked = next((cue.name for cue in named.reading.cues if cue.name in ASKED), "")
    if not asked and not named.columns and named.reading.cue("average") is not None:
        return named.only_number()
    if not asked and named.reading.cue("sum") is not None and named.reading.cue("count") is None:
        numbers = [c for c in named.reading.relation.columns if c.kind == "number" and not c.is_key]
        same = {
            one.name
            for one in numbers
            for name in named.reading.names
            if name.kind == "table" and name.table in one.name
        }
        alike = [one for one in numbers if one.name in same]
        if len(alike) == 1:
            return alike[0]
        if named.base.filters and _SOLD.search(named.reading.text.low):
            return named.pieces()
        own = [one for one in numbers if one.table == named.reading.relation.tables[0].name and one.is_additive]
        return own[0] if named.reading.text.language == "zh" and len(own) == 1 and named.has_table() else None
    return named.called(ASKED[asked], "number") if asked and asked not in ("where", "who") else None
