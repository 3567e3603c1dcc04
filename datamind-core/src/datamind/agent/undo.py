"""Taking writes back: what they added goes, what was there before comes back, as the application's own calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal

from datamind.agent.keeping import with_all_receipts
from datamind.agent.results import make_store_result, surfaces_used, trace_of
from datamind.capabilities.control.receipts import revert_key, reverted_in
from datamind.core.context import RequestContext, ToolContext
from datamind.core.errors import Conflict, NotFound, SurfaceUnavailable, changed_since
from datamind.core.hooks import Candidates
from datamind.core.receipts import IngestReceipt, StoreResult, profile_of_receipt
from datamind.core.types import DataSurface, Role

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

_CHANGED: Final = frozenset({"stored", "partial"})
_NOT_KEPT: Final = "conflict.not_kept"
_NO_CHANGE: Final = frozenset({"none", "reindexed"})
_MAX_LABELS: Final = 5
_MAX_IDS: Final = 1_000  # of one deletion
_MAX_REQUESTS: Final = 1_000  # looked through for the last addition

Why = Literal["not_kept", "changed_since"]


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One call of what takes a write back.

    Attributes:
        what: What goes or comes back, for a person to read: a title, a memory's text, so many rows of a table.
        session: The conversation it was written in.
        part: Its number, where one write added more than one call deletes.
        turn: How often the write was taken back and restored before.
    """

    receipt: IngestReceipt
    tool: str
    arguments: Mapping[str, Any]
    what: str
    session: str = ""
    part: int = 0
    turn: int = 0


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo will do.

    Attributes:
        steps: What goes or comes back, newest first.
        gone: Writes that were taken back already, or of which nothing is there any more.
        undone_by: Of those, the receipt of the revert that took each back, by its receipt id.
        stays: Writes that a later one changed, or of which nothing is kept to bring back; nothing of theirs is touched.
        reasons: Why each of those stays, by its receipt id.
    """

    steps: tuple[UndoStep, ...] = ()
    gone: tuple[IngestReceipt, ...] = ()
    undone_by: Mapping[str, IngestReceipt] = field(default_factory=dict)
    stays: tuple[tuple[IngestReceipt, Why], ...] = ()
    reasons: Mapping[str, Conflict] = field(default_factory=dict)


async def plan_undo(system: DataMind, asked: str = "") -> UndoPlan:
    """What taking back a receipt, a request's receipts (by trace id) or the last request that wrote would do.

    An empty plan means that there is nothing to take back.

    Raises:
        NotFound: No such receipt or trace in this profile.
        Conflict: ``conflict.changed_since``: a later write changed the same thing. ``conflict.not_kept``: nothing was
            kept to bring back, as the receipt said. ``conflict.nothing_written``: it changed nothing.
        SurfaceUnavailable: Its surface is off.
    """
    receipts = await _asked_for(system, asked) if asked else await _latest(system)
    plan = await _plan(system, receipts)
    if plan.stays and not plan.steps and not plan.gone:
        raise plan.reasons[plan.stays[0][0].receipt_id]
    return plan


async def plan_revert(system: DataMind, receipt_id: str) -> UndoPlan:
    """``plan_undo`` of one receipt.

    Raises:
        NotFound: No such receipt in this profile; the others as ``plan_undo``.
    """
    found = [await control.receipts.get(receipt_id) for control in system.services.controls()]
    if not any(found):
        raise NotFound(f"there is no receipt {receipt_id[:80]!r}", hint="`datamind receipts` lists receipts.")
    return await plan_undo(system, receipt_id)


async def run_undo(system: DataMind, plan: UndoPlan) -> StoreResult:
    """Take back what a plan names; each call has a receipt of its own, whose read-back saw that it is so."""
    started = time.monotonic()
    ctx = RequestContext(system.profile.name, Role.STORE, by_application=True)
    # Each call has the key of what it takes back: a repeat after a crash goes on with it, and the log tells it apart.
    outcomes = [
        await system.call(
            step.tool,
            step.arguments,
            role=Role.STORE,
            ctx=replace(
                ctx,
                session=step.session,
                idempotency_key=revert_key(step.receipt.receipt_id, step.part, step.turn),
                ordinals=count(),
            ),
        )
        for step in plan.steps
    ]
    refused = [outcome for outcome in outcomes if outcome.is_error and not outcome.receipts]
    words = [outcome.message for outcome in refused] or [_told_gone(plan)]
    result = make_store_result(
        " ".join(words).strip(),
        outcomes,
        refused=bool(refused),
        surfaces_used=surfaces_used(outcomes),
        tool_trace=tuple(trace_of(outcome) for outcome in outcomes),
        stop_reason="direct",
        notices=system.notices,
        trace_id=ctx.trace_id,
        duration_s=round(time.monotonic() - started, 4),
    )
    result = await with_all_receipts(result, system.services, refused=bool(refused))
    return result.model_copy(update={"status": "unchanged"}) if not plan.steps else result


def _told_gone(plan: UndoPlan) -> str:
    if plan.steps:
        return ""
    if not plan.gone:
        return "There is nothing to undo."
    first = plan.gone[0]
    by = plan.undone_by.get(first.receipt_id)
    return f"{first.receipt_id} was reverted by {by.receipt_id}." if by else f"Nothing of {first.receipt_id} is left."


async def _asked_for(system: DataMind, asked: str) -> Sequence[IngestReceipt]:
    found: list[IngestReceipt] = []
    for control in system.services.controls():
        one = await control.receipts.get(asked)
        found += [one] if one else await control.receipts.of_trace(asked)
    if not found:
        raise NotFound(f"there is no receipt or trace {asked[:80]!r}", hint="`datamind receipts` lists receipts.")
    if not any(_changed(receipt) for receipt in found):
        raise Conflict(
            f"{found[0].receipt_id} is {found[0].status}: it changed nothing", code="conflict.nothing_written"
        )
    return found


async def _latest(system: DataMind) -> Sequence[IngestReceipt]:
    """The receipts of the last request that wrote something and was not taken back; an undo itself is none."""
    traces = [
        found for control in system.services.controls() for found in await control.receipts.traces(limit=_MAX_REQUESTS)
    ]
    for _, trace_id in sorted(set(traces), reverse=True):
        receipts = [
            receipt
            for control in system.services.controls()
            for receipt in await control.receipts.of_trace(trace_id)
            if _changed(receipt)
        ]
        if any(reverted_in(receipt.idempotency_key) for receipt in receipts):
            continue
        undone = [await _undone_by(system, receipt) for receipt in receipts]
        if not all(undone):
            return receipts
    return ()


async def _plan(system: DataMind, receipts: Sequence[IngestReceipt]) -> UndoPlan:
    steps: list[UndoStep] = []
    gone: list[IngestReceipt] = []
    reasons: list[tuple[IngestReceipt, Conflict]] = []
    undone: dict[str, IngestReceipt] = {}
    documents = await _documents(system, receipts)
    for receipt in reversed([receipt for receipt in receipts if _changed(receipt)]):
        if by := await _undone_by(system, receipt):
            gone.append(receipt)
            undone[receipt.receipt_id] = by
            continue
        try:
            found = await _taking_back(system, receipt, documents.get(receipt.receipt_id, ()))
        except Conflict as reason:
            reasons.append((receipt, reason))
            continue
        steps += found
        if not found:
            gone.append(receipt)
    whys: list[tuple[IngestReceipt, Why]] = [
        (receipt, "not_kept" if reason.code == _NOT_KEPT else "changed_since") for receipt, reason in reasons
    ]
    told = {receipt.receipt_id: reason for receipt, reason in reasons}
    return UndoPlan(tuple(steps), tuple(gone), undone, tuple(whys), told)


async def _taking_back(system: DataMind, receipt: IngestReceipt, documents: Sequence[str]) -> list[UndoStep]:
    """The calls that take a write back; none if nothing of it is left.

    Raises:
        Conflict: A later write changed the same thing, or nothing is kept to bring back.
    """
    if receipt.result.operation == "added":
        found = await _steps(system, receipt, documents)
        if found or not await _is_there_otherwise(system, receipt):
            return found
    return await _restoring(system, receipt)


async def _restoring(system: DataMind, receipt: IngestReceipt) -> list[UndoStep]:
    tool = _RESTORES.get(receipt.result.surface)
    if tool is None or (receipt.result.revert == "none" and receipt.result.operation != "added"):
        raise _not_kept(receipt)
    asked, session = {"receipt": receipt.receipt_id}, await _session(system, receipt)
    found = await _candidates(system, receipt, tool, asked, session)
    if not found.ids and receipt.result.operation == "added":
        raise changed_since(receipt.receipt_id, "")
    turn = await _turn(system, receipt)
    return [UndoStep(receipt, tool, asked, _what(receipt, found), session, turn=turn)] if found.ids else []


async def _turn(system: DataMind, receipt: IngestReceipt) -> int:
    """How often it was taken back and restored: each time has a key of its own."""
    receipts = system.services.control_of(profile_of_receipt(receipt.receipt_id)).receipts
    for turn in count():
        key = revert_key(receipt.receipt_id, 0, turn) + "#0"
        found = [await receipts.of_key(one) for one in (key, f"{system.profile.name}/{key}")]
        if not any([one and await receipts.reverted_by(one.receipt_id) for one in found]):
            return turn
    raise AssertionError  # count() does not end


async def _documents(system: DataMind, receipts: Sequence[IngestReceipt]) -> Mapping[str, Sequence[str]]:
    """The documents that are as each receipt left them; a receipt itself names at most a thousand."""
    held: dict[str, list[str]] = {}
    if any(receipt.result.surface is DataSurface.KB for receipt in receipts):
        for stored in await system.services.control.sources.active(DataSurface.KB):
            for receipt_id in stored.receipt_ids:
                held.setdefault(receipt_id, []).append(stored.document_id)
    return held


async def _steps(system: DataMind, receipt: IngestReceipt, documents: Sequence[str]) -> list[UndoStep]:
    """The calls that take one addition back; none if nothing of it is there as it was added."""
    tool, arguments = await _call(system, receipt)
    if receipt.result.surface is DataSurface.KB:
        parts = [documents[start : start + _MAX_IDS] for start in range(0, len(documents), _MAX_IDS)]
        asked: list[Mapping[str, Any]] = [{"document_ids": list(part)} for part in parts]
    elif receipt.result.surface is DataSurface.SKILLS and not await _is_skill_of(system, receipt):
        asked = []
    else:
        asked = [arguments]
    session, turn = await _session(system, receipt), await _turn(system, receipt)
    steps = []
    for part, wanted in enumerate(asked):
        found = await _candidates(system, receipt, tool, wanted, session)
        if found.ids:
            steps.append(UndoStep(receipt, tool, wanted, _what(receipt, found), session, part, turn))
    return steps


async def removal_of(system: DataMind, receipt: IngestReceipt) -> Sequence[UndoStep]:
    """The calls that remove what a write left of tables or of the graph; none if nothing of it is there."""
    return await _steps(system, receipt, ())


async def _call(system: DataMind, receipt: IngestReceipt) -> tuple[str, Mapping[str, Any]]:
    surface = receipt.result.surface
    tool, make_arguments = _CALLS[surface]
    if surface is DataSurface.DB and await _is_alone_in_its_table(system, receipt):
        return "db_drop_table", {"table": receipt.result.ids[0]}
    return tool, make_arguments(receipt)


async def _candidates(
    system: DataMind, receipt: IngestReceipt, tool: str, arguments: Mapping[str, Any], session: str
) -> Candidates:
    """What the tool would delete, as its own selector finds it."""
    surface = receipt.result.surface
    spec = system.registry(Role.STORE).get(tool)
    if spec is None or spec.selector is None:
        reason = system.services.off.get(surface, f"there is no tool {tool}")
        raise SurfaceUnavailable(f"{surface} is off ({reason})", code=f"surface_off.{surface}")
    ctx = RequestContext(system.profile.name, Role.STORE, session=session, by_application=True)
    found: Candidates = await spec.selector.find(spec.parse(arguments), ToolContext(ctx, "undo", system.services.write))
    return found


async def _is_alone_in_its_table(system: DataMind, receipt: IngestReceipt) -> bool:
    """For an engine that does not keep the import of each row: whether the whole table is this write's."""
    db = system.services.read.db
    table = await db.find(receipt.result.ids[0]) if db is not None else None
    return table is not None and not table.import_rows and table.receipt_ids == (receipt.receipt_id,)


