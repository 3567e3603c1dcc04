"""Forgetting what a plan names, and erasing it: off every read path first, then out of every file."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio.to_thread import run_sync

from datamind.agent.forgetting import ForgetPlan, memory_stores
from datamind.agent.results import make_store_result, surfaces_used, trace_of
from datamind.capabilities.control.erasures import ErasedCall, Erasure
from datamind.core.context import RequestContext, bind_request
from datamind.core.dispatch import dispatch
from datamind.core.errors import DataMindError
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.protocols.agent import ApprovalRequest
from datamind.core.protocols.erase import SupportsErase
from datamind.core.receipts import IngestReceipt, StoreResult
from datamind.core.results import Notice
from datamind.core.types import DataSurface, Role, new_id
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

log = logging.getLogger(__name__)

_STORES: Final = {
    DataSurface.KB: ProviderKind.KB_STORE,
    DataSurface.DB: ProviderKind.DB_DIALECT,
    DataSurface.GRAPH: ProviderKind.GRAPH_STORE,
}
_PIECE: Final = 1 << 20
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _Agreed:
    """Whoever had the plan made has decided on its calls: each is put on record as asked and approved."""

    tool: str

    async def decide(self, request: ApprovalRequest) -> bool:
        return request.tool == self.tool


async def run_forget(system: DataMind, plan: ForgetPlan, *, erase: bool) -> StoreResult:
    """See ``DataMind.forget``."""
    started = time.monotonic()
    erasure = _erasure_of(plan)
    notices: tuple[Notice, ...] = ()
    erased: Sequence[IngestReceipt] = ()
    if erase and not plan.is_empty:
        await system.services.control.erasures.begin(erasure)
    outcomes = [await _call(system, erasure, number, call) for number, call in enumerate(erasure.calls)]
    refused = [outcome for outcome in outcomes if outcome.is_error]
    if erase and not plan.is_empty and refused:
        await system.services.control.erasures.end(erasure, "refused")
    elif erase and not plan.is_empty:
        erased, notices = await _erase(system, _with_removals(erasure, outcomes))
        outcomes = [await _as_kept(system, outcome) for outcome in outcomes]
    result = make_store_result(
        " ".join(outcome.message for outcome in refused) or _told(plan, erase=erase),
        outcomes,
        refused=bool(refused),
        surfaces_used=surfaces_used(outcomes),
        tool_trace=tuple(trace_of(outcome) for outcome in outcomes),
        stop_reason="direct",
        notices=(*system.notices, *notices),
        trace_id=erasure.erase_id,
        duration_s=round(time.monotonic() - started, 4),
    )
    every = (*result.receipts, *erased)
    done = not refused and (bool(erased) or bool(result.receipts))
    status = result.status if refused else "stored" if done else "unchanged"
    return result.model_copy(update={"receipts": every, "status": status})


async def finish_erasures(system: DataMind) -> None:
    """Bring the erasures whose process died to their end, before any reader is admitted."""
    for erasure in await system.services.control.erasures.take_over():
        outcomes = [await _call(system, erasure, number, call) for number, call in enumerate(erasure.calls)]
        if failed := next((outcome for outcome in outcomes if outcome.is_error), None):
            log.warning("an unfinished erasure waits: %s", failed.code)
            continue
        try:
            await _erase(system, _with_removals(erasure, outcomes))
        except DataMindError as error:
            log.warning("an unfinished erasure waits: %s", error.code)


def _erasure_of(plan: ForgetPlan) -> Erasure:
    calls = tuple(
        ErasedCall(tool=step.tool, arguments=dict(step.arguments), surface=step.surface, session=step.session)
        for step in plan.steps
    )
    surfaces = {step.surface for step in plan.steps} | {receipt.result.surface for receipt in plan.receipts}
    return Erasure(
        erase_id=new_id("erase"),
        calls=calls,
        receipts=tuple(receipt.receipt_id for receipt in plan.receipts),
        source_ids=plan.source_ids,
        memory_ids=plan.memory_ids,
        words=plan.words,
        keeps_removals=plan.is_partial,
        surfaces=tuple(sorted(surfaces)),
    )


def _with_removals(erasure: Erasure, outcomes: Iterable[ToolOutcome]) -> Erasure:
    removals = tuple(receipt.receipt_id for outcome in outcomes for receipt in outcome.receipts)
    return erasure.model_copy(update={"removals": tuple(dict.fromkeys((*erasure.removals, *removals)))})


async def _call(system: DataMind, erasure: Erasure, number: int, call: ErasedCall) -> ToolOutcome:
    ctx = RequestContext(system.profile.name, Role.STORE, session=call.session, by_application=True)
    # One key for each: a repeat after a crash finds the receipt it has.
    ctx = replace(ctx, trace_id=erasure.erase_id, idempotency_key=f"{erasure.erase_id}/{number}", ordinals=count())
    gate = replace(system.agents[Role.STORE].gate, approver=_Agreed(call.tool))
    with bind_request(ctx):
        return await dispatch(ToolCall.of(call.tool, call.arguments), ctx, gate)


async def _as_kept(system: DataMind, outcome: ToolOutcome) -> ToolOutcome:
    """With the receipts as they are on record now: nothing brings back what is erased."""
    kept = [await system.services.control_of(one.profile).receipts.get(one.receipt_id) for one in outcome.receipts]
    return replace(outcome, receipts=tuple(receipt for receipt in kept if receipt is not None))


async def _erase(system: DataMind, erasure: Erasure) -> tuple[list[IngestReceipt], tuple[Notice, ...]]:
    services = system.services
    needles = list(erasure.words)
    for control in services.controls():
        needles += await control.erasures.purge(erasure)
    left = await _write_stores_anew(system, erasure)
    removed = await run_sync(_remove_set_aside, services.profile.storage_dir)
    receipts = [
        await services.control.erasures.record(erasure, surface, _items(erasure, surface))
        for surface in erasure.surfaces
        if surface not in left
    ]
    # Twice: what says what was to go is itself a text of it, and has to be gone before the file is written anew.
    await services.control.erasures.begin(erasure.model_copy(update={"words": (), "calls": _without_texts(erasure)}))
    for control in services.controls():
        await control.erasures.write_anew()
    await services.control.erasures.end(erasure, "done")
    for control in services.controls():
        await control.erasures.write_anew()
    notices = [Notice(code=f"erase.left.{surface}", message=reason) for surface, reason in left.items()]
    notices += [Notice(code="erase.removed", message=f"{removed} folders of damaged files were removed too")] * bool(
        removed
    )
    found = await run_sync(_search, _folders(system), needles)
    if found:
        places = ", ".join(found[:_SHOWN])
        notices.append(Notice(code="erase.found", message=f"texts of it still stand in {len(found)} files: {places}"))
    return receipts, tuple(notices)


def _without_texts(erasure: Erasure) -> tuple[ErasedCall, ...]:
    return tuple(call for call in erasure.calls if call.tool in ("kb_delete", "memory_forget", "db_remove_import"))


def _items(erasure: Erasure, surface: DataSurface) -> int:
    return sum(call.surface is surface for call in erasure.calls)


async def _write_stores_anew(system: DataMind, erasure: Erasure) -> dict[DataSurface, str]:
    """Every store that is concerned; why one could not be, by surface."""
    left: dict[DataSurface, str] = {}
    for surface in erasure.surfaces:
        if surface is DataSurface.SKILLS or surface in system.services.off:
            continue
        stores = (
            await memory_stores(system)
            if surface is DataSurface.MEMORY
            else [await system.services.hub.open(_STORES[surface])]
        )
        for store in stores:
            if isinstance(store, SupportsErase):
                await store.erase(erasure.memory_ids if surface is DataSurface.MEMORY else ())
            elif not getattr(store, "volatile", False):
                left[surface] = f"the {surface} backend cannot write its files anew; what was removed may stand in them"
    return left


def _folders(system: DataMind) -> list[Path]:
    shared = system.services.shared_hub.profile.storage_dir
    return [system.profile.storage_dir, *([shared] if shared.exists() else [])]


def _remove_set_aside(folder: Path) -> int:
    """Remove what repairs of damaged stores have kept: nobody can say what is in it."""
    patterns = ("damaged-*", "*/damaged-*", "*/damaged")
    found = [path for pattern in patterns for path in folder.glob(pattern) if path.is_dir()]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return len(found)


def _search(folders: Sequence[Path], words: Sequence[str]) -> list[str]:
    """The files that hold one of these texts, byte for byte, as UTF-8, as UTF-16 or as JSON writes it."""
    needles = [form for word in dict.fromkeys(words) for form in _forms(word)]
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if needles and path.is_file() and _holds(path, needles):
                found.append(str(path.relative_to(folder.parent)))
    return found


def _forms(word: str) -> Iterator[bytes]:
    escaped = word.encode("unicode_escape").replace(b'"', b'\\"')
    yield from dict.fromkeys((word.encode("utf-8", "ignore"), word.encode("utf-16-le", "ignore"), escaped))


def _holds(path: Path, needles: Sequence[bytes]) -> bool:
    longest = max(map(len, needles))
    tail = b""
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                window = tail + piece
                if any(needle in window for needle in needles):
                    return True
                tail = window[-longest:]
    except OSError:
        return False
    return False


def _told(plan: ForgetPlan, *, erase: bool) -> str:
    if plan.is_empty:
        return "Nothing of it is stored."
    went = ", ".join(f"{number:,} of {surface}" for surface, number in sorted(plan.counts.items()))
    return f"{'Erased' if erase else 'Forgotten'}: {went}." if went else "Nothing of it was on a read path."
