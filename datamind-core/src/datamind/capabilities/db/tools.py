"""Database tools: thin; what they mean is in the service."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Final, Literal
from urllib.parse import quote

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field

from datamind.capabilities.db.service import DatabaseReads, DatabaseWrites, NewRows, Page
from datamind.capabilities.db.tabular.names import table_name_of
from datamind.capabilities.db.tabular.sources import CSV, DELIMITED, JSON
from datamind.capabilities.ingest.files import Located, is_folder, locate, printable
from datamind.capabilities.ingest.folder import survey
from datamind.capabilities.ingest.taking import FileTaking, plan_each, planned_write
from datamind.capabilities.sides import ReadSide, WriteSide, path_policy
from datamind.core.context import ToolContext
from datamind.core.errors import DataMindError, InputInvalid
from datamind.core.hooks import Candidates
from datamind.core.kept import KeptFile
from datamind.core.protocols.database import ImportMode, TableColumn, TableDescription, TableInfo
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, ResultBound, Selector, ToolOutput, ToolSpec
from datamind.core.types import DataSurface, ToolEffect

_RECORD_BYTES: Final = 16 * 1024 * 1024
_STATEMENT_CHARS: Final = 65_536
_PAGE_ROWS: Final = 50
_SAMPLE_ROWS: Final = 5
_LISTED_COLUMNS: Final = 60
_RECORDS_TABLE: Final = "records"
_OVERWRITING: Final = ("replace", "upsert")


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ListArguments(_Arguments):
    """Which part of the list."""

    offset: int = Field(0, ge=0, description="How many to skip.")
    limit: int = Field(50, ge=1, le=200, description="Most tables to return.")


class DescribeArguments(_Arguments):
    """Which table."""

    table: str = Field(min_length=1, max_length=200, description="Name of the table.")


class SampleArguments(DescribeArguments):
    """Which table, and how much of it."""

    limit: int = Field(_SAMPLE_ROWS, ge=1, le=100, description="Most rows to return.")


class QueryArguments(_Arguments):
    """One statement, and which part of its result."""

    sql: str = Field(min_length=1, max_length=_STATEMENT_CHARS, description="One SELECT statement.")
    offset: int = Field(0, ge=0, description="Rows to skip: `next_offset` of the page before.")
    limit: int = Field(_PAGE_ROWS, ge=1, le=10_000, description="Most rows to return.")


class _IntoTable(_Arguments):
    table: str = Field("", max_length=128, description="Name of the table; made from the file name when left out.")
    if_exists: ImportMode = Field(
        "append",
        description="append, in place of what an older version of the file gave; replace all rows; fail; or upsert:"
        " replace rows with the same key.",
    )
    key: list[str] = Field(default_factory=list, max_length=16, description="Key columns, for upsert.")
    force: bool = Field(False, description="Append beside what the file gave already.")


class ImportCsvArguments(_IntoTable):
    """A delimited text file. What is left out is found out."""

    path: str = Field(min_length=1, max_length=4096, description="Path inside the granted folders.")
    encoding: str = Field("", max_length=40, description="Such as utf-8 or gb18030.")
    delimiter: str = Field("", max_length=1, description="What stands between fields.")
    header: bool | None = Field(None, description="Whether the first row names the columns.")


class ImportPathArguments(_IntoTable):
    """A file of a table (csv, tsv, json, jsonl, parquet, xlsx), or a folder of such files."""

    path: str = Field(min_length=1, max_length=4096, description="Path inside the granted folders.")
    sheet: str = Field("", max_length=100, description="Sheet of a workbook; the first with rows when left out.")


class ImportRecordsArguments(_IntoTable):
    """Records to keep as rows."""

    records: list[dict[str, Any]] = Field(min_length=1, description="Objects; keys are columns.")


class NewColumn(_Arguments):
    """A column to make."""

    name: str = Field(min_length=1, max_length=128, description="Its name.")
    type: Literal["text", "integer", "decimal", "float", "boolean", "date", "timestamp"] = Field(
        "text", description="What it holds."
    )
    scale: int = Field(2, ge=0, le=18, description="Digits after the point of a decimal.")


class CreateArguments(_Arguments):
    """An empty table."""

    table: str = Field(min_length=1, max_length=128, description="Its name.")
    columns: list[NewColumn] = Field(min_length=1, max_length=500, description="Its columns.")


class DropArguments(_Arguments):
    """Which table to remove."""

    table: str = Field(min_length=1, max_length=200, description="Name of the table.")


class RemoveImportArguments(_Arguments):
    """Which import to take back."""

    table: str = Field(min_length=1, max_length=200, description="Name of the table.")
    receipt: str = Field(min_length=1, max_length=200, description="Receipt of the import.")


async def _list(args: ListArguments, ctx: ToolContext) -> ToolOutput:
    tables = await _reads(ctx).tables()
    shown = tables[args.offset : args.offset + args.limit]
    end = args.offset + len(shown)
    listed = {"tables": [_listed(table) for table in shown]}
    return ToolOutput(listed, total=len(tables), next_offset=end if end < len(tables) else None)


def _listed(table: TableInfo) -> dict[str, Any]:
    columns = {column.name: column.type or column.kind for column in table.columns[:_LISTED_COLUMNS]}
    more = len(table.columns) - len(columns)
    left_out = {"more": f"{more} more columns; db_describe_table shows them"} if more else {}
    return {"table": table.name, "rows": table.rows, "columns": columns, **left_out}


async def _describe(args: DescribeArguments, ctx: ToolContext) -> ToolOutput:
    reads = _reads(ctx)
    described = await reads.describe(args.table, sample=0)
    page = await reads.sample(args.table, limit=_SAMPLE_ROWS)
    data = {"table": described.table.name, "rows": described.table.rows, "columns": _profile(described)}
    return ToolOutput(data, page.evidence)


def _profile(described: TableDescription) -> dict[str, Any]:
    profiles = {profile.name: profile for profile in described.profile}
    return {
        column.name: {"type": column.type, **profiles[column.name].model_dump(mode="json", exclude={"name"})}
        for column in described.table.columns
    }


async def _sample(args: SampleArguments, ctx: ToolContext) -> ToolOutput:
    return _page(await _reads(ctx).sample(args.table, limit=args.limit))


async def _query(args: QueryArguments, ctx: ToolContext) -> ToolOutput:
    return _page(await _reads(ctx).query(args.sql, offset=args.offset, limit=args.limit))


def _page(page: Page) -> ToolOutput:
    result = page.result
    data: dict[str, Any] = {
        "columns": {column.name: column.type or column.kind for column in result.columns},
        "rows": len(result.rows),
        "total_rows": result.total if result.total is not None else "not counted",
    }
    return ToolOutput(data, page.evidence, next_offset=page.next_offset)


async def _plan_csv(args: ImportCsvArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    given = {"encoding": args.encoding, "delimiter": args.delimiter, "header": args.header}
    taking = _taking(ctx, lambda found: found if found in DELIMITED else CSV)
    yield await _plan_file(locate(args.path, taking.policy), args, taking, given)


async def _plan_path(args: ImportPathArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    taking = _taking(ctx)
    located = locate(args.path, taking.policy)
    if bool(args.table) and await anyio.to_thread.run_sync(is_folder, located):
        raise InputInvalid("a folder gives a table for each file; leave `table` out, or import its files one by one")
    plan = partial(_plan_file, args=args, taking=taking, given={"sheet": args.sheet})
    async for unit in plan_each(located, taking.policy, DataSurface.DB, plan):
        yield unit


def _taking(ctx: ToolContext, media_type: Callable[[str], str] = str) -> FileTaking:
    writes = _writes(ctx)
    return FileTaking(path_policy(ctx), ctx.request.profile, writes.max_bytes, writes.folder, media_type)


async def _plan_file(located: Located, args: _IntoTable, taking: FileTaking, given: Mapping[str, Any]) -> PlannedWrite:
    taken = await taking.take(located)
    source = _sheet_of(taken.source, given.get("sheet", ""))
    return _planned(args, args.table or table_name_of(taken.name), source, taken.content, given, taken.name)


def _sheet_of(book: SourceRef, sheet: str) -> SourceRef:
    """A sheet that was asked for by name: it is no other version of what another sheet gave."""
    if not sheet:
        return book
    part = book.model_dump(include={"checksum", "media_type", "profile", "origin"})
    return SourceRef.of_checksum(book.kind, f"{book.uri}#{quote(sheet)}", **part)


async def _plan_records(args: ImportRecordsArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    content = json.dumps(args.records, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    source = SourceRef.of_content(
        "records", "records:", content, media_type=JSON, profile=ctx.request.profile, origin="user"
    )
    source = source.model_copy(update={"uri": f"records:{source.checksum[:16]}"})
    yield _planned(args, args.table or _RECORDS_TABLE, source, content, {}, f"{len(args.records)} records")


def _planned(
    args: _IntoTable, table: str, source: SourceRef, content: bytes | KeptFile, given: Mapping[str, Any], label: str
) -> PlannedWrite:
    _check_key(args)
    wanted = {
        "table": table,
        "source": source.model_dump(mode="json"),
        "mode": args.if_exists,
        "key": list(args.key),
        "force": args.force,
        **given,
    }
    return planned_write(wanted, content, source=source, label=label)


async def _overwritten(args: _IntoTable, ctx: ToolContext) -> Candidates:
    """The tables whose rows an import would take away, whatever source they came from."""
    _check_key(args)
    if args.if_exists not in _OVERWRITING:
        return Candidates((), ())
    side: WriteSide = ctx.side
    return await side.read.db.filled([args.table] if args.table else await _named_after(args, ctx))


def _check_key(args: _IntoTable) -> None:
    if (args.if_exists == "upsert") != bool(args.key):
        raise InputInvalid("`key` belongs to if_exists `upsert`, and upsert needs one", code="input_invalid.key")


async def _named_after(args: _IntoTable, ctx: ToolContext) -> Sequence[str]:
    if not isinstance(args, ImportCsvArguments | ImportPathArguments):
        return [_RECORDS_TABLE]
    policy = path_policy(ctx)
    try:
        located = locate(args.path, policy)
        is_one = not await anyio.to_thread.run_sync(is_folder, located)
        files = [located] if is_one else (await anyio.to_thread.run_sync(survey, located, policy)).of(DataSurface.DB)
    except DataMindError:  # a path that hooks or the handler refuse
        return [table_name_of(printable(PurePath(args.path).name))]
    return [table_name_of(printable(file.path.name)) for file in files]


async def _load(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    new = NewRows(**{**args, "source": SourceRef.model_validate(args["source"]), "key": tuple(args["key"])})
    if ctx.unit.file is not None:
        with ctx.unit.file.opened() as kept:
            return await _writes(ctx).load(new, kept, ctx.unit)
    assert ctx.unit.content is not None  # planned with content
    file = await anyio.to_thread.run_sync(_filled, _writes(ctx).folder, ctx.unit.content)
    with file:  # engines read from a descriptor in another process
        return await _writes(ctx).load(new, file, ctx.unit)


def _filled(folder: Path, content: bytes) -> BinaryIO:
    """A file of the folder that start-up clears of what a crash left, at its beginning."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by whoever asked for it
    file.write(content)
    file.flush()
    file.seek(0)
    return file


