"""One sheet of a workbook as rows of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any
from zipfile import BadZipFile

from datamind.capabilities.db.tabular import formats
from datamind.capabilities.db.tabular.formats import Format
from datamind.capabilities.db.tabular.names import make_column_names
from datamind.capabilities.db.tabular.records import Rejected
from datamind.capabilities.db.tabular.sources import Row
from datamind.core.errors import NotFound, SourceUnreadable
from datamind_db_duckdb.files import check_archive


@dataclass
class SheetSource:
    """Rows of a sheet from its header on; lines are rows of the sheet. Values are those last calculated."""

    cells: list[tuple[int, tuple[Any, ...]]]
    names: tuple[str, ...]
    renamed: Mapping[str, str]
    encoding: str = ""
    delimiter: str = ""
    escape: str = ""
    header: bool | None = None
    sheet: str = ""
    other_sheets: tuple[str, ...] = ()
    known: tuple[Format, ...] = field(default=formats.ISO)

    def rows(self) -> Iterator[Row | Rejected]:
        """Every row that is not blank."""
        width = len(self.names)
        for line, values in self.cells:
            if _is_filled(values[width:]):
                yield Rejected(line=line, code="too_many_fields")
            else:
                made = [_value(value) for value in values[:width]]
                yield Row(line, made + [None] * (width - len(made)))


def open_xlsx_source(file: Any, sheet: str, header: bool | None) -> SheetSource:
    """A sheet by name, else the first that is not empty; the source names the others that are not.

    Raises:
        SourceUnreadable: It is no workbook, or holds nothing.
        NotFound: No sheet has this name.
        LimitExceeded: It would unpack to too much.
    """
    import openpyxl

    try:
        check_archive(file)
        file.seek(0)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise SourceUnreadable(f"the file is no workbook ({error})", code="source_unreadable.xlsx") from None
    try:
        if sheet and sheet not in book.sheetnames:
            raise NotFound(f"there is no sheet {sheet[:60]!r}; there are {', '.join(book.sheetnames[:20])}")
        for name in [sheet] if sheet else book.sheetnames:
            rows = _filled(book[name])
            if rows:
                source = _with_header(rows, True if header is None else header)
                source.sheet, source.other_sheets = name, _others(book, name)
                return source
    finally:
        book.close()
    raise SourceUnreadable("the workbook holds no rows", code="source_unreadable.empty")


def _others(book: Any, chosen: str) -> tuple[str, ...]:
    sheets = [sheet for sheet in book.worksheets if sheet.title != chosen]
    return tuple(sheet.title for sheet in sheets if any(map(_is_filled, sheet.iter_rows(values_only=True))))


def _is_filled(values: Sequence[Any]) -> bool:
    return any(value not in (None, "") for value in values)


def _filled(sheet: Any) -> list[tuple[int, tuple[Any, ...]]]:
    rows = enumerate(sheet.iter_rows(values_only=True), 1)
    return [(line, values) for line, values in rows if _is_filled(values)]


def _with_header(rows: list[tuple[int, tuple[Any, ...]]], header: bool) -> SheetSource:
    first = [str(value).strip() if value is not None else "" for value in rows[0][1]]
    while header and first and not first[-1]:
        first.pop()
    names, renamed = make_column_names(first if header else [""] * len(first))
    return SheetSource(rows[1:] if header else rows, names, renamed if header else {}, header=header)


def _value(value: Any) -> Any:
    if isinstance(value, datetime) and value.time() == time():
        return value.date()  # a workbook has no dates apart from times
    if isinstance(value, str | bool | int | float | date | time) or value is None:
        return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
    return str(value)
