"""Writing: what an import does inside its one transaction."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from datamind.capabilities.db.tabular.columns import ColumnType
from datamind.capabilities.db.tabular.parsing import Plan, check_key, fit_columns
from datamind.core.errors import Conflict, IntegrityError
from datamind_db_duckdb.catalogue import SCHEMA, Catalogue, Given, Table, place_of
from datamind_db_duckdb.types import ORDINAL, column_type, sql_type, text_expression

_STAGE: Final = "_datamind_stage"
_KEYED: Final = "_datamind_keyed"
_DONE: Final = {"append": "appended", "replace": "replaced", "upsert": "upserted"}


class Writes:
    """Over a connection that is inside a transaction."""

    def __init__(self, connection: Any) -> None:
        self._db = connection
        self._catalogue = Catalogue(connection)

    def look(self, args: Mapping[str, Any]) -> Any:
        """The outcome, where it is known without reading the file, else None."""
        if (done := self._catalogue.outcome(args["unit_id"])) is not None:
            return done
        held = self._catalogue.get(args["table"])
        if held is None:
            return None
        if args["mode"] == "fail":
            raise _exists(args["table"])
        if args["mode"] != "replace" and not args["force"] and self._catalogue.holds(held, args["source"]["source_id"]):
            return {"status": "unchanged", "rows": 0, "version": str(held.version)}
        return None

    def prepare(self) -> None:
        """Import what a load needs and reading does not, while a file is parsed elsewhere."""
        importlib.import_module("pyarrow")

    def load(self, args: Mapping[str, Any], plan: Mapping[str, Any], stage: Any) -> Any:
        """Import what was staged."""
        if (known := self.look(args)) is not None:
            return known
        import pyarrow as pa  # reading alone starts faster without it

        number = self._catalogue.next_number()
        held = self._catalogue.get(args["table"])
        older = self._older(args, held)
        with pa.ipc.open_stream(stage) as reader:
            self._db.register(_STAGE, reader)
            try:
                table = self._load(args, plan, held, older, number)
            finally:
                self._db.unregister(_STAGE)
        rows = self._catalogue.put(table, number, args)
        if not args["key"] and rows != plan["rows"]:
            raise IntegrityError(f"{plan['rows']} rows were read from the file and {rows} stored")
        status = "created" if held is None else "renewed" if older.receipts else _DONE[args["mode"]]
        types = {name.casefold(): kind for name, kind in table.columns}
        columns = {name: types[name.casefold()] for name in plan["names"]}
        detected = plan["detected"] | {"columns": columns}
        return self._done(args, number, status, rows, str(number), detected, older.receipts)

    def _older(self, args: Mapping[str, Any], held: Table | None) -> Given:
        """What other versions of the source gave, which an import takes the place of."""
        if held is None or args["mode"] != "append" or args["force"]:
            return Given()
        return self._catalogue.given_by(held, args["source"]["uri"])

    def create(self, args: Mapping[str, Any]) -> Any:
        """Make an empty table."""
        if (done := self._catalogue.outcome(args["unit_id"])) is not None:
            return done
        if self._catalogue.get(args["table"]) is not None:
            raise _exists(args["table"])
        number = self._catalogue.next_number()
        types = [sql_type(ColumnType(column["kind"], None, 15, column["scale"])) for column in args["columns"]]
        names = [column["name"] for column in args["columns"]]
        table = Table(args["table"], place_of(number), tuple(zip(names, types, strict=True)))
        self._make(table)
        self._catalogue.put(table, number, args)
        return self._done(args, number, "created", 0, str(number))

    def drop(self, args: Mapping[str, Any]) -> Any:
        """Remove a table."""
        if (done := self._catalogue.outcome(args["unit_id"])) is not None:
            return done
        held = self._catalogue.get(args["table"])
        if held is None:
            return {"status": "unchanged", "rows": 0, "version": ""}
        self._catalogue.remove(held)
        return self._done(args, self._catalogue.next_number(), "dropped", held.rows, "")

    def remove_import(self, args: Mapping[str, Any]) -> Any:
        """Remove what one import gave, and the table when nothing is left of it."""
        if (done := self._catalogue.outcome(args["unit_id"])) is not None:
            return done
        held = self._catalogue.get(args["table"])
        gone = self._catalogue.number_of(held, args["import_receipt"]) if held else None
        if held is None or gone is None:
            return {"status": "unchanged", "rows": 0, "version": str(held.version) if held else ""}
        number = self._catalogue.next_number()
        rows = self._catalogue.take_out(held, gone)
        if rows == held.rows and not self._catalogue.has_maker(held):
            self._catalogue.remove(held)
            return self._done(args, number, "dropped", rows, "")
        self._catalogue.update(held, number)
        return self._done(args, number, "removed", rows, str(number))

    def _done(
        self,
        args: Mapping[str, Any],
        number: int,
        status: str,
        rows: int,
        version: str,
        detected: Any = None,
        closed: Sequence[str] = (),
    ) -> Any:
        outcome = {"status": status, "rows": rows, "version": version, "closed": closed, "detected": detected or {}}
        self._catalogue.done(args["unit_id"], number, outcome)
        return outcome

    def _load(
        self, args: Mapping[str, Any], plan: Mapping[str, Any], held: Table | None, older: Given, number: int
    ) -> Table:
        found = self._found_types(plan)
        if held is None or args["mode"] == "replace" or (older.numbers and older.alone):
            kinds = [native or sql_type(known) for native, known in found]
            table = Table(
                held.name if held else args["table"],
                place_of(number),
                tuple(zip(plan["names"], kinds, strict=True)),
            )
            if held is not None:
                self._catalogue.remove(held)
            self._make(table)
        else:
            check_key([name for name, _ in held.columns], args["key"])
            for before in older.numbers:
                self._catalogue.take_out(held, before)
            table = self._widened(held, plan, [known for _, known in found])
        self._insert(args["key"], plan, table, number)
        return table

    def _found_types(self, plan: Mapping[str, Any]) -> list[tuple[str, ColumnType]]:
        """For each column its DuckDB type, if the file brought one, and what it is."""
        described = {row[0]: row[1] for row in self._db.execute(f"DESCRIBE {_STAGE}").fetchall()}
        found = []
        for place, column in enumerate(plan["columns"]):
            if column["kind"] == "other":
                native = described[f"c{place}"]
                found.append((native, column_type(native)))
            else:
                found.append(("", ColumnType(column["kind"], None, column["whole"], column["scale"])))
        return found

    def _widened(self, held: Table, plan: Mapping[str, Any], found: Sequence[ColumnType]) -> Table:
        file = Plan(tuple(plan["names"]), tuple(found), 0, tuple(column["blank"] for column in plan["columns"]))
        types = {name.casefold(): column_type(kind) for name, kind in held.columns}
        fitted = dict(zip((name.casefold() for name in file.names), fit_columns(file, types), strict=True))
        columns = []
        for place, (name, kind) in enumerate(held.columns):
            joined = fitted.get(name.casefold())
            wider = sql_type(joined) if joined is not None and joined != types[name.casefold()] else kind
            if wider != kind:
                self._db.execute(f"ALTER TABLE {SCHEMA}.{held.place} ALTER c{place} TYPE {wider}")
            columns.append((name, wider))
        table = replace(held, columns=tuple(columns))
        if table != held:
            self._catalogue.show(table)
        return table

    def _make(self, table: Table) -> None:
        columns = ", ".join(f"c{place} {kind}" for place, (_, kind) in enumerate(table.columns))
        self._db.execute(f"CREATE TABLE {SCHEMA}.{table.place} ({columns}, unit INTEGER)")
        self._catalogue.show(table)

    def _insert(self, key: Sequence[str], plan: Mapping[str, Any], table: Table, number: int) -> None:
        folded = [name.casefold() for name, _ in table.columns]
        places = [folded.index(name.casefold()) for name in plan["names"]]
        columns = ", ".join(f"c{place}" for place in places)
        made = ", ".join(
            f"{_expression(f'c{at}', column, table.columns[place][1])} AS c{place}"
            for at, (place, column) in enumerate(zip(places, plan["columns"], strict=True))
        )
        target = f"{SCHEMA}.{table.place}"
        if not key:
            self._db.execute(f"INSERT INTO {target} ({columns}, unit) SELECT {made}, {number} FROM {_STAGE}")  # noqa: S608
            return
        keys = [f"c{folded.index(name.casefold())}" for name in key]
        self._db.execute(f"CREATE TEMP TABLE {_KEYED} AS SELECT {made}, {ORDINAL} FROM {_STAGE}")  # noqa: S608
        equal = " AND ".join(f"{_KEYED}.{name} = {table.place}.{name}" for name in keys)
        self._db.execute(f"DELETE FROM {target} WHERE EXISTS (SELECT 1 FROM {_KEYED} WHERE {equal})")  # noqa: S608
        self._db.execute(
            f"INSERT INTO {target} ({columns}, unit) SELECT {columns}, {number} FROM {_KEYED}"  # noqa: S608
            f" QUALIFY row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {ORDINAL} DESC) = 1"
            f" ORDER BY {ORDINAL}"
        )
        self._db.execute(f"DROP TABLE {_KEYED}")


def _expression(column: str, planned: Mapping[str, Any], target: str) -> str:
    if planned["raw"]:
        return text_expression(column, planned["format"], target, is_padded=planned["padded"])
    return f"CAST({column} AS {target})"


def _exists(table: str) -> Conflict:
    return Conflict(
        f"the table {table[:80]!r} exists", code="conflict.table_exists", hint="Append to it, or replace it."
    )
