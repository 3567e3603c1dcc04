from __future__ import annotations

import click

from datamind_cli.embedding import drained, outcome_of_drain, show_drain
from datamind_cli.exits import ExitCode
from datamind_cli.render import Output
from datamind_cli.session import opened_for_reading, run
from datamind_cli.state import State, common_options, state_of


@click.command("embed")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), help="Stop after so many seconds.")
@common_options
@click.pass_context
def cli(ctx: click.Context, timeout_s: float | None) -> int:
    """Make a vector for every passage and memory that has none of the current model.

    Texts are found by words without it. After another embedding.provider or embedding.model was set, this makes the
    vectors of the new one. Ctrl-C stops it; what was embedded stays, and the same command goes on.
    """
    state = state_of(ctx)
    return run(lambda: _embed(state, timeout_s))


async def _embed(state: State, timeout_s: float | None) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        report = await drained(system, state, timeout_s=timeout_s)
    if out.is_json:
        out.json(report)
    else:
        show_drain(out, report, always=True)
    return outcome_of_drain(report)
