"""The file written anew: the engine gives freed blocks to later writes, and leaves in them what they held."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import duckdb

from datamind.core.durable import sync_folder


def write_anew(path: str) -> None:
    """Copy every table into a new file and put that in the place of the old one; nobody else has it open.

    Raises:
        duckdb.Error: The old file is as it was.
    """
    old, new = Path(path), Path(f"{path}.new")
    _remove(new)
    try:
        # A connection of its own: that of the tables may neither open files nor be told otherwise.
        with closing(duckdb.connect(":memory:")) as connection:
            connection.execute(f"ATTACH {_literal(old)} AS held (READ_ONLY)")
            connection.execute(f"ATTACH {_literal(new)} AS fresh")
            connection.execute("COPY FROM DATABASE held TO fresh")
            connection.execute("CHECKPOINT fresh")
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.replace(old)
        _remove(Path(f"{path}.wal"))
        sync_folder(old.parent)
    finally:
        _remove(new)


def _remove(path: Path) -> None:
    for one in (path, Path(f"{path}.wal")):
        one.unlink(missing_ok=True)


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
