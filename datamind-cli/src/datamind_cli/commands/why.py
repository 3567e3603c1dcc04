from __future__ import annotations

import click

from datamind_cli.commands.trace import newest_answer
from datamind_cli.exits import ExitCode
from datamind_cli.render import Output
from datamind_cli.session import opened_for_reading, run, whole_id
from datamind_cli.state import State, common_options, state_of


@click.command("why")
@click.argument("any_id", metavar="[ID]", required=False)
@common_options
@click.pass_context
def cli(ctx: click.Context, any_id: str | None) -> int:
    """Say in sentences what an answer, a piece of evidence or a receipt rests on; the newest answer without ID."""
    state = state_of(ctx)
    return run(lambda: _why(state, any_id))


async def _why(state: State, any_id: str | None) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        trace = await system.trace(await whole_id(system, any_id or await newest_answer(system)))
    if out.is_json:
        out.json({"asked": trace.asked, "sentences": trace.sentences()})
        return ExitCode.OK
    for sentence in trace.sentences():
        out.line(sentence)
    return ExitCode.OK
