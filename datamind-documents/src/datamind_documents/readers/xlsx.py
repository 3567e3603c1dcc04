"""Workbooks as documents, by openpyxl: each sheet a heading and a table."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from openpyxl import load_workbook

from datamind_documents.archive import open_archive
from datamind_documents.properties import core_title
from datamind_documents.reading import Bounds, ReadDocument, check_length, clean, markdown_table


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """Values as they were last calculated; sheets that are hidden are read too."""
    with open_archive(content, "XLSX", bounds) as archive:
        title = core_title(archive)
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    parts = []
    for sheet in book.worksheets:
        table = markdown_table(_rows(sheet), bounds)
        if table:
            parts.append(f"## {' '.join(clean(sheet.title).split())}\n\n{table}\n")
            check_length(sum(map(len, parts)), bounds)
    return ReadDocument("\n".join(parts), title)


def _rows(sheet: Any) -> Iterator[list[str]]:
    # Without its declared size, which may be a million rows of nothing.
    sheet.reset_dimensions()
    for row in sheet.iter_rows(values_only=True):
        cells = [_shown(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        yield cells


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
