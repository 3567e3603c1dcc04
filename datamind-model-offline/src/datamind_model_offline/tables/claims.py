"""Two things compared, and whether something is so."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from datamind_model_offline.tables.asked import COMPARED, is_birth
from datamind_model_offline.tables.conditions import is_unique
from datamind_model_offline.tables.cues import Cue
from datamind_model_offline.tables.named import Named
from datamind_model_offline.tables.query import Filter, Query
from datamind_model_offline.tables.schema import Column

_ANY: Final = re.compile(r"\b(?:there|any)\b|有没有|有.*吗")


def compared(named: Named, cue: Cue) -> Query | None:
    """The two that are named, by what they are compared in, the one that has more of it first."""
    pairs = [one for one in named.base.filters if len(one.values) == 2 and not one.is_negated]
    if len(pairs) != 1:
        return None
    column = pairs[0].column
    direction = 1 if cue.name == "more" else -1
    said = named.reading.text.low[cue.start : cue.end].removeprefix("更").removesuffix(" than")
    measure = _compared_by(named, said)
    if measure is not None and said.startswith(("old", "young", "年")) and is_birth(measure):
        direction = -direction
    leader = named.reading.values[0].value if named.reading.cue("yes_no") is not None else ""
    base = replace(named.base, order=direction, limit=2, leader=leader)
    if is_unique(named.reading, column):
        return None if measure is None else replace(base, label=column, measure=measure)
    measure = measure or (named.pieces() if said in ("more", "less", "fewer", "多", "少") else None)
    if measure is not None and measure.is_additive:
        return replace(base, aggregate="sum", group=column, measure=measure)
    return replace(base, aggregate="count", group=column) if measure is None and named.has_table() else None


def _compared_by(named: Named, said: str) -> Column | None:
    dated = [column for column in named.columns if column.kind == "date"]
    if named.measures or dated:
        return (named.measures or dated)[0]
    if said.startswith(("old", "young", "年")):
        return named.called(("age", "年龄", "birth", "born", "birthday", "出生", "year", "founded", "built"))
    if said in ("earlier", "later", "早", "晚", "newer"):
        return named.when()
    if said in ("more", "less", "fewer", "多", "少"):
        return None
    known = next((names for word, names in COMPARED.items() if said.startswith(word.removeprefix("最"))), ())
    return named.called(known)


def confirmed(named: Named) -> Query | None:
    """The cells of one named thing that say whether something is so."""
    singled = [one for one in named.base.filters if is_unique(named.reading, one.column) and len(one.values) == 1]
    if not singled:
        return _existing(named)
    claims = [one for one in named.base.filters if one != singled[0]]
    base = replace(named.base, filters=(singled[0],))
    if len(claims) == 1 and not named.columns and claims[0].column.table == singled[0].column.table:
        return replace(base, shown=(claims[0].column,), claim=claims[0])
    flags = [column for column in named.columns if column.is_flag]
    if claims or len(named.columns) != 1:
        return None
    shown = named.columns[0]
    if not flags and (shown.kind != "text" or shown.is_key):
        return None
    return replace(base, shown=(shown,), claim=Filter(shown, test="yes"))


def _existing(named: Named) -> Query | None:
    """ "Are there any …": how many."""
    if _ANY.search(named.reading.text.low) is None or named.columns or not named.base.filters:
        return None
    return replace(named.base, aggregate="count", claim=named.base.filters[0])
