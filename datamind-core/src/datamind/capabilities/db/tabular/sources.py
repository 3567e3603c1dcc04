"""Files as rows of cells: text and JSON here, other formats where a library reads them."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, Protocol, TextIO

from datamind.capabilities.db.tabular import formats
from datamind.capabilities.db.tabular.encoding import SAMPLE_BYTES, Guess, check_encoding, find_encoding
from datamind.capabilities.db.tabular.formats import Format
from datamind.capabilities.db.tabular.names import make_column_names
from datamind.capabilities.db.tabular.records import MAX_RECORD_CHARS, Record, Rejected, fit_fields, read_records
from datamind.capabilities.db.tabular.shape import SAMPLE_LINES, TextShape, find_shape
from datamind.core.errors import SourceUnreadable

CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
DELIMITED: Final = frozenset({CSV, TSV, "text/plain"})
JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"

_MAX_SIGNIFICANT: Final = 38
_HTML: Final = ("<!doctype html", "<html", "<head", "<body", "<table")


class Row(NamedTuple):
    """One record; ``line`` is a line of the file, or the number of the record where a format has no lines."""

    line: int
    cells: list[Any]


class RowSource(Protocol):
    """A table in a file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Distinct names of the columns."""
        ...

    @property
    def renamed(self) -> Mapping[str, str]:
        """New name of a column to what the file had."""
        ...

    @property
    def encoding(self) -> str:
        """The Python codec, for text."""
        ...

    @property
    def delimiter(self) -> str:
        """What stands between fields, where there is such a thing."""
        ...

    @property
    def escape(self) -> str:
        """What stands before a quote inside quotes, where that is not another quote."""
        ...

    @property
    def header(self) -> bool | None:
        """Whether a record names the columns; None where the format says so itself."""
        ...

    @property
    def known(self) -> tuple[Format, ...]:
        """Formats that text of it may have."""
        ...

    def rows(self) -> Iterator[Row | Rejected]:
        """Every record, in order; may be called again."""
        ...


@dataclass(frozen=True)
class ReadOptions:
    """What a user said about the file; empty means: find out."""

    media_type: str
    encoding: str = ""
    delimiter: str = ""
    header: bool | None = None


def encoding_of(file: BinaryIO, given: str, guess: Guess | None = None) -> str:
    """The codec of a text file."""
    if given:
        return check_encoding(given)
    file.seek(0)
    sample = file.read(SAMPLE_BYTES)
    return find_encoding(sample, is_whole=len(sample) < SAMPLE_BYTES, guess=guess)


@contextmanager
def opened_text(file: BinaryIO, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The file as text from its beginning; bytes that cannot be decoded become lone surrogates."""
    file.seek(0)
    wide = encoding.startswith(("utf-16", "utf-32"))
    # A mark that is there although the encoding was given is no part of the first name.
    codec = "utf-8-sig" if encoding in ("utf-8", "utf_8") else encoding
    raw = io.BufferedReader(_Kept(file))
    text = io.TextIOWrapper(raw, codec, errors="strict" if wide else "surrogateescape", newline="")
    try:
        yield text
    except UnicodeError as error:
        raise SourceUnreadable(
            f"the file is not {encoding} throughout ({error.args[-1]})", code="source_unreadable.encoding"
        ) from None


