"""Delimited text to batches of text: fast where nothing is odd, else with care."""

from __future__ import annotations

import io
import os
import tempfile
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.csv

from datamind.capabilities.db.tabular.parsing import Rejects
from datamind.capabilities.db.tabular.records import Delimited, Rejected
from datamind.capabilities.db.tabular.shape import TextShape
from datamind.capabilities.db.tabular.sources import Row, TextSource, opened_text
from datamind_db_duckdb.counting import Census, count_records
from datamind_db_duckdb.staging import make_batch, text_schema

_BLOCK: Final = 4 * 1024 * 1024
_SMALL: Final = 1024 * 1024
_SLICE_ROWS: Final = 20_000
_UTF8: Final = frozenset({"utf-8", "utf-8-sig", "ascii"})
_MARK: Final = b"\xef\xbb\xbf"


class Odd(Exception):
    """Something that parsers read in different ways; the file is read with care instead."""


class Ragged(Odd):
    """A line that is not as wide as the header; its number is known only when lines are parsed one after another."""


@contextmanager
def as_utf8(source: TextSource, folder: str) -> Iterator[TextSource]:
    """The same text in UTF-8; in an unnamed file of ``folder`` if it has to be written anew."""
    if source.encoding in _UTF8:
        yield source
        return
    with tempfile.TemporaryFile(dir=folder) as copy, opened_text(source.file, source.encoding) as text:
        while piece := text.read(1 << 20):
            copy.write(piece.encode("utf-8", "surrogateescape"))
        yield TextSource(copy, "utf-8", source.shape)


def fast_batches(source: TextSource, rejects: Rejects | None = None) -> Iterator[Any]:
    """Batches of text columns.

    Args:
        source: In UTF-8.
        rejects: Takes ragged lines; parsing is then half as fast.

    Raises:
        Ragged: There is a ragged line and nothing to take it.
        Odd: The file is not plain, or does not hold as many records as were counted. What was given until then
            does not count, and neither do the rejects.
    """
    shape = source.shape
    # In a single column a blank line and a blank value look alike.
    is_usual = shape.delimited == Delimited(shape.delimited.delimiter) and shape.delimited.delimiter.isascii()
    if shape.before or not is_usual or len(shape.names) == 1:
        raise Odd
    start = _start_of_data(source.file, shape.first_line)
    with ThreadPoolExecutor(1) as apart:
        counting = apart.submit(count_records, _Apart(source.file), shape.delimited.delimiter.encode())
        if _size_of(source.file) - start < _SMALL:
            wait([counting])  # such as a header alone, of which the parser makes an error
        yield from _compared(source, rejects, counting)


def _compared(source: TextSource, rejects: Rejects | None, counting: Future[Census]) -> Iterator[Any]:
    """Batches, as long as the count that is made meanwhile does not say that the file is odd."""
    ragged = _RaggedRows(source, rejects, counting)
    read = 0
    is_empty = counting.done() and not counting.result().records
    for batch in () if is_empty else _parsed(source, ragged):
        if counting.done() and not counting.result().is_plain:
            raise Odd
        read += batch.num_rows
        yield batch
    census = counting.result()
    if not census.is_plain or ragged.seen_odd or read + (rejects.total if rejects else 0) != census.records:
        raise Odd


def _size_of(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


class _RaggedRows:
    """What becomes of rows that are not as wide as the header."""

    def __init__(self, source: TextSource, rejects: Rejects | None, counting: Future[Census]) -> None:
        self._shape = source.shape
        self._counting = counting
        self.rejects = rejects
        self.seen_odd = self.seen = False

    def __call__(self, row: Any) -> str:
        self.seen = True
        if self.rejects is None:
            return "error"
        width = len(self._shape.names)
        # Blank fields beyond the last column are no reason to reject a row, and a blank line is no row.
        census = self._counting.result()
        if census.lines != census.records or row.number is None or _has_blank_end(row.text, self._shape):
            self.seen_odd = True
            return "error"
        code = "too_many_fields" if row.actual_columns > width else "too_few_fields"
        self.rejects.add(Rejected(self._shape.first_line + row.number - 1, code))
        return "skip"


def _has_blank_end(text: str, shape: TextShape) -> bool:
    last = text.rpartition(shape.delimited.delimiter)[2]
    return not last.strip() or last.strip() == '""'


def careful_batches(source: TextSource, key: tuple[str, ...], rejects: Rejects) -> Iterator[Any]:
    """Batches of text columns, one record after another; what is left out is added to ``rejects``."""
    folded = [name.casefold() for name in source.names]
    keys = [folded.index(name.casefold()) for name in key]
    schema = text_schema(len(source.names))
    rows: list[list[Any]] = []
    for row in source.rows():
        if isinstance(row, Row) and any(not row.cells[place].strip() for place in keys):
            row = Rejected(line=row.line, code="null_key")
        if isinstance(row, Rejected):
            rejects.add(row)
            continue
        rows.append([cell or None for cell in row.cells])
        if len(rows) == _SLICE_ROWS:
            yield make_batch(rows, schema)
            rows = []
    yield make_batch(rows, schema)


class _Apart(io.RawIOBase):
    """A file with a position of its own.

    A parser that failed still reads ahead for a while in a thread; whoever reads the file next must not notice.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = os.dup(file.fileno())
        self._release = weakref.finalize(self, os.close, self._descriptor)
        self._at = file.tell()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._descriptor, [buffer], self._at)
        self._at += count
        return count


def _start_of_data(file: BinaryIO, first_line: int) -> int:
    file.seek(0)
    start = 0
    for _ in range(first_line - 1):
        line = file.readline()
        if line.count(b"\r") > line.endswith(b"\r\n"):
            raise Odd  # lines that end otherwise
        start += len(line)
    if first_line == 1 and file.read(3) == _MARK:
        start = 3
    file.seek(start)
    return start


def _parsed(source: TextSource, ragged: _RaggedRows) -> Iterator[Any]:
    width = len(source.names)
    schema = text_schema(width)
    try:
        reader = pyarrow.csv.open_csv(
            pa.PythonFile(_Apart(source.file), mode="r"),
            read_options=pyarrow.csv.ReadOptions(
                column_names=schema.names, block_size=_BLOCK, use_threads=ragged.rejects is None
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=source.delimiter, newlines_in_values=True, invalid_row_handler=ragged
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in schema.names}, strings_can_be_null=True, null_values=[""]
            ),
        )
        yield from reader
    except pa.ArrowInvalid:
        raise (Ragged if ragged.seen and not ragged.seen_odd else Odd) from None
