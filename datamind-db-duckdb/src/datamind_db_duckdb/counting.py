"""How many records a delimited text holds, counted apart from the parser that reads them."""

from __future__ import annotations

from typing import BinaryIO, Final, NamedTuple

_SLICE: Final = 4 * 1024 * 1024
_QUOTE: Final = b'"'
_OTHERS: Final = bytes(set(range(256)) - set(b'"\n'))


class Census(NamedTuple):
    """What a text holds.

    Attributes:
        is_plain: Every quote opens or closes a field, lines end in ``\\n`` or ``\\r\\n``, and there is no NUL: then
            every parser reads the same.
    """

    records: int
    is_plain: bool


def count_records(file: BinaryIO, delimiter: bytes) -> Census:
    """Count from the current position to the end. UTF-8, double quotes.

    Blank lines at the end are no records; whoever meets others must compare counts with care.
    """
    records, inside, rest, last = 0, False, b"", b"\n"
    while piece := file.read(_SLICE):
        head, newline, rest_next = (rest + piece).rpartition(b"\n")
        part, rest = head + newline, rest_next
        if not part:
            continue
        found = _count(part, delimiter, inside)
        if found is None:
            return Census(0, False)
        records, inside, last = records + found[0], found[1], part
    if rest:
        found = _count(rest + b"\n", delimiter, inside)
        if found is None:
            return Census(0, False)
        return Census(records + found[0], not found[1])
    return Census(records - _blank_at_end(last), not inside)


def _blank_at_end(part: bytes) -> int:
    kept = part.replace(b"\r\n", b"\n")
    return max(len(kept) - len(kept.rstrip(b"\n")) - 1, 0)


def _count(part: bytes, delimiter: bytes, inside: bool) -> tuple[int, bool] | None:
    if b"\0" in part or part.count(b"\r") != part.count(b"\r\n"):
        return None
    if _QUOTE not in part:
        return (0 if inside else part.count(b"\n")), inside
    clean = b"\n" + part.replace(b'""', b"")
    quotes = clean.count(_QUOTE)
    opens = clean.count(delimiter + _QUOTE) + clean.count(b'\n"')
    closes = clean.count(_QUOTE + delimiter) + clean.count(b'"\n') + clean.count(b'"\r')
    starts_inside, ends_inside = inside, inside != bool(quotes % 2)
    if opens + closes != quotes or opens - closes != ends_inside - starts_inside:
        return None
    segments = clean[1:].translate(None, _OTHERS).split(_QUOTE)
    return b"".join(segments[1 if inside else 0 :: 2]).count(b"\n"), ends_inside
