"""The rows of a file on their way to the database: an Arrow stream in an unnamed file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC
from decimal import Decimal
from typing import Any, BinaryIO, Final

import pyarrow as pa

from datamind.capabilities.db.tabular.columns import ColumnType
from datamind.core.errors import LimitExceeded
from datamind_db_duckdb.types import ORDINAL

_ARROW: Final[dict[str, Any]] = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "time": pa.time64("us"),
    "binary": pa.binary(),
}


class Stage:
    """Writes batches to a descriptor; the file's columns are ``c0``, ``c1`` …"""

    def __init__(self, descriptor: int, schema: Any, *, numbered: bool, max_bytes: int) -> None:
        self._numbered = numbered
        self._max_bytes = max_bytes
        self._schema = schema.append(pa.field(ORDINAL, pa.int64())) if numbered else schema
        self._sink: BinaryIO = os.fdopen(os.dup(descriptor), "wb")
        self._writer = pa.ipc.new_stream(self._sink, self._schema)
        self.rows = 0

    def write(self, batch: Any) -> None:
        """Append a batch.

        Raises:
            LimitExceeded: The file has become too large.
        """
        columns = list(batch.columns)
        if self._numbered:
            columns.append(pa.array(range(self.rows, self.rows + batch.num_rows), pa.int64()))
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self.rows += batch.num_rows
        if self._sink.tell() > self._max_bytes:
            raise LimitExceeded(f"the table needs more than {self._max_bytes} bytes", code="limit_exceeded.size")

    def close(self) -> None:
        """End the stream."""
        self._writer.close()
        self._sink.close()


def text_schema(width: int) -> Any:
    """Every column text."""
    return pa.schema([(f"c{place}", pa.string()) for place in range(width)])


def typed_schema(types: Sequence[ColumnType]) -> Any:
    """Columns of values that have types."""
    return pa.schema([(f"c{place}", arrow_type(kind)) for place, kind in enumerate(types)])


def arrow_type(column: ColumnType) -> Any:
    """Arrow's type for a column."""
    if column.kind == "decimal":
        return pa.decimal128(38, column.scale)
    return _ARROW.get(column.kind, pa.string())


def make_batch(rows: Sequence[Sequence[Any]], schema: Any) -> Any:
    """A batch of rows of Python values."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(_fitting(column, field.type), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fitting(column: Iterable[Any], kind: Any) -> list[Any]:
    values = list(column)
    if pa.types.is_timestamp(kind):
        return [value.astimezone(UTC).replace(tzinfo=None) if value and value.tzinfo else value for value in values]
    if pa.types.is_decimal(kind):
        return [None if value is None else Decimal(value) for value in values]
    return values
