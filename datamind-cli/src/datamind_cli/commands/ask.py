from __future__ import annotations

import click

from datamind_cli.exits import ExitCode
from datamind_cli.records import answer_status, show_evidence, show_notices
from datamind_cli.render import Output
from datamind_cli.session import given_text, opened_for_reading, run
from datamind_cli.state import State, common_options, state_of


@click.command("ask")
@click.argument("question", nargs=-1)
@click.option("--session", default="", help="Conversation the question belongs to.")
@click.option("--all", "everything", is_flag=True, help="Show all evidence that was read, not only what is cited.")
@common_options
@click.pass_context
def cli(ctx: click.Context, question: tuple[str, ...], session: str, everything: bool) -> int:
    """Answer QUESTION, or the one on standard input when QUESTION is -.

    Each [n] of the answer is a row of evidence below it. Finding nothing is an answer too, and exits with 0.
    """
    state = state_of(ctx)
    words = given_text(question, "question")
    return run(lambda: _ask(state, words, session, everything))


async def _ask(state: State, question: str, session: str, everything: bool) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        result = await system.query(question, session=session)
    if out.is_json:
        out.json(result)
        return ExitCode.OK
    show_notices(out, result.notices)
    out.line(result.answer)
    show_evidence(out, result, everything=everything)
    out.line(answer_status(out, result), dim=True)
    return ExitCode.OK
