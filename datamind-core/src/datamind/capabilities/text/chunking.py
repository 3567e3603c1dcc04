"""Cutting a text into chunks for retrieval, each a span of its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from datamind.capabilities.text.blocks import Block, split_blocks
from datamind.capabilities.text.sentences import split_sentences
from datamind.capabilities.text.spans import cut_span, trim_span
from datamind.core.errors import InputInvalid

WHOLE_FACTOR: Final = 4
"""A code block or a table stays whole up to this many times the chunk size."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """``source[start:end]`` is the text of the chunk.

    Attributes:
        index: Position among the chunks of the text, from 0.
        start: First character; never a blank.
        end: Behind the last character, which is never a blank.
        heading_path: Titles of the section the chunk stands in, outermost first.
        table_header: For rows of a table that was too large for one chunk: the span of the header they belong to.
    """

    index: int
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    table_header: tuple[int, int] | None = None


class _Unit(NamedTuple):
    """What is not cut further: a heading, a sentence, a line of code, a table row, or a whole block."""

    start: int
    end: int
    path: tuple[str, ...]
    is_sentence: bool = False
    is_heading: bool = False
    is_whole: bool = False
    table_header: tuple[int, int] | None = None


def chunk_text(
    text: str, *, media_type: str = "text/plain", chunk_size: int = 512, chunk_overlap: int = 64
) -> list[Chunk]:
    """Chunks in order, which cover every character that is not blank.

    A chunk holds whole blocks where they fit, then whole sentences; it never crosses a heading, and a heading
    stands with what follows it. Linear in the length of the text.

    Args:
        text: The source.
        media_type: ``text/markdown`` reads headings, lists, code and tables; anything else is paragraphs.
        chunk_size: Most characters of a chunk. A code block or a table may have up to four times as many before
            it is cut by lines or rows.
        chunk_overlap: Most characters, in whole sentences, that a chunk repeats of the one before it.

    Raises:
        InputInvalid: ``chunk_size`` is below 1, or ``chunk_overlap`` is negative or not below it.
    """
    if chunk_size < 1:
        raise InputInvalid(f"chunk_size must be at least 1, not {chunk_size!r}.")
    if not 0 <= chunk_overlap < chunk_size:
        raise InputInvalid(f"chunk_overlap must be from 0 to below chunk_size ({chunk_size}), not {chunk_overlap!r}.")
    packer = _Packer(text, chunk_size, chunk_overlap)
    for block in split_blocks(text, media_type=media_type):
        packer.add(block)
    return packer.finish()


class _Packer:
    def __init__(self, text: str, size: int, overlap: int) -> None:
        self._text = text
        self._size = size
        self._overlap = overlap
        self._chunks: list[Chunk] = []
        self._units: list[_Unit] = []
        self._previous: list[_Unit] = []

    def finish(self) -> list[Chunk]:
        self._flush()
        return self._chunks

    def add(self, block: Block) -> None:
        if block.kind == "heading":
            if not self._has_only_headings():
                self._flush()
        elif self._is_better_begun_afresh(block):
            self._flush()
        is_cut_table = False
        for unit in self._units_of(block):
            self._push(unit)
            is_cut_table = is_cut_table or unit.table_header is not None
        if is_cut_table:
            self._flush()

    def _has_only_headings(self) -> bool:
        # A heading always begins a chunk, so that only headings can stand before one.
        return bool(self._units) and self._units[-1].is_heading

    def _is_better_begun_afresh(self, block: Block) -> bool:
        if not self._units or self._has_only_headings():
            return False
        used = self._units[-1].end - self._units[0].start
        fits = block.end - self._units[0].start <= self._size
        return not fits and block.end - block.start <= self._size and used >= self._size // 2

    def _units_of(self, block: Block) -> Iterator[_Unit]:
        start, end = trim_span(self._text, block.start, block.end)
        path = block.heading_path
        if block.kind == "heading":
            yield _Unit(start, end, path, is_heading=True)
        elif block.kind == "prose":
            for first, last in split_sentences(self._text[start:end]):
                yield _Unit(start + first, start + last, path, is_sentence=True)
        elif end - start <= self._size * WHOLE_FACTOR:
            yield _Unit(start, end, path, is_whole=True)
        else:
            yield from self._lines_of(block, start)

    def _lines_of(self, block: Block, start: int) -> Iterator[_Unit]:
        header = None if block.header_end is None else (start, block.header_end)
        position = start
        for raw in self._text[start : block.end].splitlines(keepends=True):
            first, last = trim_span(self._text, position, position + len(raw))
            position += len(raw)
            if first < last:
                is_row = header is not None and first > header[1]
                yield _Unit(first, last, block.heading_path, table_header=header if is_row else None)

    def _push(self, unit: _Unit) -> None:
        if not self._units:
            self._units = self._repeated(unit)
        if self._fits(unit):
            self._units.append(unit)
        elif unit.end - unit.start <= self._size and not self._has_only_headings():
            self._flush()
            self._push(unit)
        else:
            self._push_long(unit)

    def _fits(self, unit: _Unit) -> bool:
        start = self._units[0].start if self._units else unit.start
        may_be_long = unit.is_whole and (not self._units or self._has_only_headings())
        return unit.end - start <= self._size * (WHOLE_FACTOR if may_be_long else 1)

    def _push_long(self, unit: _Unit) -> None:
        room = self._size - (unit.start - self._units[0].start) if self._has_only_headings() else 0
        if unit.is_whole or room < self._size // 2:
            self._flush()
            room = self._size
        if unit.is_whole:
            self._units = [unit]
            return
        for start, end in cut_span(self._text, unit.start, unit.end, first_size=room, size=self._size):
            piece = unit._replace(start=start, end=end, is_sentence=False)
            if not self._fits(piece):
                self._flush()
            self._units.append(piece)

    def _repeated(self, unit: _Unit) -> list[_Unit]:
        """The last sentences of the chunk before, never all of it, that fit in front of ``unit``."""
        count = 0
        for sentence in reversed(self._previous[1:]):
            overlap = self._previous[-1].end - sentence.start
            if not sentence.is_sentence or overlap > self._overlap or unit.end - sentence.start > self._size:
                break
            count += 1
        return self._previous[len(self._previous) - count :] if unit.is_sentence else []

    def _flush(self) -> None:
        if self._units:
            first, last = self._units[0], self._units[-1]
            self._chunks.append(Chunk(len(self._chunks), first.start, last.end, last.path, first.table_header))
            self._previous = self._units
        self._units = []
