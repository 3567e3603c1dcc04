"""The structure of a text: headings, paragraphs, list items, code, tables and front matter, as spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

BlockKind = Literal["heading", "prose", "code", "table", "front_matter"]
MARKDOWN_TYPES: Final = frozenset(
    {
        *("text/markdown", "text/x-markdown"),
        # What a loader turns into Markdown.
        *("text/html", "text/csv", "text/tab-separated-values", "application/epub+zip"),
        *(
            f"application/vnd.openxmlformats-officedocument.{part}"
            for part in ("wordprocessingml.document", "presentationml.presentation", "spreadsheetml.sheet")
        ),
    }
)

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_FENCE: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_LIST_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_FRONT_MATTER: Final = {"---": ("---", "..."), "+++": ("+++",)}


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of structure, ``source[start:end]``, without the line break behind it.

    Attributes:
        heading_path: Titles from the top heading down to the section the block stands in; a heading is
            part of its own section.
        header_end: For a table, where its header ends: ``source[start:header_end]``.
    """

    kind: BlockKind
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    header_end: int | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text or self.text.isspace()


def split_blocks(text: str, *, media_type: str) -> list[Block]:
    """Blocks in order; every character that is not blank is in exactly one.

    Only Markdown has structure beyond paragraphs, which end at a blank line.
    """
    lines = _lines(text)
    if media_type in MARKDOWN_TYPES:
        return _MarkdownReader(lines).read()
    return _paragraphs(lines)


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for raw in text.splitlines(keepends=True):
        content = raw.rstrip()
        lines.append(_Line(start, start + len(content), content))
        start += len(raw)
    return lines


def _paragraphs(lines: list[_Line]) -> list[Block]:
    blocks: list[Block] = []
    first: _Line | None = None
    last: _Line | None = None
    for line in lines:
        if not line.is_blank:
            first, last = first or line, line
        elif first and last:
            blocks.append(Block("prose", first.start, last.end))
            first = None
    if first and last:
        blocks.append(Block("prose", first.start, last.end))
    return blocks


class _MarkdownReader:
    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self._position = 0
        self._blocks: list[Block] = []
        self._paragraph: list[_Line] = []
        self._headings: list[tuple[int, str]] = []

    def read(self) -> list[Block]:
        self._read_front_matter()
        while self._position < len(self._lines):
            self._read_block()
        self._end_paragraph()
        return self._blocks

    def _read_block(self) -> None:
        line = self._lines[self._position]
        fence = _fence_of(line.text)
        if line.is_blank:
            self._end_paragraph()
            self._position += 1
        elif fence:
            self._emit("code", self._fence_size(fence))
        elif heading := _HEADING.match(line.text):
            self._emit_heading(len(heading[1]), _atx_title(line.text), 1)
        elif level := self._setext_level(line.text):
            self._emit_setext(level)
        elif self._is_table():
            self._emit("table", self._table_size(), header_lines=2)
        else:
            self._read_prose(line)

    def _read_prose(self, line: _Line) -> None:
        if _LIST_ITEM.match(line.text):
            self._end_paragraph()
        self._paragraph.append(line)
        self._position += 1

    def _read_front_matter(self) -> None:
        if not self._lines:
            return
        closers = _FRONT_MATTER.get(self._lines[0].text.lstrip("\ufeff"), ())
        for i, line in enumerate(self._lines[1:], start=1):
            if line.text in closers:
                self._emit("front_matter", i + 1)
                return
            if not closers:
                return

    def _emit(self, kind: BlockKind, size: int, *, header_lines: int = 0) -> None:
        self._end_paragraph()
        block_lines = self._lines[self._position : self._position + size]
        header_end = block_lines[header_lines - 1].end if header_lines else None
        self._blocks.append(Block(kind, block_lines[0].start, block_lines[-1].end, self._path(), header_end))
        self._position += size

    def _emit_heading(self, level: int, title: str, size: int) -> None:
        self._end_paragraph()
        self._headings = [heading for heading in self._headings if heading[0] < level]
        self._headings.append((level, title))
        self._emit("heading", size)

    def _emit_setext(self, level: int) -> None:
        title = self._paragraph.pop()
        self._position -= 1
        self._emit_heading(level, title.text.strip(), 2)

    def _end_paragraph(self) -> None:
        if self._paragraph:
            first, last = self._paragraph[0], self._paragraph[-1]
            self._blocks.append(Block("prose", first.start, last.end, self._path()))
            self._paragraph = []

    def _path(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._headings if title)

    def _setext_level(self, line: str) -> int:
        underline = line.strip()
        if len(self._paragraph) != 1 or _LIST_ITEM.match(self._paragraph[0].text) or not underline:
            return 0
        if underline.strip("="):
            return 0 if underline.strip("-") else 2
        return 1

    def _is_table(self) -> bool:
        if "|" not in self._lines[self._position].text or self._position + 1 >= len(self._lines):
            return False
        delimiter = self._lines[self._position + 1].text
        return "|" in delimiter and "-" in delimiter and not delimiter.strip("|-: \t>")

    def _table_size(self) -> int:
        end = self._position + 2
        while end < len(self._lines) and "|" in self._lines[end].text:
            end += 1
        return end - self._position

    def _fence_size(self, fence: str) -> int:
        for end in range(self._position + 1, len(self._lines)):
            closing = self._lines[end].text.strip(" \t>")
            if closing.startswith(fence) and not closing.strip(fence[0]):
                return end + 1 - self._position
        return len(self._lines) - self._position


def _fence_of(line: str) -> str:
    match = _FENCE.match(line)
    # A backtick behind the fence makes it inline code.
    return match[1] if match and "`" not in line[match.end() :] else ""


def _atx_title(line: str) -> str:
    title = line.strip().lstrip("#").strip()
    opened = title.rstrip("#")
    return opened.rstrip() if not opened or opened[-1].isspace() else title
