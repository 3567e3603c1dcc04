"""DuckDB's types and ours, and the SQL that makes one of the text of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from datamind.capabilities.db.tabular.columns import ColumnType
from datamind.capabilities.db.tabular.formats import BY_NAME, Format

if TYPE_CHECKING:
    from datamind.core.protocols.database import ColumnKind

ORDINAL: Final = "n"
"""Column of a stage with the number of each row, where it matters which one came last."""

_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_KINDS: Final[dict[str, ColumnKind]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
    "DATE": "date",
    "TIME": "time",
    "BLOB": "binary",
}
_SQL: Final[dict[ColumnKind, str]] = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "time": "TIME",
    "binary": "BLOB",
}
_PADDING: Final = "' ' || chr(9)"


def kind_of(sql_type: str) -> ColumnKind:
    """The kind of a DuckDB type by its name."""
    if _DECIMAL.fullmatch(sql_type):
        return "decimal"
    if sql_type.startswith("TIMESTAMP"):
        return "timestamp"
    if sql_type.endswith("]") or sql_type.startswith(("STRUCT", "MAP", "UNION")):
        return "nested"
    return _KINDS.get(sql_type, "other")


def scale_of(sql_type: str) -> int:
    """Digits after the point of a decimal; 0 for other types."""
    found = _DECIMAL.fullmatch(sql_type)
    return int(found[2]) if found else 0


def column_type(sql_type: str) -> ColumnType:
    """What a column of this type can hold."""
    found = _DECIMAL.fullmatch(sql_type)
    whole, scale = (int(found[1]) - int(found[2]), int(found[2])) if found else (0, 0)
    return ColumnType(kind_of(sql_type), None, whole, scale)


def sql_type(column: ColumnType) -> str:
    """The narrowest usual type for a column."""
    if column.kind == "decimal":
        digits = column.whole + column.scale
        return f"DECIMAL({18 if digits <= 18 else 38},{column.scale})"
    return _SQL.get(column.kind, "VARCHAR")


def text_expression(column: str, format_name: str, target: str, *, is_padded: bool) -> str:
    """SQL for a text column of a file as ``target``; blank is NULL.

    Args:
        column: Its name in the stage, where an empty field is NULL already.
        format_name: How its text is read.
        target: DuckDB type.
        is_padded: Padding stands around values, or is one: taking it away costs as much as all the rest.
    """
    if target == "VARCHAR":
        return f"CASE WHEN trim({column}, {_PADDING}) = '' THEN NULL ELSE {column} END" if is_padded else column
    trimmed = f"nullif(trim({column}, {_PADDING}), '')" if is_padded else column
    found = BY_NAME.get(format_name)
    return f"CAST({_plain(trimmed, found)} AS {target})" if found else f"CAST({trimmed} AS {target})"


def _plain(text: str, found: Format) -> str:
    if found.name == "decimal_comma":
        return f"replace(replace({text}, '.', ''), ',', '.')"
    if found.name == "decimal_grouped":
        return f"replace({text}, ',', '')"
    if found.name.startswith("date_"):
        order, separator = found.name[5:8], found.name[8]
        parts = {"y": "%Y", "m": "%m", "d": "%d"}
        return f"strptime({text}, '{separator.join(parts[part] for part in order)}')"
    return text
