"""Saving an answer, and verifying a saved one later without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from datamind.agent.evidence import EvidenceNormalizer
from datamind.agent.rereading import Reread, reread
from datamind.capabilities.control.answers import StoredAnswer
from datamind.capabilities.control.moving import former_names
from datamind.capabilities.control.trace import find_trace
from datamind.core.errors import IntegrityError, NotFound, SurfaceUnavailable
from datamind.core.evidence import Citation, Claims, Evidence, InferenceResult, TextLocator
from datamind.core.types import content_hash
from datamind.core.verification import CitationCheck, SavedAnswer, Surroundings, Verification

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

_AROUND_CHARS: Final = 300
_UNCOMPARED: Final = {"history"}


async def make_saved(system: DataMind, trace_id: str) -> SavedAnswer:
    """An answer of this profile as it is saved to a file.

    Raises:
        NotFound: The profile keeps no answer of this id.
    """
    stored = await system.answers.get(trace_id)
    if stored is None:
        raise NotFound(f"profile {system.profile.name!r} keeps no answer {trace_id[:80]!r}")
    trace = await find_trace(trace_id, system.services.controls())
    cited = {citation.evidence_id for citation in stored.result.citations}
    items = [item for item in stored.result.evidence if item.evidence_id in cited]
    rests_on = {receipt_id for item in items for receipt_id in item.receipt_ids}
    around = {item.evidence_id: await _surroundings(system, item) for item in items}
    return SavedAnswer(
        profile=system.profile.name,
        question=stored.question,
        session=stored.session,
        answered_at=stored.answered_at,
        result=stored.result,
        receipts=tuple(receipt for receipt in trace.receipts if receipt.receipt_id in rests_on),
        surroundings={name: found for name, found in around.items() if found is not None},
    )


async def _surroundings(system: DataMind, item: Evidence) -> Surroundings | None:
    if not isinstance(item.locator, TextLocator):
        return None
    versions = await system.services.control.sources.get(item.source.source_id)
    if not versions:
        return None
    try:
        text = await system.services.control.sources.text(versions[0].content_hash)
    except IntegrityError:
        return None
    start, end = item.locator.start, item.locator.end
    return Surroundings(before=text[max(0, start - _AROUND_CHARS) : start], after=text[end : end + _AROUND_CHARS])


async def verify_saved(system: DataMind, saved: SavedAnswer, problems: Sequence[str] = ()) -> Verification:
    """Compare a saved answer with the one that was given, and look at everything it cites again; no model takes part.

    Args:
        system: The profile that gave it.
        saved: The answer.
        problems: What is known to be wrong with its file.

    Raises:
        StoreError: A store cannot be read.
    """
    kept = await system.answers.get(saved.result.trace_id)
    found = [*problems, *_inner_problems(saved.result), *await _differences(system, saved, kept)]
    session = kept.session if kept else saved.session
    checks = [await _check(system, saved.result, citation, session) for citation in saved.result.citations]
    return Verification(
        trace_id=saved.result.trace_id,
        profile=saved.profile,
        question=saved.question,
        answered_at=saved.answered_at,
        problems=tuple(found),
        citations=tuple(checks),
        claims=_claims(checks),
    )


def _inner_problems(result: InferenceResult) -> Iterable[str]:
    """What can be seen without any store: hashes, ids, and what the answer says about its own citations."""
    for number, item in enumerate(result.evidence, 1):
        again = Evidence.of(item.surface, item.source, item.locator, item.content)
        if (again.content_hash, again.evidence_id) != (item.content_hash, item.evidence_id):
            yield f"evidence [{number}] is not what its id and hash name"
    resolved = EvidenceNormalizer(list(result.evidence)).resolve(result.answer)
    if (resolved.text, resolved.citations) != (result.answer, result.citations):
        yield "the citations are not those of the answer's text"
    elif resolved.claims != result.claims:
        yield "the count of claims is not that of the answer"


async def _differences(system: DataMind, saved: SavedAnswer, kept: StoredAnswer | None) -> Sequence[str]:
    """What differs from the answer that the profile keeps, and from the hash in its audit."""
    former = await former_names(system.services.control.db)
    if saved.profile not in (system.profile.name, *former):
        return [f"it was given by profile {saved.profile!r}, this is {system.profile.name!r}"]
    if kept is None:
        return [f"profile {saved.profile!r} keeps no answer {saved.result.trace_id!r}, so nothing says it was given"]
    again = await make_saved(system, kept.trace_id)
    given, told = again.result.model_dump(exclude=_UNCOMPARED), saved.result.model_dump(exclude=_UNCOMPARED)
    found = [name for name in ("question", "session", "answered_at") if getattr(saved, name) != getattr(again, name)]
    found += [name for name in given if given[name] != told[name]]
    found += [] if saved.receipts == again.receipts else ["receipts"]
    # A source that was erased meanwhile has no text to compare with.
    around = {name: text for name, text in saved.surroundings.items() if name in again.surroundings}
    found += [] if around == again.surroundings else ["surroundings"]
    differences = [f"{name} differs from the answer that was given" for name in found]
    if content_hash(kept.result.answer) not in await _audited_hashes(system, kept.trace_id):
        differences.append("the audit holds another hash of the answer that the profile keeps")
    return differences


async def _audited_hashes(system: DataMind, trace_id: str) -> set[str]:
    trace = await find_trace(trace_id, system.services.controls())
    return {str(entry.body.get("answer_hash")) for entry in trace.audit if entry.kind == "answered"}


async def _check(system: DataMind, result: InferenceResult, citation: Citation, session: str) -> CitationCheck:
    number = citation.number
    item = result.evidence[number - 1] if 0 < number <= len(result.evidence) else None
    if item is None or item.evidence_id != citation.evidence_id:
        found = Reread("gone", "the answer holds no such evidence")
    else:
        try:
            found = await reread(system, item, session)
        except SurfaceUnavailable as error:
            found = Reread("gone", str(error))
    return CitationCheck(
        number=number,
        evidence_id=citation.evidence_id,
        claim=citation.claim,
        state=found.state,
        supported=citation.supported,
        detail=found.detail,
    )


def _claims(checks: Sequence[CitationCheck]) -> Claims:
    """Each claim by the worst of what it cites."""
    counts = {"supported": 0, "unsupported": 0, "stale": 0}
    for _, group in groupby((check for check in checks if check.claim), key=lambda check: check.claim):
        cited = list(group)
        states = {check.state for check in cited}
        if states & {"changed", "gone"} or not all(check.supported for check in cited):
            counts["unsupported"] += 1
        else:
            counts["stale" if "stale" in states else "supported"] += 1
    return Claims(**counts)
