"""Rows for Python: types that Arrow has, text where it has none, and nothing that acts in a notebook."""

from __future__ import annotations

import importlib
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from datamind.core.errors import InputInvalid
from datamind.core.result_table import ResultTable

pa = pytest.importorskip("pyarrow")

COLUMNS: tuple[tuple[str, str, Any, Any], ...] = (
    ("t", "text", "007", "007"),
    ("i", "integer", 5, 5),
    ("big", "integer", str(2**63 - 1), 2**63 - 1),
    ("huge", "integer", str(2**100), Decimal(2**100)),
    ("dec", "decimal", "1.10", Decimal("1.10")),
    ("f", "float", 1.5, 1.5),
    ("b", "boolean", True, True),
    ("d", "date", "2026-01-02", date(2026, 1, 2)),
    ("ts", "timestamp", "2026-01-02T03:04:05.123456", datetime(2026, 1, 2, 3, 4, 5, 123456)),
    ("x", "binary", "AP8=", b"\x00\xff"),
    ("n", "nested", [1, 2], [1, 2]),
    ("early", "date", "0044-03-15 (BC)", "0044-03-15 (BC)"),
    ("never", "date", "infinity", "infinity"),
)


def test_arrow_keeps_every_value() -> None:
    table = ResultTable(
        tuple(name for name, *_ in COLUMNS),
        (tuple(given for _, _, given, _ in COLUMNS), (None,) * len(COLUMNS)),
        tuple(kind for _, kind, *_ in COLUMNS),
    )
    arrow = table.to_arrow()
    for place, (name, _, _, expected) in enumerate(COLUMNS):
        assert (name, arrow.column(place).to_pylist()) == (name, [expected, None])


def test_arrow_keeps_nanoseconds_zones_and_no_number() -> None:
    table = ResultTable(
        ("ns", "z", "f"),
        (("2026-01-02T03:04:05.123456789", "2026-01-02T03:04:05+00:00", "NaN"),),
        ("timestamp", "timestamp", "float"),
    )
    arrow = table.to_arrow()
    assert arrow.column("ns").cast(pa.int64()).to_pylist() == [1767323045123456789]
    assert str(arrow.schema.field("z").type) == "timestamp[us, tz=UTC]"
    assert str(arrow.column("f").to_pylist()) == "[nan]"


def test_columns_of_one_name_and_no_rows() -> None:
    assert ResultTable(("a", "a"), ((1, 2),), ("integer", "integer")).to_arrow().num_columns == 2
    assert ResultTable(("a", "b"), (), ("decimal", "")).to_arrow().num_rows == 0


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputInvalid, match="to_pandas needs pandas") as caught:
        ResultTable(("a",), ((1,),)).to_pandas()
    assert "pip install pandas" in str(caught.value)


def test_a_notebook_shows_text_and_runs_nothing() -> None:
    table = ResultTable(("<b>n</b>",), (("<script>alert(1)</script>",), (None,), ("x" * 500,)), total=70)
    shown = table._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown
    assert "x" * 201 not in shown
    assert "3 of 70 rows" in shown
