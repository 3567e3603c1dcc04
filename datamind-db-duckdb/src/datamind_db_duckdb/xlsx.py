"""One sheet of a workbook as rows of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Final
from zipfile import ZipFile

from datamind.capabilities.db.tabular import formats
from datamind.capabilities.db.tabular.formats import Format
from datamind.capabilities.db.tabular.names import make_column_names
from datamind.capabilities.db.tabular.records import Rejected
from datamind.capabilities.db.tabular.sources import Row
from datamind.core.errors import DataMindError, LimitExceeded, NotFound, SourceUnreadable

_MAX_ENTRIES: Final = 10_000
_MAX_UNPACKED_BYTES: Final = 1024**3


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
        SourceUnreadable: It is no workbook, is damaged, or holds nothing.
        NotFound: No sheet has this name.
        LimitExceeded: It would unpack to too much.
    """
    import openpyxl

    try:
        _check_archive(file)
        file.seek(0)
        with closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
            return _chosen(book, sheet, header=header is not False)
    except (DataMindError, MemoryError):
        raise
    except Exception as error:  # openpyxl lets through what its parsers raise, in words that may quote a cell
        raise SourceUnreadable(
            f"the file is no workbook, or is damaged ({type(error).__name__})", code="source_unreadable.xlsx"
        ) from None


def _check_archive(file: Any) -> None:
    file.seek(0)
    with ZipFile(file) as archive:
        entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > _MAX_ENTRIES or unpacked > _MAX_UNPACKED_BYTES:
        raise LimitExceeded(
            f"the file would unpack to {len(entries)} entries and {unpacked} bytes", code="limit_exceeded.archive"
        )


def _chosen(book: Any, sheet: str, *, header: bool) -> SheetSource:
    sheets = {found.title: found for found in book.worksheets}  # charts have no rows
    if sheet and sheet not in sheets:
        raise NotFound(f"there is no sheet {sheet[:60]!r}; there are {', '.join(list(sheets)[:20])}")
    for found in sheets.values():
        # A writer may have put down a wrong size, beyond which rows and columns would be left out.
        found.reset_dimensions()
    for name in [sheet] if sheet else sheets:
        if rows := _filled(sheets[name]):
            source = _with_header(rows, header)
            source.sheet, source.other_sheets = name, _others(sheets, name)
            return source
    raise SourceUnreadable("the workbook holds no rows", code="source_unreadable.empty")


def _others(sheets: Mapping[str, Any], chosen: str) -> tuple[str, ...]:
    others = [(name, sheet) for name, sheet in sheets.items() if name != chosen]
    return tuple(name for name, sheet in others if any(map(_is_filled, sheet.iter_rows(values_only=True))))


def _is_filled(values: Sequence[Any]) -> bool:
    return any(value not in (None, "") for value in values)


def _filled(sheet: Any) -> list[tuple[int, tuple[Any, ...]]]:
    rows = enumerate(sheet.iter_rows(values_only=True), 1)
    return [(line, values) for line, values in rows if _is_filled(values)]


def _with_header(rows: list[tuple[int, tuple[Any, ...]]], header: bool) -> SheetSource:
    first = [str(value).strip() if value is not None else "" for value in rows[0][1]]
    while header and first and not first[-1]:
        first.pop()
    width = max(len(values) for _, values in rows)
    names, renamed = make_column_names(first if header else [""] * width)
    return SheetSource(rows[1:] if header else rows, names, renamed if header else {}, header=header)


def _value(value: Any) -> Any:
    if isinstance(value, datetime) and value.time() == time():
        return value.date()  # a workbook has no dates apart from times
    if isinstance(value, str | bool | int | float | date | time) or value is None:
        return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
    return str(value)
