"""What ``store`` and ``ingest`` share: showing a result, and saying what it means for the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from datamind_cli.exits import ExitCode, exit_code_of_failures
from datamind_cli.records import show_notices, show_receipts, store_status
from datamind_cli.render import Output

if TYPE_CHECKING:
    from datamind.core.receipts import StoreResult


def show_store_result(out: Output, result: StoreResult) -> None:
    """The agent's words, the receipts, the status line."""
    if out.is_json:
        out.json(result)
        return
    show_notices(out, result.notices)
    if result.answer:
        out.line(result.answer)
    show_receipts(out, result.receipts)
    for ticket in result.approvals:
        out.line(f"waits for a person's approval: {ticket}")
    if "unreceipted_claim" in result.flags:
        out.line("The agent says that something was saved, and no receipt does: believe the receipts.")
    out.line(store_status(out, result), dim=True)


def outcome_of(result: StoreResult) -> ExitCode:
    """OK when all that was asked for is stored, or was already."""
    if result.status in ("stored", "unchanged"):
        return ExitCode.OK
    if result.approvals:
        return ExitCode.DENIED
    failed = [receipt.result.error.code for receipt in result.receipts if receipt.result.error]
    refused = [call.code for call in result.tool_trace if call.is_error and call.code]
    return exit_code_of_failures([*failed, *refused])
