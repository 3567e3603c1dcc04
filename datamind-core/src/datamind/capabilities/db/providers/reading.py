"""The reading half of the database in memory: its catalogue, and statements under an authorizer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from datetime import time as clock
from typing import Any, Final

from datamind.capabilities.db.statements import without_end
from datamind.capabilities.db.tabular.columns import ColumnType
from datamind.capabilities.db.values import row_bytes, to_json_value
from datamind.core.errors import InputInvalid, LimitExceeded
from datamind.core.protocols.database import (
    ColumnKind,
    NewTable,
    TableColumn,
    TableImport,
    TableInfo,
    TableOutcome,
    TableQuery,
    TableResult,
)
from datamind.core.source import SourceRef

MAX_COUNTED: Final = 100_000
_PROGRESS_STEPS: Final = 10_000
_MAX_VALUE: Final = 16 * 1024 * 1024
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_FORBIDDEN_FUNCTIONS: Final = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})


@dataclass(frozen=True)
class Mark:
    """One import of a table, how many rows it gave, and how many of them are there."""

    number: int
    receipt_id: str
    source: SourceRef
    rows: int
    held: int


@dataclass(frozen=True)
class Table:
    """A table: a view of this name over ``place``, which also holds the number of the import of each row."""

    name: str
    place: str
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    version: str = ""
    rows: int = 0
    marks: tuple[Mark, ...] = ()


@dataclass
class Catalogue:
    """The tables by casefolded name, and what every unit did."""

    tables: dict[str, Table] = field(default_factory=dict)
    outcomes: dict[str, TableOutcome] = field(default_factory=dict)
    number: int = 0

    def copy(self) -> Catalogue:
        """Another one that changes on its own."""
        return Catalogue(dict(self.tables), self.outcomes, self.number)

    def next_number(self) -> int:
        """A number that no import had."""
        self.number += 1
        return self.number

    def get(self, name: str) -> Table | None:
        """A table by name."""
        return self.tables.get(name.casefold())

    def put(self, table: Table, request: TableImport | NewTable, counts: Mapping[int, int]) -> str:
        """Note one import, after which the table holds so many rows of each; returns the version."""
        given = counts.get(self.number, 0)
        mark = Mark(self.number, request.receipt_id, request.source, given, given)
        return self.update(replace(table, marks=(*table.marks, mark)), counts)

    def update(self, table: Table, counts: Mapping[int, int]) -> str:
        """Note that a table holds so many rows of each import now; returns the version."""
        # An import that made the table empty has none, and is not gone.
        kept = [mark for mark in table.marks if counts.get(mark.number) or not mark.rows]
        marks = tuple(replace(mark, held=counts.get(mark.number, 0)) for mark in kept)
        made = replace(table, version=str(self.number), rows=sum(counts.values()), marks=marks)
        self.tables[table.name.casefold()] = made
        return made.version

    def remove(self, table: Table) -> None:
        """Forget a table."""
        del self.tables[table.name.casefold()]

    def info(self, table: Table) -> TableInfo:
        """What a reader is told."""
        return TableInfo(
            name=table.name,
            columns=tuple(
                TableColumn(name=name, kind=kind.kind, type=kind.kind, scale=kind.scale)
                for name, kind in zip(table.names, table.types, strict=True)
            ),
            rows=table.rows,
            version=table.version,
            receipt_ids=tuple(mark.receipt_id for mark in table.marks),
            sources=tuple(mark.source for mark in table.marks),
            import_rows=tuple(mark.held for mark in table.marks),
        )

    def infos(self) -> list[TableInfo]:
        """Every table, by name."""
        return [self.info(table) for _, table in sorted(self.tables.items())]


def read_page(connection: sqlite3.Connection, catalogue: Catalogue, query: TableQuery) -> TableResult:
    """One page of the result of one statement; nothing but reads passes."""
    statement = without_end(query.statement)
    with _reading(connection, query.timeout_s) as touched:
        cursor = connection.execute(statement, query.parameters)
        if cursor.description is None:
            raise InputInvalid("this is no statement that reads", code="input_invalid.statement")
        names = [column[0] for column in cursor.description]
        page, total, more = _page(cursor, query)
    tables = [table for table in catalogue.tables.values() if {table.name, table.place} & touched]
    return TableResult(
        columns=tuple(
            TableColumn(name=name, kind=_kind([row[place] for row in page])) for place, name in enumerate(names)
        ),
        rows=tuple(tuple(to_json_value(value) for value in row) for row in page),
        total=total,
        more=more,
        tables=tuple(catalogue.info(table) for table in sorted(tables, key=lambda table: table.name)),
    )


def _page(cursor: sqlite3.Cursor, query: TableQuery) -> tuple[list[Sequence[Any]], int | None, bool]:
    rows: list[Sequence[Any]] = []
    number, size, full = 0, 0, False
    for number, row in enumerate(cursor, 1):
        if number > MAX_COUNTED:
            return rows, None, True
        if number <= query.offset or full:
            continue
        size += row_bytes([to_json_value(value) for value in row])
        full = len(rows) == query.limit or size > query.max_bytes
        if not full:
            rows.append(row)
        elif not rows:
            raise LimitExceeded(f"row {number} has {size} bytes", code="limit_exceeded.size", hint="Select less of it.")
    return rows, number, number > query.offset + len(rows)


@contextmanager
def _reading(connection: sqlite3.Connection, timeout_s: float) -> Iterator[set[str]]:
    touched: set[str] = set()

    def decide(action: int, first: str | None, second: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and first:
            touched.add(first)
        allowed = action in _ALLOWED and (second or "").lower() not in _FORBIDDEN_FUNCTIONS
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    ends = time.monotonic() + timeout_s
    connection.set_authorizer(decide)
    connection.set_progress_handler(lambda: time.monotonic() > ends, _PROGRESS_STEPS)
    limits = {sqlite3.SQLITE_LIMIT_LENGTH: _MAX_VALUE, sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000}
    before = {kind: connection.setlimit(kind, value) for kind, value in limits.items()}
    try:
        yield touched
    except (sqlite3.Error, sqlite3.Warning) as error:
        if "interrupted" in str(error):
            raise LimitExceeded(
                f"the statement did not end within {timeout_s:g} s and was stopped", code="limit_exceeded.time"
            ) from None
        if "too big" in str(error) or "too complex" in str(error):
            raise LimitExceeded(f"the statement was stopped: {error}", code="limit_exceeded.size") from None
        raise InputInvalid(f"the statement was refused: {error}", code="input_invalid.statement") from None
    except OverflowError as error:
        raise InputInvalid(f"a parameter was refused: {error}", code="input_invalid.statement") from None
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)
        for kind, value in before.items():
            connection.setlimit(kind, value)


def _kind(values: Sequence[Any]) -> ColumnKind:
    kinds: dict[type, ColumnKind] = {
        bool: "boolean", int: "integer", float: "float", str: "text", bytes: "binary", date: "date",
        datetime: "timestamp", clock: "time",
    }  # fmt: skip
    found = {kinds.get(type(value), "other") for value in values if value is not None}
    return found.pop() if len(found) == 1 else "text" if not found else "other"
