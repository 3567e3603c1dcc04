"""Reading: one statement, its pages, and what tables hold."""

from __future__ import annotations

import sys
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

import duckdb

from datamind.capabilities.db.statements import named_in, without_end
from datamind.capabilities.db.tabular.names import quoted
from datamind.capabilities.db.values import row_bytes, to_json_rows, to_json_value
from datamind.core.errors import InputInvalid, LimitExceeded, NotFound
from datamind_db_duckdb.catalogue import Catalogue, Table, describe_column

MAX_COUNTED: Final = 100_000
_MAX_PROFILES: Final = 64
_MAX_PROFILE_BYTES: Final = 256 * 1024
_COUNTED_AT_ONCE: Final = 200_000  # values: the distinct ones of columns that are counted together are all in memory
_MAX_KEPT_BYTES: Final = 32 * 1024 * 1024
_SLICE: Final = 2_000
_AS_TEXT: Final = frozenset({"TIMESTAMP_NS", "INTERVAL"})  # Python's own types lose nanoseconds, and what a month is
_MOMENTS: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"})
_ALLOWED: Final = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})


@dataclass(frozen=True)
class _Result:
    """Rows of one execution from ``first`` on; ``complete`` when there are no more."""

    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[Any]]
    first: int
    complete: bool

    def covers(self, offset: int) -> bool:
        return self.first <= offset and (self.complete or offset < self.first + len(self.rows))


@dataclass
class _Seen:
    """What was read of the tables since the last write."""

    tables: list[Table] | None = None
    infos: dict[str, dict[str, Any]] = field(default_factory=dict)
    profiles: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


