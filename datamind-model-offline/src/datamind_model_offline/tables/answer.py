"""From the rows of a statement to words: exact cells, each with its number."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from datamind_model_offline.passages import Found, shown_text
from datamind_model_offline.replies import joined
from datamind_model_offline.tables.query import SHOWN_ROWS, Filter, Query
from datamind_model_offline.tables.schema import Column
from datamind_model_offline.tables.words import NO, YES

_GROUPED_FROM: Final = 10_000
_ZEROS: Final = re.compile(r"(\.\d*?)0+\Z")


def cells_of(item: Found) -> tuple[list[str], list[list[Any]]]:
    """Column names and rows of a page; empty when it was cut on the way."""
    try:
        page = json.loads(item.content)
        return [str(name) for name in page["columns"]], [list(row) for row in page["rows"]]
    except (ValueError, KeyError, TypeError):
        return [], []


def answer_text(query: Query, item: Found, language: str) -> str:
    """The rows in words with their citation; empty when there is no value among them."""
    columns, rows = cells_of(item)
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows or (query.aggregate and not query.group and rows[0][0] is None):
        return ""
    if query.aggregate in ("count", "distinct") and rows[0][0] == 0 and any(one.days for one in query.filters):
        return ""  # of a time before or after all rows nothing is known
    if query.limit == 2 and query.leader and len(rows) < 2:
        return ""
    if query.aggregate and query.group is None:
        shown = _aggregate(query, rows[0][0], language)
    elif query.group is not None:
        shown = _pairs(query, rows, language)
    else:
        shown = _cells(query, columns, rows, language)
    return f"{_verdict(query, rows, language)}{shown} [{item.cite}]" if shown else ""


def _verdict(query: Query, rows: Sequence[Sequence[Any]], language: str) -> str:
    """Yes or no where the cells decide it, else nothing."""
    if query.leader:
        so: bool | None = str(rows[0][0]) == query.leader and str(rows[0][-1]) != str(rows[-1][-1])
    elif query.claim is not None:
        so = rows[0][0] > 0 if query.aggregate else _agrees(query.claim, rows[0][-1])
    else:
        so = None
    if so is None:
        return ""
    return ("是：" if so else "否：") if language == "zh" else ("Yes: " if so else "No: ")


def _agrees(claim: Filter, cell: Any) -> bool | None:
    text = str(cell).strip().lower()
    if claim.days is not None:
        return claim.days[0].isoformat() <= text[:10] < claim.days[1].isoformat()
    if claim.test == "yes":
        no = text in NO or text.startswith(("un", "not ", "未", "没", "不"))
        yes = text in YES or text.startswith("已")
        return yes if yes or no else None
    if claim.test and claim.bounds and cell is not None:
        return _compares(claim, Decimal(text))
    return (text in {value.strip().lower() for value in claim.values}) != claim.is_negated if claim.values else None


def _compares(claim: Filter, cell: Decimal) -> bool:
    bounds = [Decimal(one) for one in claim.bounds]
    if claim.test == "between":
        return bounds[0] <= cell <= bounds[1]
    return {">": cell > bounds[0], "<": cell < bounds[0], ">=": cell >= bounds[0], "<=": cell <= bounds[0]}[claim.test]


def _aggregate(query: Query, cell: Any, language: str) -> str:
    zh = language == "zh"
    value = _value(cell, None)
    if query.aggregate in ("count", "distinct"):
        what = query.measure.name if query.measure is not None else query.relation.tables[0].name
        return f"{what}：{value}" if zh else f"{what}: {value}"
    assert query.measure is not None
    name = query.measure.name
    if query.aggregate == "sum":
        return f"{name} 合计：{value}" if zh else f"total {name}: {value}"
    return f"{name} 平均：{value}" if zh else f"average {name}: {value}"


def _pairs(query: Query, rows: Sequence[Sequence[Any]], language: str) -> str:
    colon = "：" if language == "zh" else ": "
    pairs = [f"{_value(row[0], None)}{colon}{_value(row[1], None)}" for row in rows[:SHOWN_ROWS]]
    more = (["…"] if len(rows) > SHOWN_ROWS else []) if not query.order else []
    return ("；" if language == "zh" else "; ").join([*pairs, *more])


def _cells(query: Query, names: Sequence[str], rows: Sequence[Sequence[Any]], language: str) -> str:
    columns = [next((c for c in query.relation.columns if c.name == name), None) for name in names]
    colon = "：" if language == "zh" else ": "
    if len(names) == 1:
        values = [_value(row[0], columns[0]) for row in rows if row[0] is not None]
        more = ["…"] if len(values) > SHOWN_ROWS else []
        if len(values) == 1 and not query.is_distinct and query.filters:
            said = [value for one in query.filters for value in one.values]
            subject = f"{shown_text(said[0])} — " if said else ""
            name = names[0] if query.through is None else query.through.column.name
            return f"{subject}{name}{colon}{values[0]}"
        return joined(language, [*dict.fromkeys(values[:SHOWN_ROWS]), *more])
    lines = []
    for row in rows[:SHOWN_ROWS]:
        first = _value(row[0], columns[0])
        rest = [f"{names[i]} {_value(row[i], columns[i])}" for i in range(1, len(names)) if row[i] is not None]
        if rest or len(names) == 1:
            lines.append(f"{first}{colon}{', '.join(rest)}")
    more = ["…"] if len(rows) > SHOWN_ROWS else []
    return ("；" if language == "zh" else "; ").join([*lines, *more])


def _value(cell: Any, column: Column | None) -> str:
    """A cell as it is read: digits in groups of three, no zeros behind the point that say nothing."""
    if cell is None:
        return "–"
    text = str(cell)
    if isinstance(cell, bool):
        return str(cell).lower()
    is_number = isinstance(cell, int | float) or ((column is None or column.kind == "number") and _is_decimal(text))
    if not is_number or (column is not None and (column.is_key or _is_year(column))):
        return shown_text(text)
    text = format(Decimal(text), "f")
    text = _ZEROS.sub(r"\1", text).rstrip(".") if "." in text and len(text.rpartition(".")[2]) != 2 else text
    if abs(Decimal(text)) < _GROUPED_FROM:
        return text
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}"


def _is_decimal(text: str) -> bool:
    if not re.fullmatch(r"-?(?:0|[1-9]\d*)\.\d+", text):
        return False
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _is_year(column: Column) -> bool:
    low, high = column.minimum, column.maximum
    return isinstance(low, int) and isinstance(high, int) and 1500 <= low <= high <= 2199
