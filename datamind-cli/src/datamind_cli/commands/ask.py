from __future__ import annotations

from pathlib import Path

import click

from datamind_cli.exits import ExitCode
from datamind_cli.records import answer_status, show_evidence, show_notices
from datamind_cli.render import Output
from datamind_cli.saving import check_target, write_saved
from datamind_cli.session import given_text, opened_for_reading, run
from datamind_cli.state import State, common_options, state_of


@click.command("ask")
@click.argument("question", nargs=-1)
@click.option("--session", default="", help="Conversation the question belongs to.")
@click.option(
    "--save", "target", type=click.Path(dir_okay=False, path_type=Path), help="Also write FILE.html or FILE.json."
)
@click.option("--force", is_flag=True, help="Replace the file of --save.")
@click.option("--all", "everything", is_flag=True, help="Show all evidence that was read, not only what is cited.")
@common_options
@click.pass_context
def cli(
    ctx: click.Context, question: tuple[str, ...], session: str, target: Path | None, force: bool, everything: bool
) -> int:
    """Answer QUESTION, or the one on standard input when QUESTION is -.

    Each [n] of the answer is a row of evidence below it. Finding nothing is an answer too, and exits with 0. A file
    of --save opens offline and can be checked with `datamind verify`.
    """
    state = state_of(ctx)
    words = given_text(question, "question")
    if target is not None:
        check_target(target, replace=force)
    return run(lambda: _ask(state, words, session, target, everything))


async def _ask(state: State, question: str, session: str, target: Path | None, everything: bool) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        result = await system.query(question, session=session)
        saved = await system.save_answer(result.trace_id) if target is not None else None
    if saved is not None and target is not None:
        write_saved(saved, target)
        out.note(f"written: {target}")
    if out.is_json:
        out.json(result)
        return ExitCode.OK
    show_notices(out, result.notices)
    out.line(result.answer)
    show_evidence(out, result, everything=everything)
    out.line(answer_status(out, result), dim=True)
    return ExitCode.OK
