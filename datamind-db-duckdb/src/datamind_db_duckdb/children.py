"""What the two child processes start with."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from datamind_db_duckdb.engine import DuckDBEngine
    from datamind_db_duckdb.files import FileReader


def open_engine(options: Mapping[str, Any]) -> DuckDBEngine:
    """The owner of the database file."""
    _leave_numpy_out()
    from datamind_db_duckdb.engine import open_engine

    return open_engine(options)


def open_files(options: Mapping[str, Any]) -> FileReader:
    """The reader of files that are imported."""
    _leave_numpy_out()
    from datamind_db_duckdb.files import open_files

    return open_files(options)


def _leave_numpy_out() -> None:
    # pyarrow loads it wherever it is installed; nothing here uses it, and it is half of the time that pyarrow takes.
    cast("dict[str, Any]", sys.modules).setdefault("numpy", None)
