"""The SQL cases with no guard before the engine: whatever runs, no row, file, setting or connection changes."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from datamind.core.errors import DataMindError, InputInvalid, LimitExceeded
from datamind.core.protocols.database import DatabaseDialect
from datamind.testing.database_data import everything, load_table, rows, run
from datamind.testing.providers import ProviderTarget

CASES = Path(__file__).parents[1] / "cases" / "sql_cases.tsv"
TARGETS = {
    "sqlite": ProviderTarget("db.dialect", "datamind.capabilities.db.providers.memory:open_database"),
    "duckdb": ProviderTarget(
        "db.dialect", "datamind_db_duckdb.dialect:open_dialect", "datamind_db_duckdb.options:DuckDBOptions"
    ),
}
LIMIT_S = 1.0


class Case(NamedTuple):
    id: str
    dialect: str
    sql: str
    expected: str
    why: str


def cases(dialect: str) -> Iterator[Case]:
    with CASES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["dialect"] in ("any", dialect) and row["id"].startswith("R-"):
                yield Case(**{**row, "sql": json.loads(f'"{row["sql"]}"')})


def files_of_the_cases() -> dict[str, bool]:
    names = ["out.csv", "out.parquet", "evil.duckdb", "x.db", "x", "x.so", "x.php"]
    return {name: (Path("/tmp") / name).exists() for name in names}


@asynccontextmanager
async def opened(dialect: str, folder: Path) -> AsyncIterator[DatabaseDialect]:
    database = await TARGETS[dialect].open(folder)
    try:
        await load_table(database, "t", "id,name\n1,a\n2,b\n")
        await load_table(database, "t2", "id,name\n1,a\n2,b\n")
        await load_table(database, "kw", "delete,update\n1,2\n")
        yield database
    finally:
        await database.aclose()


@pytest.mark.parametrize("dialect", TARGETS)
async def test_no_case_changes_anything_or_outlives_its_limit(tmp_path: Path, dialect: str) -> None:
    found = list(cases(dialect))
    assert len(found) > 50
    async with opened(dialect, tmp_path) as database:
        held, files = await everything(database), files_of_the_cases()
        settings = await _settings(database, dialect)
        for case in found:
            try:
                await run(database.read_view(), case.sql, timeout_s=LIMIT_S)
            except DataMindError as error:
                assert isinstance(error, InputInvalid | LimitExceeded), (case, error)
            assert (case, await everything(database)) == (case, held)
            assert await _settings(database, dialect) == settings, case
        assert files_of_the_cases() == files


@pytest.mark.parametrize("dialect", TARGETS)
async def test_every_harmless_case_is_answered(tmp_path: Path, dialect: str) -> None:
    async with opened(dialect, tmp_path) as database:
        for case in cases(dialect):
            if case.expected == "read_ok" and not (case.sql.startswith("PRAGMA") or "pragma_" in case.sql):
                try:
                    await run(database.read_view(), case.sql, timeout_s=LIMIT_S)
                except LimitExceeded:
                    assert "bomb" in case.why or "limit" in case.why, case


async def test_a_statement_that_heeds_no_interrupt_ends_with_its_process(tmp_path: Path) -> None:
    async with opened("duckdb", tmp_path) as database:
        with pytest.raises(LimitExceeded):
            await run(database, "SELECT len(list_sort(range(300000000)))", timeout_s=LIMIT_S)
        assert await rows(database, "SELECT count(*) FROM t") == [[2]]


REACHING_OUT = (
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{folder}/secret.csv')",
    "SELECT * FROM parquet_schema('{folder}/secret.csv')",
    "SELECT * FROM read_json('http://127.0.0.1:9/x')",
    "SELECT * FROM query('SELECT * FROM read_text(''{folder}/secret.csv'')')",
    "SELECT getenv('HOME')",
    "SELECT * FROM folder",
)
WRITING_ROWS = (
    "WITH d AS (DELETE FROM {place} RETURNING *) SELECT * FROM d",
    "WITH d AS (INSERT INTO {place} VALUES (9, 'z', 1) RETURNING *) SELECT * FROM d",
    "WITH d AS (UPDATE {place} SET c0 = 9 RETURNING *) SELECT * FROM d",
    "WITH d AS (DELETE FROM _datamind.units RETURNING *) SELECT count(*) FROM d",
    "EXPLAIN ANALYZE DELETE FROM {place}",
)


async def test_duckdb_gives_out_no_file_no_socket_and_no_variable(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\ncanary\n")
    async with opened("duckdb", tmp_path) as database:
        for statement in REACHING_OUT:
            with pytest.raises(InputInvalid) as caught:
                print(statement, await run(database, statement.format(folder=tmp_path)))
            assert "canary" not in str(caught.value)


async def test_duckdb_rows_behind_the_views_are_read_only_too(tmp_path: Path) -> None:
    async with opened("duckdb", tmp_path) as database:
        held = await everything(database)
        query = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE '%rows%' ORDER BY 1"
        place = f"_datamind.{(await rows(database, query))[0][0]}"
        assert await rows(database, f"SELECT count(*) FROM {place}") == [[2]]
        for statement in WRITING_ROWS:
            with pytest.raises(InputInvalid):
                print(statement, await run(database, statement.format(place=place)))
        assert await everything(database) == held


async def _settings(database: DatabaseDialect, dialect: str) -> object:
    if dialect != "duckdb":
        return None
    query = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    return await rows(database, query, limit=1_000)
