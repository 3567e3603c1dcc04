"""What the surfaces of a profile hold, read through their stores: for an export, and to compare two profiles."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.db.tabular.names import quoted
from datamind.core.protocols.database import TableQuery
from datamind.core.protocols.memory import MemoryFilter, MemoryItem, MemoryReader, MemoryScope
from datamind.core.result_table import ResultTable
from datamind.core.types import DataSurface
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.agent.services import AgentServices

_PAGE_ROWS: Final = 10_000
_PAGE_BYTES: Final = 16 * 1024**2
_PAGE_TIMEOUT_S: Final = 300.0
_PAGE_MEMORIES: Final = 1_000


async def counts(services: AgentServices) -> Mapping[str, Mapping[str, int]]:
    """How much each surface that is on holds; global memories are not the profile's.

    Raises:
        StoreError: A store does not open.
    """
    found: dict[str, Mapping[str, int]] = {}
    for surface in services.on:
        if surface is DataSurface.KB:
            held = (await services.read.kb.vector_share()).counts
            found[surface] = {"documents": held.documents, "chunks": held.chunks}
        elif surface is DataSurface.GRAPH:
            stats = await services.read.graph.stats()
            found[surface] = {"statements": stats.statements, "receipts": stats.receipts}
        elif surface is DataSurface.DB and keeps_tables(services):
            tables = await services.read.db.tables()
            found[surface] = {"tables": len(tables), "rows": sum(table.rows for table in tables)}
        elif surface is DataSurface.MEMORY:
            found[surface] = {"memories": sum([1 async for _ in memories(services)])}
    return found


def keeps_tables(services: AgentServices) -> bool:
    """Whether the tables are the profile's own, and not those of a server."""
    return services.settings.db.dsn is None and services.settings.db.read_dsn is None


async def memories(services: AgentServices) -> AsyncIterator[MemoryItem]:
    """Those of the profile and of its sessions, the ones that hold no more too; the forgotten are on no read path."""
    await services.read.memory.count(_of_profile())  # where a damaged store is filled again
    reader: MemoryReader = (await services.hub.open(ProviderKind.MEMORY_STORE)).read_view()
    for where in [_of_profile(), *map(_of_session, await services.control.db.read(_sessions))]:
        offset = 0
        while page := await reader.find(where, offset=offset, limit=_PAGE_MEMORIES):
            for item in page:
                yield item
            offset += len(page)


def _of_profile() -> MemoryFilter:
    return MemoryFilter(scopes=(MemoryScope.PROFILE,), include_closed=True)


def _of_session(session: str) -> MemoryFilter:
    return MemoryFilter(scopes=(MemoryScope.SESSION,), session=session, include_closed=True)


def _sessions(db: sqlite3.Connection) -> Sequence[str]:
    query = "SELECT DISTINCT session FROM intents WHERE surface = 'memory' AND session != '' ORDER BY session"
    return [row["session"] for row in db.execute(query)]


async def table_pages(services: AgentServices, name: str) -> AsyncIterator[ResultTable]:
    """The rows of a table, page by page; at least one page.

    Raises:
        LimitExceeded: A page takes minutes, or a row is larger than 16 MB.
    """
    reader = (await services.hub.open(ProviderKind.DB_DIALECT)).read_view()
    offset, more = 0, True
    while more:
        query = TableQuery(
            statement=f"SELECT * FROM {quoted(name)}",  # noqa: S608 - a quoted name
            offset=offset,
            limit=_PAGE_ROWS,
            max_bytes=_PAGE_BYTES,
            timeout_s=_PAGE_TIMEOUT_S,
        )
        page = await reader.query(query)
        columns = tuple(column.name for column in page.columns)
        yield ResultTable(columns, page.rows, tuple(column.kind for column in page.columns))
        offset, more = offset + len(page.rows), page.more and bool(page.rows)


class ParquetPages:
    """Writes pages as one parquet file. A value that the type of its column does not hold makes it text: begin anew.

    Attributes:
        as_text: Columns that are text; grows when ``add`` says no.
    """

    def __init__(self, file: Any, columns: Sequence[Any], as_text: frozenset[str] = frozenset()) -> None:
        pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        self._pa = pa
        self.as_text = as_text
        fields = [pa.field(column.name, pa.string() if column.name in as_text else _type(pa, column))
                  for column in columns]  # fmt: skip
        self._schema = pa.schema(fields)
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")

    def add(self, page: ResultTable) -> str:
        """Write a page; else the name of the column that cannot hold its values."""
        pa = self._pa
        arrow = page.to_arrow()
        arrays = []
        for number, field in enumerate(self._schema):
            try:
                if field.type == pa.string():
                    arrays.append(pa.array([_text(row[number]) for row in page], pa.string()))
                else:
                    arrays.append(arrow.column(number).cast(field.type))
            except (pa.ArrowException, ValueError, TypeError):
                return str(field.name)
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        return ""

    def close(self) -> None:
        """End the file."""
        self._writer.close()


def _text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return json.dumps(cell, ensure_ascii=False)


def _type(pa: Any, column: Any) -> Any:
    return {
        "integer": pa.int64(),
        "decimal": pa.decimal128(38, column.scale),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "time": pa.time64("us"),
        "binary": pa.binary(),
    }.get(column.kind, pa.string())
