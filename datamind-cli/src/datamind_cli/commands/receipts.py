from __future__ import annotations

import click

from datamind_cli.exits import ExitCode
from datamind_cli.records import show_receipt, show_receipts
from datamind_cli.render import Output, count_of
from datamind_cli.session import opened_for_reading, run, whole_id
from datamind_cli.state import State, common_options, state_of


@click.command("receipts")
@click.argument("receipt_id", metavar="[ID]", required=False)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most receipts to list.")
@click.option("--offset", default=0, type=click.IntRange(0), help="How many of the newest to skip.")
@click.option("--surface", default="", help="Only receipts of this surface, such as memory.")
@common_options
@click.pass_context
def cli(ctx: click.Context, receipt_id: str | None, limit: int, offset: int, surface: str) -> int:
    """List the newest receipts, or show the one with ID."""
    state = state_of(ctx)
    if receipt_id:
        return run(lambda: _show(state, receipt_id))
    return run(lambda: _list(state, limit, offset, surface))


async def _list(state: State, limit: int, offset: int, surface: str) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        page = await system.receipts.latest(limit=limit, offset=offset, surface=surface)
        total = await system.receipts.count()
    if out.is_json:
        out.json(list(page))
        return ExitCode.OK
    show_receipts(out, page, times=True)
    out.note(f"{count_of(len(page), 'receipt')} shown, {total:,} in profile {system.profile.name}.")
    return ExitCode.OK


async def _show(state: State, receipt_id: str) -> ExitCode:
    from datamind.core.errors import NotFound

    out = Output(state)
    async with opened_for_reading(state) as system:
        receipt = await system.receipts.get(await whole_id(system, receipt_id))
    if receipt is None:
        hint = "`datamind receipts` lists them."
        raise NotFound(f"there is no receipt {receipt_id[:80]!r} in profile {system.profile.name!r};", hint=hint)
    if out.is_json:
        out.json(receipt)
    else:
        show_receipt(out, receipt)
    return ExitCode.OK
