"""The database: tables that imports fill, read by one statement at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, Literal, Protocol, runtime_checkable

from datamind.core.receipts import Detected
from datamind.core.record import Record
from datamind.core.source import SourceRef

ColumnKind = Literal[
    "text", "integer", "decimal", "float", "boolean", "date", "timestamp", "time", "binary", "nested", "other"
]
ImportMode = Literal["append", "replace", "fail", "upsert"]
TableStatus = Literal["created", "appended", "renewed", "replaced", "upserted", "removed", "dropped", "unchanged"]


class TableColumn(Record):
    """One column.

    Attributes:
        type: The engine's own name of the type.
        scale: Digits after the point of a decimal.
    """

    name: str
    kind: ColumnKind
    type: str = ""
    scale: int = 0


class TableInfo(Record):
    """A table as it is now.

    Attributes:
        name: As it was first given; compared after casefold.
        version: Changes with every change of the table and never comes back; equal versions mean equal rows.
        receipt_ids: The receipts its rows rest on, oldest first.
        sources: Of those receipts, in their order.
        import_rows: Rows of each of those receipts that are in the table; empty where the engine does not keep them.
    """

    name: str
    columns: tuple[TableColumn, ...]
    rows: int
    version: str
    receipt_ids: tuple[str, ...] = ()
    sources: tuple[SourceRef, ...] = ()
    import_rows: tuple[int, ...] = ()


class ColumnProfile(Record):
    """What a column holds; minimum and maximum as ``TableResult.rows`` has them, None where nothing can be ordered."""

    name: str
    nulls: int
    distinct: int
    minimum: Any = None
    maximum: Any = None


class TableDescription(Record):
    """A table with a profile of each column and its first rows."""

    table: TableInfo
    profile: tuple[ColumnProfile, ...]
    sample: tuple[tuple[Any, ...], ...]


class TableQuery(Record):
    """One statement and how much of its result is wanted.

    Attributes:
        offset: Rows to skip.
        limit: Most rows.
        max_bytes: Of the rows as JSON.
        timeout_s: After so long the statement is stopped.
    """

    statement: str
    parameters: tuple[Any, ...] = ()
    offset: int = 0
    limit: int = 1000
    max_bytes: int = 1024 * 1024
    timeout_s: float = 10.0


class TableResult(Record):
    """One page of a result.

    Attributes:
        rows: JSON values. A number is an integer within ±2**53 or a finite float; larger integers and decimals are
            exact text, dates and times ISO 8601, bytes base64, ``NaN`` and infinities text: with the kind of the
            column nothing is lost.
        total: Rows of the whole result; None when there are more than the engine counts.
        more: Whether rows follow this page.
        tables: The tables that were read, in the order of their names.
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int | None
    more: bool
    tables: tuple[TableInfo, ...] = ()


class _Write(Record):
    table: str
    unit_id: str
    receipt_id: str


class TableImport(_Write):
    """One file that becomes rows of one table.

    Attributes:
        unit_id: Importing the same unit again is the same import.
        mode: ``append`` makes the table if there is none, and rows of an older version of the source go (G15);
            ``fail`` makes it and nothing else.
        key: Columns of ``upsert``: a row replaces the one with equal values there; of one file the last row counts.
        encoding: A Python codec; found out when empty, like ``delimiter``, ``header`` and ``sheet``.
        force: Append whatever of the source is there already.
    """

    mode: ImportMode = "append"
    key: tuple[str, ...] = ()
    source: SourceRef
    media_type: str
    encoding: str = ""
    delimiter: str = ""
    header: bool | None = None
    sheet: str = ""
    force: bool = False


class NewTable(_Write):
    """An empty table to make."""

    columns: tuple[TableColumn, ...]
    source: SourceRef


class TableDrop(_Write):
    """A table to remove."""


class ImportRemoval(_Write):
    """One import whose rows are to leave a table.

    Attributes:
        import_receipt: The receipt of that import.
    """

    import_receipt: str


