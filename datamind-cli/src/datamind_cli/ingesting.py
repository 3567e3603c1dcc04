"""What ``store`` and ``ingest`` share: showing a result, and saying what it means for the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from datamind_cli.exits import ExitCode, exit_code_of_failures
from datamind_cli.records import show_notices, show_receipts, store_status
from datamind_cli.render import Output, count_of

if TYPE_CHECKING:
    from datamind.core.receipts import IngestReceipt, StoreResult

_MAX_SHOWN: Final = 20


def show_store_result(out: Output, result: StoreResult) -> None:
    """The agent's words, the receipts, the status line."""
    if out.is_json:
        out.json(result)
        return
    show_notices(out, result.notices)
    if result.answer:
        out.line(result.answer)
    _show_some(out, result.receipts)
    for call in result.tool_trace:
        if call.is_error and not call.receipt_ids:
            out.line(f"{call.name} failed: `datamind explain {call.code}`")
    for ticket in result.approvals:
        out.line(f"waits for a person's approval: {ticket}")
    if "unreceipted_claim" in result.flags:
        out.line("The agent says that something was saved, and no receipt does: believe the receipts.")
    out.line(store_status(out, result), dim=True)


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
    return exit_code_of_failures([*failed, *refused])
