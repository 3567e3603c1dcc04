"""Documents, chunks and queries made in one line, with the ids and tokens that the product gives them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.protocols.kb import ChunkRow, DocumentRow, KBFilter, KBQuery
from datamind.core.source import SourceRef
from datamind.core.types import derived_id

_GAP = "\n\n"


class Document(NamedTuple):
    """What ``put_document`` takes."""

    row: DocumentRow
    chunks: tuple[ChunkRow, ...]

    @property
    def document_id(self) -> str:
        """Id of the document, the same in every version."""
        return self.row.document_id

    @property
    def chunk_ids(self) -> list[str]:
        """Ids of its chunks in order."""
        return [chunk.chunk_id for chunk in self.chunks]


def make_document(
    name: str, *paragraphs: str, metadata: Mapping[str, str | int | float | bool] | None = None, language: str = ""
) -> Document:
    """A file of the profile, one chunk a paragraph; other paragraphs under the same name are another version."""
    text = _GAP.join(paragraphs)
    source = SourceRef.of_content(
        "file", f"file:{name}", text.encode(), media_type="text/plain", profile="test", origin="file"
    )
    document_id = derived_id("doc", source.uri)
    row = DocumentRow(
        document_id=document_id,
        source=source,
        title=name,
        language=language,
        chunks=len(paragraphs),
        receipt_ids=(f"rcpt_{source.checksum[:26]}.test",),
        added_at=datetime(2026, 1, 1, tzinfo=UTC),
        metadata=dict(metadata or {}),
    )
    return Document(row, tuple(_chunks(document_id, source.source_id, paragraphs)))


def _chunks(document_id: str, source_id: str, paragraphs: Sequence[str]) -> list[ChunkRow]:
    rows, start = [], 0
    for index, text in enumerate(paragraphs):
        rows.append(
            ChunkRow(
                chunk_id=derived_id("chunk", source_id, str(index)),
                document_id=document_id,
                source_id=source_id,
                index=index,
                start=start,
                end=start + len(text),
                text=text,
                tokens=tuple(tokenize_for_index(text)),
            )
        )
        start += len(text) + len(_GAP)
    return rows


def make_query(text: str, limit: int = 10, **where: Any) -> KBQuery:
    """A query with the tokens of its text; further arguments are those of KBFilter."""
    return KBQuery(text=text, tokens=tuple(tokenize(text)), limit=limit, where=KBFilter(**where))


def make_vectors(*rows: Sequence[float]) -> bytes:
    """float32 bytes in C order."""
    return b"".join(array("f", row).tobytes() for row in rows)
