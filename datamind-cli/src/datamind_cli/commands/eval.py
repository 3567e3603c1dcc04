from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from datamind_cli.exits import ExitCode
from datamind_cli.render import Output, shorten
from datamind_cli.session import load_settings, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import ProgressLine, progress_line

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind_cli.evaluation.retrieval import RetrievalReport
    from datamind_cli.evaluation.run import Report
    from datamind_cli.evaluation.surfaces import SurfaceReport


@click.group("eval")
def cli() -> None:
    """Measure answers against a file of questions, or searches against relevant passages."""


@cli.command("qa")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@click.pass_context
def qa(ctx: click.Context, file: Path) -> int:
    """Store what FILE names into a temporary profile, ask its questions, and say which answers are wrong.

    FILE is JSONL. The first line is {"ingest": [paths relative to FILE]}: folders of documents, tables, triples or
    skills, and a memory.jsonl of {text, kind, scope, said_at}. Every other line is {"id", "question", "answers",
    "sources", "lang", "kind"}; "answers" lists the accepted strings, or is null where nothing is known.

    An answer is right when an accepted string occurs in it and one of the "sources" is cited. Settings are those of
    the profile; its data is not touched. Exits with 1 unless all is right.
    """
    from datamind_cli.evaluation.questions import read_qa_file

    state = state_of(ctx)
    out = Output(state)
    read_qa_file(file)
    report = run(lambda: _evaluated(state, file))
    if out.is_json:
        out.json({"file": str(file), **report.to_json()})
    else:
        _show(out, report)
    return ExitCode.OK if report.is_perfect else ExitCode.NEGATIVE


async def _evaluated(state: State, file: Path) -> Report:
    from datamind.config import Profile
    from datamind_cli.evaluation.questions import read_qa_file
    from datamind_cli.evaluation.run import evaluate
    from datamind_cli.temporary import temporary_system

    own = Profile.of(load_settings(state))
    # Each question stands alone, also where session memories need a conversation to be seen in.
    alone = replace(state, flags={**state.flags, "memory.short_term_turns": "0"})
    async with temporary_system(alone, "eval", like=own.settings_file) as system:
        state.secrets = alone.secrets
        with progress_line(enabled=not state.as_json) as line:
            return await evaluate(system, read_qa_file(file), line.show)


def _show(out: Output, report: Report) -> None:
    from datamind_cli.evaluation.run import wrong_rows

    for problem in report.problems:
        out.line(problem)
    out.table(("id", "lang", "kind", "reason", "question", "answer"), wrong_rows(report.items, shorten))
    groups = [(name, group, counts) for name in ("lang", "kind") for group, counts in report.by(name).items()]
    groups.append(("all", "", (report.right, len(report.items))))
    rows = [
        (f"{name} {group}".strip(), str(right), str(total), _share(right, total))
        for name, group, (right, total) in groups
    ]
    out.table(("group", "right", "of", "share"), rows)
    extractive = " (extractive)" if report.extractive else ""
    out.line(out.join([f"{report.model}{extractive}", f"{report.duration_s:.1f} s"]), dim=True)


def _share(right: int, total: int) -> str:
    return f"{right / total:.1%}" if total else "none asked"


@cli.command("kb")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--min-ndcg", type=click.FloatRange(0, 1), help="Exit with 1 when nDCG@10 over all queries is below.")
@common_options
@click.pass_context
def kb(ctx: click.Context, folder: Path, min_ndcg: float | None) -> int:
    """Store the passages of FOLDER into a temporary profile, search for its queries, and say how good that is.

    FOLDER has the layout of BEIR: corpus.jsonl of {"_id", "title", "text"}, queries.jsonl of {"_id", "text"}, and
    qrels.tsv or qrels/test.tsv of query-id, corpus-id and relevance. Passages are stored as they are cut there.

    nDCG@10, Recall@5, Recall@10 and MRR@10 come with 95 % bootstrap intervals, by the language of the query. Settings
    are those of the profile, such as retrieval.strategy; its data is not touched.
    """
    from datamind_cli.evaluation.beir import read_beir

    state = state_of(ctx)
    out = Output(state)
    read_beir(folder)
    report = run(lambda: _searched(state, folder))
    figures = report.estimates()
    if out.is_json:
        out.json({"folder": str(folder), **report.to_json()})
    else:
        _show_searches(out, report)
    is_below = min_ndcg is not None and figures["all"]["nDCG@10"].mean < min_ndcg
    if is_below:
        out.note(f"nDCG@10 is below {min_ndcg}.")
    return ExitCode.NEGATIVE if is_below or report.problems else ExitCode.OK


