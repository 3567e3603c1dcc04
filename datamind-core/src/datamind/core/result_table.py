"""Rows of a result as a table for Python: Arrow, pandas, a notebook."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from datamind.core.errors import InputInvalid
from datamind.core.notebook import table_html

_SHOWN_ROWS: Final = 50
_FLOATS: Final = frozenset({"NaN", "Infinity", "-Infinity"})


@dataclass(frozen=True)
class ResultTable:
    """Columns and rows of a statement, in its order.

    Attributes:
        columns: Names as the statement gives them; they may repeat.
        kinds: Of each column, as ``TableColumn.kind``; empty where they are not known.
        rows: JSON values, as ``TableResult.rows`` has them.
        total: Rows of the whole result; None when they were not counted.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    kinds: tuple[str, ...] = ()
    total: int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``: decimals, dates, times and bytes have their types; what no type holds stays text.

        Raises:
            InputInvalid: pyarrow is not installed.
        """
        pa = _library("pyarrow", "to_arrow")
        cells = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.columns)
        kinds = self.kinds or ("",) * len(self.columns)
        arrays = [_arrow_column(pa, column, kind) for column, kind in zip(cells, kinds, strict=True)]
        return pa.table(arrays, names=list(self.columns))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of the same values.

        Raises:
            InputInvalid: pandas or pyarrow is not installed.
        """
        _library("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        """The first rows for a notebook; whatever they hold, it is text there."""
        return table_html(self.columns, self.rows[:_SHOWN_ROWS], self._counted())

    def _counted(self) -> str:
        shown = min(len(self.rows), _SHOWN_ROWS)
        total = len(self.rows) if self.total is None else self.total
        if shown < total:
            return f"{shown:,} of {total:,} rows"
        return f"{total:,} row" if total == 1 else f"{total:,} rows"


def _library(name: str, wanted_by: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputInvalid(
            f"{wanted_by} needs {name}, which is not installed",
            code="input_invalid.library",
            hint=f"pip install {name}",
        ) from None


def _arrow_column(pa: Any, cells: Sequence[Any], kind: str) -> Any:
    try:
        return _typed(pa, cells, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # Such as a date before our era, or a column whose rows are of several kinds.
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _typed(pa: Any, cells: Sequence[Any], kind: str) -> Any:
    match kind:
        case "text" | "other":
            return pa.array(cells, pa.string())
        case "integer":
            numbers = [None if cell is None else int(cell) for cell in cells]
            is_small = all(number is None or -(2**63) <= number < 2**63 for number in numbers)
            return pa.array(numbers, pa.int64()) if is_small else pa.array(_decimals(cells), pa.decimal128(38, 0))
        case "decimal":
            return pa.array(_decimals(cells)) if any(cell is not None for cell in cells) else _nulls(pa, cells)
        case "float":
            return pa.array([float(cell) if cell in _FLOATS else cell for cell in cells], pa.float64())
        case "binary":
            return pa.array([None if cell is None else base64.b64decode(cell) for cell in cells], pa.binary())
        case "date":
            return pa.array(cells, pa.string()).cast(pa.date32())
        case "timestamp":
            return _moments(pa, cells)
        case "time":
            return pa.array(cells, pa.string()).cast(pa.time64("us"))
    return pa.array(cells)


def _decimals(cells: Sequence[Any]) -> list[Decimal | None]:
    return [None if cell is None else Decimal(str(cell)) for cell in cells]


def _nulls(pa: Any, cells: Sequence[Any]) -> Any:
    return pa.array(cells, pa.decimal128(38, 0))


def _moments(pa: Any, cells: Sequence[Any]) -> Any:
    longest = max((len(cell) for cell in cells if cell is not None), default=0)
    has_zone = any(cell is not None and (cell.endswith("Z") or "+" in cell[19:]) for cell in cells)
    unit = "ns" if longest > len("2026-01-02T03:04:05.123456") and not has_zone else "us"
    return pa.array(cells, pa.string()).cast(pa.timestamp(unit, tz="UTC" if has_zone else None))