class _Kept(io.RawIOBase):
    """A file that stays open when what wraps it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@dataclass
class TextSource:
    """Delimited text."""

    file: BinaryIO
    encoding: str
    shape: TextShape
    known: tuple[Format, ...] = formats.ALL

    @property
    def names(self) -> tuple[str, ...]:
        """Of its header, or by position."""
        return self.shape.names

    @property
    def renamed(self) -> Mapping[str, str]:
        """New name to what the header had."""
        return self.shape.renamed

    @property
    def delimiter(self) -> str:
        """What stands between fields."""
        return self.shape.delimited.delimiter

    @property
    def escape(self) -> str:
        """A backslash, or nothing."""
        found = self.shape.delimited.escape
        return "" if found == '"' else found

    @property
    def header(self) -> bool:
        """Whether its first record names the columns."""
        return self.shape.has_header

    def rows(self) -> Iterator[Row | Rejected]:
        """Records as wide as the header; the others are rejected."""
        yield from self.shape.before
        first, width = self.shape.first_line, len(self.names)
        with opened_text(self.file, self.encoding) as text:
            lines = itertools.islice(bounded_lines(text), first - 1, None)
            for item in read_records(lines, self.shape.delimited, first_line=first):
                fitted = fit_fields(item, width) if isinstance(item, Record) else item
                yield Row(fitted.line, fitted.fields) if isinstance(fitted, Record) else fitted


def open_text_source(file: BinaryIO, options: ReadOptions, guess: Guess | None = None) -> TextSource:
    """Look at the beginning of a delimited text.

    Raises:
        SourceUnreadable: It is binary or holds no record.
    """
    encoding = encoding_of(file, options.encoding, guess)
    with opened_text(file, encoding) as text:
        lines = _sample(text)
    _refuse_html(lines)
    preferred = "\t" if options.media_type == TSV else ","
    shape = find_shape(lines, delimiter=options.delimiter, header=options.header, preferred=preferred)
    return TextSource(file, encoding, shape)


def bounded_lines(text: TextIO) -> Iterator[str]:
    """Lines with their ends; of one that no record may have, just more than the most characters of a record."""
    while line := text.readline(MAX_RECORD_CHARS + 1):
        yield line
        while len(line) > MAX_RECORD_CHARS and not line.endswith(("\n", "\r")):
            if not (line := text.readline(MAX_RECORD_CHARS + 1)):
                return


def _sample(text: TextIO) -> list[str]:
    """The first lines, as many as are looked at.

    Raises:
        SourceUnreadable: One of them is no line of a table.
    """
    lines: list[str] = []
    size = 0
    for line in itertools.islice(bounded_lines(text), SAMPLE_LINES):
        if len(line) > MAX_RECORD_CHARS:
            raise SourceUnreadable(
                f"line {len(lines) + 1} has more than {MAX_RECORD_CHARS:,} characters",
                code="source_unreadable.long_line",
                hint="Does it hold line breaks at all?",
            )
        lines.append(line)
        size += len(line)
        if size > MAX_RECORD_CHARS:
            break
    return lines


def _refuse_html(lines: Sequence[str]) -> None:
    first = next((line for line in lines if line.strip()), "").lstrip("\ufeff \t").lower()
    if first.startswith(_HTML):
        raise SourceUnreadable(
            "the file is a web page, not a table",
            code="source_unreadable.html",
            hint="It may be an error page that was saved in place of the data.",
        )


@dataclass
class JsonSource:
    """An array of objects, one object, or an object a line."""

    file: BinaryIO
    encoding: str
    by_line: bool
    names: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ""
    escape: str = ""
    header: bool | None = None
    known: tuple[Format, ...] = formats.ISO
    _keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        keys: dict[str, None] = {}
        for item in self._objects():
            if not isinstance(item, Rejected):
                keys |= dict.fromkeys(item[1])
        if not keys:
            raise SourceUnreadable("the file holds no JSON object", code="source_unreadable.empty")
        self._keys = tuple(keys)
        self.names, self.renamed = make_column_names(self._keys)

    def rows(self) -> Iterator[Row | Rejected]:
        """Objects in order; a key that one lacks is NULL."""
        for item in self._objects():
            if isinstance(item, Rejected):
                yield item
            else:
                yield Row(item[0], [item[1].get(key) for key in self._keys])

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]] | Rejected]:
        for line, load in self._values():
            try:
                value = load()
            except (ValueError, RecursionError):
                yield Rejected(line=line, code="invalid_json")
                continue
            if not isinstance(value, dict):
                yield Rejected(line=line, code="not_an_object")
            elif _has_lone_surrogate(value):
                yield Rejected(line=line, code="invalid_encoding")
            else:
                yield line, value

    def _values(self) -> Iterator[tuple[int, Any]]:
        with opened_text(self.file, self.encoding) as text:
            if self.by_line:
                for line, raw in enumerate(text, 1):
                    if raw.strip():
                        yield line, lambda raw=raw: _load(raw)
                return
            try:
                whole = _load(text.read())
            except (ValueError, RecursionError) as error:
                raise SourceUnreadable(f"the file is no JSON ({error})", code="source_unreadable.json") from None
        for number, value in enumerate(whole if isinstance(whole, list) else [whole], 1):
            yield number, lambda value=value: value


def open_json_source(file: BinaryIO, options: ReadOptions, guess: Guess | None = None) -> JsonSource:
    """Look at a JSON file; one with an object a line is read so, whatever it is called.

    Raises:
        SourceUnreadable: It is no JSON, or holds no object.
    """
    encoding = encoding_of(file, options.encoding, guess)
    by_line = options.media_type == JSON_LINES or _is_by_line(file, encoding)
    return JsonSource(file, encoding, by_line)


def open_source(file: BinaryIO, options: ReadOptions, guess: Guess | None = None) -> RowSource:
    """The table of a text or JSON file.

    Raises:
        SourceUnreadable: It is of another type, or is not what its type says.
    """
    if options.media_type in DELIMITED:
        return open_text_source(file, options, guess)
    if options.media_type in (JSON, JSON_LINES):
        return open_json_source(file, options, guess)
    raise SourceUnreadable(
        f"no table is read from {options.media_type}",
        code="source_unreadable.no_loader",
        hint="CSV, TSV, JSON and JSON lines are built in.",
    )


def _is_by_line(file: BinaryIO, encoding: str) -> bool:
    with opened_text(file, encoding) as text:
        lines = [line for line in itertools.islice(text, 20) if line.strip()][:2]
    try:
        return len(lines) == 2 and all(isinstance(_load(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _load(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_distinct)


def _number(text: str) -> Decimal | float:
    if "e" in text or "E" in text:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ValueError(text)
        return value
    return Decimal(text) if len(text) <= _MAX_SIGNIFICANT else float(text)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _has_lone_surrogate(value: Any) -> bool:
    match value:
        case str():
            return not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)
        case dict():
            return any(_has_lone_surrogate(part) for pair in value.items() for part in pair)
        case list():
            return any(map(_has_lone_surrogate, value))
    return False
