"""Awkward files and statements on the engines: what is found out is told, what cannot be read is refused."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from datamind.core.errors import InputInvalid, LimitExceeded, NotFound, SourceUnreadable
from datamind.core.protocols.database import DatabaseDialect
from datamind.testing.database_data import load, load_table, make_table_import, rejected, rows, run
from datamind.testing.providers import ProviderTarget

TARGETS = {
    "memory": ProviderTarget("db.dialect", "datamind.capabilities.db.providers.memory:open_database"),
    "duckdb": ProviderTarget(
        "db.dialect", "datamind_db_duckdb.dialect:open_dialect", "datamind_db_duckdb.options:DuckDBOptions"
    ),
}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"
both = pytest.mark.parametrize("dialect", TARGETS)


@asynccontextmanager
async def opened(folder: Path, dialect: str = "duckdb") -> AsyncIterator[DatabaseDialect]:
    database = await TARGETS[dialect].open(folder)
    try:
        yield database
    finally:
        await database.aclose()


@both
async def test_a29_a30_what_was_found_out_is_told(tmp_path: Path, dialect: str) -> None:
    async with opened(tmp_path, dialect) as database:
        gbk = (await load_table(database, "a", "编号;名称;金额\n007;张三;1,5\n008;李四;2,25\n".encode("gbk"))).detected
        assert (gbk.encoding, gbk.delimiter, gbk.escape, gbk.header) == ("gb18030", ";", "", True)
        assert list(gbk.columns) == ["编号", "名称", "金额"]
        bare = (await load_table(database, "b", "1,2\n3,4\n")).detected
        assert (bare.header, list(bare.columns)) == (False, ["column_1", "column_2"])
        escaped = (await load_table(database, "c", 'a,b\n1,"x\\"y"\n2,z\n')).detected
        assert escaped.escape == "\\"
        assert await rows(database, "SELECT b FROM c WHERE a = 1") == [['x"y']]


async def test_a27_types_are_told_as_they_are_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        text = "id,amount,day,code,long\n1,1.50,2026-01-02,007,1234567890123456\n2,2,2026-01-03,008,1\n"
        assert (await load_table(database, "t", text)).detected.columns == {
            "id": "BIGINT",
            "amount": "DECIMAL(18,2)",
            "day": "DATE",
            "code": "VARCHAR",
            "long": "VARCHAR",
        }
        assert await rows(database, "SELECT * FROM t WHERE id = 1") == [
            [1, "1.50", "2026-01-02", "007", "1234567890123456"]
        ]


@both
@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html>\n<html><head><title>Sorry, not found</title></head>\n<body><p>a, b</p></body></html>\n",
        "\ufeff\n  <HTML lang=en>\n<body>\n1,2\n</body></html>\n",
    ],
)
async def test_a_web_page_is_no_table(tmp_path: Path, dialect: str, page: str) -> None:
    async with opened(tmp_path, dialect) as database:
        with pytest.raises(SourceUnreadable) as caught:
            await load_table(database, "t", page)
        assert caught.value.code == "source_unreadable.html"
        assert list(await database.tables()) == []


@both
async def test_a32_a_file_with_nothing_in_it_is_refused_and_a_header_alone_is_a_table(
    tmp_path: Path, dialect: str
) -> None:
    async with opened(tmp_path, dialect) as database:
        for nothing in ("", "\n\n", "\ufeff", "sep=;\n"):
            with pytest.raises(SourceUnreadable) as caught:
                await load_table(database, "t", nothing)
            assert caught.value.code == "source_unreadable.empty"
        await load_table(database, "t", "a,b\n")
        (table,) = await database.tables()
        assert ([column.name for column in table.columns], table.rows) == (["a", "b"], 0)


@both
@pytest.mark.parametrize("text", ["at\n01:02:03\n04:05:06\n", "from,to\n01:02,03:04\n05:06,07:08\n"])
async def test_a30_times_are_not_cut_at_their_colons(tmp_path: Path, dialect: str, text: str) -> None:
    async with opened(tmp_path, dialect) as database:
        outcome = await load_table(database, "t", text)
        assert (outcome.rows, outcome.detected.rejected_total) == (2, 0)
        assert list(outcome.detected.columns) == text.splitlines()[0].split(",")


@both
async def test_a30_a_file_of_which_next_to_nothing_fits_is_refused(tmp_path: Path, dialect: str) -> None:
    text = "a,b\n" + "1,2\n" + "".join(f"{'x,' * (3 + number)}y\n" for number in range(20))
    async with opened(tmp_path, dialect) as database:
        with pytest.raises(SourceUnreadable, match="only 1 of 21 records fit") as caught:
            await load_table(database, "t", text, header=True, delimiter=",")
        assert caught.value.code == "source_unreadable.no_rows"
        few = await load_table(database, "t", "a,b\n1,2\n1,2\n1\n1,2,3\n")
        assert rejected(few) == [(4, "too_few_fields"), (5, "too_many_fields")]


@both
async def test_a30_a_line_break_behind_a_backslash_is_part_of_its_field(tmp_path: Path, dialect: str) -> None:
    text = "a,b,c\n" + "".join(f"{number},first\\\nsecond,z\n" for number in range(5))
    async with opened(tmp_path, dialect) as database:
        outcome = await load_table(database, "t", text)
        assert (outcome.rows, outcome.detected.escape) == (5, "\\")
        assert (await rows(database, "SELECT b FROM t LIMIT 1")) == [["first\nsecond"]]


async def test_of_two_sheets_the_first_is_read_and_the_other_named(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "Leer"
    for title, value in (("Umsatz", 5), ("客户", 7)):
        sheet = book.create_sheet(title)
        sheet.append(["n"])
        sheet.append([value])
    book.save(tmp_path / "book.xlsx")
    content = (tmp_path / "book.xlsx").read_bytes()
    async with opened(tmp_path) as database:
        found = (await load(database, make_table_import("t", content, media_type=XLSX), content)).detected
        assert (found.sheet, found.other_sheets, found.header) == ("Umsatz", ("客户",), True)
        request = make_table_import("u", content, media_type=XLSX, sheet="客户")
        assert (await load(database, request, content)).detected.other_sheets == ("Umsatz",)
        assert await rows(database, "SELECT t.n, u.n FROM t, u") == [[5, 7]]


def workbook(*, chart_first: bool = False) -> bytes:
    import openpyxl
    from openpyxl.chart import BarChart

    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in (("name", "n"), ("north", 1), ("south", 2)):
        book.active.append(row)
    if chart_first:
        book.create_chartsheet("Chart", 0).add_chart(BarChart())
    book.save(content)
    return content.getvalue()


def with_part(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """The container with one part changed."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(changed, "w") as after:
        for part in before.namelist():
            held = before.read(part)
            after.writestr(part, change(held) if part == name else held)
    return changed.getvalue()


