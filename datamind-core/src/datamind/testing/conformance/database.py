"""The tests of a database: what reading may do, and what outlives what."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.core.errors import InputInvalid, LimitExceeded, NotFound
from datamind.core.protocols.database import (
    DatabaseDialect,
    DatabaseReader,
    ImportRemoval,
    NewTable,
    SupportsImportRemoval,
    TableColumn,
    TableDrop,
    TableOutcome,
)
from datamind.core.source import SourceRef
from datamind.core.types import new_id
from datamind.testing.conformance.database_imports import DatabaseImportsConformance
from datamind.testing.conformance.memory import WRITING
from datamind.testing.crash import write_and_die
from datamind.testing.database_data import ORDERS, everything, load, load_table, make_table_import, rows, run

NOT_A_READ: Final = (
    "DROP TABLE orders",
    "DELETE FROM orders",
    "UPDATE orders SET amount = 0",
    "INSERT INTO orders VALUES ('1', 'x', 2)",
    "CREATE TABLE z (a INTEGER)",
    "CREATE TEMP TABLE z AS SELECT 1 AS a",
    "CREATE VIEW v AS SELECT 1 AS a",
    "ALTER TABLE orders ADD COLUMN c INTEGER",
    "BEGIN",
    "COMMIT",
    "VACUUM",
    "ATTACH 'x.db' AS x",
    "SELECT 1; DROP TABLE orders",
    "SELECT 1;\nDELETE FROM orders",
    "SELECT 1; -- x\n DROP TABLE orders",
    "COMMIT; DROP TABLE orders",
    "-- SELECT\nDROP TABLE orders",
    "\ufeffDROP TABLE orders",
    "DROP\u00a0TABLE orders",
    "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "",
    ";",
    "-- nothing",
    "SELECT * FROM nowhere",
    "SELECT 'unterminated",
)
ENDLESS: Final = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
_UNIT: Final = make_table_import("orders", ORDERS.encode(), unit_id="unit_orders", receipt_id="rcpt_orders")
_NEXT: Final = make_table_import(
    "orders", b"id,customer,amount\n010,Sun,1\n", unit_id="unit_next", receipt_id="rcpt_next", mode="replace"
)


async def write_tables(database: DatabaseDialect) -> None:
    """What the child process of G11 does before it is killed."""
    await load(database, _UNIT, ORDERS.encode())
    await load_table(database, "gone", "a\n1\n")
    await database.drop(TableDrop(table="gone", unit_id="unit_drop", receipt_id="rcpt_drop"))


class DatabaseConformance(DatabaseImportsConformance):
    """Tests of DatabaseDialect and DatabaseReader.

    Capabilities: ``durable`` (it outlives the process), ``decimals`` (they are exact, and results say their kind),
    ``imports`` (it is a SupportsImportRemoval).

    Troubleshooting: a test named ``a…`` or ``b…`` shows a fault seen in comparable products.
    """

    protocols: ClassVar[tuple[type, ...]] = (DatabaseReader, DatabaseDialect, SupportsImportRemoval)
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "decimals", "imports"})

    async def test_it_declares_what_it_is(self, tmp_path: Path) -> None:
        """The declared capabilities are those of the database."""
        async with self.opened(tmp_path) as database:
            assert isinstance(database, DatabaseDialect)
            assert isinstance(database, SupportsImportRemoval) is ("imports" in self.capabilities)
            assert database.volatile is ("durable" not in self.capabilities)

    async def test_g13_one_import_goes_and_no_other_row(self, tmp_path: Path) -> None:
        """The same unit again gives the first outcome; an import that is not there changes nothing."""
        self.need("imports")
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS, receipt_id="rcpt_a")
            await load_table(database, "orders", "id,customer,amount\n010,Sun,1\n", receipt_id="rcpt_b")
            (table,) = await database.tables()
            assert (table.receipt_ids, table.import_rows) == (("rcpt_a", "rcpt_b"), (3, 1))
            removal = _removal("orders", "rcpt_a")
            outcome = await _removed(database, removal)
            assert (outcome.status, outcome.rows) == ("removed", 3)
            assert await rows(database, "SELECT id FROM orders") == [["010"]]
            (left,) = await database.tables()
            assert (left.receipt_ids, left.import_rows, left.rows) == (("rcpt_b",), (1,), 1)
            assert left.version == outcome.version != table.version
            assert await _removed(database, removal) == outcome
            assert (await _removed(database, _removal("orders", "rcpt_a"))).status == "unchanged"
            assert (await _removed(database, _removal("nowhere", "rcpt_a"))).status == "unchanged"
            assert (await database.tables()) == [left]

    async def test_g14_the_table_goes_with_the_last_that_made_it(self, tmp_path: Path) -> None:
        """A table that was made empty stays when its rows go; the others go with their last import."""
        self.need("imports")
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS, receipt_id="rcpt_a")
            await load_table(database, "orders", "id,customer,amount\n010,Sun,1\n", receipt_id="rcpt_b")
            assert (await _removed(database, _removal("orders", "rcpt_a"))).status == "removed"
            dropped = await _removed(database, _removal("orders", "rcpt_b"))
            assert (dropped.status, dropped.rows, dropped.version) == ("dropped", 1, "")
            source = make_table_import("made", b"").source
            columns = (TableColumn(name="a", kind="integer"),)
            new = NewTable(table="made", unit_id=new_id("unit"), receipt_id="rcpt_m", columns=columns, source=source)
            await database.create(new)
            await load_table(database, "made", "a\n1\n", receipt_id="rcpt_c")
            assert (await _removed(database, _removal("made", "rcpt_c"))).status == "removed"
            assert [(table.name, table.rows) for table in await database.tables()] == [("made", 0)]
            assert (await _removed(database, _removal("made", "rcpt_m"))).status == "dropped"
            assert list(await database.tables()) == []

    async def test_g1_what_does_not_only_read_is_refused(self, tmp_path: Path) -> None:
        """And nothing changed."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS)
            before = await everything(database)
            for statement in NOT_A_READ:
                with pytest.raises(InputInvalid):
                    print(statement, await run(database.read_view(), statement))
            assert await everything(database) == before

    async def test_g1_a39_words_in_literals_and_names_are_no_statements(self, tmp_path: Path) -> None:
        """One statement is one, whatever it quotes and however it ends."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "kw", "delete,update\n1,2\n")
            assert await rows(database, "SELECT 'a/*b*/c' AS a, 'x -- y; DROP TABLE kw' AS b;;") == [
                ["a/*b*/c", "x -- y; DROP TABLE kw"]
            ]
            assert await rows(database, 'SELECT "delete", "update" FROM kw ; ') == [[1, 2]]
            assert await rows(database, "/* DROP */ SELECT count(*) FROM kw -- all") == [[1]]

    async def test_g1_a3_reading_does_not_lock_writing_out(self, tmp_path: Path) -> None:
        """Read-only is a matter of each statement."""
        async with self.opened(tmp_path) as database:
            assert await rows(database, "SELECT 1") == [[1]]
            assert (await load_table(database, "orders", ORDERS)).status == "created"
            assert await rows(database, "SELECT count(*) FROM orders") == [[3]]

    async def test_g2_a25_an_endless_statement_is_stopped_and_the_next_one_served(self, tmp_path: Path) -> None:
        """Six of them at once, too."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS)
            tasks = [run(database, ENDLESS, timeout_s=0.3) for _ in range(6)]
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(ended, LimitExceeded)
                assert ended.code == "limit_exceeded.time"
            assert await rows(database, "SELECT count(*) FROM orders") == [[3]]

    async def test_g3_names_in_any_script_are_kept(self, tmp_path: Path) -> None:
        """Of tables and of columns, with spaces and quotes."""
        async with self.opened(tmp_path) as database:
            await load_table(database, '订单 "x"\'', '姓名,"a ""b""",Größe\n张三,1,2\n')
            (table,) = await database.tables()
            assert table.name == '订单 "x"\''
            assert [column.name for column in table.columns] == ["姓名", 'a "b"', "Größe"]
            assert await rows(database, 'SELECT "姓名" FROM "订单 ""x""\'"') == [["张三"]]
            assert (await database.describe('订单 "X"\'')).sample == (("张三", 1, 2),)

    async def test_g3_a_number_too_large_for_json_is_text(self, tmp_path: Path) -> None:
        """2**53 is a number, what is beyond it exact text."""
        async with self.opened(tmp_path) as database:
            found = await rows(
                database, "SELECT 9007199254740992 AS a, 9007199254740993 AS b, -9223372036854775807 AS c"
            )
            assert found == [[2**53, "9007199254740993", "-9223372036854775807"]]

    async def test_g3_decimals_are_exact_text(self, tmp_path: Path) -> None:
        """With the scale of their column, and sums of them."""
        self.need("decimals")
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "a\n0.10\n0.2\n")
            result = await run(database, "SELECT a, sum(a) OVER () AS s FROM t ORDER BY a")
            assert result.rows == (("0.10", "0.30"), ("0.20", "0.30"))
            assert [column.kind for column in result.columns] == ["decimal", "decimal"]

    async def test_g4_a_view_taken_before_a_write_sees_it(self, tmp_path: Path) -> None:
        """And its end."""
        async with self.opened(tmp_path) as database:
            view = database.read_view()
            assert not await view.tables()
            await load_table(database, "orders", ORDERS)
            assert await rows(view, "SELECT count(*) FROM orders") == [[3]]
            await database.drop(TableDrop(table="ORDERS", unit_id=new_id("unit"), receipt_id="r"))
            with pytest.raises(NotFound):
                await view.describe("orders")

    async def test_g5_versions_grow_with_every_change_and_never_come_back(self, tmp_path: Path) -> None:
        """Also over a drop."""
        async with self.opened(tmp_path) as database:
            seen = []
            for number in range(3):
                for mode in ("append", "replace"):
                    await load_table(database, "t", f"a\n{number}\n", mode=mode, force=True)
                    seen.append(int((await run(database, "SELECT * FROM t")).tables[0].version))
                await database.drop(TableDrop(table="t", unit_id=new_id("unit"), receipt_id="r"))
            assert seen == sorted(set(seen))

    async def test_g5_a_result_names_the_tables_it_read(self, tmp_path: Path) -> None:
        """With their versions and receipts, and no others."""
        async with self.opened(tmp_path) as database:
            first = make_table_import("a", b"x\n1\n")
            await load(database, first, b"x\n1\n")
            await load_table(database, "b", "x\n1\n")
            await load_table(database, "ab", "x\n1\n")
            joined = await run(database, "SELECT a.x FROM a JOIN b USING (x)")
            assert [table.name for table in joined.tables] == ["a", "b"]
            assert joined.tables[0].receipt_ids == (first.receipt_id,)
            assert joined.tables[0].sources == (first.source,)
            assert (await run(database, "SELECT 1")).tables == ()

    async def test_g5_b21_pages_fit_together(self, tmp_path: Path) -> None:
        """Every row once, in one order, by rows and by bytes."""
        text = "n,note\n" + "".join(f"{number},{'x' * 40}\n" for number in range(2_500))
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", text)
            for limits in ({"limit": 1_000}, {"limit": 5_000, "max_bytes": 20_000}):
                found: list[Any] = []
                more = True
                while more:
                    page = await run(database, "SELECT n FROM t", offset=len(found), **limits)
                    found += [row[0] for row in page.rows]
                    more = page.more
                    assert page.total == 2_500
                assert sorted(found) == list(range(2_500))

    async def test_g5_a_row_larger_than_a_page_is_told(self, tmp_path: Path) -> None:
        """Rather than an endless row of empty pages."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", f"a\n{'x' * 5_000}\n")
            with pytest.raises(LimitExceeded):
                await run(database, "SELECT a FROM t", max_bytes=1_000)

    async def test_an_empty_table_is_made_filled_and_removed(self, tmp_path: Path) -> None:
        """With the types it was asked for."""
        async with self.opened(tmp_path) as database:
            columns = (TableColumn(name="id", kind="text"), TableColumn(name="n", kind="integer"))
            source = SourceRef.of_text("columns", profile="test")
            made = await database.create(
                NewTable(table="t", unit_id="u1", receipt_id="r1", columns=columns, source=source)
            )
            assert (made.status, made.rows) == ("created", 0)
            assert (await load_table(database, "t", "id,n\n7,8\n")).status == "appended"
            assert await rows(database, "SELECT * FROM t") == [["7", 8]]
            gone = TableDrop(table="t", unit_id="u2", receipt_id="r2")
            assert (await database.drop(gone)).status == "dropped"
            again = TableDrop(table="t", unit_id="u3", receipt_id="r3")
            assert (await database.drop(again)).status == "unchanged"

    async def test_g11_what_returned_survives_the_death_of_the_process(self, tmp_path: Path) -> None:
        """A child process writes and is killed; doing it again changes nothing."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_tables.__name__}")
        async with self.opened(tmp_path) as database:
            held = await everything(database)
            assert {name: len(found) for name, (_, found) in held.items()} == {"orders": 3}
            assert (await load(database, _UNIT, ORDERS.encode())).status == "created"
            assert await everything(database) == held

    async def test_g11_sync_may_be_called_at_any_time_and_aclose_twice(self, tmp_path: Path) -> None:
        """Neither raises."""
        async with self.opened(tmp_path) as database:
            await database.sync()
            await load_table(database, "orders", ORDERS)
            await database.sync()
            await database.aclose()

    async def test_g12_a_read_view_has_no_method_that_writes(self, tmp_path: Path) -> None:
        """By the names of its public attributes."""
        async with self.opened(tmp_path) as database:
            view = database.read_view()
            assert isinstance(view, DatabaseReader)
            assert not isinstance(view, DatabaseDialect)
            assert not [name for name in dir(view) if name.startswith((*WRITING, "load", "create", "drop"))]


def _removal(table: str, import_receipt: str) -> ImportRemoval:
    return ImportRemoval(table=table, unit_id=new_id("unit"), receipt_id=new_id("rcpt"), import_receipt=import_receipt)


async def _removed(database: DatabaseDialect, request: ImportRemoval) -> TableOutcome:
    assert isinstance(database, SupportsImportRemoval)
    return await database.remove_import(request)
