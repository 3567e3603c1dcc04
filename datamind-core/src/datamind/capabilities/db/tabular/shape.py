"""The dialect of delimited text, found from its beginning: delimiter, quoting, where the header is."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from datamind.capabilities.db.tabular.columns import ColumnGuess
from datamind.capabilities.db.tabular.names import make_column_names
from datamind.capabilities.db.tabular.records import Delimited, Record, Rejected, read_records
from datamind.core.errors import InputInvalid, SourceUnreadable

DELIMITERS: Final = (",", ";", "\t", "|")
_LAST_RESORT: Final = ":"
_TIME: Final = re.compile(r"(?<=\d):(?=\d)")
SAMPLE_LINES: Final = 1_000
_MAX_PREAMBLE: Final = 20


@dataclass(frozen=True)
class TextShape:
    """How a delimited text is read.

    Attributes:
        first_line: Line of the first record of data, from 1; those before it are header, ``sep=`` or rejected.
        has_header: The first record names the columns.
        renamed: New name of a column to what the file had.
        before: Lines before the header that are no records of this table.
    """

    delimited: Delimited
    names: tuple[str, ...]
    renamed: dict[str, str]
    first_line: int
    has_header: bool = True
    before: tuple[Rejected, ...] = ()


def find_shape(
    lines: Sequence[str], *, delimiter: str = "", header: bool | None = None, preferred: str = ","
) -> TextShape:
    """The shape of a text that begins with ``lines`` (with their line ends).

    Args:
        lines: The first ones, ``SAMPLE_LINES`` at most.
        delimiter: Given by the user, or empty.
        header: Whether the first record names the columns; found out when None.
        preferred: Delimiter that wins a tie.

    Raises:
        SourceUnreadable: There is no record.
        InputInvalid: The delimiter is not one character.
    """
    if len(delimiter) > 1:
        raise InputInvalid(f"the delimiter {delimiter[:10]!r} is not one character")
    skipped, declared = _declared_delimiter(lines)
    body = lines[skipped:]
    delimited = _find_delimited(body, delimiter or declared, preferred)
    items = list(read_records(body, delimited, first_line=skipped + 1))
    records = [item for item in items if isinstance(item, Record)]
    if not records:
        raise SourceUnreadable("the file holds no record", code="source_unreadable.empty")
    width = _width(records)
    table = records[_first_of_width(records, width) :]
    first = table[0]
    with_header = _has_header(table) if header is None else header
    raw = first.fields if with_header else [""] * len(first.fields)
    names, renamed = make_column_names(_trimmed(raw, width))
    place = items.index(first)
    after = [*(item.line for item in items[place + 1 :]), skipped + len(lines) + 1]
    before = tuple(_passed_over(item) for item in items[:place])
    data_line = after[0] if with_header else first.line
    return TextShape(delimited, names, renamed if with_header else {}, data_line, with_header, before)


def _passed_over(item: Record | Rejected) -> Rejected:
    return Rejected(line=item.line, code="before_header") if isinstance(item, Record) else item


def _declared_delimiter(lines: Sequence[str]) -> tuple[int, str]:
    first = lines[0].strip("\r\n") if lines else ""
    if len(first) == 5 and first[:4].lower() == "sep=":
        return 1, first[4]
    return 0, ""


def _find_delimited(lines: Sequence[str], delimiter: str, preferred: str) -> Delimited:
    escapes = ('"', "\\") if any(map(_may_escape, lines)) else ('"',)

    def best(signs: Sequence[str]) -> Delimited:
        options = [Delimited(sign, escape) for sign in signs for escape in escapes]
        return max(options, key=lambda option: _score(lines, option))

    if delimiter:
        return best([delimiter])
    found = best(sorted(DELIMITERS, key=lambda sign: sign != preferred))
    # A colon stands in times and addresses: it parts fields only where nothing else does, and each line has one.
    if _score(lines, found) == (0.0, 0) and all(map(_parts_by_colon, filter(str.strip, lines))):
        return best([_LAST_RESORT, found.delimiter])
    return found


def _may_escape(line: str) -> bool:
    return '\\"' in line or line.rstrip("\r\n").endswith("\\")


def _parts_by_colon(line: str) -> bool:
    return _LAST_RESORT in _TIME.sub("", line)


def _score(lines: Sequence[str], option: Delimited) -> tuple[float, int]:
    """Share of records as wide as most are, where that is more than one field; then how wide."""
    items = list(itertools.islice(read_records(lines, option), SAMPLE_LINES))
    widths = Counter(len(item.fields) if isinstance(item, Record) else 0 for item in items)
    if not widths:
        return 0.0, 0
    width, count = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
    return (count / len(items), width) if width > 1 else (0.0, 0)


def _width(records: Sequence[Record]) -> int:
    widths = Counter(len(record.fields) for record in records)
    most = max(widths.values())
    # Of equally common widths the header's: a table of two records, one of them ragged, has the header's width.
    common = [width for width, count in widths.items() if count == most]
    return len(records[0].fields) if len(records[0].fields) in common else max(common)


def _first_of_width(records: Sequence[Record], width: int) -> int:
    for place, record in enumerate(records[:_MAX_PREAMBLE]):
        filled = len(_trimmed(record.fields, width))
        if filled == width or (place == 0 and filled > 1):
            return place
    return 0


def _trimmed(fields: Sequence[str], width: int) -> list[str]:
    kept = list(fields)
    while len(kept) > width and not kept[-1].strip():
        kept.pop()
    return kept


def _has_header(records: Sequence[Record]) -> bool:
    """Columns vote: a first cell unlike the typed cells below it says yes, one like them says no."""
    first, rest = records[0].fields, records[1:]
    votes = 0
    for place, cell in enumerate(first):
        guess = ColumnGuess()
        guess.add(record.fields[place] for record in rest if place < len(record.fields))
        if guess.has_text and guess.alive and cell.strip():
            votes += -1 if any(known.fits(cell.strip()) for known in guess.alive) else 1
    if votes:
        return votes > 0
    return not any(_is_typed(cell) for cell in first)


def _is_typed(cell: str) -> bool:
    guess = ColumnGuess()
    guess.add([cell])
    return guess.has_text and bool(guess.alive)
