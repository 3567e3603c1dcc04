"""Tables: files and records in, one read-only statement at a time out, with what it rests on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from datamind.capabilities.db.tabular.names import check_table_name, quoted
from datamind.core.context import WriteUnit
from datamind.core.errors import InputInvalid
from datamind.core.evidence import Evidence, TableLocator
from datamind.core.hooks import Candidates
from datamind.core.protocols.database import (
    DatabaseDialect,
    DatabaseReader,
    ImportMode,
    ImportRemoval,
    NewTable,
    SupportsImportRemoval,
    TableColumn,
    TableDescription,
    TableDrop,
    TableImport,
    TableInfo,
    TableOutcome,
    TableQuery,
    TableResult,
)
from datamind.core.receipts import RevertKind, SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, Origin, content_hash, derived_id

OpenDialect = Callable[[], Awaitable[DatabaseDialect]]

_OPERATIONS: Final = {
    "created": "added",
    "appended": "added",
    "renewed": "replaced",
    "replaced": "replaced",
    "upserted": "updated",
    "removed": "deleted",
    "dropped": "deleted",
    "unchanged": "none",
}
_REVERTS: Final[Mapping[str, RevertKind]] = {
    "created": "exact",
    "appended": "exact",
    "unchanged": "exact",
}


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a result, and the evidence that it is, if it has rows."""

    result: TableResult
    evidence: tuple[Evidence, ...]
    next_offset: int | None


class DatabaseReads:
    """What the reading side may do. Holds read views only."""

    def __init__(self, open_dialect: OpenDialect, profile: str, *, row_limit: int, timeout_s: float) -> None:
        self._open = open_dialect
        self._profile = profile
        self.row_limit = row_limit
        self.timeout_s = timeout_s

    async def tables(self) -> Sequence[TableInfo]:
        """Every table, by name."""
        return await (await self._reader()).tables()

    async def find(self, name: str) -> TableInfo | None:
        """One table by name."""
        folded = name.strip().casefold()
        return next((table for table in await self.tables() if table.name.casefold() == folded), None)

    async def describe(self, name: str, *, sample: int) -> TableDescription:
        """One table with its profile and first rows.

        Raises:
            NotFound: No such table.
        """
        return await (await self._reader()).describe(name, sample=sample)

    async def sample(self, name: str, *, limit: int) -> Page:
        """First rows of a table.

        Raises:
            NotFound: No such table.
        """
        known = await self.describe(name, sample=0)
        return await self.query(f"SELECT * FROM {quoted(known.table.name)}", offset=0, limit=limit)  # noqa: S608

    async def query(self, statement: str, *, offset: int, limit: int) -> Page:
        """One page of the result of one statement, ``row_limit`` rows at most.

        Raises:
            InputInvalid: It is not one statement that reads.
            LimitExceeded: It takes too long, or too much.
        """
        query = TableQuery(
            statement=statement, offset=offset, limit=min(limit, self.row_limit), timeout_s=self.timeout_s
        )
        result = await (await self._reader()).query(query)
        end = offset + len(result.rows)
        evidence = (self._evidence(query, result),) if result.rows else ()
        return Page(result, evidence, end if result.more and result.rows else None)

    async def named(self, name: str) -> Candidates:
        """The table of this name, for a person to see before it goes."""
        table = await self.find(name)
        return _candidates([table] if table else [])

    async def filled(self, names: Collection[str]) -> Candidates:
        """The tables of these names that hold rows, for a person to see before these go."""
        folded = {name.strip().casefold() for name in names}
        return _candidates([table for table in await self.tables() if table.rows and table.name.casefold() in folded])

    async def given_by(self, table: str, receipt: str) -> Candidates:
        """The rows that an import gave and that are still there, for a person to see before they go.

        Raises:
            InputInvalid: The engine does not keep which import a row came from.
        """
        known = await self.find(table)
        if known is None or receipt not in known.receipt_ids:
            return Candidates((), ())
        if not known.import_rows:
            raise _no_imports()
        rows = dict(zip(known.receipt_ids, known.import_rows, strict=True))[receipt]
        return Candidates((receipt,), (f"{rows:,} of {known.rows:,} rows of {known.name}",))

    def _evidence(self, query: TableQuery, result: TableResult) -> Evidence:
        content = render(result)
        locator = TableLocator(
            tables=tuple(table.name for table in result.tables),
            columns=tuple(column.name for column in result.columns),
            kinds=tuple(column.kind for column in result.columns),
            row_key=f"{query.offset}:{query.offset + len(result.rows)}",
            statement=query.statement,
            result_hash=content_hash(content),
            data_versions={table.name: table.version for table in result.tables},
        )
        receipts = dict.fromkeys(receipt for table in result.tables for receipt in table.receipt_ids)
        return Evidence.of(DataSurface.DB, self._source(result.tables), locator, content, receipt_ids=tuple(receipts))

    def _source(self, tables: Sequence[TableInfo]) -> SourceRef:
        """The one source of all rows, else one that stands for the tables; untrusted if any of theirs is."""
        sources = list({source.source_id: source for table in tables for source in table.sources}.values())
        if len(sources) == 1:
            return sources[0]
        uri = f"table:{','.join(table.name for table in tables)}"
        checksum = content_hash(json.dumps([[table.name, table.version] for table in tables]))
        origins: list[Origin] = [source.origin for source in sources]
        return SourceRef(
            source_id=derived_id("src", uri, checksum),
            kind="records",
            uri=uri,
            checksum=checksum,
            media_type="application/json",
            profile=self._profile,
            origin="file" if "file" in origins else "derived" if "derived" in origins or not origins else "user",
        )

    async def _reader(self) -> DatabaseReader:
        return (await self._open()).read_view()


