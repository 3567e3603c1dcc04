from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from datamind_cli.calls import read
from datamind_cli.exits import ExitCode
from datamind_cli.render import Output, count_of, shorten
from datamind_cli.session import given_text, opened_for_reading, opened_for_writing, run
from datamind_cli.state import State, common_options, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from datamind.core.evidence import Evidence

_LINE_CHARS: Final = 100
_CELL_CHARS: Final = 60
_ID_CHARS: Final = 13


@click.group("graph")
def cli() -> None:
    """Statements: show, search, stats, query, import, export.

    Reading goes through the tools of RetrieveAgent, importing through those of StoreAgent: same rules, same records.
    """


@cli.command("show")
@click.argument("entity")
@click.option("--hops", default=1, show_default=True, type=click.IntRange(1, 6), help="How far from ENTITY.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 200), help="Most statements to show.")
@click.option("--relation", "relations", multiple=True, metavar="NAME", help="Follow only this one; may be repeated.")
@common_options
@click.pass_context
def show(ctx: click.Context, entity: str, hops: int, limit: int, relations: tuple[str, ...]) -> int:
    """Draw what the graph says around ENTITY, a name or an IRI, with sources and receipts."""
    state = state_of(ctx)
    arguments = {"start": [entity], "hops": hops, "fan_out": limit, "limit": limit, "predicates": list(relations)}
    return run(lambda: _show(state, arguments))


async def _show(state: State, arguments: dict[str, Any]) -> ExitCode:
    from datamind.capabilities.graph.terms import name_of, read_line
    from datamind_cli.drawing import cut_of, drawn, make_tree

    out = Output(state)
    async with opened_for_reading(state) as system:
        outcome = await read(system, "graph_traverse", arguments)
    start = outcome.data["start"][0]
    if out.is_json:
        out.json({**outcome.data, "evidence": list(outcome.evidence)})
        return ExitCode.OK
    lines = list(drawn(make_tree(start, outcome.evidence), fancy=out.draws))
    named = _name_in(outcome.evidence, start) or name_of(read_line(start)[0])
    rows = [(front + shorten(text, _LINE_CHARS), *_asserted(item)) for front, text, item in lines]
    out.table((named, "source", "receipts"), rows)
    told = [count_of(len(lines), "statement"), cut_of(outcome.data), _beyond(outcome.data)]
    out.note("; ".join(part for part in told if part) + ".")
    for name, meant in outcome.data.get("several_relations", {}).items():
        out.note(f"{len(meant)} relations are called {name!r}, all were followed: {', '.join(meant)}")
    return ExitCode.OK


def _name_in(found: tuple[Evidence, ...], start: str) -> str:
    for item in found:
        if item.locator.type == "triple" and item.locator.names:
            ends = {item.locator.subject: item.locator.names[0], item.locator.object: item.locator.names[2]}
            if start in ends:
                return ends[start]
    return ""


def _asserted(item: Evidence) -> tuple[str, str]:
    from datamind_cli.records import source_label

    first, *others = item.receipt_ids
    more = f" +{len(others)}" if others else ""
    return source_label(item.source), f"{first[:_ID_CHARS]}{more}"


def _beyond(data: Mapping[str, Any]) -> str:
    beyond = data.get("nodes_beyond", 0)
    return f"{count_of(beyond, 'node')} further away, see --hops" if beyond else ""


@cli.command("search")
@click.argument("name", nargs=-1, required=True)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50), help="Most entities.")
@common_options
@click.pass_context
def search(ctx: click.Context, name: tuple[str, ...], limit: int) -> int:
    """Find entities by name, alias, beginning or nearly so."""
    state = state_of(ctx)
    wanted = given_text(name, "name")
    return run(lambda: _search(state, wanted, limit))


async def _search(state: State, name: str, limit: int) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        outcome = await read(system, "graph_search_entities", {"query": name, "limit": limit})
    found = outcome.data["entities"]
    if out.is_json:
        out.json(found)
    else:
        columns = ("name", "match", "score", "iri")
        out.table(columns, [tuple(str(entity[column]) for column in columns) for entity in found])
        out.note(f"{len(found)} found.")
    return ExitCode.OK if found else ExitCode.NEGATIVE


@cli.command("stats")
@common_options
@click.pass_context
def stats(ctx: click.Context) -> int:
    """Count statements, entities and relations."""
    state = state_of(ctx)
    return run(lambda: _stats(state))


async def _stats(state: State) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        outcome = await read(system, "graph_stats", {})
    if out.is_json:
        out.json(outcome.data)
        return ExitCode.OK
    found = outcome.data
    entities = f"{found['entities']:,} " + ("entity" if found["entities"] == 1 else "entities")
    out.line(out.join((count_of(found["statements"], "statement"), entities, count_of(found["receipts"], "receipt"))))
    rows = [(row["predicate"], f"{row['statements']:,}", row["iri"]) for row in outcome.data["predicates"]]
    out.table(("relation", "statements", "iri"), rows)
    return ExitCode.OK