@pytest.mark.parametrize("size", [b"A1", b"A1:A2", b"A1:XFD900000"])
async def test_a_workbook_that_states_a_wrong_size_is_read_whole(tmp_path: Path, size: bytes) -> None:
    content = with_part(
        workbook(),
        "xl/worksheets/sheet1.xml",
        lambda part: re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="' + size + b'"', part),
    )
    async with opened(tmp_path) as database:
        assert (await load(database, make_table_import("t", content, media_type=XLSX), content)).rows == 2
        assert await rows(database, "SELECT name, n FROM t ORDER BY n") == [["north", 1], ["south", 2]]


async def test_a_workbook_without_a_header_is_as_wide_as_its_widest_row(tmp_path: Path) -> None:
    import openpyxl

    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for row in ((1,), (2, 3), (4,)):
        book.active.append(row)
    book.save(buffer)
    content = buffer.getvalue()
    async with opened(tmp_path) as database:
        request = make_table_import("t", content, media_type=XLSX, header=False)
        assert (await load(database, request, content)).rows == 3
        assert await rows(database, "SELECT * FROM t ORDER BY 1") == [[1, None], [2, 3], [4, None]]


async def test_a_sheet_that_is_a_chart_is_passed_over(tmp_path: Path) -> None:
    content = workbook(chart_first=True)
    async with opened(tmp_path) as database:
        found = await load(database, make_table_import("t", content, media_type=XLSX), content)
        assert (found.rows, found.detected.sheet) == (2, "Sheet")
        with pytest.raises(NotFound, match="'Chart'; there are Sheet"):
            await load(database, make_table_import("u", content, media_type=XLSX, sheet="Chart"), content)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("xl/workbook.xml", lambda part: part[: len(part) // 2]),
        ("xl/worksheets/sheet1.xml", lambda part: part[: len(part) // 2]),
        ("xl/worksheets/sheet1.xml", lambda part: part.replace(b"<v>2</v>", b"<v>my secret</v>")),
    ],
)
async def test_a_damaged_part_of_a_workbook_is_told_without_what_is_in_it(
    tmp_path: Path, part: str, change: Callable[[bytes], bytes]
) -> None:
    content = with_part(workbook(), part, change)
    async with opened(tmp_path) as database:
        with pytest.raises(SourceUnreadable) as refused:
            await load(database, make_table_import("t", content, media_type=XLSX), content)
        assert refused.value.code == "source_unreadable.xlsx"
        assert "secret" not in str(refused.value)


async def test_a_key_of_a_parquet_file_is_looked_at_whatever_its_case(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table({"ID": [1, None], "n": [2, 3]}), buffer)
    content = buffer.getvalue()
    async with opened(tmp_path) as database:
        with pytest.raises(InputInvalid, match="the key is NULL") as refused:
            request = make_table_import("t", content, media_type=PARQUET, mode="upsert", key=("id",))
            await load(database, request, content)
        assert refused.value.code == "input_invalid.key"


@pytest.mark.parametrize("media_type", [PARQUET, XLSX])
async def test_a_damaged_file_is_told_and_changes_nothing(tmp_path: Path, media_type: str) -> None:
    async with opened(tmp_path) as database:
        await load_table(database, "t", "a\n1\n")
        for content in (b"PAR1" + b"x" * 200 + b"PAR1", b"PK\x03\x04" + b"junk" * 60, b"nothing of the kind"):
            request = make_table_import("t", content, media_type=media_type, mode="replace")
            with pytest.raises(SourceUnreadable):
                await load(database, request, content)
        assert await rows(database, "SELECT * FROM t") == [[1]]


async def test_what_python_has_no_value_for_is_exact_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        statement = (
            "SELECT TIMESTAMP_NS '2026-01-02 03:04:05.123456789' AS a, INTERVAL 1 MONTH AS b, DATE 'infinity' AS c,"
            " DATE '9999-12-31' AS d, TIMESTAMP '-infinity' AS e, TIMESTAMP '9999-12-31 01:00:00' AS f -- end"
        )
        assert await rows(database, statement) == [
            ["2026-01-02T03:04:05.123456789", "1 month", "infinity", "9999-12-31", "-infinity", "9999-12-31T01:00:00"]
        ]
        values = "SELECT 'NaN'::DOUBLE, '-inf'::FLOAT, 2::HUGEINT ** 100, '\\x00\\xFF'::BLOB, 1.10::DECIMAL(30, 20)"
        (found,) = await rows(database, values)
        assert found[:2] == ["NaN", "-Infinity"]
        assert found[3:] == ["AP8=", "1.10000000000000000000"]


async def test_parameters_are_bound(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await load_table(database, "t", "id,name\n1,a\n2,b\n")
        found = await run(database, "SELECT name FROM t WHERE id = ?", parameters=(2,))
        assert (found.rows, [table.name for table in found.tables]) == ((("b",),), ["t"])


BOMBS = (
    "SELECT count(*) FROM range(100000000000)",
    "SELECT range(1000000000)",
    "SELECT repeat('x', 2000000000)",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c",
    "SELECT string_agg(i::VARCHAR) FROM range(300000000) t(i)",
)


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a25_a_bomb_is_stopped_and_the_next_statement_served(tmp_path: Path, bomb: str) -> None:
    async with opened(tmp_path) as database:
        await load_table(database, "t", "a\n1\n")
        with pytest.raises(LimitExceeded):
            await run(database, bomb, timeout_s=1.0)
        assert await rows(database, "SELECT * FROM t") == [[1]]


async def test_a39_words_of_statements_in_literals_and_names(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await load_table(database, "04_sales", "note,drop\nmoved into table 5,1\nx -- y,2\n")
        statement = "SELECT 'a/*b*/c', 'x -- y;', \"drop\" FROM \"04_sales\" WHERE note = 'moved into table 5'"
        assert await rows(database, statement) == [["a/*b*/c", "x -- y;", 1]]
        with pytest.raises(InputInvalid):
            await rows(database, 'SELECT 1; DROP TABLE "04_sales"')


@pytest.mark.parametrize("name", ["04_sales", 'we "quote"', "two words", "表 😀", "select", "a;b", "x--y"])
async def test_a28_a_table_of_any_name(tmp_path: Path, name: str) -> None:
    from datamind.capabilities.db.tabular.names import quoted

    async with opened(tmp_path) as database:
        await load_table(database, name, "a\n1\n")
        await load_table(database, name, "a\n2\n", mode="replace")
        assert await rows(database, f"SELECT a FROM {quoted(name)}") == [[2]]
        assert (await database.describe(name)).table.name == name


async def test_a_line_without_end_is_told_and_not_held(tmp_path: Path) -> None:
    long = b"x" * (48 * 1024 * 1024)
    async with opened(tmp_path) as database:
        with pytest.raises(SourceUnreadable) as caught:
            await load_table(database, "t", long)
        assert caught.value.code == "source_unreadable.long_line"
        outcome = await load_table(database, "t", b"a,b\n" + b"1,2\n" * 1_200 + b"3," + long + b"\n5,6\n")
        assert (rejected(outcome), outcome.rows) == ([(1_202, "too_long")], 1_201)