class DatabaseWrites:
    """What the writing side may do.

    Attributes:
        folder: Where a large file is copied to while it is imported.
    """

    def __init__(self, open_dialect: OpenDialect, max_bytes: int, folder: Path) -> None:
        self._open = open_dialect
        self.max_bytes = max_bytes
        self.folder = folder

    async def load(self, new: NewRows, file: BinaryIO, unit: WriteUnit) -> SurfaceWriteResult:
        """Import a file into a table."""
        request = TableImport(
            table=check_table_name(new.table),
            unit_id=unit.unit_id,
            receipt_id=unit.receipt_id,
            mode=new.mode,
            key=new.key,
            source=new.source,
            media_type=new.source.media_type,
            encoding=new.encoding,
            delimiter=new.delimiter,
            header=new.header,
            sheet=new.sheet,
            force=new.force,
        )
        return _result(request.table, await (await self._open()).load(request, file))

    async def create(
        self, table: str, columns: Sequence[TableColumn], source: SourceRef, unit: WriteUnit
    ) -> SurfaceWriteResult:
        """Make an empty table."""
        request = NewTable(
            table=check_table_name(table),
            unit_id=unit.unit_id,
            receipt_id=unit.receipt_id,
            columns=tuple(columns),
            source=source,
        )
        return _result(request.table, await (await self._open()).create(request))

    async def drop(self, table: str, unit: WriteUnit) -> SurfaceWriteResult:
        """Remove a table with its rows."""
        request = TableDrop(table=table, unit_id=unit.unit_id, receipt_id=unit.receipt_id)
        return _result(table, await (await self._open()).drop(request))

    async def remove_import(self, table: str, receipt: str, unit: WriteUnit) -> SurfaceWriteResult:
        """Remove the rows that one import gave; the table too when nothing is left of it.

        Raises:
            InputInvalid: The engine does not keep which import a row came from.
        """
        dialect = await self._open()
        if not isinstance(dialect, SupportsImportRemoval):
            raise _no_imports()
        request = ImportRemoval(table=table, unit_id=unit.unit_id, receipt_id=unit.receipt_id, import_receipt=receipt)
        outcome = await dialect.remove_import(request)
        return _result(table, outcome).model_copy(update={"closed_ids": (receipt,)})

    async def sync(self) -> None:
        """Make the writes so far survive a power loss."""
        await (await self._open()).sync()


@dataclass(frozen=True, slots=True)
class NewRows:
    """What an import is asked for; see ``TableImport``."""

    table: str
    source: SourceRef
    mode: ImportMode = "append"
    key: tuple[str, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    header: bool | None = None
    sheet: str = ""
    force: bool = False


def render(result: TableResult) -> str:
    """A page as evidence: compact JSON of column names and rows."""
    body: dict[str, Any] = {"columns": [column.name for column in result.columns], "rows": result.rows}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _candidates(tables: Sequence[TableInfo]) -> Candidates:
    labels = (f"{table.name}  ({table.rows} rows, {len(table.columns)} columns)" for table in tables)
    return Candidates(tuple(table.name for table in tables), tuple(labels))


def _no_imports() -> InputInvalid:
    return InputInvalid(
        "this database does not keep which import a row came from",
        code="input_invalid.no_imports",
        hint="Drop the table, or delete the rows where they are kept.",
    )


def _result(table: str, outcome: TableOutcome) -> SurfaceWriteResult:
    detected = outcome.detected
    # Lines above the header are told, and are no rows that are missing.
    missing = detected.rejected_total - sum(row.code == "before_header" for row in detected.rejected)
    unchanged = outcome.status == "unchanged"
    return SurfaceWriteResult(
        surface=DataSurface.DB,
        operation=_OPERATIONS[outcome.status],
        status="unchanged" if unchanged else "partial" if missing > 0 else "stored",
        items_written=outcome.rows,
        ids=(table,),
        closed_ids=outcome.closed,
        version=outcome.version,
        detected=detected,
        revert=_REVERTS.get(outcome.status, "none"),
    )
