from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from datamind_cli.calls import read
from datamind_cli.exits import ExitCode
from datamind_cli.render import Output, count_of, shorten
from datamind_cli.session import given_text, opened_for_reading, opened_for_writing, run
from datamind_cli.state import State, common_options, state_of

if TYPE_CHECKING:
    from datamind.core.receipts import Detected
    from datamind.core.result_table import ResultTable

_CELL_CHARS: Final = 60
_IMPORT: Final = "db_import_path"
_MODES: Final = ("append", "replace", "fail", "upsert")


@click.group("db")
def cli() -> None:
    """Tables: list, describe, import, query, export.

    Reading goes through the tools of RetrieveAgent, importing through those of StoreAgent: same rules, same records.
    """


@cli.command("tables")
@common_options
@click.pass_context
def tables(ctx: click.Context) -> int:
    """List the tables."""
    state = state_of(ctx)
    return run(lambda: _tables(state))


async def _tables(state: State) -> ExitCode:
    out = Output(state)
    found: list[dict[str, Any]] = []
    async with opened_for_reading(state) as system:
        offset: int | None = 0
        while offset is not None:
            outcome = await read(system, "db_list_tables", {"offset": offset, "limit": 200})
            found += outcome.data["tables"]
            offset = outcome.truncated.get("next_offset")
    if out.is_json:
        out.json(found)
        return ExitCode.OK
    rows = [(table["table"], f"{table['rows']:,}", shorten(", ".join(table["columns"]), 100)) for table in found]
    out.table(("table", "rows", "columns"), rows)
    out.note(f"{count_of(len(found), 'table')} in profile {system.profile.name}.")
    return ExitCode.OK


@cli.command("describe")
@click.argument("table")
@common_options
@click.pass_context
def describe(ctx: click.Context, table: str) -> int:
    """Show the columns of TABLE with what they hold, and its first rows."""
    state = state_of(ctx)
    return run(lambda: _describe(state, table))


async def _describe(state: State, table: str) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        outcome = await read(system, "db_describe_table", {"table": table})
    samples = [found for item in outcome.evidence if (found := item.table()) is not None]
    if out.is_json:
        rows = [dict(zip(found.columns, row, strict=True)) for found in samples for row in found]
        out.json({**outcome.data, "sample": rows})
        return ExitCode.OK
    out.line(f"{outcome.data['table']}  {count_of(outcome.data['rows'], 'row')}")
    fields = ("type", "nulls", "distinct", "minimum", "maximum")
    columns = outcome.data["columns"].items()
    out.table(("column", *fields), [(name, *(_shown(known.get(field)) for field in fields)) for name, known in columns])
    for found in samples:
        _show(out, found)
    return ExitCode.OK


@cli.command("import")
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--table", default="", help="Name of the table; made from the file name when left out.")
@click.option("--if-exists", type=click.Choice(_MODES), default="append", show_default=True, help="What happens then.")
@click.option("--key", multiple=True, help="Key column of upsert; may be given more than once.")
@click.option("--sheet", default="", help="Sheet of a workbook; the first with rows when left out.")
@click.option("--force", is_flag=True, help="Add the rows beside those that the file gave already.")
@click.option("--yes", is_flag=True, help="Do not ask before rows go that replace or upsert takes away.")
@common_options
@click.pass_context
def import_(ctx: click.Context, /, path: str, yes: bool, **given: Any) -> int:
    """Import FILE (csv, tsv, json, jsonl, parquet, xlsx), or a folder of them. Naming it here grants it."""
    state = state_of(ctx)
    return run(lambda: _import(state, path, given, yes=yes))


