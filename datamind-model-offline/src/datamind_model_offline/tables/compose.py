"""From what a question names to one query; a question that is not fully understood becomes none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from datamind_model_offline.tables import words
from datamind_model_offline.tables.asked import (
    ASKED,
    COMPARED,
    ORDERS,
    is_birth,
    is_compound,
    is_mistaken,
    is_of_people,
    repeats,
)
from datamind_model_offline.tables.conditions import filters_of, is_unique
from datamind_model_offline.tables.cues import Cue
from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.query import Filter, Query
from datamind_model_offline.tables.reading import Reading, is_ambiguous
from datamind_model_offline.tables.references import Reference, is_followed, reference_of
from datamind_model_offline.tables.schema import Column, name_words

_ROWS: Final = re.compile(r"[人笔单条份次]\Z")
_SOLD: Final = re.compile(r"[卖买销购进订]")
_ANY: Final = re.compile(r"\b(?:there|any)\b|有没有|有.*吗")


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
    followed = _followed(reading, free)
    if followed is not None:
        return _of_the_other(reading, free, followed, Query(reading.relation, filters=filters.filters))
    composer = _Composer(reading, free, Query(reading.relation, filters=filters.filters))
    return composer.query()


def _followed(reading: Reading, free: Sequence[Mention]) -> Reference | None:
    """The reference to another row of the table that the question goes through."""
    for name in free:
        table = reading.relation.table(name.table)
        found = reference_of(table, reading.column(name))
        is_number = found is not None and found.column.is_key
        if found is not None and (is_followed(reading, name, free) or (is_number and _asks_who(reading, name))):
            return found
    return None


def _asks_who(reading: Reading, name: Mention) -> bool:
    """Whether the row is meant, and not the number that stands for it."""
    said = reading.text.low[name.start : name.end + 4]
    return re.search(r"\bids?\b|\bnumber|编号|号", said) is None


def _of_the_other(reading: Reading, free: Sequence[Mention], through: Reference, base: Query) -> Query | None:
    """The cells of the row that one named row points to; anything else that goes through a reference is not said."""
    places = [name for name in free if reading.column(name) == through.column]
    singled = len(base.filters) == 1 and len(base.filters[0].values) == 1 and is_unique(reading, base.filters[0].column)
    others = [one for one in dict.fromkeys(reading.column(name) for name in free) if one != through.column]
    asks_more = reading.cue("more", "fewer", "yes_no", "average", "sum", "count", "top", "group", *ORDERS) is not None
    asks_more = asks_more or (not others and reading.cue("when", *ASKED) not in (None, reading.cue("who")))
    if not singled or base.filters[0].is_negated or len(places) != 1 or asks_more or len(reading.relation.tables) > 1:
        return None
    if len(others) > 1 or base.filters[0].column == through.column:
        return None
    label = reading.relation.tables[0].label()
    shown = tuple(one for one in others if one != label)
    return replace(base, shown=shown or (label,), label=label if shown else None, through=through)


class _Composer:
    """Decides, for one reading, which of its columns is shown, measured, ordered by and grouped by."""

    def __init__(self, reading: Reading, free: list[Mention], base: Query) -> None:
        self.reading = reading
        self.free = free
        self.base = base
        self.columns = list(dict.fromkeys(reading.column(name) for name in free))
        if len(self.columns) > 1 or base.filters:
            self.columns = [one for one in self.columns if one not in self._said_as_verb()]
        self.measures = [column for column in self.columns if column.kind == "number" and not column.is_key]

    def query(self) -> Query | None:
        compared = self.reading.cue("more", "fewer")
        if compared is not None:
            return self._compared(compared)
        if self.reading.cue("yes_no") is not None:
            return self._confirmed()
        group, part, wanted = self._group()
        if wanted and group is None:
            return None
        order = next((cue for cue in self.reading.cues if cue.name in ORDERS), None)
        if self.reading.cue("average", "sum") is not None or group is not None:
            return self._aggregated(group, part, order)
        if order is not None or self.reading.cue("top") is not None:
            return self._extreme(order)
        count = self.reading.cue("count")
        if count is not None:
            return self._counted(count)
        return self._looked_up()

    def _said_as_verb(self) -> list[Column]:
        """Times that a verb names, such as "sold" of sold_on, where nothing asks for a time; "built" in "built at X"."""
        weak = [self.reading.column(name) for name in self.free if name.score < 0.7 and self._is_verb(name)]
        if self.reading.cue("when", "late", "early") is not None:
            return weak
        return weak + [
            self.reading.column(name)
            for name in self.free
            if name.score < 0.9 and self.reading.column(name).kind == "date" and self.reading.text.language == "en"
        ]

    def _is_verb(self, name: Mention) -> bool:
        if self.reading.column(name).is_key:
            return self.reading.text.low[: name.end].endswith("ed")
        behind = self.reading.text.low[name.end :]
        match = re.match(r" (?:in|at|by|from|on|for|to|with)(?: the)? ", behind)
        return match is not None and any(value.start == name.end + match.end() for value in self.reading.values)

    def _pieces(self) -> Column | None:
        """The column that says how many pieces a row is about."""
        return self._called(("quantity", "qty", "units", "sold", "数量", "件数", "张数"), "number")

    # Groups

    def _group(self) -> tuple[Column | None, int, bool]:
        cue = self.reading.cue("group")
        if cue is None:
            return None, 0, False
        behind = self.reading.text.low[cue.end :].lstrip()
        for word, part in (("month", 7), ("year", 4), ("月", 7), ("年", 4)):
            dated = [column for column in self.reading.relation.columns if column.kind == "date"]
            if behind.startswith(word) and len(dated) == 1:
                return dated[0], part, True
        name = next((one for one in self.reading.names if cue.end <= one.start <= cue.end + 3), None)
        if name is None:
            return None, 0, self.reading.text.language == "zh" or "each" in self.reading.text.low
        if name.kind == "table":
            table = self.reading.relation.table(name.table)
            return (table.label() if len(self.reading.relation.tables) > 1 else None), 0, True
        column = self.reading.column(name)
        if column in self.measures and self.reading.cue("top", *ORDERS) is not None:
            return None, 0, False  # "the top 3 by capacity" is an order
        self._drop(column)
        return column, 0, True

    def _drop(self, column: Column) -> None:
        self.columns = [one for one in self.columns if one != column]
        self.measures = [one for one in self.measures if one != column]

    # Aggregates

    def _aggregated(self, group: Column | None, part: int, order: Cue | None) -> Query | None:
        averaged = self.reading.cue("average") is not None
        measure = self._measure()
        direction, limit = self._direction(order)
        if direction and group is None:
            group = self._grouping()
            if group is None:
                # "the highest total": the largest cell of a column that is called so
                return self._extreme(order)
        counts = self.reading.cue("count") is not None or (measure is None and not averaged)
        base = replace(self.base, group=group, part=part, order=direction, limit=limit)
        if counts and (measure is None or not self.reading.cue("sum", "average")):
            if measure is None and self.reading.cue("sum") and not self.reading.cue("count") and not self._named():
                return None
            return replace(base, aggregate="count", measure=self._what_is_counted(group))
        if measure is None:
            return None
        self._drop(measure)
        left = [column for column in self.columns if column != group]
        if left:
            return None
        return replace(base, aggregate="average" if averaged else "sum", measure=measure)

    def _named(self) -> bool:
        return any(name.kind == "table" for name in self.reading.names)

    def _what_is_counted(self, group: Column | None) -> Column | None:
        """A column of which values are counted, or nothing for rows."""
        left = [column for column in self.columns if column != group]
        tables = [name.table for name in self.reading.names if name.kind == "table"]
        if left and not tables:
            return left[0]
        main = self.reading.relation.tables
        if len(main) > 1 and tables and tables[0] == main[1].name and self.reading.relation.keys:
            return self.reading.relation.keys[1]
        label = main[0].label()
        if len(main) == 1 and tables and not any(n.score == 1 for n in self.reading.names if n.kind == "table"):
            # "how many students" of a table of their marks
            return label if label.distinct < main[0].rows else None
        return None

    def _measure(self) -> Column | None:
        if self.measures:
            return self.measures[0]
        asked = next((cue.name for cue in self.reading.cues if cue.name in ASKED), "")
        if not asked and not self.columns and self.reading.cue("average") is not None:
            return self._only_number()
        if not asked and self.reading.cue("sum") is not None and self.reading.cue("count") is None:
            numbers = [c for c in self.reading.relation.columns if c.kind == "number" and not c.is_key]
            same = {
                one.name
                for one in numbers
                for name in self.reading.names
                if name.kind == "table" and name.table in one.name
            }
            named = [one for one in numbers if one.name in same]
            if len(named) == 1:
                return named[0]
            if self.base.filters and _SOLD.search(self.reading.text.low):
                return self._pieces()
            own = [one for one in numbers if one.table == self.reading.relation.tables[0].name and one.is_additive]
            return own[0] if self.reading.text.language == "zh" and len(own) == 1 and self._named() else None
        return self._called(ASKED[asked], "number") if asked and asked not in ("where", "who") else None

    def _only_number(self) -> Column | None:
        numbers = [c for c in self.reading.relation.columns if c.kind == "number" and not c.is_key]
        return numbers[0] if len(numbers) == 1 else None

    def _called(self, names: Iterable[str], kind: str = "") -> Column | None:
        """The one column that is called by one of these words, the first word first."""
        columns = [column for column in self.reading.relation.columns if not kind or column.kind == kind]
        columns = [column for column in columns if column not in {one.column for one in self.base.filters}]
        for name in names:
            wanted = words.stem(name)
            found = [
                column
                for column in columns
                if wanted in name_words(column.name) or (not name.isascii() and name in column.name)
            ]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    # Extremes

    def _direction(self, order: Cue | None) -> tuple[int, int]:
        top = self.reading.cue("top")
        limit = int(top.first) if top is not None and top.first.isdigit() else 0
        if order is None:
            text = self.reading.text.low[top.start : top.end + 12] if top is not None else ""
            down = any(
                word in text
                for word in ("least", "lowest", "cheapest", "worst", "smallest", "最低", "最少", "最小", "最便宜")
            )
            return (0 if top is None else -1 if down else 1), limit
        return ORDERS[order.name], limit

    def _grouping(self) -> Column | None:
        """The column that "which region" asks for, if several rows share its values."""
        others = [column for column in self.columns if column.kind != "number" or column.is_key]
        return others[0] if len(others) == 1 else None

    def _extreme(self, order: Cue | None) -> Query | None:
        direction, limit = self._direction(order)
        measure = self._ordered_by(order)
        most = order is not None and self._called_most(self.reading.text.low[order.start : order.end])
        if measure is None:
            group = self._grouping()
            if most and group is None and self.columns and repeats(self.columns[0], self.reading):
                pieces = self._pieces()
                if pieces is None:
                    return None
                group = self.columns[0]
                return replace(
                    self.base, aggregate="sum", group=group, measure=pieces, order=direction, limit=limit or 1
                )
            if most and group is not None and repeats(group, self.reading):
                self._drop(group)
                pieces = None if self._are_rows_named() else self._pieces()
                if pieces is not None:
                    return replace(
                        self.base, aggregate="sum", group=group, measure=pieces, order=direction, limit=limit or 1
                    )
                return replace(self.base, aggregate="count", group=group, order=direction, limit=limit or 1)
            return None
        if order is not None and order.name in ("old", "young") and is_birth(measure):
            direction = -direction
        self._drop(measure)
        table = self.reading.relation.table(measure.table)
        shown = tuple(column for column in self.columns if column != measure)
        group = shown[0] if len(shown) == 1 else None
        is_price = order is not None and order.name in ("price_up", "price_down")
        adds = measure.is_additive and not is_price
        if group is not None and repeats(group, self.reading) and adds and group.kind != "number":
            return replace(self.base, aggregate="sum", group=group, measure=measure, order=direction, limit=limit or 1)
        label = table.label()
        return replace(self.base, label=label, shown=shown, measure=measure, order=direction, limit=limit)

    def _are_rows_named(self) -> bool:
        """Whether the question counts the rows themselves: "the most orders", 最多的订单."""
        rows = self.reading.relation.tables[0].name
        return any(name.kind == "table" and name.table == rows for name in self.reading.names)

    def _ordered_by(self, order: Cue | None) -> Column | None:
        if order is not None and order.name in ("late", "early"):
            dated = [column for column in self.columns if column.kind == "date"]
            dated = dated or [column for column in self.reading.relation.columns if column.kind == "date"]
            years = [
                column
                for column in self.reading.relation.columns
                if "year" in name_words(column.name) or "年" in column.name
            ]
            return dated[0] if len(dated) == 1 else years[0] if len(years) == 1 and not dated else None
        if order is not None and order.name in ("price_up", "price_down"):
            return self.measures[0] if self.measures else self._called(ASKED["price"], "number")
        if order is not None and order.name in ("old", "young"):
            return self._called(("age", "年龄", "birth", "born", "birthday", "出生", "year", "founded", "built"))
        if self.measures:
            return self.measures[0]
        dated = [column for column in self.columns if column.kind == "date"]
        if dated:
            return dated[0]
        said = self.reading.text.low[order.start : order.end] if order is not None else ""
        known = next((names for word, names in COMPARED.items() if said.startswith(word)), ())
        return self._called(known) or (self._only_number() if not self._called_most(said) else None)

    @staticmethod
    def _called_most(said: str) -> bool:
        """Whether it counts rows rather than compares cells."""
        return said in ("most", "least", "fewest", "最多", "最少")

    # Two things, and what is so or is not

    def _compared(self, cue: Cue) -> Query | None:
        """The two that are named, by what they are compared in, the one that has more of it first."""
        pairs = [one for one in self.base.filters if len(one.values) == 2 and not one.is_negated]
        if len(pairs) != 1:
            return None
        column = pairs[0].column
        direction = 1 if cue.name == "more" else -1
        said = self.reading.text.low[cue.start : cue.end].removeprefix("更").removesuffix(" than")
        measure = self._compared_by(said)
        if measure is not None and said.startswith(("old", "young", "年")) and is_birth(measure):
            direction = -direction
        leader = self.reading.values[0].value if self.reading.cue("yes_no") is not None else ""
        base = replace(self.base, order=direction, limit=2, leader=leader)
        if is_unique(self.reading, column):
            return None if measure is None else replace(base, label=column, measure=measure)
        measure = measure or (self._pieces() if said in ("more", "less", "fewer", "多", "少") else None)
        if measure is not None and measure.is_additive:
            return replace(base, aggregate="sum", group=column, measure=measure)
        return replace(base, aggregate="count", group=column) if measure is None and self._named() else None

    def _compared_by(self, said: str) -> Column | None:
        dated = [column for column in self.columns if column.kind == "date"]
        if self.measures or dated:
            return (self.measures or dated)[0]
        if said.startswith(("old", "young", "年")):
            return self._called(("age", "年龄", "birth", "born", "birthday", "出生", "year", "founded", "built"))
        if said in ("earlier", "later", "早", "晚", "newer"):
            return self._when()
        if said in ("more", "less", "fewer", "多", "少"):
            return None
        known = next((names for word, names in COMPARED.items() if said.startswith(word.removeprefix("最"))), ())
        return self._called(known)

    def _confirmed(self) -> Query | None:
        """The cells of one named thing that say whether something is so."""
        singled = [one for one in self.base.filters if is_unique(self.reading, one.column) and len(one.values) == 1]
        if not singled:
            return self._existing()
        claims = [one for one in self.base.filters if one != singled[0]]
        base = replace(self.base, filters=(singled[0],))
        if len(claims) == 1 and not self.columns and claims[0].column.table == singled[0].column.table:
            return replace(base, shown=(claims[0].column,), claim=claims[0])
        flags = [column for column in self.columns if column.is_flag]
        if claims or len(self.columns) != 1:
            return None
        shown = self.columns[0]
        if not flags and (shown.kind != "text" or shown.is_key):
            return None
        return replace(base, shown=(shown,), claim=Filter(shown, test="yes"))

    def _existing(self) -> Query | None:
        """ "Are there any …": how many."""
        if _ANY.search(self.reading.text.low) is None or self.columns or not self.base.filters:
            return None
        return replace(self.base, aggregate="count", claim=self.base.filters[0])

    # Counts and cells

    def _counted(self, cue: Cue) -> Query | None:
        behind = [name for name in self.reading.names if name.start >= cue.end - 1]
        first = min(behind, key=lambda name: name.start, default=None)
        if first is not None and first.kind == "column":
            column = self.reading.column(first)
            if column in self.measures:
                rest = [one for one in self.columns if one != column]
                return None if rest else replace(self.base, aggregate="sum", measure=column)
            if column in self.columns:
                return self._counted_values(column)
        if self.measures and not self._named():
            return replace(self.base, aggregate="sum", measure=self.measures[0])
        others = [column for column in self.columns if column not in self.measures]
        if len(others) == 1 and not self._named():
            return self._counted_values(others[0])
        if self.columns or not (self._named() or self.base.filters):
            return None
        said = self.reading.text.low[cue.start : cue.end]
        held = self._called((f"{said[-1:]}数", f"{said[-1:]}数量"), "number") if not said.isascii() else None
        if held is not None and any(is_unique(self.reading, one.column) for one in self.base.filters):
            return replace(self.base, aggregate="sum", measure=held)
        if not self._named():
            pieces = None if _ROWS.search(self.reading.text.low[cue.start : cue.end]) else self._pieces()
            if pieces is not None:
                return replace(self.base, aggregate="sum", measure=pieces)
            return replace(self.base, aggregate="count") if self._is_of_a_kind(cue) else None
        return replace(self.base, aggregate="count", measure=self._what_is_counted(None))

    def _is_of_a_kind(self, cue: Cue) -> bool:
        """Whether a cell that several rows share says what is counted: "how many dogs", 销售部有多少人."""
        kinds = [value for value in self.reading.values if not is_unique(self.reading, self.reading.column(value))]
        if self.reading.text.language == "zh":
            said = self.reading.text.low[cue.start : cue.end]
            return bool(kinds) and said.endswith(
                ("人", "名", "位", "个", "只", "条", "笔", "单", "份", "辆", "台", "本")
            )
        return any(0 <= value.start - cue.end <= 2 for value in kinds)

    def _counted_values(self, column: Column) -> Query | None:
        rest = [one for one in self.columns if one != column]
        return None if rest else replace(self.base, aggregate="distinct", measure=column)

    def _looked_up(self) -> Query | None:
        shown = list(self.columns)
        asked = next((cue.name for cue in self.reading.cues if cue.name in ASKED or cue.name == "when"), "")
        if not shown and asked:
            column = self._when() if asked == "when" else self._called(ASKED[asked])
            if column is None and not (asked == "who" and self.reading.cue("list", "who")):
                return None
            shown = [column] if column is not None else []
        if asked == "when" and not any(
            column.kind == "date" or "year" in name_words(column.name) or "年" in column.name for column in shown
        ):
            column = self._when()
            if column is None:
                return None
            shown = [column]
        if self.reading.cue("who", "where") is not None and any(
            c.kind in ("number", "date", "other") or c.is_flag for c in shown
        ):
            return None
        if not self.base.filters:
            return self._listed(shown)
        table = self.reading.relation.tables[0] if not shown else self.reading.relation.table(shown[0].table)
        label = table.label()
        if not shown:
            if not (self._named() or self.reading.cue("list", "who")):
                return None
            if self.reading.cue("who") is not None and not self._named() and not is_of_people(label):
                return None
            named = {one.column for one in self.base.filters}
            repeated = 0 < label.distinct < table.rows
            return replace(self.base, shown=(label,), is_distinct=repeated) if label not in named else None
        filtered = {one.column for one in self.base.filters if one.values}
        if len(shown) == 1 and shown[0].kind == "number" and label not in filtered:
            if shown[0].is_additive:
                return replace(self.base, aggregate="sum", measure=shown[0])
            if filtered and set(words.HAN_EACH + tuple(words.EACH)) & {shown[0].name, *name_words(shown[0].name)}:
                return replace(self.base, shown=(shown[0],), is_distinct=True)  # one price of many sales
        is_said = label in filtered or label in shown
        return replace(self.base, shown=tuple(shown), label=None if is_said else label)

    def _when(self) -> Column | None:
        dated = [column for column in self.reading.relation.columns if column.kind == "date"]
        years = [
            column
            for column in self.reading.relation.columns
            if "year" in name_words(column.name) or "年" in column.name
        ]
        found = dated or years
        return found[0] if len(found) == 1 else None

    def _listed(self, shown: list[Column]) -> Query | None:
        """ "Which regions are there?": the values of a column, or the names of all rows."""
        if self.reading.cue("list", "distinct") is None:
            return None
        if len(shown) == 1 and not self.measures:
            return replace(self.base, shown=(shown[0],), is_distinct=True)
        if not shown and self._named() and len(self.reading.relation.tables) == 1:
            return replace(self.base, shown=(self.reading.relation.tables[0].label(),), is_distinct=True)
        return None