async def _searched(state: State, folder: Path) -> RetrievalReport:
    from datamind.config import Profile
    from datamind_cli.evaluation.beir import read_beir
    from datamind_cli.evaluation.retrieval import evaluate_retrieval
    from datamind_cli.temporary import temporary_folder, temporary_system

    own = Profile.of(load_settings(state))
    async with temporary_system(state, "eval", like=own.settings_file) as system:
        with temporary_folder() as place, progress_line(enabled=not state.as_json) as line:
            return await evaluate_retrieval(system, read_beir(folder), place, line.show)


def _show_searches(out: Output, report: RetrievalReport) -> None:
    from datamind_cli.evaluation.retrieval import METRICS

    for problem in report.problems:
        out.line(problem)
    counts = {name: len(items) for name, items in report.groups()}
    rows = [
        (name, str(counts[name]), *(f"{row.mean:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in figures.values()))
        for name, figures in report.estimates().items()
    ]
    out.table(("queries in", "queries", *METRICS), rows)
    parts = [f"{report.passages} passages", f"{report.vectors} with a vector", report.strategy]
    out.line(out.join([*parts, f"{report.duration_s:.2f} s"]), dim=True)


@cli.command("memory")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@click.pass_context
def memory(ctx: click.Context, file: Path) -> int:
    """Remember the conversations of FILE in a temporary profile, recall for its questions, and say how good that is.

    FILE is JSONL. A line {"conversation": [{"id", "speaker", "text", "said_at"}]} is followed by its questions:
    {"id", "question", "evidence": [ids of turns], "kind"}; "speaker", "said_at" and "kind" may be left out.

    Recall@5, Recall@10 and MRR@10 come with 95 % bootstrap intervals, by kind. Settings are those of the profile; its
    data is not touched.
    """
    from datamind_cli.evaluation.surfaces import read_memory_file

    state = state_of(ctx)
    read_memory_file(file)
    return _report(state, file, run(lambda: _memory(state, file)))


async def _memory(state: State, file: Path) -> SurfaceReport:
    from datamind_cli.evaluation.surfaces import evaluate_memory, read_memory_file

    async with _fresh(state) as (system, line):
        return await evaluate_memory(system, read_memory_file(file), line.show)


@cli.command("graph")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@click.pass_context
def graph(ctx: click.Context, file: Path) -> int:
    """Store the statements that FILE names into a temporary profile, and compare what is found with what is expected.

    FILE is JSONL. The first line is {"ingest": [paths relative to FILE]}. Every other line is {"id", "entity", "hops",
    "relations", "expected": [names]} for what is within some hops of an entity, or {"id", "search", "expected"} for
    entities that words mean; "hops" is 1 and "relations" (IRIs) are all where they are left out.

    Precision and recall of the neighbours, and R@1, R@10 and MRR@10 of the search, come with 95 % bootstrap intervals.
    """
    from datamind_cli.evaluation.surfaces import read_graph_file

    state = state_of(ctx)
    read_graph_file(file)
    return _report(state, file, run(lambda: _graph(state, file)))


async def _graph(state: State, file: Path) -> SurfaceReport:
    from datamind_cli.evaluation.surfaces import evaluate_graph, read_graph_file

    async with _fresh(state) as (system, line):
        return await evaluate_graph(system, *read_graph_file(file), line.show)


@asynccontextmanager
async def _fresh(state: State) -> AsyncIterator[tuple[DataMind, ProgressLine]]:
    from datamind.config import Profile
    from datamind_cli.temporary import temporary_system

    own = Profile.of(load_settings(state))
    async with temporary_system(state, "eval", like=own.settings_file) as system:
        with progress_line(enabled=not state.as_json) as line:
            yield system, line


def _report(state: State, file: Path, report: SurfaceReport) -> int:
    out = Output(state)
    if out.is_json:
        out.json({"file": str(file), **report.to_json()})
        return ExitCode.NEGATIVE if report.problems else ExitCode.OK
    for problem in report.problems:
        out.line(problem)
    for columns, rows in _by_metrics(report).items():
        out.table(("questions", "count", *columns), rows)
    out.line(out.join([report.stored, f"{report.duration_s:.2f} s"]), dim=True)
    return ExitCode.NEGATIVE if report.problems else ExitCode.OK


def _by_metrics(report: SurfaceReport) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    tables: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for group, count, figures in report.estimates():
        shown = [f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in figures.values()]
        tables.setdefault(tuple(figures), []).append((group, str(count), *shown))
    return tables
