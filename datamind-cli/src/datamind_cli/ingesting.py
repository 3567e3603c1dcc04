"""What ``store`` and ``ingest`` share: showing a result, and saying what it means for the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from datamind_cli.exits import ExitCode, exit_code_of_failures
from datamind_cli.records import show_notices, show_receipts, store_status
from datamind_cli.render import Output, count_of
from datamind_cli.streams import ProgressLine

if TYPE_CHECKING:
    from datamind.core.protocols.agent import ApprovalRequest
    from datamind.core.receipts import IngestReceipt, SkippedFile, StoreResult
    from datamind_cli.state import State

_MAX_SHOWN: Final = 20
_DROPS: Final = frozenset({"kb_delete", "db_remove_import", "db_drop_table", "graph_delete"})


class IngestApprover:
    """Asks at the terminal; with ``--yes``, what files gave that are gone goes without a question.

    Attributes:
        line: The progress that is shown meanwhile, and makes room for a question.
    """

    def __init__(self, state: State, *, drops_gone: bool) -> None:
        self._state = state
        self._drops_gone = drops_gone
        self.line = ProgressLine(enabled=False)

    async def decide(self, request: ApprovalRequest) -> bool:
        """Approve a deletion that was asked for in advance; show everything else."""
        if self._drops_gone and request.tool in _DROPS:
            return True
        from datamind_cli.approve import TerminalApprover

        self.line.clear()
        return await TerminalApprover(self._state).decide(request)


def show_store_result(out: Output, result: StoreResult, *, verbose: bool = False) -> None:
    """The agent's words, the receipts, what was passed over, the status line."""
    if out.is_json:
        out.json(result)
        return
    show_notices(out, result.notices)
    if result.answer:
        out.line(result.answer)
    _show_some(out, result.receipts)
    _show_skipped(out, result.skipped, every=verbose)
    _show_gone(out, result.gone)
    for call in result.tool_trace:
        if call.is_error and not call.receipt_ids:
            out.line(f"{call.name} failed: `datamind explain {call.code}`")
    for ticket in result.approvals:
        out.line(f"waits for a person's approval: {ticket}")
    if "unreceipted_claim" in result.flags:
        out.line("The agent says that something was saved, and no receipt does: believe the receipts.")
    out.line(store_status(out, result), dim=True)


def _show_skipped(out: Output, skipped: Sequence[SkippedFile], *, every: bool) -> None:
    """How many were passed over for each reason; every one of them when asked, and always when a surface is off."""
    for code, count in Counter(item.code for item in skipped).most_common():
        out.line(f"passed over: {count} ({code.partition('.')[2].replace('_', ' ')}; `datamind explain {code}`)")
        if every or code.startswith("surface_off"):
            shown = [item.path for item in skipped if item.code == code]
            for path in shown if every else shown[:_MAX_SHOWN]:
                out.line(f"  {path}")


def _show_gone(out: Output, gone: Sequence[str]) -> None:
    if not gone:
        return
    out.line(f"gone from there and still stored: what {count_of(len(gone), 'file')} gave; `--yes` drops it")
    for uri in gone[:_MAX_SHOWN]:
        out.line(f"  {uri.removeprefix('file:')}")


def _show_some(out: Output, receipts: Sequence[IngestReceipt]) -> None:
    """Every write that failed, and as many of the others as a person reads."""
    failed = [receipt for receipt in receipts if receipt.result.error]
    others = [receipt for receipt in receipts if not receipt.result.error]
    show_receipts(out, [*others[:_MAX_SHOWN], *failed])
    if len(others) > _MAX_SHOWN:
        out.line(f"and {count_of(len(others) - _MAX_SHOWN, 'receipt')} more; `datamind receipts` lists them")


def outcome_of(result: StoreResult) -> ExitCode:
    """OK when all that was asked for is stored, or was already."""
    if result.status in ("stored", "unchanged"):
        return ExitCode.OK
    if result.approvals:
        return ExitCode.DENIED
    failed = [receipt.result.error.code for receipt in result.receipts if receipt.result.error]
    refused = [call.code for call in result.tool_trace if call.is_error and call.code]
    refused += [item.code for item in result.skipped if item.code.startswith("surface_off")]
    return exit_code_of_failures([*failed, *refused])
