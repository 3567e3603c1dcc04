"""The tests of what an import makes of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.core.errors import Conflict, InputInvalid, SourceUnreadable
from datamind.core.protocols.database import TableDrop
from datamind.core.types import new_id
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.database_data import (
    ORDERS,
    everything,
    load,
    load_table,
    make_table_import,
    rejected,
    rows,
    run,
)

BROKEN: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("a,b\n1,2,3\n4,5,6\n", {"header": True}),
    ("", {}),
    ("a\n\x00\x01\x02\x03\n", {}),
    ("a,b\n1,2\n", {"encoding": "no-such-codec"}),
    ("a,b\n1,2\n", {"delimiter": "::"}),
    ("[1, 2", {"media_type": "application/json"}),
    ("[]", {"media_type": "application/json"}),
    ("1,2\n", {"media_type": "image/png"}),
)
AWKWARD: Final[tuple[tuple[str, list[tuple[int, str]], list[list[Any]]], ...]] = (
    ("a,b\n1,2,3\n4,5\n", [(2, "too_many_fields")], [[4, 5]]),
    ("a,b\n1\n4,5\n6,7\n", [(2, "too_few_fields")], [[4, 5], [6, 7]]),
    ("a,b\n1,2,,\n4,5\n6,7\n", [], [[1, 2], [4, 5], [6, 7]]),
    ('a,b\n1,"x\n2,y\n3,z\n', [(2, "unclosed_quote")], [[2, "y"], [3, "z"]]),
    ('a,b\n1,"x"y\n2,y\n3,z\n', [(2, "malformed_quote")], [[2, "y"], [3, "z"]]),
    ('a,b\n1,"x\ny"\n2,"q ""w"""\n', [], [[1, "x\ny"], [2, 'q "w"']]),
    ("sep=;\na;b\n1;2\n", [], [[1, 2]]),
    ("a;b\n1;x,5\n2;y,25\n", [], [[1, "x,5"], [2, "y,25"]]),
    ("Report\n\na,b\n1,2\n3,4\n", [(1, "before_header")], [[1, 2], [3, 4]]),
    ("a,b\r\n1,2\r\n\r\n3,4\r\n\r\n", [], [[1, 2], [3, 4]]),
    ("a,b\r1,2\r3,4\r", [], [[1, 2], [3, 4]]),
)
VALUES: Final = (
    ("1,234", "text", "1,234"),
    ("007", "text", "007"),
    ("1234567890123456", "text", "1234567890123456"),
    ("123456789012345", "integer", 123456789012345),
    ("-5", "integer", -5),
    ("+5", "text", "+5"),
    (" 5 ", "integer", 5),
    ("1e3", "float", 1000.0),
    ("true", "boolean", True),
    ("yes", "text", "yes"),
    ("2026-02-28", "date", "2026-02-28"),
    ("2026-02-30", "text", "2026-02-30"),
    ("13/02/2026", "date", "2026-02-13"),
    ("02/13/2026", "date", "2026-02-13"),
    ("03/02/2026", "text", "03/02/2026"),
    ("28.02.2026", "date", "2026-02-28"),
    ("2026/2/8", "date", "2026-02-08"),
    ("2026-02-28 10:30:00", "timestamp", "2026-02-28T10:30:00"),
    ("2026-02-28T10:30", "timestamp", "2026-02-28T10:30:00"),
    ("2026-02-28T10:30:00Z", "text", "2026-02-28T10:30:00Z"),
    ("20260228", "integer", 20260228),
    ("NULL", "text", "NULL"),
    ("NaN", "text", "NaN"),
    ("𝟙", "text", "𝟙"),
    ("١٢", "text", "١٢"),
)