class TableOutcome(Record):
    """What a write did.

    Attributes:
        status: ``unchanged`` when the rows were there already, ``renewed`` when they took the place of those that an
            older version of their source gave.
        rows: Rows this write stored or removed.
        version: Of the table after the write; empty when it is gone.
        closed: Receipts of the older versions, oldest first.
        detected: What was found out about the file, with what was rejected.
    """

    status: TableStatus
    rows: int
    version: str
    closed: tuple[str, ...] = ()
    detected: Detected = Detected()


@runtime_checkable
class DatabaseReader(Protocol):
    """The reading half of a database.

    G1 ``query`` runs exactly one statement, and it changes nothing: no row, setting, file or connection.
    G2 A statement that reaches its time limit is really stopped, and the next one is served.
    G3 Values are kept as TableResult says; names in any script are kept as they are.
    G4 What a write acknowledged is seen by the next read; a table is seen before or after a write, never between.
    G5 A result names every table that was read, with its version at that moment. Pages of one statement on the same
    versions fit together.
    """

    async def tables(self) -> Sequence[TableInfo]:
        """Every table, by name."""
        ...

    async def describe(self, table: str, *, sample: int = 5) -> TableDescription:
        """One table with its profile and first rows.

        Raises:
            NotFound: No such table.
        """
        ...

    async def query(self, query: TableQuery) -> TableResult:
        """One page of the result of one statement.

        Raises:
            InputInvalid: It is not one statement that reads, or the engine refuses it; with the engine's reason.
            LimitExceeded: ``.time``, ``.memory`` or ``.size`` (one row is larger than a page).
        """
        ...


@runtime_checkable
class DatabaseDialect(DatabaseReader, Protocol):
    """A database.

    G6 An import, with the mark of its unit, is one transaction; the same unit again gives the first outcome and
    changes nothing.
    G7 ``replace`` builds aside: whatever fails, the old rows are there.
    G8 Rows that do not fit are left out and told by line and code; every record of the file is in one of the two.
    A column that does not fit its table fails the import.
    G9 Text, dates and numbers are kept exactly: leading zeros and numbers of more than 15 digits are text, blank is
    NULL, a date is one only when it can mean nothing else.
    G10 ``append`` and ``upsert`` say ``unchanged`` only when the rows of this very source are all in the table.
    G11 What returned survives the death of the process; after ``sync`` also a power loss.
    G12 ``read_view`` cannot write, by the engine where it can be.
    G15 ``append`` takes the rows that other versions of its source (those with its uri) gave out of the table, in the
    same transaction, unless ``force`` is set. Rows of other sources stay; where there are none, the columns are those
    of the new version.

    Attributes:
        volatile: It lives in memory and is gone with the process.
    """

    volatile: bool

    async def load(self, request: TableImport, file: BinaryIO) -> TableOutcome:
        """Import a file. ``file`` is seekable, with a descriptor, and stays the caller's.

        Raises:
            SourceUnreadable: It is not what its media type says, or holds no table.
            InputInvalid: Its columns, the key or the options do not fit.
            Conflict: Mode ``fail``, and the table exists.
        """
        ...

    async def create(self, request: NewTable) -> TableOutcome:
        """Make an empty table.

        Raises:
            Conflict: It exists.
        """
        ...

    async def drop(self, request: TableDrop) -> TableOutcome:
        """Remove a table; one that is not there is ``unchanged``."""
        ...

    def read_view(self) -> DatabaseReader:
        """The same data without a way to write."""
        ...

    async def sync(self) -> None:
        """Make every write so far survive a power loss."""
        ...

    async def aclose(self) -> None:
        """Close files; may be called twice."""
        ...


@runtime_checkable
class SupportsImportRemoval(Protocol):
    """A database that keeps which import each row came from, and can take one import back.

    G13 The rows of that import go, and no others, in one transaction; ``import_rows`` says how many each has.
    G14 The table goes when no row is left and the import that made it is gone, else it stays.
    """

    async def remove_import(self, request: ImportRemoval) -> TableOutcome:
        """Remove what one import gave: ``removed``, ``dropped`` with its table, or ``unchanged`` if none is there."""
        ...
