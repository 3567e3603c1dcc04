"""Many units of one call in one commit of the store, each with an intent and a receipt of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from datamind.capabilities.control.control import Control
from datamind.capabilities.control.intent import Intent, Proposal
from datamind.capabilities.control.turns import still_running
from datamind.capabilities.ingest.outcomes import failed, is_unconfirmed, refuted, unconfirmed
from datamind.core.context import ToolContext
from datamind.core.dispatch import Sides
from datamind.core.lease import keeping_leases
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult
from datamind.core.tools import BatchHandlers, PlannedWrite, ReadBack, Refusal, ToolSpec
from datamind.core.types import DataSurface

UNITS: Final = 256
BYTES: Final = 4 * 1024 * 1024
"""Bounds the memory that a batch takes, and how long somebody who cancels has to wait."""

Sync = Callable[[DataSurface, str], Awaitable[None]]
_End = tuple[SurfaceWriteResult, str]


def may_share(spec: ToolSpec, planned: PlannedWrite | Refusal, ctx: ToolContext) -> bool:
    """Whether a unit may wait for others. Under a caller's key each is begun when it is planned, as its repeat is."""
    is_quick = isinstance(planned, PlannedWrite) and planned.is_quick and not planned.ledger_profile
    return spec.batch is not None and is_quick and not ctx.request.idempotency_key


@dataclass(slots=True)
class Batch:
    """Units that wait for their commit."""

    proposals: list[Proposal] = field(default_factory=list)
    size_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """It is time to write them."""
        return len(self.proposals) >= UNITS or self.size_bytes >= BYTES

    def add(self, proposal: Proposal) -> None:
        """One more."""
        self.proposals.append(proposal)
        self.size_bytes += len(proposal.planned.content or b"")

    def take(self) -> list[Proposal]:
        """Those that wait; none does afterwards."""
        taken = self.proposals
        self.proposals, self.size_bytes = [], 0
        return taken


async def write_together(
    spec: ToolSpec, proposals: Sequence[Proposal], ctx: ToolContext, control: Control, sides: Sides, sync: Sync
) -> list[IngestReceipt]:
    """A receipt for each, in their order: one transaction of intents, one commit of the store, one of receipts.

    A crash leaves intents for ``recover_together``.

    Raises:
        StoreError: What was applied could not be confirmed; its receipts come at the next start.
    """
    begun = await control.intents.begin_all(proposals)
    intents = [one for one in begun if isinstance(one, Intent)]
    async with keeping_leases():  # no other process between the writes and their receipts
        ends = await _ends(spec, intents, ctx, control, sides, sync)
        done = await control.intents.finish_all([(one, *end) for one, end in zip(intents, ends, strict=True)])
    known = [one for one in begun if isinstance(one, IngestReceipt)]
    receipts = {receipt.idempotency_key: receipt for receipt in (*known, *done)}
    missing = next((proposal.key for proposal in proposals if proposal.key not in receipts), None)
    if missing is not None:
        raise still_running(missing)
    return [receipts[proposal.key] for proposal in proposals]


async def _ends(
    spec: ToolSpec, intents: Sequence[Intent], ctx: ToolContext, control: Control, sides: Sides, sync: Sync
) -> list[_End]:
    assert spec.batch is not None  # may_share
    return await _confirm(spec, intents, await _applied(spec, spec.batch, intents, ctx), ctx, control, sides, sync)


async def recover_together(
    spec: ToolSpec, intents: Sequence[Intent], ctx: ToolContext, control: Control, sides: Sides, sync: Sync
) -> list[IngestReceipt]:
    """Finish units of one tool that a dead process left, in one commit; what it had committed is found there.

    Raises:
        Exception: One of them meets a fault. None is finished, and each may be recovered by itself.
    """
    assert spec.batch is not None
    full = [await control.intents.with_content(intent) for intent in intents]
    results: list[SurfaceWriteResult] = []
    for found in await spec.batch.apply(_units(spec, full, ctx)):
        if isinstance(found, Exception):
            raise found
        results.append(found)
    ends = await _confirm(spec, full, results, ctx, control, sides, sync)
    return await control.intents.finish_all([(one, *end) for one, end in zip(full, ends, strict=True)])


async def _confirm(
    spec: ToolSpec,
    intents: Sequence[Intent],
    results: Sequence[SurfaceWriteResult],
    ctx: ToolContext,
    control: Control,
    sides: Sides,
    sync: Sync,
) -> list[_End]:
    """The results after a sync and a look at the store."""
    assert spec.batch is not None
    ends: list[_End] = [(result, "") for result in results]
    written = [number for number, (result, _) in enumerate(ends) if result.status not in ("failed", "denied")]
    if not written:
        return ends
    stored = [ends[number][0] for number in written]
    try:
        await sync(spec.surface, control.profile)
        found = await spec.batch.read_back(stored, replace(ctx, side=sides.read))
    except Exception as error:
        if is_unconfirmed(spec, error):
            raise unconfirmed(spec, intents[written[0]], error) from error
        confirmed: list[_End] = [(failed(spec, error), "")] * len(written)
    else:
        confirmed = [_confirmed(spec, result, seen) for result, seen in zip(stored, found, strict=True)]
    for number, end in zip(written, confirmed, strict=True):
        ends[number] = end
    return ends


async def _applied(
    spec: ToolSpec, batch: BatchHandlers, intents: Sequence[Intent], ctx: ToolContext
) -> list[SurfaceWriteResult]:
    try:
        results = await batch.apply(_units(spec, intents, ctx))
    except Exception as error:
        results = [error] * len(intents)
    return [failed(spec, result) if isinstance(result, Exception) else result for result in results]


def _units(spec: ToolSpec, intents: Sequence[Intent], ctx: ToolContext) -> list[tuple[Any, ToolContext]]:
    return [(spec.unit_arguments(intent.args), replace(ctx, unit=intent.unit)) for intent in intents]


def _confirmed(spec: ToolSpec, result: SurfaceWriteResult, found: ReadBack) -> _End:
    return (result if found.agrees else refuted(spec, found)), found.seen
