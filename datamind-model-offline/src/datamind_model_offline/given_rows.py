"""Rows that stand in a message itself, as JSON or as CSV."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, Final

from datamind.core.errors import DataMindError
from datamind_model_offline.planning import PlannedCall

RECORDS_TOOL: Final = "db_import_records"
_FENCE: Final = re.compile(r"\s*```[\w-]*[ \t]*\n(?P<text>.*?)\n?```\s*", re.DOTALL)


def rows_call(text: str, table: str = "") -> PlannedCall | None:
    """The call that keeps the rows of ``text``; None where it holds anything but rows that are all whole."""
    fenced = _FENCE.fullmatch(text)
    body = (fenced["text"] if fenced else text).strip()
    records = _from_json(body) or _from_csv(body)
    return PlannedCall(RECORDS_TOOL, {"records": records, "table": table}) if records else None


def json_rows_call(text: str) -> PlannedCall | None:
    """The same for a message that is nothing but JSON: what looks like CSV may be prose."""
    fenced = _FENCE.fullmatch(text)
    records = _from_json((fenced["text"] if fenced else text).strip())
    return PlannedCall(RECORDS_TOOL, {"records": records}) if records else None


def _from_json(body: str) -> list[dict[str, Any]]:
    """Of one array, one object, or one object a line."""
    if not body.startswith(("[", "{")):
        return []
    try:
        found = json.loads(body)
    except ValueError:
        found = _each_line(body)
    rows = [found] if isinstance(found, dict) else found
    return rows if isinstance(rows, list) and all(isinstance(row, dict) and row for row in rows) else []


def _each_line(body: str) -> list[Any]:
    try:
        return [json.loads(line) for line in body.splitlines() if line.strip()]
    except ValueError:
        return []


def _from_csv(body: str) -> list[dict[str, Any]]:
    """Typed as an import types a file: a name in each column of the first line, and no line that does not fit."""
    from datamind.capabilities.db.tabular.parsing import Rejects, convert_rows, plan_columns
    from datamind.capabilities.db.tabular.sources import CSV, ReadOptions, open_source

    if "\n" not in body:
        return []
    rejects = Rejects()
    try:
        source = open_source(io.BytesIO(body.encode("utf-8", "replace")), ReadOptions(CSV, "utf-8", "", True))
        plan = plan_columns(source)
        rows = [row for part in convert_rows(source, plan, plan.types, (), rejects) for row in part]
    except DataMindError:
        return []
    whole = len(plan.names) > 1 and not rejects.total and not source.renamed
    return list(_records(plan.names, rows)) if whole else []


def _records(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {name: _json_value(value) for name, value in zip(names, row, strict=True) if value is not None}


def _json_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date | time) else value


def count_of_rows(arguments: Mapping[str, Any]) -> str:
    """How many rows a call keeps, in words; empty for a call that keeps none."""
    rows = arguments.get("records")
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}" if isinstance(rows, list) else ""
