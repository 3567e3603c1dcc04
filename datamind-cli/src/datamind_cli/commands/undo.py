from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import outcome_of, show_store_result
from datamind_cli.records import short_id, source_label
from datamind_cli.render import Output, count_of, shorten
from datamind_cli.session import opened_for_reading, run, whole_id
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import echo, is_terminal

if TYPE_CHECKING:
    from datamind.agent.undo import UndoPlan
    from datamind.core.protocols.agent import ApprovalRequest

_MAX_SHOWN = 20
_WHAT_CHARS = 80
_REASONS = {
    "not_kept": "{operation}, and nothing is kept to bring it back",
    "changed_since": "{operation}, and changed since",
}


@click.command("undo")
@click.argument("asked", metavar="[ID]", required=False, default="")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_context
def cli(ctx: click.Context, asked: str, yes: bool) -> int:
    """Take back what was written last, or by the receipt or trace with ID; what goes or comes back is shown first.

    All that one command wrote is taken back together: what it added goes, what it replaced, closed or deleted comes
    back. What a later write changed stays as it is. Every step has a receipt of its own.
    """
    state = state_of(ctx)
    return run(lambda: take_back(state, asked, yes))


async def take_back(state: State, asked: str, yes: bool, *, one_receipt: bool = False) -> ExitCode:
    """Show the plan, ask, and do it; the exit code."""
    from datamind_cli.approve import typed

    out, approver = Output(state), _Agreed(state)
    async with opened_for_reading(state, approver=approver) as system:
        wanted = await whole_id(system, asked)
        plan = await (system.plan_revert(wanted) if one_receipt else system.plan_undo(wanted))
        if not plan.steps:
            return _say_nothing_goes(out, plan)
        if not out.is_json:
            _show(out, plan)
        if not yes:
            _need_terminal()
            echo(f"Take {'this' if len(plan.steps) == 1 else 'these'} back? [y/N] ", nl=False, err=True)
            if (await typed(sys.stdin.readline)).strip().lower() not in ("y", "yes"):
                out.note("Nothing was changed.")
                return ExitCode.DENIED
        approver.plan = plan
        result = await system.undo(plan)
    show_store_result(out, result)
    return outcome_of(result)


class _Agreed:
    """Who agreed to a plan is not asked about its calls again; whatever else is asked, a person answers."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.plan: UndoPlan | None = None

    async def decide(self, request: ApprovalRequest) -> bool:
        """Whether the call is one that was shown."""
        steps = self.plan.steps if self.plan else ()
        if any(step.tool == request.tool and _names(step.arguments) == _names(request.arguments) for step in steps):
            return True
        from datamind_cli.approve import TerminalApprover

        return await TerminalApprover(self._state).decide(request)


def _names(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, list) else value for name, value in arguments.items() if value}


def _show(out: Output, plan: UndoPlan) -> None:
    rows = [
        (
            short_id(step.receipt.receipt_id),
            step.receipt.result.surface.value,
            shorten(step.what, _WHAT_CHARS),
            source_label(step.receipt.source),
        )
        for step in plan.steps[:_MAX_SHOWN]
    ]
    out.table(("receipt", "surface", "what", "source"), rows)
    if len(plan.steps) > _MAX_SHOWN:
        out.line(f"and {count_of(len(plan.steps) - _MAX_SHOWN, 'write')} more")
    for receipt, why in plan.stays[:_MAX_SHOWN]:
        reason = _REASONS[why].format(operation=receipt.result.operation)
        out.line(f"stays: {source_label(receipt.source) or short_id(receipt.receipt_id)} ({reason})")


def _say_nothing_goes(out: Output, plan: UndoPlan) -> ExitCode:
    if out.is_json:
        gone = [{"receipt": receipt, "undone_by": plan.undone_by.get(receipt.receipt_id)} for receipt in plan.gone]
        out.json({"status": "unchanged", "gone": gone})
    elif not plan.gone:
        out.line("There is nothing to undo.")
    for receipt in plan.gone if not out.is_json else ():
        by = plan.undone_by.get(receipt.receipt_id)
        how = f"reverted already, by {short_id(by.receipt_id)}" if by else "gone already"
        out.line(f"{short_id(receipt.receipt_id)} is {how}.")
    return ExitCode.OK


def _need_terminal() -> None:
    from datamind.core.errors import ApprovalRequired

    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise ApprovalRequired("there is no terminal to ask on;", hint="With --yes nothing is asked.")
