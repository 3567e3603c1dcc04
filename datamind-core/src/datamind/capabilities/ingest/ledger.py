"""The IngestLedger: no write without an intent before it and a receipt after it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from datamind.capabilities.control.control import Control
from datamind.capabilities.control.intents import Intent
from datamind.capabilities.ingest.shielded import finish_despite_cancel
from datamind.core.context import RequestContext, ToolContext
from datamind.core.dispatch import Sides
from datamind.core.errors import DataMindError, IntegrityError, SurfaceUnavailable, ToolFailed
from datamind.core.receipts import (
    IngestReceipt,
    SurfaceWriteResult,
    WriteError,
    WriteStatus,
    overall_status,
)
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, ToolOutput, ToolSpec
from datamind.core.types import DataSurface, Role

log = logging.getLogger(__name__)

_SHOWN_RECEIPTS = 20
Sync = Callable[[DataSurface, str], Awaitable[None]]


@dataclass(frozen=True)
class IngestLedger:
    """Wraps every write tool: intent → handler → sync → read-back → receipt.

    Attributes:
        control_of: The control.db of a profile: the request's own, or ``_shared``.
        sync: Makes the writes of a surface (and ledger profile) survive a power loss.
    """

    profile: str
    control_of: Callable[[str], Control]
    sides: Sides
    sync: Sync

    def wrap(self, spec: ToolSpec) -> ToolSpec:
        """The same tool, keeping receipts; tools that do not write stay as they are."""
        if not spec.writes:
            return spec

        async def write(args: Any, ctx: ToolContext) -> ToolOutput:
            receipts: list[IngestReceipt] = []
            async for planned in spec.planned(args, ctx):
                receipts.append(await self._write(spec, planned, ctx))
                if ctx.request.progress is not None:
                    ctx.request.progress(len(receipts), planned.label)
            return _output(receipts)

        return spec.with_ledger(write)

    async def _write(self, spec: ToolSpec, planned: PlannedWrite | Refusal, ctx: ToolContext) -> IngestReceipt:
        ordinal = next(ctx.request.ordinals)
        key = f"{ctx.request.idempotency_key or f'{ctx.request.trace_id}/{ctx.call_id}'}#{ordinal}"
        if isinstance(planned, Refusal):
            return await self._refuse(spec, planned, ctx, key)
        control = self.control_of(planned.ledger_profile or self.profile)
        begun = await control.intents.begin(spec, planned, ctx.request, ctx.call_id, key)
        if isinstance(begun, IngestReceipt):
            return begun
        # Past its intent a write finishes and is recorded, whoever leaves meanwhile.
        return await finish_despite_cancel(self._complete(spec, begun, ctx, control))

    async def _complete(
        self, spec: ToolSpec, intent: Intent, ctx: ToolContext, control: Control, *, leave_open: bool = False
    ) -> IngestReceipt:
        context = replace(ctx, unit=intent.unit)
        result = intent.result
        if result is None:
            result = await _apply(spec, intent.args, context, leave_open)
            await control.intents.applied(intent, result)
        seen = ""
        if result.status not in ("failed", "denied"):
            try:
                await self.sync(spec.surface, control.profile)
                result, seen = await self._read_back(spec, result, context)
            except DataMindError as error:
                result = _failed(spec, error)
        return await control.intents.finish(intent, result, seen)

    async def _read_back(
        self, spec: ToolSpec, result: SurfaceWriteResult, ctx: ToolContext
    ) -> tuple[SurfaceWriteResult, str]:
        if spec.read_back is None:
            return result, ""
        found: ReadBack = await spec.read_back(result, replace(ctx, side=self.sides.read))
        if found.agrees:
            return result, found.seen
        error = IntegrityError(f"the store does not show the write: {found.seen}", hint="Run `datamind doctor`.")
        return _failed(spec, error), found.seen

    async def _refuse(self, spec: ToolSpec, refusal: Refusal, ctx: ToolContext, key: str) -> IngestReceipt:
        result = _failed(spec, DataMindError(refusal.message, code=refusal.code))
        return await self.control_of(self.profile).intents.refuse(spec, result, ctx.request, ctx.call_id, key)

    async def recover(self, catalogue: Mapping[str, ToolSpec], control: Control) -> Sequence[IngestReceipt]:
        """Finish the writes whose process died, oldest first; called before any reader is admitted.

        A write whose tool or surface is missing now stays open for the next start.
        """
        if not control.intents.has_open_intents():
            return ()
        receipts = []
        for intent in await control.intents.open_intents():
            spec = catalogue.get(intent.tool)
            if spec is None:
                log.warning("an unfinished write waits: no tool %s is installed", intent.tool)
                continue
            receipts.append(await self._recover_one(spec, intent, control))
        return [receipt for receipt in receipts if receipt is not None]

    async def _recover_one(self, spec: ToolSpec, intent: Intent, control: Control) -> IngestReceipt | None:
        request = RequestContext(self.profile, Role.STORE, session=intent.session, trace_id=intent.trace_id)
        context = ToolContext(request, intent.call_id, self.sides.write, intent.unit)
        try:
            return await self._complete(spec, intent, context, control, leave_open=True)
        except SurfaceUnavailable as error:
            log.warning("an unfinished write of %s waits: %s", intent.tool, error)
            return None


async def _apply(spec: ToolSpec, args: Mapping[str, Any], ctx: ToolContext, leave_open: bool) -> SurfaceWriteResult:
    try:
        result = await spec.handler(spec.unit_arguments(args), ctx)
    except DataMindError as error:
        if leave_open and isinstance(error, SurfaceUnavailable):
            raise
        return _failed(spec, error)
    except Exception as error:
        log.exception("%s failed", spec.name)
        return _failed(spec, ToolFailed(f"{spec.name} failed ({type(error).__name__})"))
    if not isinstance(result, SurfaceWriteResult):
        return _failed(spec, ToolFailed(f"{spec.name} returned no write result"))
    return result


def _failed(spec: ToolSpec, error: DataMindError) -> SurfaceWriteResult:
    status: WriteStatus = "failed"
    body = WriteError(code=error.code, message=str(error), retryable=error.retryable)
    return SurfaceWriteResult(surface=spec.surface, operation="none", status=status, error=body)


def _output(receipts: Sequence[IngestReceipt]) -> ToolOutput:
    # What a model sees of a write: counts, codes and receipt ids, never stored text.
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
