"""Imports and statements in one line, with the ids that the product gives them."""

from __future__ import annotations

import tempfile
from typing import Any, BinaryIO, Final

from datamind.capabilities.db.tabular.names import quoted
from datamind.capabilities.db.tabular.sources import CSV
from datamind.core.protocols.database import (
    DatabaseDialect,
    DatabaseReader,
    TableImport,
    TableOutcome,
    TableQuery,
    TableResult,
)
from datamind.core.source import SourceRef
from datamind.core.types import content_hash, new_id

ORDERS: Final = "id,customer,amount\n007,Li,9\n008,Wang,100\n009,Zhou,\n"


def make_table_import(table: str, content: bytes, **fields: Any) -> TableImport:
    """An import of a CSV file, as a unit of its own; further arguments are fields of TableImport.

    Each content is a file of its own; a ``uri`` makes several versions of one.
    """
    media_type = fields.pop("media_type", CSV)
    uri = fields.pop("uri", f"file:{table}/{content_hash(content)[:8]}")
    source = SourceRef.of_content("file", uri, content, media_type=media_type, profile="test", origin="file")
    values: dict[str, Any] = {
        "table": table,
        "unit_id": new_id("unit"),
        "receipt_id": new_id("rcpt"),
        "source": source,
        "media_type": media_type,
    }
    return TableImport(**(values | fields))


def as_file(content: bytes) -> BinaryIO:
    """An unnamed file with this content, at its beginning."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever asked for it
    file.write(content)
    file.flush()
    file.seek(0)
    return file


async def load(database: DatabaseDialect, request: TableImport, content: bytes) -> TableOutcome:
    """Import ``content``."""
    with as_file(content) as file:
        return await database.load(request, file)


async def load_table(database: DatabaseDialect, table: str, text: str | bytes, **fields: Any) -> TableOutcome:
    """Import a CSV text; further arguments are fields of TableImport."""
    content = text.encode() if isinstance(text, str) else text
    return await load(database, make_table_import(table, content, **fields), content)


async def run(database: DatabaseReader, statement: str, **fields: Any) -> TableResult:
    """A page of a result; further arguments are fields of TableQuery."""
    return await database.query(TableQuery(statement=statement, **fields))


async def rows(database: DatabaseReader, statement: str, **fields: Any) -> list[list[Any]]:
    """The rows of a page."""
    return [list(row) for row in (await run(database, statement, **fields)).rows]


async def everything(database: DatabaseReader) -> dict[str, Any]:
    """Every table with its columns, version and rows."""
    return {
        table.name: (table, sorted(await rows(database, f"SELECT * FROM {quoted(table.name)}"), key=repr))  # noqa: S608
        for table in await database.tables()
    }


def rejected(outcome: TableOutcome) -> list[tuple[int, str]]:
    """Line and code of each row left out."""
    return [(row.line, row.code) for row in outcome.detected.rejected]
