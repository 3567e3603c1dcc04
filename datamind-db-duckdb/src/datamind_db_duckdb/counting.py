"""How many records a delimited text holds, counted apart from the parser that reads them."""

from __future__ import annotations

import re
from io import RawIOBase
from typing import BinaryIO, Final, NamedTuple

_SLICE: Final = 4 * 1024 * 1024
_QUOTE: Final = b'"'
_MAX_LINE: Final = 64 * 1024 * 1024
_OTHERS: Final = bytes(set(range(256)) - set(b'"\n'))


class Census(NamedTuple):
    """What a text holds.

    Attributes:
        lines: Ends of lines, those inside quotes too.
        is_plain: Every quote opens or closes a field, lines end in ``\\n`` or ``\\r\\n``, and there is no NUL: then
            every parser reads the same.
    """

    records: int
    lines: int
    is_plain: bool


_ODD: Final = Census(0, 0, False)


def count_records(file: BinaryIO | RawIOBase, delimiter: bytes) -> Census:
    """Count from the current position to the end. UTF-8, double quotes.

    Blank lines at the end are no records; whoever meets others must compare counts with care.
    """
    records = lines = 0
    inside, rest, last = False, b"", b""
    while True:
        piece = file.read(_SLICE) or b""
        if len(rest) > _MAX_LINE:
            return _ODD
        part, newline, rest = (rest + (piece or b"\n" if rest else piece)).rpartition(b"\n")
        if newline:
            last = part + newline
            if (found := _count(last, delimiter, inside)) is None:
                return _ODD
            records, lines, inside = records + found[0], lines + last.count(b"\n"), found[1]
        if not piece:
            blank = _blank_at_end(last)
            return Census(records - blank, lines - blank, not inside)


def _blank_at_end(part: bytes) -> int:
    kept = part.replace(b"\r\n", b"\n")
    return max(len(kept) - len(kept.rstrip(b"\n")) - 1, 0)


def _count(part: bytes, delimiter: bytes, inside: bool) -> tuple[int, bool] | None:
    """Records that end in ``part``, and whether it ends inside quotes; None for what is not plain."""
    if b"\0" in part or (b"\r" in part and part.count(b"\r") != part.count(b"\r\n")):
        return None
    if _QUOTE not in part:
        return (0 if inside else part.count(b"\n")), inside
    clean = b"\n" + part
    if b'""' in part:
        if re.search(rb"[\n" + re.escape(delimiter) + rb']""(?![\n\r"' + re.escape(delimiter) + rb"])", clean):
            return None  # a field that ends where it has begun, and goes on
        clean = clean.replace(b'""', b"")
    quotes = clean.count(_QUOTE)
    ends_inside = inside != bool(quotes % 2)
    opens = clean.count(delimiter + _QUOTE) + clean.count(b'\n"')
    closes = clean.count(_QUOTE + delimiter) + clean.count(b'"\n')
    if opens + closes < quotes:
        closes += clean.count(b'"\r')
    if opens + closes != quotes or opens - closes != ends_inside - inside:
        return None
    marks = clean[1:].translate(None, _OTHERS)
    if not inside and _QUOTE not in (lines := marks.replace(b'""', b"")):
        return len(lines), False  # no field holds the end of a line
    return b"".join(marks.split(_QUOTE)[1 if inside else 0 :: 2]).count(b"\n"), ends_inside