@cli.command("query")
@click.argument("sparql", nargs=-1)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, as SPARQL 1.1 defines it.")
@common_options
@click.pass_context
def query(ctx: click.Context, sparql: tuple[str, ...], as_csv: bool) -> int:
    """Run one reading SPARQL query, or what standard input holds when SPARQL is -.

    --json prints the results format of SPARQL 1.1; an ASK that is false exits with 1.
    """
    state = state_of(ctx)
    text = given_text(sparql, "query")
    return run(lambda: _query(state, text, as_csv=as_csv))


async def _query(state: State, text: str, *, as_csv: bool) -> ExitCode:
    out = Output(state)
    pieces: list[bytes] = []
    async with opened_for_reading(state) as system:
        outcome = await read(system, "graph_query", {"sparql": text}, sink=pieces.append)
    found = json.loads(b"".join(pieces))
    if out.is_json:
        out.json(found)
    elif "boolean" in found:
        out.line("yes" if found["boolean"] else "no")
    else:
        _print_rows(out, found, as_csv=as_csv)
    if outcome.data.get("cut"):
        out.note(f"{outcome.data['rows']:,} rows are printed: {outcome.data['cut']}.")
    return ExitCode.OK if found.get("boolean", True) else ExitCode.NEGATIVE


def _print_rows(out: Output, found: dict[str, Any], *, as_csv: bool) -> None:
    columns = found["head"]["vars"]
    bindings = found["results"]["bindings"]
    if as_csv:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_exact(row.get(name)) for name in columns] for row in bindings)
        out.line(text.getvalue().rstrip("\n"))
        return
    out.table(columns, [[_readable(row.get(name)) for name in columns] for row in bindings])
    out.note(f"{count_of(len(bindings), 'row')}.")


def _exact(binding: dict[str, str] | None) -> str:
    if binding is None:
        return ""
    return f"_:{binding['value']}" if binding["type"] == "bnode" else binding["value"]


def _readable(binding: dict[str, str] | None) -> str:
    from datamind.capabilities.graph.terms import name_of
    from datamind.core.protocols.graph import Term

    exact = _exact(binding)
    is_minted = binding is not None and binding["type"] == "uri" and exact.startswith("urn:datamind:")
    return shorten(name_of(Term(exact)) if is_minted else exact, _CELL_CHARS)


@cli.command("import")
@click.argument("path", metavar="FILE", type=click.Path())
@common_options
@click.pass_context
def import_(ctx: click.Context, path: str) -> int:
    """Import FILE (ttl, nt, nq, trig, jsonld, rdf, or csv, tsv, jsonl with subject, predicate and object), or a folder.

    A later version of a file replaces what it said before. Naming it here grants it.
    """
    state = state_of(ctx)
    return run(lambda: _import(state, path))


async def _import(state: State, path: str) -> ExitCode:
    from datamind_cli.calls import written_from_path
    from datamind_cli.exits import exit_code_of_receipts
    from datamind_cli.records import show_receipts, show_rejected, source_label

    out = Output(state)
    async with opened_for_writing(state) as system:
        outcome = await written_from_path(system, "graph_import_path", path, {})
    if out.is_json:
        out.json(list(outcome.receipts))
    else:
        show_receipts(out, outcome.receipts)
        for receipt in outcome.receipts:
            show_rejected(out, receipt.result.detected, what="row", where=source_label(receipt.source))
    return exit_code_of_receipts(outcome.receipts)


@cli.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@common_options
@click.pass_context
def export(ctx: click.Context, file: Path, force: bool) -> int:
    """Write the graph to FILE; its ending says how: .ttl, .nt, .nq, .trig, .jsonld, .rdf, .csv, .tsv or .jsonl."""
    state = state_of(ctx)
    target = file.absolute()
    return run(lambda: _export(state, target, force=force))


async def _export(state: State, file: Path, *, force: bool) -> ExitCode:
    from datamind.core.errors import InputInvalid
    from datamind.core.new_file import written_file

    if not file.suffix:
        raise InputInvalid(f"{file.name[:80]!r} has no ending that names a format", hint="Call it graph.ttl.")
    out = Output(state)
    async with opened_for_reading(state) as system:
        with written_file(file, replace=force) as target:
            outcome = await read(system, "graph_export", {"format": file.suffix[1:]}, sink=target.write)
    if out.is_json:
        out.json({"file": str(file), **outcome.data})
    else:
        out.line(f"{outcome.data['bytes']:,} bytes in {file}")
    return ExitCode.OK
