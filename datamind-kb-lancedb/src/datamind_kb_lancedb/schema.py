"""The tables, and the way of a document into rows and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from datamind.capabilities.kb.providers.filtering import last_part
from datamind.core.errors import InputInvalid
from datamind.core.protocols.kb import ChunkRow, DocumentRow

Scalar = str | int | float | bool
Put = tuple[DocumentRow, Sequence[ChunkRow]]

CHUNKS: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("source_id", pa.string()),
        pa.field("uri", pa.string()),
        pa.field("name", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("is_first", pa.bool_()),
        pa.field("sequence", pa.int64()),
        pa.field("digest", pa.int64()),
        pa.field("position", pa.int32()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("page", pa.int32()),
        pa.field("text", pa.string()),
        pa.field("context", pa.string()),
        pa.field("tokens", pa.string()),
        pa.field("document", pa.string()),
    ]
)
"""Each chunk carries its document, because two tables cannot change in one commit.

A document's first row says so; one without chunks has a single row at position -1. ``digest`` tells one row from
another under the same id: a vector belongs to the row that it was made from. ``sequence`` grows with every write.
"""

HIT_COLUMNS: Final = ["id", "position", "start", "end", "page", "text", "context", "tokens", "document"]
_BETWEEN: Final = "\x1e"


def vectors_schema(model_id: str, dimension: int) -> pa.Schema:
    """The table of one model's vectors. ``batch`` grows with every write."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("digest", pa.int64()),
            pa.field("batch", pa.int64()),
            pa.field("vector", pa.list_(pa.float32(), dimension)),
        ],
        metadata={"model_id": model_id},
    )


def rows_of(puts: Sequence[Put], first_sequence: int) -> pa.Table:
    """What the documents look like in the table. CPU-bound: run it in a worker thread.

    Raises:
        InputInvalid: A text or value that no file can hold.
    """
    columns: dict[str, list[Any]] = {name: [] for name in CHUNKS.names}
    for number, (document, chunks) in enumerate(puts):
        _append(columns, document, chunks, first_sequence + number)
    try:
        return pa.table({field.name: pa.array(columns[field.name], field.type) for field in CHUNKS}, schema=CHUNKS)
    except (UnicodeEncodeError, pa.ArrowInvalid) as error:
        raise InputInvalid(f"a chunk cannot be stored: {error}") from error


def _append(columns: dict[str, list[Any]], document: DocumentRow, chunks: Sequence[ChunkRow], sequence: int) -> None:
    count = len(chunks) or 1
    source = document.source
    for name, value in (
        ("document_id", document.document_id),
        ("source_id", source.source_id),
        ("uri", source.uri),
        ("name", last_part(source.uri)),
        ("metadata", _entries(document)),
        ("sequence", sequence),
        ("document", document.model_dump_json()),
    ):
        columns[name] += [value] * count
    columns["is_first"] += [True, *[False] * (count - 1)]
    if not chunks:
        for name, value in (("id", document.document_id), ("digest", 0), ("position", -1)):
            columns[name].append(value)
        for name in ("start", "end", "page", "text", "context", "tokens"):
            columns[name].append(None)
    for chunk in chunks:
        _append_chunk(columns, chunk)


def _append_chunk(columns: dict[str, list[Any]], chunk: ChunkRow) -> None:
    tokens = " ".join(chunk.tokens)
    columns["id"].append(chunk.chunk_id)
    columns["digest"].append(_digest(chunk, tokens))
    columns["position"].append(chunk.index)
    columns["start"].append(chunk.start)
    columns["end"].append(chunk.end)
    columns["page"].append(chunk.page)
    columns["text"].append(chunk.text)
    columns["context"].append(chunk.context)
    columns["tokens"].append(tokens)


def _digest(chunk: ChunkRow, tokens: str) -> int:
    place = f"{chunk.source_id}\x1e{chunk.index}\x1e{chunk.start}\x1e{chunk.end}\x1e{chunk.page}"
    row = f"{place}\x1e{chunk.text}\x1e{chunk.context}\x1e{tokens}"
    hashed = hashlib.blake2b(row.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(hashed, "little", signed=True)


def entry_of(key: str, value: Scalar) -> str:
    """A key, the type of its value and the value, between separators that JSON escapes."""
    if isinstance(value, float):
        value += 0.0  # -0.0 equals 0.0
    return f"{_BETWEEN}{json.dumps([key, type(value).__name__, value])}{_BETWEEN}"


def _entries(document: DocumentRow) -> str:
    for key, value in document.metadata.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InputInvalid(f"metadata {key[:60]!r} of {document.source.uri[:80]!r} is no finite number")
    return "".join(entry_of(key, value) for key, value in document.metadata.items())


@lru_cache(maxsize=1024)
def document_of(text: str) -> DocumentRow:
    """A document from its column."""
    return DocumentRow.model_validate_json(text)


def chunks_of(table: pa.Table) -> list[tuple[ChunkRow, DocumentRow]]:
    """Chunks with their documents from a table that has HIT_COLUMNS."""
    return [_chunk(row) for row in table.select(HIT_COLUMNS).to_pylist()]


def _chunk(row: dict[str, Any]) -> tuple[ChunkRow, DocumentRow]:
    document = document_of(row["document"])
    chunk = ChunkRow(
        chunk_id=row["id"],
        document_id=document.document_id,
        source_id=document.source.source_id,
        index=row["position"],
        start=row["start"],
        end=row["end"],
        page=row["page"],
        text=row["text"],
        context=row["context"],
        tokens=tuple(row["tokens"].split(" ")) if row["tokens"] else (),
    )
    return chunk, document


def keys_of(table: pa.Table) -> Iterable[tuple[str, int]]:
    """Ids with digests from a table that has both."""
    return zip(table["id"].to_pylist(), table["digest"].to_pylist(), strict=True)
