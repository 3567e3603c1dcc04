"""What is asked of rows, and as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from datamind_model_offline.tables.references import Reference
from datamind_model_offline.tables.relations import Relation
from datamind_model_offline.tables.schema import Column, literal, quoted
from datamind_model_offline.tables.words import NO, YES

Aggregate = Literal["count", "distinct", "sum", "average", ""]
SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one column.

    Attributes:
        values: Any of these texts.
        test: ``>``, ``<``, ``>=``, ``<=`` with ``bounds[0]``; ``between``; ``missing``; ``yes`` and ``no`` for a column
            of such cells; empty for ``values``.
        is_negated: None of these texts.
        days: A half-open range of days, or the month of any year.
    """

    column: Column
    values: tuple[str, ...] = ()
    test: str = ""
    bounds: tuple[str, ...] = ()
    days: tuple[date, date] | None = None
    month: int = 0
    day: int = 0
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A question as a statement.

    Attributes:
        shown: Columns whose cells are the answer.
        label: The column that says which row a cell is of, unless a filter says so.
        measure: What is added up or ordered by.
        group: What rows are put together by.
        part: Digits of a date to group by: 4 for years, 7 for months, else 0.
        order: 1 for the largest first, -1 for the smallest, 0 for neither.
        limit: How many rows of an order; 0 for the first and all that tie with it.
        claim: What the cells shown are asked to agree with.
        leader: The name that is asked to come first.
        through: The filters name a row that points to the one meant.
    """

    relation: Relation
    aggregate: Aggregate = ""
    shown: tuple[Column, ...] = ()
    label: Column | None = None
    filters: tuple[Filter, ...] = ()
    measure: Column | None = None
    group: Column | None = None
    part: int = 0
    order: int = 0
    limit: int = 0
    is_distinct: bool = False
    counted: str = ""
    claim: Filter | None = None
    leader: str = ""
    through: Reference | None = None


def to_sql(query: Query) -> str:
    """The statement; its order is complete, so that it always gives the same rows."""
    if query.group is not None:
        return _grouped(query)
    if query.aggregate:
        return f"SELECT {_aggregate(query)} AS {_alias(query)} FROM {query.relation.sql()}{_where(query)}"  # noqa: S608
    if query.order:
        return _ordered(query)
    columns = _distinct([*([query.label] if query.label else []), *query.shown])
    cells = ", ".join(query.relation.expression(column) for column in columns)
    distinct = "DISTINCT " if query.is_distinct else ""
    not_empty = [f"{query.relation.expression(query.shown[0])} IS NOT NULL"] if query.is_distinct else []
    where = _where(query, not_empty) if query.through is None else _where_pointed(query, query.through)
    numbers = ", ".join(str(i + 1) for i in range(len(columns)))
    return f"SELECT {distinct}{cells} FROM {query.relation.sql()}{where} ORDER BY {numbers} LIMIT {SHOWN_ROWS + 1}"  # noqa: S608


def _grouped(query: Query) -> str:
    assert query.group is not None
    key = query.relation.expression(query.group)
    if query.part:
        key = f"substr(CAST({key} AS VARCHAR), 1, {query.part})"
    where = _where(query, [f"{query.relation.expression(query.group)} IS NOT NULL"])
    inner = f"SELECT {key} AS k, {_aggregate(query)} AS {_alias(query)} FROM {query.relation.sql()}{where} GROUP BY 1"  # noqa: S608
    if not query.order:
        return f"{inner} ORDER BY 1 LIMIT {SHOWN_ROWS + 1}"
    way = "DESC" if query.order > 0 else "ASC"
    return f"{inner} HAVING {_aggregate(query)} IS NOT NULL ORDER BY 2 {way}, 1 LIMIT {query.limit or SHOWN_ROWS}"


def _ordered(query: Query) -> str:
    assert query.measure is not None
    measure = query.relation.expression(query.measure)
    columns = _distinct([*([query.label] if query.label else []), *query.shown, query.measure])
    cells = ", ".join(query.relation.expression(column) for column in columns)
    where = _where(query, [f"{measure} IS NOT NULL"])
    way = "DESC" if query.order > 0 else "ASC"
    source = query.relation.sql()
    if query.limit:
        return f"SELECT {cells} FROM {source}{where} ORDER BY {measure} {way}, 1 LIMIT {query.limit}"  # noqa: S608
    best = f"SELECT {'MAX' if query.order > 0 else 'MIN'}({measure}) FROM {source}{where}"  # noqa: S608
    tied = _where(query, [f"{measure} = ({best})"])
    return f"SELECT {cells} FROM {source}{tied} ORDER BY 1 LIMIT {SHOWN_ROWS}"  # noqa: S608


def _aggregate(query: Query) -> str:
    if query.measure is None:
        return "COUNT(*)"
    cell = query.relation.expression(query.measure)
    match query.aggregate:
        case "sum":
            return f"SUM({cell})"
        case "average":
            return f"ROUND(AVG({cell}), 2)"
        case _:
            return f"COUNT(DISTINCT {cell})"


def _alias(query: Query) -> str:
    return {"sum": "total", "average": "average"}.get(query.aggregate, "n")


def _where(query: Query, more: Sequence[str] = ()) -> str:
    tests = [*(_test(query.relation, one) for one in query.filters), *more]
    return f" WHERE {' AND '.join(tests)}" if tests else ""


def _where_pointed(query: Query, through: Reference) -> str:
    key, column, source = quoted(through.key.name), quoted(through.column.name), query.relation.sql()
    return f" WHERE {key} IN (SELECT {column} FROM {source}{_where(query)})"  # noqa: S608


def _test(relation: Relation, one: Filter) -> str:
    cell = relation.expression(one.column)
    if one.days is not None:
        first, after = one.days
        return f"{cell} >= {literal(first.isoformat())} AND {cell} < {literal(after.isoformat())}"
    if one.month and one.day:
        return f"substr(CAST({cell} AS VARCHAR), 6, 5) = {literal(f'{one.month:02d}-{one.day:02d}')}"
    if one.month:
        return f"substr(CAST({cell} AS VARCHAR), 6, 2) = {literal(f'{one.month:02d}')}"
    if one.test in ("yes", "no"):
        texts = ", ".join(map(literal, sorted(YES if one.test == "yes" else NO)))
        return f"lower(CAST({cell} AS VARCHAR)) IN ({texts})"
    if one.test == "missing":
        return f"{cell} IS NULL"
    if one.test == "between":
        return f"{cell} BETWEEN {one.bounds[0]} AND {one.bounds[1]}"
    if one.test:
        return f"{cell} {one.test} {one.bounds[0]}"
    whole = cell if one.column.kind == "text" else f"CAST({cell} AS VARCHAR)"
    values = ", ".join(map(literal, one.values))
    return f"{whole} {'NOT IN' if one.is_negated else 'IN'} ({values})"


def _distinct(columns: Sequence[Column]) -> list[Column]:
    return list(dict.fromkeys(columns))
