"""From a stored text to the rows of a KB store; the same text always gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from datamind.capabilities.control.sources import StoredSource
from datamind.capabilities.text.chunking import Chunk, chunk_text
from datamind.capabilities.text.language import detect_language
from datamind.capabilities.text.tokens import tokenize_for_index
from datamind.core.protocols.kb import ChunkRow, DocumentRow
from datamind.core.types import derived_id

_LANGUAGE_SAMPLE = 4_000
PAGE_END = "\f"
"""Ends a page in a text that has pages, so that the stored text alone tells them."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How texts are cut, in characters."""

    size: int
    overlap: int


def make_rows(stored: StoredSource, text: str, cut: ChunkSize) -> tuple[DocumentRow, list[ChunkRow]]:
    """The document and its chunks. Pure and CPU-bound: run it in a worker thread."""
    rows = [_whole(stored, text)] if stored.source.kind == "chunk" else _cut_rows(stored, text, cut)
    document = DocumentRow(
        document_id=stored.document_id,
        source=stored.source,
        title=stored.title,
        language=detect_language(text[:_LANGUAGE_SAMPLE]),
        chunks=len(rows),
        receipt_ids=stored.receipt_ids,
        added_at=stored.added_at,
        metadata=dict(stored.metadata),
    )
    return document, rows


def _whole(stored: StoredSource, text: str) -> ChunkRow:
    """A chunk that its user has cut: its title stands where the headings of others do."""
    return ChunkRow(
        chunk_id=derived_id("chunk", stored.source.source_id, f"0-{len(text)}"),
        document_id=stored.document_id,
        source_id=stored.source.source_id,
        index=0,
        start=0,
        end=len(text),
        text=text,
        context=stored.title,
        tokens=tuple(tokenize_for_index(f"{stored.title}\n{text}")),
    )


def _cut_rows(stored: StoredSource, text: str, cut: ChunkSize) -> list[ChunkRow]:
    rows: list[ChunkRow] = []
    for page, chunk in _paged_chunks(text, stored.source.media_type, cut):
        body = text[chunk.start : chunk.end]
        header = text[slice(*chunk.table_header)] if chunk.table_header else ""
        context = "\n".join(part for part in (" > ".join(chunk.heading_path), header) if part)
        rows.append(
            ChunkRow(
                chunk_id=derived_id("chunk", stored.source.source_id, f"{chunk.start}-{chunk.end}"),
                document_id=stored.document_id,
                source_id=stored.source.source_id,
                index=len(rows),
                start=chunk.start,
                end=chunk.end,
                page=page,
                text=body,
                context=context,
                tokens=tuple(tokenize_for_index(f"{stored.title}\n{context}\n{body}")),
            )
        )
    return rows


def _paged_chunks(text: str, media_type: str, cut: ChunkSize) -> Iterator[tuple[int | None, Chunk]]:
    """Chunks with their page from 1; none crosses a page."""
    start = 0
    for number, page in enumerate(text.split(PAGE_END), 1):
        for chunk in chunk_text(page, media_type=media_type, chunk_size=cut.size, chunk_overlap=cut.overlap):
            yield (None if len(page) == len(text) else number), (_moved(chunk, start) if start else chunk)
        start += len(page) + 1


def _moved(chunk: Chunk, by: int) -> Chunk:
    header = chunk.table_header
    moved = (header[0] + by, header[1] + by) if header else None
    return replace(chunk, start=chunk.start + by, end=chunk.end + by, table_header=moved)
