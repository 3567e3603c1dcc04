"""Delimited text to records, one at a time, with the line where each begins. Slow and exact."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

MAX_RECORD_CHARS: Final = 16 * 1024 * 1024
MAX_RECORD_LINES: Final = 10_000
_QUOTE: Final = '"'


class Record(NamedTuple):
    """Fields as they are written, without the quotes; ``line`` counts from 1."""

    line: int
    fields: list[str]


class Rejected(NamedTuple):
    """A record that is no row; ``code`` says why."""

    line: int
    code: str


@dataclass(frozen=True, slots=True)
class Delimited:
    """How fields are kept apart.

    Attributes:
        escape: What stands before a quote inside quotes: another quote, or a backslash.
    """

    delimiter: str = ","
    escape: str = _QUOTE


class _Lines(Iterator[str]):
    """Lines, with those of the record in hand kept so that they can be read again."""

    def __init__(self, lines: Iterable[str], first: int) -> None:
        self._lines = iter(lines)
        self._again: list[str] = []
        self.held: list[str] = []
        self.next_line = first
        self.size = 0

    def __next__(self) -> str:
        line = self._again.pop() if self._again else next(self._lines)
        self.held.append(line)
        self.next_line += 1
        self.size += len(line)
        if self.size > MAX_RECORD_CHARS or len(self.held) > MAX_RECORD_LINES:
            raise csv.Error("too long")
        return line

    def done(self) -> None:
        self.held.clear()
        self.size = 0

    def back_to_second(self) -> None:
        """Give back all lines of the record in hand but its first."""
        self._again += reversed(self.held[1:])
        self.next_line -= len(self.held) - 1
        self.done()


def read_records(
    lines: Iterable[str], shape: Delimited = Delimited(), *, first_line: int = 1
) -> Iterator[Record | Rejected]:
    """Records in order; blank lines are none.

    A line that opens a quote which is not closed properly is rejected alone, and the next line begins a record.

    Args:
        lines: With their line ends.
        shape: How fields are kept apart.
        first_line: The number of the first line.
    """
    csv.field_size_limit(MAX_RECORD_CHARS)
    source = _Lines(lines, first_line)
    reader = _make_reader(source, shape)
    while True:
        line = source.next_line
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            if not source.held:
                return
            is_long = source.size > MAX_RECORD_CHARS and len(source.held) == 1
            spanned = len(source.held) > 1 or source.held[0].count(_QUOTE) % 2 == 1
            source.back_to_second()
            reader = _make_reader(source, shape)
            code = "too_long" if is_long else "unclosed_quote" if spanned else "malformed_quote"
            yield Rejected(line=line, code=code)
            continue
        source.done()
        if fields and (len(fields) > 1 or fields[0].strip()):
            yield _checked(Record(line, fields))


def _make_reader(source: _Lines, shape: Delimited) -> Iterator[list[str]]:
    doubled = shape.escape == _QUOTE
    return csv.reader(
        source,
        delimiter=shape.delimiter,
        quotechar=_QUOTE,
        doublequote=doubled,
        escapechar=None if doubled else shape.escape,
        strict=True,
    )


def _checked(record: Record) -> Record | Rejected:
    for field in record.fields:
        if not field.isascii() and any("\udc80" <= char <= "\udcff" for char in field):
            return Rejected(line=record.line, code="invalid_encoding")
        if "\0" in field:
            return Rejected(line=record.line, code="nul")
    return record


def fit_fields(record: Record, width: int) -> Record | Rejected:
    """The record with exactly ``width`` fields; blank ones beyond are dropped, anything else is rejected."""
    fields = record.fields
    if len(fields) == width:
        return record
    if len(fields) > width and not any(field.strip() for field in fields[width:]):
        return Record(record.line, fields[:width])
    return Rejected(line=record.line, code="too_many_fields" if len(fields) > width else "too_few_fields")
