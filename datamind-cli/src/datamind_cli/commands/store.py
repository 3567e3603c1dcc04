from __future__ import annotations

import click

from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import outcome_of, show_store_result
from datamind_cli.render import Output
from datamind_cli.session import given_text, opened_for_writing, run
from datamind_cli.state import State, common_options, state_of


@click.command("store")
@click.argument("text", nargs=-1)
@click.option(
    "--session",
    default="",
    help='Conversation it belongs to: what is remembered is seen only there, unless the text says "in all projects".',
)
@click.option("--key", default="", help="Idempotency key: storing the same text again under it changes nothing.")
@common_options
@click.pass_context
def cli(ctx: click.Context, text: tuple[str, ...], session: str, key: str) -> int:
    """Store TEXT, or what standard input holds when TEXT is -.

    The storing agent decides where it belongs. What it says counts for nothing: the status comes from receipts.
    """
    state = state_of(ctx)
    words = given_text(text, "text")
    return run(lambda: _store(state, words, session, key))


async def _store(state: State, text: str, session: str, key: str) -> ExitCode:
    async with opened_for_writing(state) as system:
        result = await system.ingest(
            text, session=session, idempotency_key=key, memory_scope="session" if session else ""
        )
    show_store_result(Output(state), result)
    return outcome_of(result)
