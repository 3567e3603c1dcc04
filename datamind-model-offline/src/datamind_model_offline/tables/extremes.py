"""The largest and the smallest: what is ordered, by what, and which way."""

from __future__ import annotations

from dataclasses import replace

from datamind_model_offline.tables.asked import ASKED, COMPARED, ORDERS, is_birth, repeats
from datamind_model_offline.tables.cues import Cue
from datamind_model_offline.tables.named import Named
from datamind_model_offline.tables.query import Query
from datamind_model_offline.tables.schema import Column, name_words


def direction_of(named: Named, order: Cue | None) -> tuple[int, int]:
    """1 for the largest first, -1 for the smallest, 0 for neither; and how many, 0 for all that tie."""
    top = named.reading.cue("top")
    limit = int(top.first) if top is not None and top.first.isdigit() else 0
    if order is None:
        text = named.reading.text.low[top.start : top.end + 12] if top is not None else ""
        down = any(
            word in text
            for word in ("least", "lowest", "cheapest", "worst", "smallest", "最低", "最少", "最小", "最便宜")
        )
        return (0 if top is None else -1 if down else 1), limit
    return ORDERS[order.name], limit


def grouping(named: Named) -> Column | None:
    """The column that "which region" asks for, if several rows share its values."""
    others = [column for column in named.columns if column.kind != "number" or column.is_key]
    return others[0] if len(others) == 1 else None


def extreme(named: Named, order: Cue | None) -> Query | None:
    """The rows or groups that come first; None where nothing says what is compared."""
    direction, limit = direction_of(named, order)
    measure = _ordered_by(named, order)
    most = order is not None and _called_most(named.reading.text.low[order.start : order.end])
    if measure is None:
        group = grouping(named)
        if most and group is None and named.columns and repeats(named.columns[0], named.reading):
            pieces = named.pieces()
            if pieces is None:
                return None
            group = named.columns[0]
            return replace(named.base, aggregate="sum", group=group, measure=pieces, order=direction, limit=limit or 1)
        if most and group is not None and repeats(group, named.reading):
            named.drop(group)
            pieces = None if _are_rows_named(named) else named.pieces()
            if pieces is not None:
                return replace(
                    named.base, aggregate="sum", group=group, measure=pieces, order=direction, limit=limit or 1
                )
            return replace(named.base, aggregate="count", group=group, order=direction, limit=limit or 1)
        return None
    if order is not None and order.name in ("old", "young") and is_birth(measure):
        direction = -direction
    named.drop(measure)
    table = named.reading.relation.table(measure.table)
    shown = tuple(column for column in named.columns if column != measure)
    group = shown[0] if len(shown) == 1 else None
    is_price = order is not None and order.name in ("price_up", "price_down")
    adds = measure.is_additive and not is_price
    if group is not None and repeats(group, named.reading) and adds and group.kind != "number":
        return replace(named.base, aggregate="sum", group=group, measure=measure, order=direction, limit=limit or 1)
    label = table.label()
    return replace(named.base, label=label, shown=shown, measure=measure, order=direction, limit=limit)


def _are_rows_named(named: Named) -> bool:
    """Whether the question counts the rows themselves: "the most orders", 最多的订单."""
    rows = named.reading.relation.tables[0].name
    return any(name.kind == "table" and name.table == rows for name in named.reading.names)


def _ordered_by(named: Named, order: Cue | None) -> Column | None:
    if order is not None and order.name in ("late", "early"):
        dated = [column for column in named.columns if column.kind == "date"]
        dated = dated or [column for column in named.reading.relation.columns if column.kind == "date"]
        years = [
            column
            for column in named.reading.relation.columns
            if "year" in name_words(column.name) or "年" in column.name
        ]
        return dated[0] if len(dated) == 1 else years[0] if len(years) == 1 and not dated else None
    if order is not None and order.name in ("price_up", "price_down"):
        return named.measures[0] if named.measures else named.called(ASKED["price"], "number")
    if order is not None and order.name in ("old", "young"):
        return named.called(("age", "年龄", "birth", "born", "birthday", "出生", "year", "founded", "built"))
    if named.measures:
        return named.measures[0]
    dated = [column for column in named.columns if column.kind == "date"]
    if dated:
        return dated[0]
    said = named.reading.text.low[order.start : order.end] if order is not None else ""
    known = next((names for word, names in COMPARED.items() if said.startswith(word)), ())
    return named.called(known) or (named.only_number() if not _called_most(said) else None)


def _called_most(said: str) -> bool:
    """Whether it counts rows rather than compares cells."""
    return said in ("most", "least", "fewest", "最多", "最少")
