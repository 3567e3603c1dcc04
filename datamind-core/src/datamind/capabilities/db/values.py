"""Values of a result as JSON that loses nothing."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Final

_SAFE_INTEGER: Final = 2**53


def to_json_value(value: Any) -> Any:
    """As ``TableResult.rows`` says; of kinds it does not name, the text."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case Decimal():
            return format(value, "f")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"PT{Decimal(value // timedelta(microseconds=1)) / 1_000_000:f}S"
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case Mapping():
            return {str(key): to_json_value(part) for key, part in value.items()}
        case list() | tuple():
            return [to_json_value(part) for part in value]
    return str(value)


def to_json_rows(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Each value of each row."""
    return [[to_json_value(value) for value in row] for row in rows]


def row_bytes(row: Sequence[Any]) -> int:
    """Size of a row of JSON values as compact UTF-8."""
    return len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