class DatabaseImportsConformance(ProviderConformance):
    """Tests of ``load``.

    Troubleshooting: all dialects read a file with ``datamind.capabilities.db.tabular``, or agree with it.
    """

    kind: ClassVar[ProviderKind] = ProviderKind.DB_DIALECT

    async def test_g6_the_same_unit_again_changes_nothing(self, tmp_path: Path) -> None:
        """Whatever the mode; the first outcome comes back."""
        async with self.opened(tmp_path) as database:
            for mode in ("append", "replace", "upsert"):
                key = ("id",) if mode == "upsert" else ()
                request = make_table_import("orders", ORDERS.encode(), mode=mode, key=key, force=True)
                first = await load(database, request, ORDERS.encode())
                held = await everything(database)
                assert await load(database, request, ORDERS.encode()) == first
                assert await everything(database) == held

    async def test_g7_a_failed_replace_leaves_the_old_rows(self, tmp_path: Path) -> None:
        """Whatever is wrong with the file."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS)
            held = await everything(database)
            for text, fields in BROKEN:
                with pytest.raises((SourceUnreadable, InputInvalid)):
                    print(text, await load_table(database, "orders", text, mode="replace", **fields))
                assert await everything(database) == held

    async def test_g7_a4_replace_numbers_equal_names_and_says_so(self, tmp_path: Path) -> None:
        """The new columns, and only the new rows."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "a\n1\n2\n")
            outcome = await load_table(database, "t", "id,ID,,id\n1,2,3,4\n", mode="replace")
            assert (outcome.status, outcome.rows) == ("replaced", 1)
            assert outcome.detected.renamed == {"ID_2": "ID", "column_3": "", "id_3": "id"}
            (table,) = await database.tables()
            assert [column.name for column in table.columns] == ["id", "ID_2", "column_3", "id_3"]

    async def test_g7_a32_a_header_alone_replaces_by_an_empty_table(self, tmp_path: Path) -> None:
        """No rows, the new columns."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS)
            outcome = await load_table(database, "orders", "a,b\n", mode="replace")
            assert (outcome.status, outcome.rows) == ("replaced", 0)
            result = await run(database, "SELECT * FROM orders")
            assert ([column.name for column in result.columns], result.rows) == (["a", "b"], ())

    async def test_fail_makes_a_table_and_nothing_else(self, tmp_path: Path) -> None:
        """A conflict leaves what is there."""
        async with self.opened(tmp_path) as database:
            assert (await load_table(database, "orders", ORDERS, mode="fail")).status == "created"
            with pytest.raises(Conflict):
                await load_table(database, "Orders", "a\n1\n", mode="fail")
            assert await rows(database, "SELECT count(*) FROM orders") == [[3]]

    async def test_g8_a30_every_record_is_a_row_or_told(self, tmp_path: Path) -> None:
        """By line and code."""
        async with self.opened(tmp_path) as database:
            for text, expected, kept in AWKWARD:
                outcome = await load_table(database, "t", text, mode="replace")
                assert (text, rejected(outcome)) == (text, expected)
                assert outcome.detected.rejected_total == len(expected)
                assert (text, await rows(database, "SELECT a, b FROM t ORDER BY a")) == (text, kept)
                assert outcome.rows == len(kept)

    async def test_g8_bytes_that_are_no_text_cost_their_line_alone(self, tmp_path: Path) -> None:
        """The others of a UTF-8 file are kept."""
        content = "a,b\n1,é\n2,".encode() + b"\xff\xfe\n" + "3,ü\n4,ä\n".encode()
        async with self.opened(tmp_path) as database:
            outcome = await load_table(database, "t", content)
            assert rejected(outcome) == [(3, "invalid_encoding")]
            assert await rows(database, "SELECT b FROM t ORDER BY a") == [["é"], ["ü"], ["ä"]]

    async def test_g8_columns_must_fit_their_table(self, tmp_path: Path) -> None:
        """By name in any order; an absent one is NULL, another one or another kind fails the import."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "id,n\nx,1\n")
            await load_table(database, "t", "N,ID\n2,y\n")
            await load_table(database, "t", "id\nz\n")
            assert await rows(database, "SELECT id, n FROM t ORDER BY id") == [["x", 1], ["y", 2], ["z", None]]
            held = await everything(database)
            for text in ("id,n,more\na,1,2\n", "id,n\na,many\n", "id,n\na,2026-01-01\n"):
                with pytest.raises(InputInvalid):
                    await load_table(database, "t", text)
            assert await everything(database) == held

    async def test_g9_an_integer_column_takes_decimals_and_text_takes_all(self, tmp_path: Path) -> None:
        """Without loss."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "code,n\nA1,1\n")
            await load_table(database, "t", "code,n\n007,2.50\n")
            found = await rows(database, "SELECT code, n FROM t ORDER BY n")
            assert [[code, float(n)] for code, n in found] == [["A1", 1.0], ["007", 2.5]]

    async def test_g9_b30_a_value_is_what_was_written(self, tmp_path: Path) -> None:
        """A type only where nothing else can be meant."""
        async with self.opened(tmp_path) as database:
            for written, kind, value in VALUES:
                await load_table(database, "t", f'k,v\nx,"{written}"\ny,\nz,"  "\n', mode="replace")
                (table,) = await database.tables()
                assert (written, [column.kind for column in table.columns]) == (written, ["text", kind])
                assert await rows(database, "SELECT v FROM t ORDER BY k") == [[value], [None], [None]]

    async def test_g9_a27_typed_columns_compare_as_numbers(self, tmp_path: Path) -> None:
        """Blank is NULL and takes no part."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "name,amount\na,9\nb,100\nc,25\nd,\n")
            assert await rows(database, "SELECT name FROM t WHERE amount > 50") == [["b"]]
            found = await rows(database, "SELECT name FROM t WHERE amount IS NOT NULL ORDER BY amount DESC LIMIT 1")
            assert found == [["b"]]
            assert await rows(database, "SELECT max(amount), round(avg(amount), 2), count(amount) FROM t") == [
                [100, 44.67, 3]
            ]

    async def test_g9_a28_a29_the_encoding_is_found_and_told(self, tmp_path: Path) -> None:
        """Names and values are those that were meant, without a mark."""
        text = "姓名,部门,Order ID\n张三,销售部,007\n李四,人事部,008\n"
        async with self.opened(tmp_path) as database:
            for encoding in ("gbk", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-8"):
                outcome = await load_table(database, "t", text.encode(encoding), mode="replace")
                assert outcome.detected.encoding == {"gbk": "gb18030"}.get(encoding, encoding)
                assert await rows(database, 'SELECT "姓名", "部门", "Order ID" FROM t ORDER BY 3') == [
                    ["张三", "销售部", "007"],
                    ["李四", "人事部", "008"],
                ]

    async def test_g9_b30_a_mark_and_a_semicolon(self, tmp_path: Path) -> None:
        """The first name has no mark."""
        async with self.opened(tmp_path) as database:
            outcome = await load_table(database, "t", "\ufeffid;name\n1;Ærø\n".encode())
            assert (outcome.detected.encoding, outcome.detected.delimiter) == ("utf-8-sig", ";")
            assert await rows(database, "SELECT id, name FROM t") == [[1, "Ærø"]]

    async def test_g9_json_keeps_its_types(self, tmp_path: Path) -> None:
        """Nested values are JSON text, absent keys NULL, text that looks like a number text."""
        records = [{"id": "007", "n": 1, "ok": True, "day": "2026-01-02", "in": {"a": [1]}}, {"id": "8", "n": 2}]
        lines = "\n".join(json.dumps(record) for record in records) + '\n5\n{"id": \n{"id": "9", "id": "9"}\n'
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", json.dumps(records), media_type="application/json")
            outcome = await load_table(database, "l", lines, media_type="application/x-ndjson")
            assert rejected(outcome) == [(3, "not_an_object"), (4, "invalid_json"), (5, "invalid_json")]
            for table in ("t", "l"):
                assert await rows(database, f'SELECT id, n, ok, day, "in" FROM {table} ORDER BY n') == [  # noqa: S608
                    ["007", 1, True, "2026-01-02", '{"a":[1]}'],
                    ["8", 2, None, None, None],
                ]

    async def test_g10_a32_the_same_source_again_is_unchanged(self, tmp_path: Path) -> None:
        """Until its rows are gone; force appends them again."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS)
            again = await load_table(database, "orders", ORDERS)
            assert (again.status, again.rows) == ("unchanged", 0)
            assert await rows(database, "SELECT count(*) FROM orders") == [[3]]
            assert (await load_table(database, "orders", ORDERS, force=True)).status == "appended"
            assert await rows(database, "SELECT count(*) FROM orders") == [[6]]
            await load_table(database, "orders", "id,customer,amount\n1x,Q,1\n", mode="replace")
            assert (await load_table(database, "orders", ORDERS)).status == "appended"
            await database.drop(TableDrop(table="orders", unit_id=new_id("unit"), receipt_id="r"))
            assert (await load_table(database, "orders", ORDERS)).status == "created"

    async def test_g10_rows_that_were_overwritten_are_stored_again(self, tmp_path: Path) -> None:
        """A source is in the table only with all its rows."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "id,v\n1,a\n2,b\n", mode="upsert", key=("id",))
            await load_table(database, "t", "id,v\n2,c\n", mode="upsert", key=("id",))
            assert await rows(database, "SELECT v FROM t ORDER BY id") == [["a"], ["c"]]
            assert (await load_table(database, "t", "id,v\n1,a\n2,b\n", mode="upsert", key=("id",))).rows == 2
            assert await rows(database, "SELECT v FROM t ORDER BY id") == [["a"], ["b"]]

    async def test_g15_a_newer_version_takes_the_place_of_the_older(self, tmp_path: Path) -> None:
        """With its own columns, where nothing else is in the table; back and forth, too."""
        versions = ("id,v\n1,a\n2,b\n", "id,note,v\nx1,n,2.5\n", "id,v\n")
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", versions[0], uri="file:t.csv", receipt_id="rcpt_0")
            for number, text in enumerate((*versions[1:], *versions), 1):
                outcome = await load_table(database, "t", text, uri="file:t.csv", receipt_id=f"rcpt_{number}")
                assert (outcome.status, outcome.closed) == ("renewed", (f"rcpt_{number - 1}",))
                again = await load_table(database, "t", text, uri="file:t.csv")
                assert (again.status, again.closed, again.version) == ("unchanged", (), outcome.version)
                (table,) = await database.tables()
                header, *lines = text.split()
                assert [column.name for column in table.columns] == header.split(",")
                assert (table.rows, table.receipt_ids) == (len(lines), (f"rcpt_{number}",))

    async def test_g15_rows_of_other_sources_stay(self, tmp_path: Path) -> None:
        """And so do the columns: those of the new version must fit."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "id,v\n1,a\n2,b\n", uri="file:one.csv", receipt_id="rcpt_one")
            await load_table(database, "t", "id,v\n3,c\n", uri="file:two.csv", receipt_id="rcpt_two")
            await load_table(database, "t", '[{"id": 4, "v": "d"}]', media_type="application/json", uri="records:x")
            outcome = await load_table(database, "t", "v,id\ne,5.5\n", uri="file:one.csv", receipt_id="rcpt_new")
            assert (outcome.status, outcome.rows, outcome.closed) == ("renewed", 1, ("rcpt_one",))
            found = [[float(number), v] for number, v in await rows(database, "SELECT id, v FROM t ORDER BY id")]
            assert found == [[3, "c"], [4, "d"], [5.5, "e"]]
            held = await everything(database)
            with pytest.raises(InputInvalid):
                await load_table(database, "t", "id,v,more\n1,a,x\n", uri="file:one.csv")
            assert await everything(database) == held

    async def test_g15_forced_rows_go_with_the_next_version(self, tmp_path: Path) -> None:
        """``force`` puts a version beside the others; the next one takes the place of them all."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "t", "id\n1\n", uri="file:t.csv", receipt_id="rcpt_a")
            forced = await load_table(database, "t", "id\n2\n", uri="file:t.csv", receipt_id="rcpt_b", force=True)
            assert (forced.status, forced.closed) == ("appended", ())
            assert await rows(database, "SELECT id FROM t ORDER BY id") == [[1], [2]]
            outcome = await load_table(database, "t", "id\n3\n", uri="file:t.csv")
            assert (outcome.status, outcome.closed) == ("renewed", ("rcpt_a", "rcpt_b"))
            assert await rows(database, "SELECT id FROM t") == [[3]]

    async def test_g15_a_version_that_fails_leaves_the_older_one(self, tmp_path: Path) -> None:
        """Whatever is wrong with the file."""
        async with self.opened(tmp_path) as database:
            await load_table(database, "orders", ORDERS, uri="file:orders.csv")
            held = await everything(database)
            for text, fields in BROKEN:
                with pytest.raises((SourceUnreadable, InputInvalid)):
                    print(text, await load_table(database, "orders", text, uri="file:orders.csv", **fields))
                assert await everything(database) == held

    async def test_upsert_takes_the_last_of_equal_keys(self, tmp_path: Path) -> None:
        """A row without a key is told; the key must be a column."""
        async with self.opened(tmp_path) as database:
            outcome = await load_table(database, "t", "id,v\n1,a\n,b\n1,c\n2,d\n", mode="upsert", key=("ID",))
            assert (outcome.rows, rejected(outcome)) == (2, [(3, "null_key")])
            assert await rows(database, "SELECT id, v FROM t ORDER BY id") == [[1, "c"], [2, "d"]]
            with pytest.raises(InputInvalid):
                await load_table(database, "t", "id,v\n1,a\n", mode="upsert", key=("nope",))
