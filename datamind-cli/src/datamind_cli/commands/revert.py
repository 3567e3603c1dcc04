from __future__ import annotations

import click

from datamind_cli.commands.undo import take_back
from datamind_cli.session import run
from datamind_cli.state import common_options, state_of


@click.command("revert")
@click.argument("receipt", metavar="RECEIPT")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_context
def cli(ctx: click.Context, receipt: str, yes: bool) -> int:
    """Take back what one receipt wrote; what goes or comes back is shown first.

    What it added goes, what it replaced, closed or deleted comes back. A later write that changed the same thing is
    named, and nothing is changed. A revert has a receipt too: reverting that one does the write again.
    """
    state = state_of(ctx)
    return run(lambda: take_back(state, receipt, yes, one_receipt=True))
