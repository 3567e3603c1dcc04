"""What the file knows of its tables: schema ``_datamind``, beside the rows and in their transactions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from datamind.capabilities.db.tabular.names import RESERVED, quoted
from datamind.core.errors import StoreError
from datamind_db_duckdb.types import kind_of, scale_of

SCHEMA: Final = "_datamind"
VERSION: Final = 1

_TABLES: Final = (
    f"CREATE SCHEMA {SCHEMA}",
    f"CREATE TABLE {SCHEMA}.format (version INTEGER)",
    f"INSERT INTO {SCHEMA}.format VALUES ({VERSION})",  # noqa: S608 - both are ours
    f"CREATE TABLE {SCHEMA}.tables (folded VARCHAR PRIMARY KEY, name VARCHAR, place VARCHAR, columns VARCHAR,"
    " version INTEGER, total BIGINT)",
    f"CREATE TABLE {SCHEMA}.imports (number INTEGER PRIMARY KEY, place VARCHAR, receipt_id VARCHAR, source VARCHAR,"
    " given BIGINT, held BIGINT)",
    f"CREATE TABLE {SCHEMA}.units (unit_id VARCHAR PRIMARY KEY, number INTEGER, outcome VARCHAR)",
)


@dataclass(frozen=True)
class Table:
    """A table: a view of this name over ``place``, which has ``c0`` … and the number of each row's import.

    Attributes:
        columns: Name and DuckDB type.
    """

    name: str
    place: str
    columns: tuple[tuple[str, str], ...]
    version: int = 0
    rows: int = 0

    @property
    def folded(self) -> str:
        """The name as it is compared."""
        return self.name.casefold()


class Given(NamedTuple):
    """What one source gave to a table.

    Attributes:
        numbers: Of its imports.
        receipts: Of those of which something is there.
        alone: Whether nothing else did.
    """

    numbers: tuple[int, ...] = ()
    receipts: tuple[str, ...] = ()
    alone: bool = False


class Catalogue:
    """Reads and writes it over one connection; a transaction is the caller's."""

    def __init__(self, connection: Any) -> None:
        self._db = connection

    def prepare(self) -> None:
        """Make it in a new file.

        Raises:
            StoreError: The file was written by a newer version or another program.
        """
        known = self._db.execute("SELECT schema_name FROM information_schema.schemata").fetchall()
        if (SCHEMA,) not in known:
            self._make()
            return
        ((version,),) = self._db.execute(f"SELECT version FROM {SCHEMA}.format").fetchall()  # noqa: S608
        if version > VERSION:
            raise StoreError(
                f"the tables have format {version}, this DataMind knows {VERSION}.",
                code="store_error.newer",
                retryable=False,
                hint="Upgrade datamind-db-duckdb.",
            )

    def _make(self) -> None:
        ((found,),) = self._db.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
        if found:
            raise StoreError(
                "the DuckDB file is of something else.", code="store_error.foreign_file", retryable=False,
                hint="Move it away.",
            )  # fmt: skip
        self._db.execute("BEGIN TRANSACTION")
        for statement in _TABLES:
            self._db.execute(statement)
        self._db.execute("COMMIT")

    def tables(self) -> list[Table]:
        """Every table, by name."""
        query = f"SELECT name, place, columns, version, total FROM {SCHEMA}.tables ORDER BY folded"  # noqa: S608
        return [
            Table(name, place, tuple((column, kind) for column, kind in json.loads(columns)), version, rows)
            for name, place, columns, version, rows in self._db.execute(query).fetchall()
        ]

    def get(self, name: str) -> Table | None:
        """One table by name."""
        return next((table for table in self.tables() if table.folded == name.casefold()), None)

    def outcome(self, unit_id: str) -> Any:
        """What a unit did, if it was done."""
        query = f"SELECT outcome FROM {SCHEMA}.units WHERE unit_id = ?"  # noqa: S608
        found = self._db.execute(query, [unit_id]).fetchall()
        return json.loads(found[0][0]) if found else None

    def drop_details(self) -> None:
        """Forget what was found out about files of which nothing is left: names of columns are texts of them."""
        query = f"SELECT unit_id, outcome FROM {SCHEMA}.units WHERE number NOT IN (SELECT number FROM {SCHEMA}.imports)"  # noqa: S608
        for unit_id, outcome in self._db.execute(query).fetchall():
            told = json.dumps(json.loads(outcome) | {"detected": {}})
            self._db.execute(f"UPDATE {SCHEMA}.units SET outcome = ? WHERE unit_id = ?", [told, unit_id])  # noqa: S608

    def next_number(self) -> int:
        """A number that no write had."""
        query = f"SELECT coalesce(max(number), 0) + 1 FROM {SCHEMA}.units"  # noqa: S608
        ((number,),) = self._db.execute(query).fetchall()
        return int(number)

    def counts(self, table: Table) -> dict[int, int]:
        """Rows of each import that are in a table."""
        query = f"SELECT unit, count(*) FROM {SCHEMA}.{table.place} GROUP BY unit"  # noqa: S608
        return dict(self._db.execute(query).fetchall())

    def holds(self, table: Table, source_id: str) -> bool:
        """Whether all rows that a source once gave are in the table."""
        counts = self.counts(table)
        query = f"SELECT number, given, source FROM {SCHEMA}.imports WHERE place = ?"  # noqa: S608
        marks = self._db.execute(query, [table.place]).fetchall()
        return any(
            counts.get(number, 0) == given for number, given, source in marks
            if json.loads(source)["source_id"] == source_id
        )  # fmt: skip

    def given_by(self, table: Table, uri: str) -> Given:
        """The imports of a table that came from one place."""
        query = f"SELECT number, receipt_id, source, held > 0 OR given = 0 FROM {SCHEMA}.imports WHERE place = ?"  # noqa: S608
        marks = self._db.execute(f"{query} ORDER BY number", [table.place]).fetchall()
        ours = [(number, receipt) for number, receipt, source, _ in marks if json.loads(source)["uri"] == uri]
        numbers = tuple(number for number, _ in ours)
        others = any(is_there and number not in numbers for number, _, _, is_there in marks)
        there = {number for number, _, _, is_there in marks if is_there}
        return Given(numbers, tuple(receipt for number, receipt in ours if number in there), alone=not others)

    def put(self, table: Table, number: int, mark: Mapping[str, Any]) -> int:
        """Note an import that is done; returns the rows it gave."""
        given = self.counts(table).get(number, 0)
        self._db.execute(
            f"INSERT INTO {SCHEMA}.imports VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
            [number, table.place, mark["receipt_id"], json.dumps(mark["source"]), given, given],
        )
        self.update(table, number)
        return given

    def update(self, table: Table, number: int) -> None:
        """Note how many rows of each import a table holds after a write, which is its version from now on."""
        self._db.execute(
            f"UPDATE {SCHEMA}.imports SET held = (SELECT count(*) FROM {SCHEMA}.{table.place} WHERE unit = number)"  # noqa: S608
            " WHERE place = ?",
            [table.place],
        )
        self._db.execute(f"DELETE FROM {SCHEMA}.tables WHERE folded = ?", [table.folded])  # noqa: S608
        self._db.execute(
            f"INSERT INTO {SCHEMA}.tables VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
            [
                table.folded,
                table.name,
                table.place,
                json.dumps(table.columns),
                number,
                sum(self.counts(table).values()),
            ],
        )

    def number_of(self, table: Table, receipt_id: str) -> int | None:
        """The number of an import of which something is in a table."""
        query = (
            f"SELECT number FROM {SCHEMA}.imports WHERE place = ? AND receipt_id = ?"  # noqa: S608
            " AND (held > 0 OR given = 0)"
        )
        found = self._db.execute(query, [table.place, receipt_id]).fetchall()
        return found[0][0] if found else None

    def take_out(self, table: Table, number: int) -> int:
        """Remove the rows of one import, with its mark; returns how many they were."""
        ((rows,),) = self._db.execute(f"DELETE FROM {SCHEMA}.{table.place} WHERE unit = ?", [number]).fetchall()  # noqa: S608
        self._db.execute(f"DELETE FROM {SCHEMA}.imports WHERE number = ?", [number])  # noqa: S608
        return int(rows)

    def has_maker(self, table: Table) -> bool:
        """Whether the import that made a table has its mark still."""
        query = f"SELECT number FROM {SCHEMA}.imports WHERE place = ?"  # noqa: S608
        return any(table.place == place_of(number) for (number,) in self._db.execute(query, [table.place]).fetchall())

    def done(self, unit_id: str, number: int, outcome: Mapping[str, Any]) -> None:
        """Note what a unit did."""
        self._db.execute(
            f"INSERT INTO {SCHEMA}.units VALUES (?, ?, ?)",  # noqa: S608
            [unit_id, number, json.dumps(outcome)],
        )

    def remove(self, table: Table) -> None:
        """Forget a table, with its rows."""
        self._db.execute(f"DROP VIEW IF EXISTS main.{quoted(table.name)}")
        self._db.execute(f"DROP TABLE {SCHEMA}.{table.place}")
        self._db.execute(f"DELETE FROM {SCHEMA}.tables WHERE folded = ?", [table.folded])  # noqa: S608
        self._db.execute(f"DELETE FROM {SCHEMA}.imports WHERE place = ?", [table.place])  # noqa: S608

    def show(self, table: Table) -> None:
        """Make the view of a table anew."""
        shown = ", ".join(f"c{place} AS {quoted(name)}" for place, (name, _) in enumerate(table.columns))
        self._db.execute(
            f"CREATE OR REPLACE VIEW main.{quoted(table.name)} AS SELECT {shown} FROM {SCHEMA}.{table.place}"  # noqa: S608
        )

    def info(self, table: Table) -> dict[str, Any]:
        """What a reader is told."""
        query = (
            f"SELECT receipt_id, source, held FROM {SCHEMA}.imports"  # noqa: S608
            " WHERE place = ? AND (held > 0 OR given = 0 OR number = ?) ORDER BY number"
        )
        marks: Sequence[tuple[str, str, int]] = self._db.execute(query, [table.place, table.version]).fetchall()
        return {
            "name": table.name,
            "columns": [describe_column(name, kind) for name, kind in table.columns],
            "rows": table.rows,
            "version": str(table.version),
            "receipt_ids": [receipt for receipt, _, _ in marks],
            "sources": [json.loads(source) for _, source, _ in marks],
            "import_rows": [held for _, _, held in marks],
        }


def place_of(number: int) -> str:
    """Where the rows of a table lie that the write of this number made."""
    return f"{RESERVED}rows_{number}"


def describe_column(name: str, sql_type: str) -> dict[str, Any]:
    """A column as a reader is told."""
    return {"name": name, "kind": kind_of(sql_type), "type": sql_type, "scale": scale_of(sql_type)}
