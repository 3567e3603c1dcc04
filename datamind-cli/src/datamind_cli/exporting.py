"""Exports as files: written beside their place, then put there in one step."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from datamind.core.errors import InputInvalid
from datamind.core.new_file import written_file

if TYPE_CHECKING:
    from datamind.core.result_table import ResultTable

_SHEET_ROWS: Final = 1_048_576
_SHEET_CHARS: Final = 32_767
_SURE_DIGITS: Final = 15  # a workbook holds numbers as 64-bit floats


class Writer(Protocol):
    """Takes pages of one result in their order."""

    def add(self, page: ResultTable) -> None:
        """The rows of one page."""
        ...

    def close(self) -> None:
        """End the file, which stays open."""
        ...


async def export_pages(pages: AsyncIterator[ResultTable], target: Path, *, replace: bool) -> int:
    """Write pages to ``target``, whose ending names the format; returns the number of rows.

    The file is there whole and synced, or not at all.

    Args:
        pages: Of one result.
        target: ``.csv``, ``.jsonl``, ``.parquet`` or ``.xlsx``.
        replace: Whether a file that is there may go.

    Raises:
        InputInvalid: The ending is none of these, a library for it is missing, or there is a file that may not go.
        NotFound: There is no such folder.
        StoreError: The disk does not take it.
    """
    make = _WRITERS.get(target.suffix.lower())
    if make is None:
        raise InputInvalid(f"no table is written as {target.suffix[:20]!r}", hint=f"There are {', '.join(_WRITERS)}.")
    with written_file(target, replace=replace) as file:
        writer = make(file)
        rows = 0
        async for page in pages:
            writer.add(page)
            rows += len(page)
        writer.close()
    return rows


def flat(cell: Any) -> Any:
    """A value without inner structure: that as JSON."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict | tuple) else cell


class _Csv:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._has_header = False

    def add(self, page: ResultTable) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        if not self._has_header:
            writer.writerow(page.columns)
            self._has_header = True
        writer.writerows([flat(cell) for cell in row] for row in page)
        self._file.write(text.getvalue().encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        pass


class _JsonLines:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, page: ResultTable) -> None:
        for row in page:
            line = json.dumps(dict(zip(page.columns, row, strict=True)), ensure_ascii=False)
            self._file.write(line.encode("utf-8", "surrogatepass") + b"\n")

    def close(self) -> None:
        pass


class _Parquet:
    """Waits for all rows: the type of a column is sure only when all its values are known."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pages: list[ResultTable] = []

    def add(self, page: ResultTable) -> None:
        self._pages.append(page)

    def close(self) -> None:
        from datamind.core.result_table import ResultTable

        parquet = _library("pyarrow.parquet")
        first = self._pages[0]
        rows = tuple(row for page in self._pages for row in page)
        parquet.write_table(ResultTable(first.columns, rows, first.kinds).to_arrow(), self._file)


class _Workbook:
    def __init__(self, file: BinaryIO) -> None:
        self._openpyxl = _library("openpyxl")
        self._file = file
        self._book = self._openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet("Sheet1")
        self._rows = 0

    def add(self, page: ResultTable) -> None:
        if not self._rows:
            self._append([self._text(name) for name in page.columns])
        for row in page:
            self._append([self._cell(cell, kind) for cell, kind in zip(row, page.kinds or _unknown(row), strict=True)])

    def close(self) -> None:
        self._book.save(self._file)

    def _append(self, cells: Sequence[Any]) -> None:
        self._rows += 1
        if self._rows > _SHEET_ROWS:
            raise InputInvalid(f"a sheet holds no more than {_SHEET_ROWS:,} rows", hint="Export to parquet or csv.")
        self._sheet.append(cells)

    def _cell(self, cell: Any, kind: str) -> Any:
        if isinstance(cell, str) and kind == "decimal" and sum(map(str.isdigit, cell)) <= _SURE_DIGITS:
            return float(cell)
        if isinstance(cell, int) and not isinstance(cell, bool) and len(str(abs(cell))) > _SURE_DIGITS:
            return self._text(str(cell))
        return self._text(cell) if isinstance(cell, str) else cell if _is_plain(cell) else self._text(flat(cell))

    def _text(self, text: str) -> Any:
        # A text that begins with "=" would be a formula otherwise.
        if len(text) > _SHEET_CHARS:
            raise InputInvalid(f"a cell holds no more than {_SHEET_CHARS:,} characters", hint="Export to csv.")
        cell = self._openpyxl.cell.WriteOnlyCell(self._sheet)
        try:
            cell.value = text
        except ValueError:  # control characters
            raise InputInvalid("a workbook holds no control characters", hint="Export to csv.") from None
        cell.data_type = "s"
        return cell


def _unknown(row: Sequence[Any]) -> tuple[str, ...]:
    return ("",) * len(row)


def _is_plain(cell: Any) -> bool:
    return cell is None or isinstance(cell, bool | int | float)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        distribution = name.partition(".")[0]
        raise InputInvalid(
            f"this needs {distribution}, which is not installed",
            code="input_invalid.library",
            hint=f"pip install {distribution}",
        ) from None


_WRITERS: Final[dict[str, Callable[[BinaryIO], Writer]]] = {
    ".csv": _Csv,
    ".jsonl": _JsonLines,
    ".parquet": _Parquet,
    ".xlsx": _Workbook,
}