async def _import(state: State, path: str, given: dict[str, Any], *, yes: bool) -> ExitCode:
    from datamind_cli.approve import AgreedApprover
    from datamind_cli.calls import written_from_path
    from datamind_cli.exits import exit_code_of_receipts
    from datamind_cli.records import show_receipts, show_rejected

    out = Output(state)
    arguments = {**given, "key": list(given["key"])}
    approver = AgreedApprover(state, _IMPORT) if yes else None
    async with opened_for_writing(state, approver=approver) as system:
        outcome = await written_from_path(system, _IMPORT, path, arguments)
    if out.is_json:
        out.json(list(outcome.receipts))
    else:
        show_receipts(out, outcome.receipts)
        for receipt in outcome.receipts:
            _say_what_was_found(out, ", ".join(receipt.result.ids), receipt.result.detected)
            show_rejected(out, receipt.result.detected)
    return exit_code_of_receipts(outcome.receipts)


def _say_what_was_found(out: Output, table: str, found: Detected) -> None:
    if found.columns:
        out.line(f"{table}: " + ", ".join(f"{name} {kind}" for name, kind in found.columns.items()))
    header = {True: "with a header", False: "without a header", None: ""}[found.header]
    how = [
        found.encoding,
        f"delimiter {found.delimiter!r}" if found.delimiter else "",
        header if found.delimiter else "",
    ]
    how += [f"escape {found.escape!r}" if found.escape else "", f"sheet {found.sheet!r}" if found.sheet else ""]
    if any(how):
        out.line(out.join(how), dim=True)
    for name, before in found.renamed.items():
        out.line(f"column {before!r} is called {name!r}")
    if found.other_sheets:
        out.line(f"not read: {', '.join(map(repr, found.other_sheets))}; import them with --sheet")


@cli.command("query")
@click.argument("sql", nargs=-1)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--limit", default=1_000, show_default=True, type=click.IntRange(1), help="Most rows to print.")
@common_options
@click.pass_context
def query(ctx: click.Context, sql: tuple[str, ...], as_csv: bool, limit: int) -> int:
    """Run one SELECT statement, or what standard input holds when SQL is -."""
    state = state_of(ctx)
    statement = given_text(sql, "statement")
    return run(lambda: _query(state, statement, limit, as_csv=as_csv))


async def _query(state: State, statement: str, limit: int, *, as_csv: bool) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        found = await system.sql(statement, max_rows=limit)
    if out.is_json:
        out.json({"columns": found.columns, "kinds": found.kinds, "rows": found.rows, "total": found.total})
    elif as_csv:
        _print_csv(out, found)
    else:
        _show(out, found)
    total = "more than are counted" if found.total is None else f"{found.total:,}"
    out.note(f"{count_of(len(found), 'row')} of {total}.")
    return ExitCode.OK


def _print_csv(out: Output, found: ResultTable) -> None:
    from datamind_cli.exporting import flat

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([flat(cell) for cell in row] for row in found)
    out.line(text.getvalue().rstrip("\n"))


@cli.command("export")
@click.argument("table")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@common_options
@click.pass_context
def export(ctx: click.Context, table: str, file: Path, force: bool) -> int:
    """Write TABLE to FILE; its ending says how: .csv, .jsonl, .parquet or .xlsx."""
    state = state_of(ctx)
    target = file.absolute()
    return run(lambda: _export(state, table, target, force=force))


async def _export(state: State, table: str, file: Path, *, force: bool) -> ExitCode:
    from datamind.agent.tables import read_pages
    from datamind.capabilities.db.tabular.names import quoted
    from datamind_cli.exporting import export_pages

    out = Output(state)
    async with opened_for_reading(state) as system:
        known = await read(system, "db_describe_table", {"table": table})
        statement = f"SELECT * FROM {quoted(known.data['table'])}"  # noqa: S608 - a quoted name
        rows = await export_pages(read_pages(system, statement), file, replace=force)
    if out.is_json:
        out.json({"table": known.data["table"], "file": str(file), "rows": rows})
    else:
        out.line(f"{count_of(rows, 'row')} of {known.data['table']} in {file}")
    return ExitCode.OK


def _show(out: Output, found: ResultTable) -> None:
    out.table(found.columns, [[_shown(cell) for cell in row] for row in found])


def _shown(cell: Any) -> str:
    from datamind_cli.exporting import flat

    return "" if cell is None else shorten(str(flat(cell)), _CELL_CHARS)
