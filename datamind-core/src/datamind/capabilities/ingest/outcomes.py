"""What a write came to: results of what went wrong, and what a model sees of it all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from datamind.capabilities.control.intent import Intent
from datamind.core.errors import (
    ConfigError,
    DataMindError,
    IntegrityError,
    StoreError,
    SurfaceUnavailable,
    unforeseen,
)
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult, WriteError, overall_status
from datamind.core.tools import ReadBack, ToolOutput, ToolSpec

log = logging.getLogger(__name__)

_SHOWN_RECEIPTS: Final = 20


def foreseen(spec: ToolSpec, error: Exception) -> DataMindError:
    """The error as it may be told: a plugin's own exception may quote data, so only its type is."""
    return error if isinstance(error, DataMindError) else unforeseen(spec.name, error)


def may_pass(error: DataMindError) -> bool:
    """Whether a later try could succeed with nothing changed but time."""
    unopened = isinstance(error, SurfaceUnavailable | ConfigError)
    return unopened or (isinstance(error, StoreError) and error.retryable)


def is_unconfirmed(spec: ToolSpec, error: Exception) -> bool:
    """Whether what kept an applied write from being confirmed says nothing about the write: the system failed."""
    return isinstance(error, OSError) or may_pass(foreseen(spec, error))


def unconfirmed(spec: ToolSpec, intent: Intent, error: Exception) -> StoreError:
    """Neither stored nor failed: the store has it, and nobody knows whether it would survive a power loss."""
    receipt_id, reason = intent.unit.receipt_id, foreseen(spec, error)
    return StoreError(
        f"{spec.name} was applied but could not be confirmed ({reason}).",
        code=reason.code if isinstance(reason, StoreError) else None,
        hint=f"Its receipt {receipt_id} comes at the next start, or when the call is repeated with its key.",
    )


def failed(spec: ToolSpec, error: Exception) -> SurfaceWriteResult:
    """The result of a write that raised."""
    reason = write_error(spec, error)
    return SurfaceWriteResult(surface=spec.surface, operation="none", status="failed", error=reason)


def refuted(spec: ToolSpec, found: ReadBack) -> SurfaceWriteResult:
    """The result of a write that a look at the store does not show."""
    error = IntegrityError(f"the store does not show the write: {found.seen}.", hint="Run `datamind doctor`.")
    return failed(spec, error)


def write_error(spec: ToolSpec, error: Exception) -> WriteError:
    """What of an exception may be told."""
    if not isinstance(error, DataMindError):
        log.error("%s failed", spec.name, exc_info=error)
    reason = foreseen(spec, error)
    return WriteError(code=reason.code, message=str(reason), retryable=reason.retryable)


def output_of(receipts: Sequence[IngestReceipt]) -> ToolOutput:
    """Counts, codes and receipt ids, never stored text."""
    results = [receipt.result for receipt in receipts]
    data: dict[str, Any] = {
        "status": overall_status(results),
        "items_written": sum(result.items_written for result in results),
        "receipt_ids": [receipt.receipt_id for receipt in receipts[:_SHOWN_RECEIPTS]],
    }
    if len(receipts) > 1:
        data["writes"] = len(receipts)
    operations = sorted({result.operation for result in results if result.operation != "none"})
    if operations:
        data["operation"] = operations[0] if len(operations) == 1 else operations
    return ToolOutput(data, receipts=tuple(receipts))
