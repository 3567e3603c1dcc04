"""What every reader shares: the result, the bounds, clean text, and one way to say that a file is broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from datamind.core.errors import LimitExceeded, SourceUnreadable

PAGE_END: Final = "\f"
_MAX_TITLE_CHARS: Final = 200
_BREAKS: Final = re.compile("\r\n?|[\x0b\x85\u2028\u2029]")
# Form feeds mark pages and are set by us alone; the others are no part of any text.
_NOT_TEXT: Final = re.compile("[\x00-\x08\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one read."""

    max_characters: int
    max_unpacked_bytes: int


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as text; ``pages`` are the starts of its pages in it."""

    text: str
    title: str = ""
    pages: tuple[int, ...] = ()
    encoding: str = ""


def clean(text: str) -> str:
    """The text without NUL, other controls and lone surrogates, its lines ended by a line feed."""
    return _NOT_TEXT.sub("", _BREAKS.sub("\n", text))


def clean_title(title: object) -> str:
    """One line of a title, or nothing."""
    return " ".join(clean(str(title or "")).split())[:_MAX_TITLE_CHARS]


def join_pages(texts: Iterable[str], bounds: Bounds) -> tuple[str, tuple[int, ...]]:
    """The pages as one text, each ended by a form feed, and where each starts.

    Raises:
        LimitExceeded: It grows beyond the limit; the pages after that are not read.
    """
    parts, starts, length = [], [], 0
    for text in texts:
        starts.append(length)
        parts.append(f"{clean(text).strip()}\n{PAGE_END}")
        length += len(parts[-1])
        check_length(length, bounds)
    return "".join(parts), tuple(starts)


def check_length(characters: int, bounds: Bounds) -> None:
    """Raise LimitExceeded beyond the limit of characters."""
    if characters > bounds.max_characters:
        raise LimitExceeded(f"its text has more than {bounds.max_characters} characters")


def markdown_table(rows: Iterable[Sequence[str]], bounds: Bounds) -> str:
    """Rows as a Markdown table, the first as its header; rows without any text are left out."""
    lines: list[str] = []
    length = 0
    for row in rows:
        cells = [" ".join(clean(cell).split()).replace("|", "\\|") for cell in row]
        if not any(cells):
            continue
        lines.append(f"| {' | '.join(cells)} |")
        length += len(lines[-1]) + 1
        check_length(length, bounds)
        if len(lines) == 1:
            lines.append(f"|{' --- |' * len(cells)}")
    return "\n".join(lines)


def broken(what: str, error: Exception) -> SourceUnreadable:
    """The error for a file that its library cannot read; only the type is told, for its words may quote the file."""
    return SourceUnreadable(
        f"the {what} file is damaged or not what its name says ({type(error).__name__}).",
        code="source_unreadable.broken",
        hint="Open it with its own program and save it anew.",
    )


def other_format(what: str, content: bytes) -> SourceUnreadable:
    """The error for bytes that are plainly something else."""
    seen = "text" if _is_mostly_text(content[:512]) else "another format"
    return SourceUnreadable(
        f"the bytes are {seen}, not {what}.",
        code="source_unreadable.other_format",
        hint="Give the file its own extension.",
    )


def _is_mostly_text(head: bytes) -> bool:
    return all(byte >= 0x20 or byte in b"\t\n\r\f" for byte in head)