class Queries:
    """Over a connection that is inside a read-only transaction.

    The last result is kept for its further pages, and what is told of tables until something is written.
    """

    def __init__(self, connection: Any) -> None:
        self._db = connection
        self._catalogue = Catalogue(connection)
        self._seen = _Seen()
        self._kept: tuple[tuple[Any, ...], _Result] | None = None

    def tables(self) -> list[dict[str, Any]]:
        """Every table, by name."""
        return [self._info(table) for table in self._tables()]

    def forget(self) -> None:
        """Read the tables anew: there was a write."""
        self._seen = _Seen()

    def _tables(self) -> list[Table]:
        if self._seen.tables is None:
            self._seen.tables = self._catalogue.tables()
        return self._seen.tables

    def _info(self, table: Table) -> dict[str, Any]:
        if table.folded not in self._seen.infos:
            self._seen.infos[table.folded] = self._catalogue.info(table)
        return self._seen.infos[table.folded]

    def query(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """One page of one statement."""
        statement = one_statement(args["statement"])
        tables = self._read_by(statement)
        versions = tuple((table.name, table.version) for table in tables)
        key = (statement, repr(args["parameters"]), versions)
        with self._stopped_after(args["timeout_s"]):
            result = self._kept[1] if self._kept is not None and self._kept[0] == key else None
            if result is None or not result.covers(args["offset"]):
                self._kept = None
                result = self._execute(statement, args["parameters"], args["offset"])
                self._db.abort()
                self._kept = (key, result)
            page, more = _page(result, args)
        return {
            "columns": [describe_column(name, kind) for name, kind in result.columns],
            "rows": page,
            "total": result.first + len(result.rows) if result.complete else None,
            "more": more,
            "tables": [self._info(table) for table in tables],
        }

    def describe(self, name: str, sample: int) -> dict[str, Any]:
        """One table with its profile and first rows."""
        table = next((one for one in self._tables() if one.folded == name.casefold()), None)
        if table is None:
            raise NotFound(f"there is no table {name[:80]!r}", hint="db_list_tables shows them.")
        rows = self._db.execute(f"SELECT * FROM main.{quoted(table.name)} LIMIT ?", [sample]).fetchall()  # noqa: S608
        return {"table": self._info(table), "profile": self._profile(table), "sample": to_json_rows(rows)}

    def _profile(self, table: Table) -> list[dict[str, Any]]:
        known = self._seen.profiles.get(table.folded)
        if known is not None:
            return known
        names = [name for name, _ in table.columns]
        at_once = max(1, _COUNTED_AT_ONCE // max(1, table.rows))
        parts = [names[start : start + at_once] for start in range(0, len(names), at_once)]
        profile = [one for part in parts for one in self._counted(table, part)]
        if len(self._seen.profiles) < _MAX_PROFILES and row_bytes([profile]) <= _MAX_PROFILE_BYTES:
            self._seen.profiles[table.folded] = profile
        return profile

    def _counted(self, table: Table, names: Sequence[str]) -> list[dict[str, Any]]:
        sought = ", ".join(
            f"count(*) - count({column}), count(DISTINCT {column}), min({column}), max({column})"
            for column in map(quoted, names)
        )
        (found,) = self._db.execute(f"SELECT {sought} FROM main.{quoted(table.name)}").fetchall()  # noqa: S608
        values = [to_json_value(value) for value in found]
        return [
            dict(zip(("name", "nulls", "distinct", "minimum", "maximum"), (name, *values[at : at + 4]), strict=True))
            for name, at in zip(names, range(0, len(values), 4), strict=True)
        ]

    def _read_by(self, statement: str) -> list[Table]:
        tables = self._tables()
        by_name = {name: table for table in tables for name in (table.folded, table.place)}
        try:
            with self._db.cursor() as apart:  # what fails there, such as a parameter, does not end this transaction
                named = apart.get_table_names(statement)
        except duckdb.Error:
            named = named_in(statement, by_name)
        found = {by_name[name.casefold()].folded for name in named if name.casefold() in by_name}
        return [table for table in tables if table.folded in found]

    def _execute(self, statement: str, parameters: Sequence[Any], offset: int) -> _Result:
        cursor = self._db.execute(statement, parameters)
        columns = tuple((column[0], str(column[1])) for column in cursor.description)
        if shown := {place for place, (_, kind) in enumerate(columns) if kind in _AS_TEXT}:
            cursor = self._db.execute(_with_text(statement, columns, shown), parameters)
        result = self._fetch(cursor, columns, offset)
        if endless := _endless(result):
            # Infinity comes as the last day that Python knows: only its text tells them apart.
            cursor = self._db.execute(_with_text(statement, columns, shown | endless), parameters)
            result = self._fetch(cursor, columns, offset)
        return result

    def _fetch(self, cursor: Any, columns: tuple[tuple[str, str], ...], offset: int) -> _Result:
        first = offset if offset >= MAX_COUNTED else 0
        _skip(cursor, first)
        rows: list[Sequence[Any]] = []
        size = 0
        while part := cursor.fetchmany(_SLICE):
            rows += part
            size += sum(sys.getsizeof(value) for row in part for value in row)
            if len(rows) >= MAX_COUNTED or (size > _MAX_KEPT_BYTES and first + len(rows) > offset):
                return _Result(columns, rows, first, complete=False)
            if size > _MAX_KEPT_BYTES:
                first, rows, size = first + len(rows), [], 0
        return _Result(columns, rows, first, complete=True)

    @contextmanager
    def _stopped_after(self, timeout_s: float) -> Iterator[None]:
        # What does not heed an interrupt is ended with its process, by the parent.
        timer = threading.Timer(timeout_s, self._db.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def one_statement(text: str) -> str:
    """The one statement that a text holds, without separators at its end.

    Raises:
        InputInvalid: It holds none, several, or one that does not read.
    """
    try:
        found = duckdb.extract_statements(without_end(text))
    except duckdb.Error as error:
        raise InputInvalid(
            f"the statement was refused: {' '.join(str(error).split())[:300]}", code="input_invalid.statement"
        ) from None
    if len(found) != 1:
        raise InputInvalid(f"there are {len(found)} statements, not one", code="input_invalid.statement")
    (statement,) = found
    if statement.type not in _ALLOWED:
        raise InputInvalid(f"a {statement.type.name} statement does not only read", code="input_invalid.statement")
    return str(statement.query)


def _with_text(statement: str, columns: Sequence[tuple[str, str]], places: Container[int]) -> str:
    made = [
        f"regexp_replace(CAST(#{at} AS VARCHAR), '^(\\d{{4,}}-\\d\\d-\\d\\d) (\\d)', '\\1T\\2') AS {quoted(name)}"
        if at - 1 in places
        else f"#{at}"
        for at, (name, _) in enumerate(columns, 1)
    ]
    return f"SELECT {', '.join(made)} FROM ({statement}\n)"  # noqa: S608 - one statement, read by the engine's own parser


def _endless(result: _Result) -> set[int]:
    moments = [place for place, (_, kind) in enumerate(result.columns) if kind in _MOMENTS]
    return {place for place in moments if any(_is_last(row[place]) for row in result.rows)}


def _is_last(value: Any) -> bool:
    return isinstance(value, date) and (value.year, value.month, value.day) in ((9999, 12, 31), (1, 1, 1))


def _skip(cursor: Any, count: int) -> None:
    while count > 0 and (part := cursor.fetchmany(min(count, _SLICE))):
        count -= len(part)


def _page(result: _Result, args: Mapping[str, Any]) -> tuple[list[list[Any]], bool]:
    start = args["offset"] - result.first
    page: list[list[Any]] = []
    size = 0
    for row in result.rows[start : start + args["limit"]]:
        made = [to_json_value(value) for value in row]
        size += row_bytes(made)
        if size > args["max_bytes"]:
            break
        page.append(made)
    rest = len(result.rows) - start - len(page)
    if not page and args["limit"] and rest > 0:
        raise LimitExceeded(
            f"row {args['offset'] + 1} has {size} bytes", code="limit_exceeded.size", hint="Select less of it."
        )
    return page, rest > 0 or not result.complete
