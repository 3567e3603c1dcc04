"""The database surface through the gate: imports, receipts, pages, evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datamind.agent import DataMind
from datamind.core.errors import ConfigError, DataMindError, InputInvalid
from datamind.core.types import Role
from datamind.testing.fakes import ScriptedApprover
from tests.support.ledger_jobs import Agreeing
from tests.support.systems import contents, open_system, read, status, write

ORDERS = "id,customer,amount\n007,Li,9\n008,Wang,100\n009,Zhou,\n"


@pytest.fixture(params=["memory", "duckdb"])
def db(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"db": {"dialect": request.param}}


def put(folder: Path, name: str, content: str | bytes) -> str:
    home = folder / "data" / "profiles" / "default"
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


async def query(system: DataMind, sql: str, **more: Any) -> list[list[Any]]:
    found = await read(system, "db_query_sql", sql=sql, **more)
    assert not found.is_error, found.message
    return json.loads(found.evidence[0].content)["rows"] if found.evidence else []


async def test_an_import_is_answered_by_a_receipt_and_found(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        stored = await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", ORDERS))
        (receipt,) = stored.receipts
        assert (receipt.status, receipt.result.operation, receipt.result.items_written) == ("stored", "added", 3)
        assert receipt.source is not None
        assert receipt.source.uri == "file:orders.csv"
        assert receipt.read_back.startswith("3 rows")
        found = await read(system, "db_query_sql", sql="SELECT id, customer FROM orders WHERE amount > 50")
        (evidence,) = found.evidence
        assert json.loads(evidence.content) == {"columns": ["id", "customer"], "rows": [["008", "Wang"]]}
        assert evidence.receipt_ids == (receipt.receipt_id,)
        assert evidence.source == receipt.source
        assert evidence.locator.tables == ("orders",)
        assert evidence.locator.data_versions == {"orders": receipt.result.version}
        assert evidence.locator.result_hash == evidence.content_hash


async def test_a32_the_same_file_again_is_unchanged(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        name = put(tmp_path, "orders.csv", ORDERS)
        await write(system, "db_import_csv", path=name)
        assert status(await write(system, "db_import_csv", path=name)) == "unchanged"
        assert status(await write(system, "db_import_csv", path=name, force=True)) == "stored"
        assert await query(system, "SELECT count(*) FROM orders") == [[6]]


async def test_an_edited_file_takes_the_place_of_its_older_version(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        home = tmp_path / "data" / "profiles" / "default"
        before = await system.ingest(home / put(tmp_path, "orders.csv", ORDERS))
        await system.call(
            "db_import_records", {"records": [{"id": "x1", "amount": 5}], "table": "orders"}, role=Role.STORE
        )
        put(tmp_path, "orders.csv", "id,customer,amount\n007,Li,10\n")
        stored = await system.ingest(home / "orders.csv")
        (receipt,) = stored.receipts
        assert (stored.status, receipt.result.operation, receipt.result.items_written) == ("stored", "replaced", 1)
        assert receipt.result.closed_ids == (before.receipts[0].receipt_id,)
        assert receipt.result.revert == "none"
        assert receipt.read_back.startswith("2 rows")
        assert await query(system, "SELECT id, amount FROM orders ORDER BY id") == [["007", 10], ["x1", 5]]
        assert (await system.ingest(home / "orders.csv")).status == "unchanged"
        assert (await system.ingest(home)).status == "unchanged"


async def test_two_files_of_one_name_share_a_table_and_change_apart(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        put(tmp_path, "a/orders.csv", ORDERS)
        put(tmp_path, "b/orders.csv", "id,customer,amount\n010,Sun,1\n")
        folder = tmp_path / "data" / "profiles" / "default"
        assert [receipt.result.operation for receipt in (await system.ingest(folder)).receipts] == ["added", "added"]
        put(tmp_path, "a/orders.csv", "id,customer,amount\n011,Qian,2\n")
        stored = await system.ingest(folder)
        assert [receipt.result.operation for receipt in stored.receipts] == ["replaced", "none"]
        assert await query(system, "SELECT id FROM orders ORDER BY id") == [["010"], ["011"]]


async def test_sheets_of_one_workbook_are_apart(tmp_path: Path) -> None:
    import openpyxl

    home = tmp_path / "data" / "profiles" / "default"
    home.mkdir(parents=True)

    def save(january: int, february: int) -> None:
        book = openpyxl.Workbook()
        book.active.title = "Jan"
        for sheet, amount in ((book.active, january), (book.create_sheet("Feb"), february)):
            sheet.append(["month", "amount"])
            sheet.append([sheet.title, amount])
        book.save(home / "book.xlsx")

    async with open_system(tmp_path, db={"dialect": "duckdb"}) as system:
        for january in (1, 7):
            save(january, 2)
            for sheet in ("Jan", "Feb"):
                assert status(await write(system, "db_import_path", path="book.xlsx", sheet=sheet)) == "stored"
            assert await query(system, "SELECT month, amount FROM book ORDER BY amount") == sorted(
                [["Jan", january], ["Feb", 2]], key=lambda row: row[1]
            )


async def test_a13_an_import_that_takes_rows_away_asks_a_person(tmp_path: Path, db: dict[str, Any]) -> None:
    approver = ScriptedApprover()
    put(tmp_path, "in/orders.csv", ORDERS)
    put(tmp_path, "in/new.csv", "a\n1\n")
    many = {"if_exists": "upsert", "key": ["id"]}
    asking: tuple[tuple[str, dict[str, Any]], ...] = (
        ("db_import_csv", {"path": "in/orders.csv", "if_exists": "replace"}),
        ("db_import_csv", {"path": "in/new.csv", "table": " ORDERS ", "if_exists": "replace"}),
        ("db_import_path", {"path": "in/orders.csv", "if_exists": "replace"}),
        ("db_import_path", {"path": "in", "if_exists": "replace"}),
        ("db_import_path", {"path": "in/orders.csv", **many}),
        ("db_import_records", {"records": [{"id": "1"}], "table": "Orders", "if_exists": "replace"}),
        ("db_import_records", {"records": [{"id": "1"}], "table": "orders", **many}),
    )
    async with open_system(tmp_path, approver=approver, **db) as system:
        for arguments in ({"if_exists": "replace"}, {}, {"force": True}, {"if_exists": "fail"}):
            await write(system, "db_import_csv", path="in/orders.csv", **arguments)
        assert approver.requests == [], "there is nothing to take away, or it stays"
        held = await query(system, "SELECT * FROM orders")
        for tool, arguments in asking:
            refused = await write(system, tool, **arguments)
            assert (refused.denied, refused.code, refused.receipts) == (True, "approval_required", ())
            request = approver.requests.pop()
            assert (request.effect, request.candidates) == ("destructive", ("orders  (6 rows, 3 columns)",))
            assert "6 rows" not in refused.to_text()
        assert await query(system, "SELECT * FROM orders") == held


async def test_a13_without_anyone_to_ask_it_is_refused_and_with_a_yes_it_runs(
    tmp_path: Path, db: dict[str, Any]
) -> None:
    name = put(tmp_path, "orders.csv", ORDERS)
    replace = {"path": put(tmp_path, "new.csv", "a\n1\n"), "table": "orders", "if_exists": "replace"}
    async with open_system(tmp_path, **db) as system:
        await write(system, "db_import_csv", path=name)
        assert (await write(system, "db_import_csv", **replace)).code == "approval_required"
        assert await query(system, "SELECT count(*) FROM orders") == [[3]]
        put(tmp_path, "orders.csv", "id,customer,amount\n1x,Q,1\n")
        assert status(await write(system, "db_import_csv", path=name)) == "stored", "a newer version is an update"
    async with open_system(tmp_path, approver=Agreeing(), **db) as system:
        await write(system, "db_import_csv", path=name)
        assert status(await write(system, "db_import_csv", **replace)) == "stored"
        assert await query(system, "SELECT * FROM orders") == [[1]]


async def test_a4_a_failing_replace_has_a_failed_receipt_and_the_old_rows(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, approver=Agreeing(), **db) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", ORDERS))
        bad = put(tmp_path, "bad.csv", "a,b\n1,2,3\n")
        failed = await write(system, "db_import_csv", path=bad, table="orders", if_exists="replace")
        assert failed.is_error
        assert status(failed) == "failed"
        assert await query(system, "SELECT count(*) FROM orders") == [[3]]


async def test_receipts_tell_lines_and_codes_and_never_text(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        text = "name;note\nÆrø;x\nsecret-4711;y;z\n"
        stored = await write(system, "db_import_csv", path=put(tmp_path, "t.csv", text.encode("cp1252")))
        (receipt,) = stored.receipts
        assert receipt.status == "partial"
        detected = receipt.result.detected
        assert (detected.encoding, detected.delimiter, detected.rejected_total) == ("cp1252", ";", 1)
        assert [(row.line, row.code) for row in detected.rejected] == [(3, "too_many_fields")]
        assert "4711" not in receipt.model_dump_json() + stored.to_text()


async def test_one_stray_nul_makes_no_other_alphabet_of_a_file(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        refused = await write(system, "db_import_csv", path=put(tmp_path, "t.csv", b"a,b\n1,\x00\n2,3\n"))
        assert (status(refused), refused.code) == ("failed", "source_unreadable.binary")
        wide = "a,b\n1,x\n".encode("utf-16-be")
        assert status(await write(system, "db_import_csv", path=put(tmp_path, "w.csv", wide))) == "stored"
        assert await query(system, "SELECT a, b FROM w") == [[1, "x"]]


async def test_records_and_paths_go_in_without_a_model(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        assert (await system.ingest([{"sku": "007", "n": 1}, {"sku": "8", "n": 2}])).status == "stored"
        assert await query(system, "SELECT sku FROM records ORDER BY n") == [["007"], ["8"]]
        path = tmp_path / "data" / "profiles" / "default" / put(tmp_path, "more.jsonl", '{"sku": "9"}\n')
        assert (await system.ingest(path)).status == "stored"
        assert await query(system, "SELECT sku FROM more") == [["9"]]


async def test_a_folder_gives_a_table_for_each_file_that_is_one(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        put(tmp_path, "in/a.csv", "x\n1\n")
        put(tmp_path, "in/b.tsv", "x\ty\n1\t2\n")
        put(tmp_path, "in/c.png", b"\x89PNG\r\n\x1a\n")
        stored = await write(system, "db_import_path", path="in")
        assert [receipt.status for receipt in stored.receipts] == ["stored", "stored"]
        listed = await read(system, "db_list_tables")
        assert [table["table"] for table in listed.data["tables"]] == ["a", "b"]


async def test_the_list_tells_columns_with_types_page_after_page(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", ORDERS))
        wide = {"table": "wide", "columns": [{"name": f"column number {number}"} for number in range(64)]}
        await write(system, "db_create_table", **wide)
        (orders, cut) = (await read(system, "db_list_tables")).data["tables"]
        assert list(orders["columns"]) == ["id", "customer", "amount"]
        described = (await read(system, "db_describe_table", table="orders")).data["columns"]
        assert orders["columns"] == {name: known["type"] for name, known in described.items()}
        assert (len(cut["columns"]), cut["more"]) == (60, "4 more columns; db_describe_table shows them")
        for number in range(18):
            await write(system, "db_create_table", **{**wide, "table": f"wide {number}"})
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = await read(system, "db_list_tables", offset=offset)
            assert len(page.to_text()) < 21_000
            seen += [table["table"] for table in page.data["tables"]]
            offset = page.truncated.get("next_offset")
        assert len(seen) == len(set(seen)) == 20


async def test_pages_follow_one_another(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "n.csv", "n\n" + "\n".join(map(str, range(130)))))
        seen: list[int] = []
        offset: int | None = 0
        while offset is not None:
            page = await read(system, "db_query_sql", sql="SELECT n FROM n ORDER BY n", offset=offset)
            assert page.data["total_rows"] == 130
            seen += [row[0] for row in json.loads(page.evidence[0].content)["rows"]]
            offset = page.truncated.get("next_offset")
        assert seen == list(range(130))


async def test_b21_a_large_result_is_cut_and_says_so(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        text = "n,note\n" + "".join(f"{number},{'x' * 100}\n" for number in range(50_000))
        await write(system, "db_import_csv", path=put(tmp_path, "big.csv", text))
        found = await read(system, "db_query_sql", sql="SELECT * FROM big", limit=1000)
        assert len(found.to_text()) < 25_000
        assert found.data["total_rows"] == 50_000
        assert found.truncated["next_offset"] == 1000


@pytest.mark.parametrize(
    "sql", ["DROP TABLE orders", "DELETE FROM orders", "CREATE TABLE mine AS SELECT 1", "UPDATE orders SET amount = 0"]
)
async def test_b14_the_reading_role_has_nothing_that_could_drop_a_table(
    tmp_path: Path, db: dict[str, Any], sql: str
) -> None:
    async with open_system(tmp_path, **db) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", ORDERS))
        assert (await read(system, "db_query_sql", sql=sql)).is_error
        dropped = await read(system, "db_drop_table", table="orders")
        assert dropped.is_error and not dropped.receipts
        assert await query(system, "SELECT count(*) FROM orders") == [[3]]


@pytest.mark.parametrize(
    "sql",
    ["/**/DELETE FROM orders", "SELECT 1\nWAITFOR DELAY '00:00:10'", "select pg_sleep(1e6)",
     "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone", "SELECT 1; DELETE FROM orders"],
)  # fmt: skip
async def test_b15_no_comment_batch_cte_or_function_gets_round_the_guard(
    tmp_path: Path, db: dict[str, Any], sql: str
) -> None:
    db["db"]["query_timeout_s"] = 1.0
    async with open_system(tmp_path, **db) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", ORDERS))
        refused = await read(system, "db_query_sql", sql=sql)
        assert refused.code in ("input_invalid.statement", "limit_exceeded.time"), refused
        assert await query(system, "SELECT count(*) FROM orders") == [[3]]


async def test_a25_a_statement_over_its_time_is_stopped(tmp_path: Path, db: dict[str, Any]) -> None:
    db["db"]["query_timeout_s"] = 0.3
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    async with open_system(tmp_path, **db) as system:
        assert (await read(system, "db_query_sql", sql=endless)).code == "limit_exceeded.time"
        assert await query(system, "SELECT 1") == [[1]]


async def test_a3_a_read_then_an_import_in_one_process(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        assert await query(system, "SELECT 1") == [[1]]
        assert status(await write(system, "db_import_csv", path=put(tmp_path, "o.csv", ORDERS))) == "stored"


async def test_a_table_is_described_sampled_created_and_dropped(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", ORDERS))
        described = await read(system, "db_describe_table", table="ORDERS")
        assert described.data["rows"] == 3
        assert described.data["columns"]["amount"]["nulls"] == 1
        assert described.data["columns"]["amount"]["maximum"] == 100
        assert "008" in contents(described)[0]
        assert len(json.loads(contents(await read(system, "db_sample", table="orders", limit=2))[0])["rows"]) == 2
        made = await write(system, "db_create_table", table="新表", columns=[{"name": "甲", "type": "integer"}])
        assert status(made) == "stored"
        assert status(await write(system, "db_drop_table", table="orders")) == "stored"
        assert (await write(system, "db_drop_table", table="orders")).data == {"matched": 0}
        assert (await read(system, "db_sample", table="orders")).code == "not_found"


async def test_upsert_needs_its_key(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        name = put(tmp_path, "orders.csv", ORDERS)
        assert (await write(system, "db_import_csv", path=name, if_exists="upsert")).code == "input_invalid.key"
        assert status(await write(system, "db_import_csv", path=name, if_exists="upsert", key=["id"])) == "stored"


async def test_reading_tools_are_not_in_the_writers_hands(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        assert (await write(system, "db_query_sql", sql="SELECT 1")).denied
        assert (await read(system, "db_drop_table", table="x")).denied


async def test_a_dsn_that_does_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"db\.dsn"):
        async with open_system(tmp_path, db={"dialect": "duckdb", "dsn": "postgres://x"}):
            pass


async def test_office_and_parquet_files_keep_their_types(tmp_path: Path) -> None:
    import openpyxl
    import pyarrow as pa
    import pyarrow.parquet as pq

    home = tmp_path / "data" / "profiles" / "default"
    home.mkdir(parents=True)
    book = openpyxl.Workbook()
    book.active.append(["名称", "n", "n"])
    book.active.append(["甲", 1, 2.5])
    book.active.append(["乙", None, 3])
    book.save(home / "book.xlsx")
    columns = {"id": pa.array([2**60, None]), "price": pa.array(["1.10", "2.25"]).cast(pa.decimal128(10, 2))}
    pq.write_table(pa.table(columns), home / "prices.parquet")
    async with open_system(tmp_path, db={"dialect": "duckdb"}) as system:
        for name in ("book.xlsx", "prices.parquet"):
            assert status(await write(system, "db_import_path", path=name)) == "stored"
        assert await query(system, 'SELECT "名称", n, n_2 FROM book ORDER BY n_2') == [
            ["甲", 1, 2.5],
            ["乙", None, 3.0],
        ]
        assert await query(system, "SELECT * FROM prices") == [[str(2**60), "1.10"], [None, "2.25"]]


async def test_an_application_reads_all_pages_of_a_statement(tmp_path: Path, db: dict[str, Any]) -> None:
    async with open_system(tmp_path, **db) as system:
        text = "n,code\n" + "".join(f"{number},{number:04d}\n" for number in range(2_500))
        await write(system, "db_import_csv", path=put(tmp_path, "n.csv", text))
        table = await system.sql("SELECT * FROM n ORDER BY n")
        assert (len(table), table.total, table.kinds) == (2_500, 2_500, ("integer", "text"))
        assert table.to_arrow().column("code")[2_499].as_py() == "2499"
        assert len(await system.sql("SELECT * FROM n", max_rows=10)) == 10
        nothing = await system.sql("SELECT * FROM n", max_rows=0)
        assert (len(nothing), nothing.columns, nothing.total) == (0, ("n", "code"), 2_500)
        with pytest.raises(InputInvalid):
            await system.sql("SELECT * FROM n", max_rows=-1)
        assert (await system.sql("SELECT n FROM n WHERE n < 0")).columns == ("n",)
        with pytest.raises(DataMindError) as caught:
            await system.sql("DELETE FROM n")
        assert caught.value.code == "input_invalid.statement"


async def test_a_large_file_is_kept_for_recovery_and_never_held(tmp_path: Path, db: dict[str, Any]) -> None:
    from datamind.capabilities.ingest.files import PathPolicy, locate, read_or_keep
    from datamind.core.kept import KeptFile
    from datamind.core.types import content_hash

    text = "n,note\n" + "".join(f"{number},{'x' * 100}\n" for number in range(20_000))
    name = put(tmp_path, "large.csv", text)
    located = locate(name, PathPolicy(tmp_path / "data" / "profiles" / "default"))
    kept = read_or_keep(located, max_bytes=1 << 30, keep_above=1 << 20, folder=tmp_path)
    assert isinstance(kept, KeptFile)
    (tmp_path / "data" / "profiles" / "default" / name).write_text("changed")
    assert b"".join(kept.slices()) == text.encode()
    assert (kept.size, kept.content_hash, kept.head(6)) == (len(text), content_hash(text), b"n,note")
    put(tmp_path, "large.csv", text)
    async with open_system(tmp_path, **db) as system:
        stored = await write(system, "db_import_csv", path=name)
        assert stored.receipts[0].source is not None
        assert stored.receipts[0].source.checksum == kept.content_hash
        assert await query(system, "SELECT count(*) FROM large") == [[20_000]]
        assert status(await write(system, "db_import_csv", path=name)) == "unchanged"
        blob = tmp_path / "storage" / "default" / "blobs" / kept.content_hash[:2] / kept.content_hash
        assert blob.read_text() == text
