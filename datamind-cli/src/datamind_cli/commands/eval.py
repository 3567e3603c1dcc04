from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from datamind_cli.exits import ExitCode
from datamind_cli.render import Output, shorten
from datamind_cli.session import load_settings, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import progress_line

if TYPE_CHECKING:
    from datamind_cli.evaluation.run import Report


@click.group("eval")
def cli() -> None:
    """Measure answers against a file of questions."""


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