async def _is_there_otherwise(system: DataMind, receipt: IngestReceipt) -> bool:
    """Whether what it added is there by now as a later write, or an editor, left it."""
    match receipt.result.surface:
        case DataSurface.KB:
            sources = system.services.control.sources
            return any([await sources.current(DataSurface.KB, one) is not None for one in receipt.result.ids])
        case DataSurface.SKILLS:
            skills = system.services.read.skills
            return skills is not None and await skills.find(receipt.result.ids[0]) is not None
        case DataSurface.DB:
            return await _has_other_version(system, receipt) and await _undone_by(system, receipt) is None
    return False


async def _has_other_version(system: DataMind, receipt: IngestReceipt) -> bool:
    db = system.services.read.db
    table = await db.find(receipt.result.ids[0]) if db is not None else None
    uri = receipt.source.uri if receipt.source else None
    return table is not None and any(source.uri == uri for source in table.sources)


async def _is_skill_of(system: DataMind, receipt: IngestReceipt) -> bool:
    skills = system.services.read.skills
    if skills is None or await skills.find(receipt.result.ids[0]) is None:
        return False
    evidence, _ = await skills.read(receipt.result.ids[0])
    return receipt.receipt_id in evidence.receipt_ids


async def _session(system: DataMind, receipt: IngestReceipt) -> str:
    control = system.services.control_of(profile_of_receipt(receipt.receipt_id))
    return await control.receipts.session_of(receipt.receipt_id)


