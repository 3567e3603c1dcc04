"""pandas and SQLite: what one would put together by hand to ask a CSV file in SQL."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
from report import names, report, taken

AGGREGATE = "SELECT code, count(*), sum(amount) FROM t GROUP BY code ORDER BY 3 DESC LIMIT 20"
SETTINGS = "read_csv and to_sql as they come, into a file, committed"


def load(csv: Path, file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        frame = pd.read_csv(csv, dtype={"code": str})
        frame.to_sql("t", connection, index=False)
        connection.commit()
        return len(frame)


def ask(file: Path) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(AGGREGATE).fetchall()


def main(folder: Path) -> None:
    rows: list[int] = []
    with tempfile.TemporaryDirectory() as below:
        file = Path(below) / "t.sqlite"
        loaded = taken(lambda: rows.append(load(folder / "clean.csv", file)))
        asked = taken(lambda: ask(file))
    loaded["count"] = rows[0]
    report(names("pandas"), f"{SETTINGS}; SQLite {sqlite3.sqlite_version}", {"CSV": loaded, "aggregate": asked})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
