"""CSV and TSV as documents: a table whose header every passage repeats."""

from __future__ import annotations

import csv
import io
from typing import Final

from datamind.capabilities.ingest.decoding import decode_text
from datamind_documents.reading import Bounds, ReadDocument, markdown_table

_SAMPLE_CHARS: Final = 64 * 1024
_DELIMITERS: Final = ",;\t|"


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """The records as a Markdown table, cells as they were written."""
    text, encoding = decode_text(content)
    csv.field_size_limit(len(text) + 1)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text[:_SAMPLE_CHARS]))
    return ReadDocument(f"{markdown_table(rows, bounds)}\n", encoding=encoding)


def _delimiter(sample: str) -> str:
    try:
        return csv.Sniffer().sniff(sample, _DELIMITERS).delimiter
    except csv.Error:
        return max(_DELIMITERS, key=sample.count)
