"""The database in memory, on the standard library's SQLite: what the Protocol asks for, gone with the process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from anyio.to_thread import run_sync

from datamind.capabilities.db.providers.reading import Catalogue, Mark, Table, read_page
from datamind.capabilities.db.tabular.columns import ColumnType
from datamind.capabilities.db.tabular.names import RESERVED, quoted
from datamind.capabilities.db.tabular.parsing import (
    Plan,
    Rejects,
    check_key,
    check_some_rows,
    convert_rows,
    fit_columns,
    make_detected,
    plan_columns,
)
from datamind.capabilities.db.tabular.sources import ReadOptions, RowSource, open_source
from datamind.capabilities.db.values import to_json_rows
from datamind.core.errors import Conflict, NotFound, StoreError
from datamind.core.protocols.database import (
    ColumnProfile,
    DatabaseReader,
    ImportMode,
    ImportRemoval,
    NewTable,
    TableDescription,
    TableDrop,
    TableImport,
    TableInfo,
    TableOutcome,
    TableQuery,
    TableResult,
    TableStatus,
)
from datamind.core.receipts import Detected

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

_DECLARED: Final = {"integer": "INTEGER", "decimal": "REAL", "float": "REAL", "text": "TEXT", "binary": "BLOB"}
_OWN: Final = {"boolean": "dm_boolean", "date": "dm_date", "timestamp": "dm_timestamp", "time": "dm_time"}


def _register_types() -> None:
    sqlite3.register_converter("dm_boolean", lambda raw: raw == b"1")
    sqlite3.register_converter("dm_date", lambda raw: date.fromisoformat(raw.decode()))
    sqlite3.register_converter("dm_timestamp", lambda raw: datetime.fromisoformat(raw.decode()))
    sqlite3.register_converter("dm_time", lambda raw: clock.fromisoformat(raw.decode()))


_DONE: Final[dict[ImportMode, TableStatus]] = {
    "append": "appended",
    "replace": "replaced",
    "upsert": "upserted",
    "fail": "created",
}


async def open_database(ctx: ProviderContext, options: Any) -> MemoryDatabase:
    """An empty database."""
    return MemoryDatabase()


@dataclass
class _State:
    """The connection and what its tables are; one thread at a time."""

    connection: sqlite3.Connection
    catalogue: Catalogue


class MemoryReader:
    """Reads under an authorizer that lets nothing but reads through."""

    def __init__(self, run: Callable[[Callable[[_State], Any]], Any]) -> None:
        self._run = run

    async def tables(self) -> Sequence[TableInfo]:
        """Every table, by name."""
        found: Sequence[TableInfo] = await self._run(lambda state: state.catalogue.infos())
        return found

    async def describe(self, table: str, *, sample: int = 5) -> TableDescription:
        """One table with its profile and first rows."""
        found: TableDescription = await self._run(lambda state: _describe(state, table, sample))
        return found

    async def query(self, query: TableQuery) -> TableResult:
        """One page of the result of one statement."""
        found: TableResult = await self._run(lambda state: read_page(state.connection, state.catalogue, query))
        return found


class MemoryDatabase(MemoryReader):
    """The database. Decimals are floats here, and a view shows each table without its column of imports."""

    volatile = True

    def __init__(self) -> None:
        _register_types()
        connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, detect_types=sqlite3.PARSE_DECLTYPES
        )
        self._state: _State | None = _State(connection, Catalogue())
        self._lock = threading.Lock()
        super().__init__(self._on_thread)

    async def load(self, request: TableImport, file: BinaryIO) -> TableOutcome:
        """Import a file."""
        return await self._write(request.unit_id, lambda state: _load(state, request, file))

    async def create(self, request: NewTable) -> TableOutcome:
        """Make an empty table."""
        return await self._write(request.unit_id, lambda state: _create(state, request))

    async def drop(self, request: TableDrop) -> TableOutcome:
        """Remove a table."""
        return await self._write(request.unit_id, lambda state: _drop(state, request))

    async def remove_import(self, request: ImportRemoval) -> TableOutcome:
        """Remove what one import gave."""
        return await self._write(request.unit_id, lambda state: _remove_import(state, request))

    def read_view(self) -> DatabaseReader:
        """The same data without a way to write."""
        return MemoryReader(self._on_thread)

    async def sync(self) -> None:
        """Nothing outlives the process."""

    async def aclose(self) -> None:
        """Forget everything; may be called twice."""
        await run_sync(self._close)

    def _close(self) -> None:
        with self._lock:
            state, self._state = self._state, None
        if state is not None:
            state.connection.close()

    async def _on_thread(self, work: Callable[[_State], Any]) -> Any:
        return await run_sync(self._locked, work)

    def _locked(self, work: Callable[[_State], Any]) -> Any:
        with self._lock:
            if self._state is None:
                raise StoreError("the database in memory is closed", code="store_error.closed", retryable=False)
            return work(self._state)

    async def _write(self, unit_id: str, work: Callable[[_State], TableOutcome]) -> TableOutcome:
        def once(state: _State) -> TableOutcome:
            held = state.catalogue
            if unit_id in held.outcomes:
                return held.outcomes[unit_id]
            draft = _State(state.connection, held.copy())
            state.connection.execute("BEGIN")
            try:
                outcome = work(draft)
                state.connection.execute("COMMIT")
            except BaseException as error:
                state.connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreError(f"the database in memory failed: {error}", retryable=False) from error
                raise
            draft.catalogue.outcomes[unit_id] = outcome
            state.catalogue = draft.catalogue
            return outcome

        result: TableOutcome = await self._on_thread(once)
        return result


def _load(state: _State, request: TableImport, file: BinaryIO) -> TableOutcome:
    source = open_source(file, ReadOptions(request.media_type, request.encoding, request.delimiter, request.header))
    plan = plan_columns(source)
    check_key(plan.names, request.key)
    rejects = Rejects()
    held = state.catalogue.get(request.table)
    if held is not None and request.mode == "fail":
        raise Conflict(f"the table {request.table!r} exists", code="conflict.table_exists")
    if held is not None and request.mode in ("append", "upsert") and not request.force and _holds(state, held, request):
        return TableOutcome(status="unchanged", rows=0, version=held.version)
    older = _older(request, held)
    table = _make_room(state, request, held, older, plan)
    _insert(state, request, table, (source, plan, rejects))
    counts = _counts(state.connection, table)
    rows = counts.get(state.catalogue.number, 0)
    check_some_rows(plan, rejects)
    version = state.catalogue.put(table, request, counts)
    types = dict(zip((name.casefold() for name in table.names), table.types, strict=True))
    columns = {name: types[name.casefold()].kind for name in plan.names}
    detected = Detected.model_validate(make_detected(source, request.media_type, rejects) | {"columns": columns})
    status = "created" if held is None else "renewed" if older else _DONE[request.mode]
    closed = tuple(mark.receipt_id for mark in older)
    return TableOutcome(status=status, rows=rows, version=version, closed=closed, detected=detected)


def _older(request: TableImport, held: Table | None) -> list[Mark]:
    """What other versions of the source gave, which an import takes the place of."""
    if held is None or request.mode != "append" or request.force:
        return []
    return [mark for mark in held.marks if mark.source.uri == request.source.uri]


def _holds(state: _State, table: Table, request: TableImport) -> bool:
    """Whether all rows that this source once gave are in the table."""
    counts = _counts(state.connection, table)
    marks = [mark for mark in table.marks if mark.source.source_id == request.source.source_id]
    return any(counts.get(mark.number, 0) == mark.rows for mark in marks)


def _make_room(state: _State, request: TableImport, held: Table | None, older: Sequence[Mark], plan: Plan) -> Table:
    number = state.catalogue.next_number()
    if held is None or request.mode == "replace" or (older and len(older) == len(held.marks)):
        table = Table(held.name if held else request.table, _place(number), plan.names, plan.types)
        if held is not None:
            _remove(state.connection, held)
        _make(state.connection, table)
        return table
    types = dict(zip((name.casefold() for name in held.names), held.types, strict=True))
    fitted = dict(zip((name.casefold() for name in plan.names), fit_columns(plan, types), strict=True))
    check_key(held.names, request.key)
    for mark in older:
        state.connection.execute(f"DELETE FROM {held.place} WHERE unit = ?", (mark.number,))  # noqa: S608
    held = replace(held, marks=tuple(mark for mark in held.marks if mark not in older))
    return replace(held, types=tuple(fitted.get(name, known) for name, known in types.items()))


def _make(connection: sqlite3.Connection, table: Table) -> None:
    columns = [f"c{place} {_declared(kind)}" for place, kind in enumerate(table.types)]
    connection.execute(f"CREATE TABLE {table.place} ({', '.join([*columns, 'unit INTEGER'])})")
    shown = ", ".join(f"c{place} AS {quoted(name)}" for place, name in enumerate(table.names))
    connection.execute(f"CREATE VIEW {quoted(table.name)} AS SELECT {shown} FROM {table.place}")  # noqa: S608


def _remove(connection: sqlite3.Connection, table: Table) -> None:
    connection.execute(f"DROP VIEW {quoted(table.name)}")
    connection.execute(f"DROP TABLE {table.place}")


def _insert(state: _State, request: TableImport, table: Table, parsed: tuple[RowSource, Plan, Rejects]) -> None:
    source, plan, rejects = parsed
    folded = [name.casefold() for name in table.names]
    places = [folded.index(name.casefold()) for name in plan.names]
    types = [table.types[place] for place in places]
    number = state.catalogue.number
    columns = ", ".join(f"c{place}" for place in places)
    marks = ", ".join("?" * len(places))
    insert = f"INSERT INTO {table.place} ({columns}, unit) VALUES ({marks}, {number})"  # noqa: S608
    keys = [places[[name.casefold() for name in plan.names].index(name.casefold())] for name in request.key]
    equal = " AND ".join(f"c{place} IS ?" for place in keys)
    delete = f"DELETE FROM {table.place} WHERE {equal}"  # noqa: S608
    for rows in convert_rows(source, plan, types, request.key, rejects):
        stored = [[_stored(cell) for cell in row] for row in rows]
        if not keys:
            state.connection.executemany(insert, stored)
            continue
        for row in stored:
            state.connection.execute(delete, [row[places.index(place)] for place in keys])
            state.connection.execute(insert, row)


def _counts(connection: sqlite3.Connection, table: Table) -> dict[int, int]:
    """Rows of each import that are in the table."""
    return dict(connection.execute(f"SELECT unit, count(*) FROM {table.place} GROUP BY unit").fetchall())  # noqa: S608


def _create(state: _State, request: NewTable) -> TableOutcome:
    held = state.catalogue.get(request.table)
    if held is not None:
        raise Conflict(f"the table {request.table!r} exists", code="conflict.table_exists")
    names = tuple(column.name for column in request.columns)
    types = tuple(ColumnType(column.kind, None, 18, column.scale) for column in request.columns)
    table = Table(request.table, _place(state.catalogue.next_number()), names, types)
    _make(state.connection, table)
    return TableOutcome(status="created", rows=0, version=state.catalogue.put(table, request, {}))


def _drop(state: _State, request: TableDrop) -> TableOutcome:
    held = state.catalogue.get(request.table)
    if held is None:
        return TableOutcome(status="unchanged", rows=0, version="")
    _remove(state.connection, held)
    state.catalogue.remove(held)
    return TableOutcome(status="dropped", rows=held.rows, version="")


def _remove_import(state: _State, request: ImportRemoval) -> TableOutcome:
    held = state.catalogue.get(request.table)
    mark = next((mark for mark in held.marks if mark.receipt_id == request.import_receipt), None) if held else None
    if held is None or mark is None:
        return TableOutcome(status="unchanged", rows=0, version=held.version if held else "")
    state.catalogue.next_number()
    rows = state.connection.execute(f"DELETE FROM {held.place} WHERE unit = ?", (mark.number,)).rowcount  # noqa: S608
    left = replace(held, marks=tuple(other for other in held.marks if other is not mark))
    counts = _counts(state.connection, left)
    if not counts and all(left.place != _place(other.number) for other in left.marks):
        _remove(state.connection, left)
        state.catalogue.remove(left)
        return TableOutcome(status="dropped", rows=rows, version="")
    return TableOutcome(status="removed", rows=rows, version=state.catalogue.update(left, counts))


def _place(number: int) -> str:
    return f"{RESERVED}rows_{number}"


def _describe(state: _State, name: str, sample: int) -> TableDescription:
    table = state.catalogue.get(name)
    if table is None:
        raise NotFound(f"there is no table {name[:80]!r}", hint="db_list_tables shows them.")
    first = state.connection.execute(f"SELECT * FROM {quoted(table.name)} LIMIT ?", (sample,))  # noqa: S608
    rows = tuple(tuple(row) for row in to_json_rows(first.fetchall()))
    profile = tuple(_profile(state.connection, table, name) for name in table.names)
    return TableDescription(table=state.catalogue.info(table), profile=profile, sample=rows)


def _profile(connection: sqlite3.Connection, table: Table, name: str) -> ColumnProfile:
    column, view = quoted(name), quoted(table.name)
    nulls, distinct = connection.execute(
        f"SELECT count(*) - count({column}), count(DISTINCT {column}) FROM {view}"  # noqa: S608
    ).fetchone()
    ends = []
    for order in ("ASC", "DESC"):
        query = f"SELECT {column} FROM {view} WHERE {column} IS NOT NULL ORDER BY 1 {order} LIMIT 1"  # noqa: S608
        ends += to_json_rows([connection.execute(query).fetchone() or (None,)])[0]
    return ColumnProfile(name=name, nulls=nulls, distinct=distinct, minimum=ends[0], maximum=ends[1])


def _declared(kind: ColumnType) -> str:
    return _OWN.get(kind.kind) or _DECLARED.get(kind.kind, "TEXT")


def _stored(cell: Any) -> Any:
    match cell:
        case Decimal():
            return float(cell)
        case datetime():
            return cell.isoformat(" ")
        case date() | clock():
            return cell.isoformat()
    return cell
