from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import outcome_of, show_store_result
from datamind_cli.render import Output, count_of, shorten
from datamind_cli.session import opened_for_reading, run, whole_id
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import echo, is_terminal

if TYPE_CHECKING:
    from datamind.agent import DataMind
    from datamind.agent.forgetting import ForgetPlan

_WHAT_CHARS = 80


@click.command("forget")
@click.argument("receipts", metavar="[RECEIPT]...", nargs=-1)
@click.option("--source", default="", help="All that a file, uri or title gave, on every surface.")
@click.option("--entity", default="", help="Statements of an entity, and memories about it.")
@click.option("--query", default="", help="The documents and memories that these words name.")
@click.option("--erase", is_flag=True, help="Also out of every file: stored texts, answers, older versions, copies.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_context
def cli(
    ctx: click.Context, receipts: tuple[str, ...], source: str, entity: str, query: str, erase: bool, yes: bool
) -> int:
    """Take what a source, an entity, words or receipts mean off every surface; what goes is shown first.

    Forgotten is what no search, query or answer finds any more; its text is still stored, so that it can come back.
    With --erase it goes out of the files of the profile too, and nothing brings it back. Files of your own stay.
    """
    state = state_of(ctx)
    if sum(map(bool, (source, entity, query, receipts))) != 1:
        raise click.UsageError("give one of --source, --entity, --query, or receipts", ctx)
    asked = {"source": source, "entity": entity, "query": query}
    path = str(Path(source).resolve()) if source else ""
    return run(lambda: _forget(state, asked, path, receipts, erase, yes))


async def _forget(
    state: State, asked: dict[str, str], path: str, receipts: tuple[str, ...], erase: bool, yes: bool
) -> ExitCode:
    from datamind_cli.approve import typed

    out = Output(state)
    async with opened_for_reading(state) as system:
        plan = await _plan(system, asked, path, receipts)
        if plan.is_empty or not (plan.steps or erase):
            return _say_nothing_goes(out, plan)
        if not out.is_json:
            _show(out, plan, erase)
        if not yes:
            _need_terminal()
            echo(f"{'Erase' if erase else 'Forget'} this? [y/N] ", nl=False, err=True)
            if (await typed(sys.stdin.readline)).strip().lower() not in ("y", "yes"):
                out.note("Nothing was changed.")
                return ExitCode.DENIED
        result = await system.forget(plan, erase)
    show_store_result(out, result)
    return outcome_of(result)


async def _plan(system: DataMind, asked: dict[str, str], path: str, receipts: tuple[str, ...]) -> ForgetPlan:
    whole = [await whole_id(system, receipt) for receipt in receipts]
    plan = await system.plan_forget(**asked, receipts=whole)
    if plan.is_empty and path:
        plan = await system.plan_forget(source=path)
    return plan


def _show(out: Output, plan: ForgetPlan, erase: bool) -> None:
    rows = [(step.surface.value, str(step.count), shorten(step.what, _WHAT_CHARS)) for step in plan.steps]
    out.table(("surface", "items", "goes"), rows)
    if erase:
        writes = count_of(len(plan.receipts), "write")
        out.line(f"erased too: what is stored of {writes}, and the answers and conversations that rest on it")
    for reason in plan.stays:
        out.line(f"stays: {reason}")


def _say_nothing_goes(out: Output, plan: ForgetPlan) -> ExitCode:
    said = "Nothing of it is stored."
    if not plan.is_empty:
        said = "It is on no read path; --erase takes what is stored of it."
    if out.is_json:
        out.json({"status": "unchanged", "message": said})
    else:
        out.line(said)
    return ExitCode.OK


def _need_terminal() -> None:
    from datamind.core.errors import ApprovalRequired

    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise ApprovalRequired("there is no terminal to ask on;", hint="`datamind forget --yes` does not ask.")
