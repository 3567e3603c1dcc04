"""db: tables through the same gate as an agent's, and files written whole or not at all."""

from __future__ import annotations

import json

import pytest

from datamind_cli.exits import ExitCode

pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("scripted")

SALES = 'id,amount,day,note\n007,1.50,2026-01-02,=1+1\n008,2,2026-01-03,"x, <b>"\n'


@pytest.fixture
def sales(home, run):
    (home / "04_sales.csv").write_text(SALES, encoding="utf-8")
    result = run("db", "import", "04_sales.csv")
    assert result.exit_code == 0, result.stderr
    return result


def test_an_import_tells_what_it_found(sales):
    assert "04_sales: id VARCHAR, amount DECIMAL(18,2), day DATE, note VARCHAR" in sales.stdout
    assert "delimiter ','" in sales.stdout
    assert "with a header" in sales.stdout


def test_lines_left_out_are_named_and_the_exit_code_says_so(run, home):
    (home / "t.csv").write_text("a,b\n1,2\n3\n4,5\n")
    result = run("db", "import", "t.csv", "--table", "表 1")
    assert result.exit_code == 1
    assert "1 line left out: 3 (too_few_fields)" in result.stdout
    assert json.loads(run("db", "query", "--json", 'SELECT count(*) FROM "表 1"').stdout)["rows"] == [[2]]


def test_upsert_replace_and_fail(run, home, sales):
    (home / "more.csv").write_text("id,amount,day,note\n008,9,2026-02-01,n\n009,1,2026-02-02,\n")
    name = ("--table", "04_sales")
    assert run("db", "import", "more.csv", *name, "--if-exists", "fail").exit_code != 0
    refused = run("db", "import", "more.csv", *name, "--if-exists", "upsert", "--key", "id")
    assert refused.exit_code == ExitCode.DENIED
    assert "there is no terminal to ask on" in refused.stderr
    assert run("db", "import", "more.csv", *name, "--if-exists", "upsert", "--key", "id", "--yes").exit_code == 0
    assert run("db", "query", "--csv", 'SELECT id, amount FROM "04_sales" ORDER BY id').stdout == (
        "id,amount\n007,1.50\n008,9.00\n009,1.00\n"
    )
    assert run("db", "import", "more.csv", *name, "--if-exists", "upsert").exit_code == 2
    assert run("db", "import", "more.csv", *name, "--if-exists", "replace", "--yes").exit_code == 0
    assert run("db", "tables").stdout.splitlines()[1].startswith("04_sales  2 ")


def test_a_table_is_described(run, run_json, sales):
    described = run_json("db", "describe", "04_SALES")
    assert described["rows"] == 2
    assert described["columns"]["amount"] == {
        "type": "DECIMAL(18,2)", "nulls": 0, "distinct": 2, "minimum": "1.50", "maximum": "2.00"
    }  # fmt: skip
    assert described["sample"][0] == {"id": "007", "amount": "1.50", "day": "2026-01-02", "note": "=1+1"}
    assert "DECIMAL(18,2)" in run("db", "describe", "04_sales").stdout
    assert run("db", "describe", "nothing").exit_code == 2


@pytest.mark.parametrize("statement", ["DROP TABLE x", "SELECT 1; SELECT 2", "COPY (SELECT 1) TO 'out.csv'"])
def test_only_one_reading_statement_runs(run, home, sales, statement):
    assert run("db", "query", statement).exit_code in (2, 4)
    assert not (home / "out.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx"])
def test_an_export_comes_back_as_it_was(run, home, sales, ending):
    assert run("db", "export", "04_sales", f"out.{ending}").exit_code == 0
    assert [path.name for path in home.glob("*out*")] == [f"out.{ending}"]
    assert run("db", "import", f"out.{ending}", "--table", "back").exit_code == 0
    query = ("db", "query", "--csv", "SELECT id, amount::DOUBLE AS amount, day::DATE AS day, note FROM")
    assert run(*query, "back").stdout == run(*query, '"04_sales"').stdout


def test_a_workbook_holds_no_formula(run, home, sales):
    import openpyxl

    run("db", "export", "04_sales", "out.xlsx")
    sheet = openpyxl.load_workbook(home / "out.xlsx").active
    assert (sheet["D2"].value, sheet["D2"].data_type) == ("=1+1", "s")
    assert (sheet["A2"].value, sheet["B2"].value) == ("007", 1.5)


def test_a_file_is_replaced_only_when_told_and_never_by_half(run, home, sales):
    (home / "out.csv").write_text("mine")
    assert run("db", "export", "04_sales", "out.csv").exit_code == 2
    assert run("db", "export", "nothing", "out.csv", "--force").exit_code == 2
    assert (home / "out.csv").read_text() == "mine"
    assert run("db", "export", "04_sales", "out.csv", "--force").exit_code == 0
    assert (
        home / "out.csv"
    ).read_text() == 'id,amount,day,note\n007,1.50,2026-01-02,=1+1\n008,2.00,2026-01-03,"x, <b>"\n'
    assert run("db", "export", "04_sales", "out.doc").exit_code == 2
    assert run("db", "export", "04_sales", "nowhere/out.csv").exit_code == 2
    assert not [path for path in home.iterdir() if path.name.startswith(".out")]


def test_every_call_went_through_the_gate(run, run_json, sales):
    run("db", "query", 'SELECT * FROM "04_sales"')
    (receipt,) = run_json("receipts", "--surface", "db")
    assert receipt["tool"] == "db_import_path"
    assert run_json("trace", receipt["receipt_id"])