async def _create(args: CreateArguments, ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    columns = [
        TableColumn(name=column.name, kind=column.type, scale=column.scale if column.type == "decimal" else 0)
        for column in args.columns
    ]
    source = SourceRef.of_text(args.model_dump_json(), profile=ctx.request.profile, media_type=JSON)
    return await _writes(ctx).create(args.table, columns, source, ctx.unit)


async def _drop(args: DropArguments, ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    return await _writes(ctx).drop(args.table, ctx.unit)


async def _find(args: DropArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    return await side.read.db.named(args.table)


def _pin(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {"table": ids[0]}


async def _remove_import(args: RemoveImportArguments, ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    return await _writes(ctx).remove_import(args.table, args.receipt, ctx.unit)


async def _find_import(args: RemoveImportArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    return await side.read.db.given_by(args.table, args.receipt)


def _pin_import(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {**args, "receipt": ids[0]}


async def _is_out(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    table = await _reads(ctx).find(result.ids[0])
    if table is None:
        return ReadBack(True, "the table is not found")
    there = not set(table.receipt_ids).isdisjoint(result.closed_ids)
    return ReadBack(not there, f"{table.rows} rows left, {'some' if there else 'none'} of that import")


async def _is_there(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    table = await _reads(ctx).find(result.ids[0])
    if table is None:
        return ReadBack(False, "the table is not found")
    # Another write may have come in between; a version only grows, and a receipt that was closed never comes back.
    agrees = int(table.version) >= int(result.version) and set(table.receipt_ids).isdisjoint(result.closed_ids)
    return ReadBack(agrees, f"{table.rows} rows, version {table.version}")


async def _is_gone(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    there = await _reads(ctx).find(result.ids[0]) is not None
    return ReadBack(not there, "the table is still found" if there else "the table is not found")


def _reads(ctx: ToolContext) -> DatabaseReads:
    side: ReadSide = ctx.side
    return side.db


def _writes(ctx: ToolContext) -> DatabaseWrites:
    side: WriteSide = ctx.side
    return side.db


def db_tools() -> list[ToolSpec]:
    """The database's tools."""
    return [*_reading(), *_importing(), *_shaping()]


def _reading() -> list[ToolSpec]:
    reads = {"effect": ToolEffect.READ, "surface": DataSurface.DB}
    return [
        ToolSpec.of(
            ListArguments,
            _list,
            name="db_list_tables",
            description="List the tables with their columns and types; `next_offset` is where the next page starts.",
            **reads,
        ),
        ToolSpec.of(
            DescribeArguments,
            _describe,
            name="db_describe_table",
            description="Show a table's columns with their types and contents, and its first rows.",
            **reads,
        ),
        ToolSpec.of(SampleArguments, _sample, name="db_sample", description="Show the first rows of a table.", **reads),
        ToolSpec.of(
            QueryArguments,
            _query,
            name="db_query_sql",
            description="Run one SELECT statement over the tables.",
            sql_args=("sql",),
            bound=ResultBound(max_items=_PAGE_ROWS, max_chars=20_000),
            **reads,
        ),
    ]


def _importing() -> list[ToolSpec]:
    adds = {
        "effect": ToolEffect.WRITE,
        "surface": DataSurface.DB,
        "read_back": _is_there,
        "destroys": _overwritten,
        "revert": "exact",
    }
    return [
        ToolSpec.of(
            ImportCsvArguments,
            _load,
            name="db_import_csv",
            description="Import a CSV file into a table.",
            plan=_plan_csv,
            path_args=("path",),
            **adds,
        ),
        ToolSpec.of(
            ImportPathArguments,
            _load,
            name="db_import_path",
            description="Import a file (csv, tsv, json, jsonl, parquet, xlsx), or a folder of them, into tables.",
            plan=_plan_path,
            path_args=("path",),
            **adds,
        ),
        ToolSpec.of(
            ImportRecordsArguments,
            _load,
            name="db_import_records",
            description="Keep records as rows of a table.",
            plan=_plan_records,
            max_argument_bytes=_RECORD_BYTES,
            **adds,
        ),
    ]


def _shaping() -> list[ToolSpec]:
    return [
        ToolSpec.of(
            CreateArguments,
            _create,
            name="db_create_table",
            description="Make an empty table.",
            effect=ToolEffect.WRITE,
            surface=DataSurface.DB,
            read_back=_is_there,
            revert="exact",
        ),
        ToolSpec.of(
            DropArguments,
            _drop,
            name="db_drop_table",
            description="Remove a table with all its rows.",
            effect=ToolEffect.DESTRUCTIVE,
            surface=DataSurface.DB,
            selector=Selector(_find, _pin),
            read_back=_is_gone,
        ),
        ToolSpec.of(
            RemoveImportArguments,
            _remove_import,
            name="db_remove_import",
            description="Take one import back: remove the rows it gave, and the table if nothing else is in it.",
            effect=ToolEffect.DESTRUCTIVE,
            surface=DataSurface.DB,
            selector=Selector(_find_import, _pin_import),
            read_back=_is_out,
        ),
    ]
