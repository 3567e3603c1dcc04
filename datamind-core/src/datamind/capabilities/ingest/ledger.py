"""The IngestLedger: no write without an intent before it and a receipt after it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import anyio

from datamind.capabilities.control.control import Control
from datamind.capabilities.control.intent import Intent, Proposal, request_hash
from datamind.capabilities.control.turns import POLL_S, WAIT_S, still_running
from datamind.capabilities.ingest.batches import Batch, Sync, may_share, recover_together, write_together
from datamind.capabilities.ingest.outcomes import (
    failed,
    foreseen,
    is_unconfirmed,
    may_pass,
    output_of,
    refuted,
    unconfirmed,
    write_error,
)
from datamind.core.context import AskedCall, RequestContext, ToolContext
from datamind.core.dispatch import Sides
from datamind.core.errors import DataMindError, ToolFailed
from datamind.core.lease import keeping_leases
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult
from datamind.core.shielded import finish_despite_cancel
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, ToolOutput, ToolSpec
from datamind.core.types import DataSurface, Role

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IngestLedger:
    """Wraps every write tool: intent → handler → sync → read-back → receipt.

    Attributes:
        control_of: The control.db of a profile: the request's own, or ``_shared``.
        controls: Those of both, as far as they exist.
        sync: Makes the writes of a surface (and ledger profile) survive a power loss.
    """

    profile: str
    control_of: Callable[[str], Control]
    controls: Callable[[], Sequence[Control]]
    sides: Sides
    sync: Sync

    def wrap(self, spec: ToolSpec) -> ToolSpec:
        """The same tool, keeping receipts; tools that do not write stay as they are."""
        if not spec.writes:
            return spec

        async def write(args: Any, ctx: ToolContext) -> ToolOutput:
            run = _Run(self, spec, args, ctx)
            try:
                async for planned in _units(spec, args, ctx):
                    await run.take(planned)
            except Exception:
                await run.write_waiting()
                raise
            await run.write_waiting()
            return output_of(run.receipts)

        async def recall(asked: AskedCall, ctx: ToolContext) -> ToolOutput | None:
            receipts = await self._recalled(spec, asked, ctx) if ctx.request.idempotency_key else []
            return output_of(receipts) if receipts else None

        return spec.with_ledger(write, recall if spec.selector else None)

    async def write(self, spec: ToolSpec, proposal: Proposal, ctx: ToolContext) -> IngestReceipt:
        """One unit, from its intent to its receipt."""
        control = self.control_of(proposal.planned.ledger_profile or self.profile)

        async def attempt() -> IngestReceipt | None:
            return await self._attempt(spec, await control.intents.begin(proposal), ctx, control)

        return await _in_turn(control, proposal.key, attempt)

    async def write_together(
        self, spec: ToolSpec, proposals: Sequence[Proposal], ctx: ToolContext
    ) -> list[IngestReceipt]:
        """Units that share a commit; once they are begun they finish, whoever leaves meanwhile."""
        control = self.control_of(self.profile)
        return await finish_despite_cancel(write_together(spec, proposals, ctx, control, self.sides, self.sync))

    async def propose(self, spec: ToolSpec, args: Any, planned: PlannedWrite, ctx: ToolContext, index: int) -> Proposal:
        """What is on disk before an intent can be.

        Args:
            index: Place of the unit among those of its call.
        """
        profile = planned.ledger_profile or self.profile
        asked = ctx.asked.args if ctx.asked else args
        key = self._key(ctx, profile, index)
        return await self.control_of(profile).intents.propose(spec, asked, planned, ctx.request, ctx.call_id, key)

    def _key(self, ctx: ToolContext, profile: str, index: int) -> str:
        if ctx.asked is None:
            return self._call_key(ctx, profile, next(ctx.request.ordinals))
        # The place of the whole call, so that a repeat knows its keys before it knows what there is to write.
        return self._call_key(ctx, profile, ctx.asked.ordinal) + (f".{index}" if index else "")

    def _call_key(self, ctx: ToolContext, profile: str, ordinal: int) -> str:
        given = ctx.request.idempotency_key
        if given and profile != self.profile:
            given = f"{self.profile}/{given}"  # callers of two profiles do not know of each other's keys
        return f"{given or f'{ctx.request.trace_id}/{ctx.call_id}'}#{ordinal}"

    async def _recalled(self, spec: ToolSpec, asked: AskedCall, ctx: ToolContext) -> list[IngestReceipt]:
        """The receipts that the call has already; what of it a dead process left open is finished first."""
        hashed = request_hash(spec, asked.args, ctx.request.session)
        receipts = []
        for control in self.controls():
            call_key = self._call_key(ctx, control.profile, asked.ordinal)
            for key in await control.intents.keys_of(call_key, hashed):
                receipts.append(await self._resume(spec, key, ctx, control))
        return receipts

    async def _resume(self, spec: ToolSpec, key: str, ctx: ToolContext, control: Control) -> IngestReceipt:
        async def attempt() -> IngestReceipt | None:
            return await self._attempt(spec, await control.intents.resume(key, ctx.request), ctx, control)

        return await _in_turn(control, key, attempt)

    async def _attempt(
        self, spec: ToolSpec, begun: Intent | IngestReceipt | None, ctx: ToolContext, control: Control
    ) -> IngestReceipt | None:
        """The receipt of what was begun; None while another process works on its key."""
        return await self._complete(spec, begun, ctx, control) if isinstance(begun, Intent) else begun

    async def _complete(
        self, spec: ToolSpec, intent: Intent, ctx: ToolContext, control: Control, *, recovering: bool = False
    ) -> IngestReceipt:
        async with keeping_leases():  # no other process between the write and its receipt
            return await self._completed(spec, intent, ctx, control, recovering)

    async def _completed(
        self, spec: ToolSpec, intent: Intent, ctx: ToolContext, control: Control, recovering: bool
    ) -> IngestReceipt:
        try:
            intent = await control.intents.with_content(intent)
            result = await self._apply(spec, intent, replace(ctx, unit=intent.unit), control)
        except Exception as error:
            reason = foreseen(spec, error)
            if recovering and may_pass(reason):
                raise reason from error
            return await control.intents.finish(intent, failed(spec, error), "")
        if result.status in ("failed", "denied"):
            return await control.intents.finish(intent, result, "")
        try:
            await self.sync(spec.surface, control.profile)
            result, seen = await self._read_back(spec, result, replace(ctx, unit=intent.unit))
        except Exception as error:
            if is_unconfirmed(spec, error):
                raise unconfirmed(spec, intent, error) from error
            result, seen = failed(spec, error), ""
        return await control.intents.finish(intent, result, seen)

    async def _apply(self, spec: ToolSpec, intent: Intent, ctx: ToolContext, control: Control) -> SurfaceWriteResult:
        if intent.result is not None:
            return intent.result
        result = await _handled(spec, intent, ctx)
        await control.intents.applied(intent, result)
        return result

    async def _read_back(
        self, spec: ToolSpec, result: SurfaceWriteResult, ctx: ToolContext
    ) -> tuple[SurfaceWriteResult, str]:
        if spec.read_back is None:
            return result, ""
        found: ReadBack = await spec.read_back(result, replace(ctx, side=self.sides.read))
        if found.agrees:
            return result, found.seen
        return refuted(spec, found), found.seen

    async def refuse(self, spec: ToolSpec, refusal: Refusal, ctx: ToolContext, index: int) -> IngestReceipt:
        """The receipt of a unit that could not be planned."""
        key = self._key(ctx, self.profile, index)
        result = failed(spec, DataMindError(refusal.message, code=refusal.code))
        return await self.control_of(self.profile).intents.refuse(spec, result, ctx.request, ctx.call_id, key)

    async def recover(self, catalogue: Mapping[str, ToolSpec], control: Control) -> Sequence[IngestReceipt]:
        """Finish the writes whose process died, oldest first; called before any reader is admitted.

        A write whose tool is missing now, or whose store does not open, stays open for the next start.

        Args:
            catalogue: The tools as they were before ``wrap``.
            control: Whose intents.
        """
        if not control.intents.has_open_intents():
            return ()
        receipts: list[IngestReceipt] = []
        for (tool, _), group in groupby(await control.intents.open_intents(), _together):
            spec, intents = catalogue.get(tool), list(group)
            if spec is None:
                log.warning("an unfinished write waits: no tool %s is installed", tool)
            else:
                receipts += await self._recover_run(spec, intents, control)
        return receipts

    async def _recover_run(self, spec: ToolSpec, intents: Sequence[Intent], control: Control) -> list[IngestReceipt]:
        """Units of one call, which may have been written together: then they are finished together."""
        ctx = self._context_of(intents[0])
        if len(intents) > 1 and spec.batch is not None and not any(intent.result for intent in intents):
            try:
                async with keeping_leases():
                    return await recover_together(spec, intents, ctx, control, self.sides, self.sync)
            except Exception as error:
                log.info("unfinished writes of %s are finished one by one: %s", spec.name, error)
        found = [await self._recover_one(spec, intent, control) for intent in intents]
        return [receipt for receipt in found if receipt is not None]

    async def replay(
        self, catalogue: Mapping[str, ToolSpec], control: Control, surface: DataSurface
    ) -> tuple[int, dict[str, str]]:
        """Repeat every write of a surface on an empty store, oldest first, with the receipts they have.

        Returns how many were, and for each receipt whose write could not be the reason.
        """
        missing: dict[str, str] = {}
        intents = await control.intents.applied_to(surface)
        for intent in intents:
            try:
                result = await self._repeat(catalogue, intent, control)
            except DataMindError as error:
                missing[intent.unit.receipt_id] = str(error)
            else:
                if result.error is not None:
                    missing[intent.unit.receipt_id] = result.error.message
        await self.sync(surface, control.profile)
        return len(intents) - len(missing), missing

    async def _repeat(self, catalogue: Mapping[str, ToolSpec], intent: Intent, control: Control) -> SurfaceWriteResult:
        spec = catalogue.get(intent.tool)
        if spec is None:
            raise ToolFailed(f"no tool {intent.tool} is installed")
        intent = await control.intents.with_content(intent)
        return await _handled(spec, intent, self._context_of(intent))

    def _context_of(self, intent: Intent) -> ToolContext:
        request = RequestContext(self.profile, Role.STORE, session=intent.session, trace_id=intent.trace_id)
        return ToolContext(request, intent.call_id, self.sides.write, intent.unit)

    async def _recover_one(self, spec: ToolSpec, intent: Intent, control: Control) -> IngestReceipt | None:
        try:
            return await self._complete(spec, intent, self._context_of(intent), control, recovering=True)
        except DataMindError as error:
            log.warning("an unfinished write of %s waits: %s", intent.tool, error)
            return None


@dataclass(slots=True)
class _Run:
    """One call: its receipts so far, and the units that wait to be written together."""

    ledger: IngestLedger
    spec: ToolSpec
    args: Any
    ctx: ToolContext
    receipts: list[IngestReceipt] = field(default_factory=list)
    _waiting: Batch = field(default_factory=Batch)

    async def take(self, planned: PlannedWrite | Refusal) -> None:
        index = len(self.receipts)
        if isinstance(planned, Refusal):
            self._tell(await self.ledger.refuse(self.spec, planned, self.ctx, index), planned.label)
            return
        proposal = await self.ledger.propose(self.spec, self.args, planned, self.ctx, index)
        if not may_share(self.spec, planned, self.ctx):
            self._tell(await self.ledger.write(self.spec, proposal, self.ctx), planned.label)
            return
        self._waiting.add(proposal)
        if self._waiting.is_full:
            await self.write_waiting()

    async def write_waiting(self) -> None:
        proposals = self._waiting.take()
        if not proposals:
            return
        receipts = await self.ledger.write_together(self.spec, proposals, self.ctx)
        for proposal, receipt in zip(proposals, receipts, strict=True):
            self._tell(receipt, proposal.planned.label)

    def _tell(self, receipt: IngestReceipt, label: str) -> None:
        self.receipts.append(receipt)
        if self.ctx.request.progress is not None:
            self.ctx.request.progress(len(self.receipts), label)


async def _handled(spec: ToolSpec, intent: Intent, ctx: ToolContext) -> SurfaceWriteResult:
    result = await spec.handler(spec.unit_arguments(intent.args), ctx)
    if not isinstance(result, SurfaceWriteResult):
        raise ToolFailed(f"{spec.name} returned no write result")
    return result


def _together(intent: Intent) -> tuple[str, str]:
    return intent.tool, intent.trace_id


async def _in_turn(
    control: Control, key: str, attempt: Callable[[], Coroutine[Any, Any, IngestReceipt | None]]
) -> IngestReceipt:
    async with control.intents.turns.of(key):
        for _ in range(round(WAIT_S / POLL_S)):
            # Once its intent is on its way to the disk a write finishes and is recorded, whoever leaves meanwhile.
            receipt = await finish_despite_cancel(attempt())
            if receipt is not None:
                return receipt
            await anyio.sleep(POLL_S)
    raise still_running(key)


async def _units(spec: ToolSpec, args: Any, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    """The plan of a call; one that breaks off ends in a refusal, so that what was written before it stays told."""
    planned = 0
    try:
        async for unit in spec.planned(args, ctx):
            planned += 1
            yield unit
    except Exception as error:
        if not planned:
            raise
        reason = write_error(spec, error)
        yield Refusal("", reason.code, reason.message)
