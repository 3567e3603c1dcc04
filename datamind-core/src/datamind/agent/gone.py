"""What files gave that have left the folder since it was stored: a person is asked before it goes.

Documents, rows of tables and statements of the graph; a skill does not say which file it came from.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from datamind.agent.undo import UndoStep, removal_of
from datamind.capabilities.control.sources import StoredSource
from datamind.capabilities.ingest.files import PathPolicy, file_uri
from datamind.capabilities.ingest.folder import Survey
from datamind.core.context import RequestContext
from datamind.core.outcome import ToolOutcome
from datamind.core.protocols.agent import ApprovalRequest, Approver
from datamind.core.receipts import IngestReceipt
from datamind.core.types import DataSurface, Role, ToolEffect

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

log = logging.getLogger(__name__)

_DELETE: Final = "kb_delete"
_BATCH: Final = 1_000  # most ids of one call


async def drop_gone(
    system: DataMind, surveys: Sequence[Survey], ctx: RequestContext
) -> tuple[list[ToolOutcome], tuple[str, ...]]:
    """Delete what is gone, if a person says so; returns the calls, and the uris of what is gone and still stored."""
    documents, left = await _drop_documents(system, surveys, ctx)
    imports, still = await _drop_imports(system, surveys, ctx)
    return [*documents, *imports], tuple(dict.fromkeys([*left, *still]))


async def _drop_imports(
    system: DataMind, surveys: Sequence[Survey], ctx: RequestContext
) -> tuple[list[ToolOutcome], list[str]]:
    """The same for rows and statements: what each write of a file that is gone has left."""
    approver = system.agents[Role.STORE].gate.approver
    outcomes: list[ToolOutcome] = []
    left: list[str] = []
    for receipt in await _gone_imports(system, surveys, ctx):
        uri = receipt.source.uri if receipt.source else ""
        for step in await removal_of(system, receipt):
            outcome = None
            if approver is not None and await _agrees(approver, _removal_request(step, uri, ctx)):
                outcome = await system.call(step.tool, step.arguments, role=Role.STORE, ctx=ctx)
            if outcome is None or outcome.is_error:
                left.append(uri)
            if outcome is not None and outcome.receipts:
                outcomes.append(outcome)
    return outcomes, left


async def _gone_imports(system: DataMind, surveys: Sequence[Survey], ctx: RequestContext) -> list[IngestReceipt]:
    policy = system.services.write.paths.for_request(ctx)
    found: list[IngestReceipt] = []
    for surface in (DataSurface.DB, DataSurface.GRAPH) if surveys else ():
        if surface in system.services.off:
            continue
        receipts = await system.services.control.receipts.of_files(surface)
        uris = [receipt.source.uri for receipt in receipts if receipt.source]
        gone = {uri for survey in surveys for uri in _gone_from(survey, uris, policy)}
        found += [receipt for receipt in receipts if receipt.source and receipt.source.uri in gone]
    return found


async def _drop_documents(
    system: DataMind, surveys: Sequence[Survey], ctx: RequestContext
) -> tuple[list[ToolOutcome], tuple[str, ...]]:
    gone = await _gone(system, surveys, ctx)
    approver = system.agents[Role.STORE].gate.approver
    if not gone or approver is None or _DELETE not in system.registry(Role.STORE):
        return [], tuple(stored.source.uri for stored in gone)
    outcomes: list[ToolOutcome] = []
    left: list[str] = []
    for start in range(0, len(gone), _BATCH):
        batch = gone[start : start + _BATCH]
        outcome = await _drop(system, batch, approver, ctx)
        if outcome is None or outcome.is_error:
            left += [stored.source.uri for stored in batch]
        if outcome is not None and outcome.receipts:
            outcomes.append(outcome)
    return outcomes, tuple(left)


async def _drop(
    system: DataMind, batch: Sequence[StoredSource], approver: Approver, ctx: RequestContext
) -> ToolOutcome | None:
    # The gate itself asks when several things match.
    if len(batch) == 1 and not await _agrees(approver, _request(batch[0], ctx)):
        return None
    ids = [stored.document_id for stored in batch]
    return await system.call(_DELETE, {"document_ids": ids}, role=Role.STORE, ctx=ctx)


async def _agrees(approver: Approver, request: ApprovalRequest) -> bool:
    try:
        return await approver.decide(request) is True
    except Exception as error:
        log.warning("the approver failed: %s", type(error).__name__)
        return False


async def _gone(system: DataMind, surveys: Sequence[Survey], ctx: RequestContext) -> list[StoredSource]:
    if not surveys or DataSurface.KB in system.services.off:
        return []
    active = await system.services.control.sources.active(DataSurface.KB)
    files = [stored for stored in active if stored.source.kind == "file"]
    policy = system.services.write.paths.for_request(ctx)
    uris = [stored.source.uri for stored in files]
    gone = {uri for survey in surveys for uri in _gone_from(survey, uris, policy)}
    return sorted((stored for stored in files if stored.source.uri in gone), key=lambda stored: stored.source.uri)


def _gone_from(survey: Survey, uris: Sequence[str], policy: PathPolicy) -> list[str]:
    top = file_uri(survey.top, policy)
    start = "file:" if top == "file:." else f"{top}/"
    inside = [uri for uri in uris if uri.startswith(start)]
    if not inside:
        return []
    there = {file_uri(located, policy) for located in survey.everything()}
    return [uri for uri in inside if not _is_there(uri, there)]


def _is_there(uri: str, there: set[str]) -> bool:
    """Whether a file, or a folder around it that was not looked into, is still there."""
    while uri and uri not in there:
        uri = uri.rpartition("/")[0]
    return bool(uri)


def _removal_request(step: UndoStep, uri: str, ctx: RequestContext) -> ApprovalRequest:
    return ApprovalRequest(
        tool=step.tool,
        effect=ToolEffect.DESTRUCTIVE.value,
        arguments=dict(step.arguments),
        reason="its file is gone from the folder",
        candidates=(f"{uri.removeprefix('file:')}: {step.what}",),
        profile=ctx.profile,
        session=ctx.session,
        trace_id=ctx.trace_id,
    )


def _request(stored: StoredSource, ctx: RequestContext) -> ApprovalRequest:
    return ApprovalRequest(
        tool=_DELETE,
        effect=ToolEffect.DESTRUCTIVE.value,
        arguments={"document_ids": [stored.document_id]},
        reason="its file is gone from the folder",
        candidates=(f"{stored.document_id}  {stored.title or stored.source.uri}",),
        profile=ctx.profile,
        session=ctx.session,
        trace_id=ctx.trace_id,
    )