async def _undone_by(system: DataMind, receipt: IngestReceipt) -> IngestReceipt | None:
    """The receipt of the revert that took it back and is in force."""
    receipts = system.services.control_of(profile_of_receipt(receipt.receipt_id)).receipts
    by = await receipts.reverted_by(receipt.receipt_id)
    return await receipts.get(by) if by else None


def _changed(receipt: IngestReceipt) -> bool:
    return receipt.status in _CHANGED and receipt.result.operation not in _NO_CHANGE


def _what(receipt: IngestReceipt, found: Candidates) -> str:
    if receipt.result.surface is DataSurface.GRAPH:
        items = receipt.result.items_written
        if receipt.result.operation != "added":
            return found.labels[0]
        return f"{items:,} {'statement' if items == 1 else 'statements'}"
    shown = [label.removeprefix(f"{one}  ") for one, label in zip(found.ids, found.labels, strict=True)]
    left = len(shown) - _MAX_LABELS
    return "; ".join(shown[:_MAX_LABELS]) + (f"; and {left:,} more" if left > 0 else "")


def _not_kept(receipt: IngestReceipt) -> Conflict:
    return Conflict(
        f"{receipt.receipt_id} {receipt.result.operation} something on {receipt.result.surface}, and nothing is kept "
        "to bring it back",
        code=_NOT_KEPT,
        hint="The receipt said so: its `revert` is none.",
    )


_RESTORES: Final[Mapping[DataSurface, str]] = {
    DataSurface.KB: "kb_restore",
    DataSurface.MEMORY: "memory_restore",
    DataSurface.SKILLS: "skill_restore",
}

_CALLS: Final[Mapping[DataSurface, tuple[str, Callable[[IngestReceipt], dict[str, Any]]]]] = {
    DataSurface.MEMORY: ("memory_forget", lambda receipt: {"memory_ids": list(receipt.result.ids)}),
    DataSurface.KB: ("kb_delete", lambda receipt: {"document_ids": list(receipt.result.ids)}),
    DataSurface.GRAPH: ("graph_delete", lambda receipt: {"receipt": receipt.receipt_id}),
    DataSurface.SKILLS: ("skill_delete", lambda receipt: {"name": receipt.result.ids[0]}),
    DataSurface.DB: (
        "db_remove_import",
        lambda receipt: {"table": receipt.result.ids[0], "receipt": receipt.receipt_id},
    ),
}
