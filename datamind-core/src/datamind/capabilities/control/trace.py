"""One chain, from any id in it: answer → evidence → source → receipt → audit record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from datamind.capabilities.control.control import Control
from datamind.core.errors import NotFound
from datamind.core.evidence import Evidence, InferenceResult
from datamind.core.receipts import IngestReceipt, profile_of_receipt
from datamind.core.record import Instant, Record
from datamind.core.source import SourceRef

_DONE: Final = {"superseded": "stored in place of what held before", "replaced": "stored in place of the old version"}


class AuditEntry(Record):
    """One audit record, as stored."""

    seq: int
    at: Instant
    kind: str
    receipt_id: str
    body: dict[str, Any]


class Trace(Record):
    """What one id is connected to.

    Attributes:
        question: Of the answer, when the id leads to one.
        sources: Every source of the evidence and the receipts, once.
        cited_by: Trace ids of the answers that rest on the receipt asked for.
    """

    asked: str
    question: str = ""
    answer: InferenceResult | None = None
    evidence: tuple[Evidence, ...] = ()
    sources: tuple[SourceRef, ...] = ()
    receipts: tuple[IngestReceipt, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    cited_by: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The chain in plain words, one step a sentence."""
        lines = []
        if self.answer is not None:
            lines.append(f"The question was “{self.question}”.")
            lines.append(f"The answer cites {_count(len(self.answer.citations), 'passage')}: {self.answer.answer}")
        lines += self._evidence_sentences()
        lines += [_receipt_sentence(receipt) for receipt in self.receipts]
        kinds = ", ".join(f"{entry.kind} (record {entry.seq})" for entry in self.audit)
        if kinds:
            lines.append(f"The audit chain has {kinds}.")
        if self.cited_by:
            verb = "rests" if len(self.cited_by) == 1 else "rest"
            lines.append(f"{_count(len(self.cited_by), 'answer')} {verb} on it: {', '.join(self.cited_by)}.")
        return lines

    def _evidence_sentences(self) -> list[str]:
        """What is cited first, then what was read beside it."""
        lines = [_evidence_sentence(number, item) for number, item in enumerate(self.evidence, 1)]
        if self.answer is None or len(self.evidence) < len(self.answer.evidence):
            return lines
        cited = {citation.number for citation in self.answer.citations}
        named = [line for number, line in enumerate(lines, 1) if number in cited]
        others = [line for number, line in enumerate(lines, 1) if number not in cited]
        return [*named, *(f"Also looked at: {line}" for line in others)]


async def find_trace(asked: str, controls: Sequence[Control]) -> Trace:
    """The chain of a trace id, an evidence id or a receipt id.

    Args:
        asked: The id.
        controls: The profile's own control.db first, then that of the global memories.

    Raises:
        NotFound: No such id here.
    """
    own = controls[0]
    if asked.startswith("rcpt_"):
        return await _of_receipt(asked, controls)
    if asked.startswith("ev_"):
        traces = await own.answers.with_evidence(asked)
        if traces:
            whole = await _of_request(traces[-1], asked, controls)
            return _only_evidence(whole, asked)
    elif asked.startswith("trace_"):
        return await _of_request(asked, asked, controls)
    raise NotFound(f"there is no answer, evidence or receipt {asked[:80]!r} in profile {own.profile!r}")


async def _of_request(trace_id: str, asked: str, controls: Sequence[Control]) -> Trace:
    stored = await controls[0].answers.get(trace_id)
    written = [receipt for control in controls for receipt in await control.receipts.of_trace(trace_id)]
    audit = [entry for control in controls for entry in await _audit(control, "trace_id", trace_id)]
    if stored is None and not written and not audit:
        raise NotFound(f"there is no request {asked[:80]!r} in profile {controls[0].profile!r}")
    evidence = stored.result.evidence if stored else ()
    ids = dict.fromkeys(receipt_id for item in evidence for receipt_id in item.receipt_ids)
    rested = [receipt for receipt in [await _receipt(receipt_id, controls) for receipt_id in ids] if receipt]
    for receipt in rested:
        audit += await _audit(_control_of(receipt.receipt_id, controls), "receipt_id", receipt.receipt_id)
    receipts = {receipt.receipt_id: receipt for receipt in (*rested, *written)}
    return Trace(
        asked=asked,
        question=stored.question if stored else "",
        answer=stored.result if stored else None,
        evidence=evidence,
        sources=_sources(evidence, receipts.values()),
        receipts=tuple(receipts.values()),
        audit=tuple(audit),
    )


async def _of_receipt(receipt_id: str, controls: Sequence[Control]) -> Trace:
    receipt = await _receipt(receipt_id, controls)
    if receipt is None:
        raise NotFound(f"there is no receipt {receipt_id[:80]!r} here")
    cited_by = [trace for control in controls for trace in await control.answers.citing(receipt_id)]
    return Trace(
        asked=receipt_id,
        sources=_sources((), (receipt,)),
        receipts=(receipt,),
        audit=tuple(await _audit(_control_of(receipt_id, controls), "receipt_id", receipt_id)),
        cited_by=tuple(cited_by),
    )


def _only_evidence(trace: Trace, evidence_id: str) -> Trace:
    evidence = tuple(item for item in trace.evidence if item.evidence_id == evidence_id)
    ids = {receipt_id for item in evidence for receipt_id in item.receipt_ids}
    receipts = tuple(receipt for receipt in trace.receipts if receipt.receipt_id in ids)
    audit = tuple(entry for entry in trace.audit if entry.receipt_id in ids or not entry.receipt_id)
    changes = {"evidence": evidence, "receipts": receipts, "audit": audit, "sources": _sources(evidence, receipts)}
    return trace.model_copy(update=changes)


async def _receipt(receipt_id: str, controls: Sequence[Control]) -> IngestReceipt | None:
    return await _control_of(receipt_id, controls).receipts.get(receipt_id)


def _control_of(receipt_id: str, controls: Sequence[Control]) -> Control:
    named = profile_of_receipt(receipt_id)
    return next((control for control in controls if control.profile == named), controls[0])


async def _audit(control: Control, column: str, value: str) -> list[AuditEntry]:
    query = f"SELECT seq, at, receipt_id, body FROM audit WHERE {column} = ? ORDER BY seq"  # noqa: S608 - two names

    def read(db: sqlite3.Connection) -> list[AuditEntry]:
        entries = []
        for row in db.execute(query, (value,)):
            body = json.loads(row["body"])
            kind = body.pop("kind")
            entries.append(AuditEntry(seq=row["seq"], at=row["at"], kind=kind, receipt_id=row["receipt_id"], body=body))
        return entries

    return await control.db.read(read)


def _sources(evidence: Iterable[Evidence], receipts: Iterable[IngestReceipt]) -> tuple[SourceRef, ...]:
    found = {item.source.source_id: item.source for item in evidence}
    found |= {receipt.source.source_id: receipt.source for receipt in receipts if receipt.source}
    return tuple(found.values())


def _evidence_sentence(number: int, item: Evidence) -> str:
    rests = f"rests on {_count(len(item.receipt_ids), 'receipt')}" if item.receipt_ids else "rests on no receipt"
    return f"[{number}] comes from {item.surface}, source {item.source.uri}, and {rests}."


def _receipt_sentence(receipt: IngestReceipt) -> str:
    source = f" from {receipt.source.uri}" if receipt.source else ""
    when = receipt.completed_at.isoformat(timespec="seconds")
    result = receipt.result
    done = _DONE.get(result.operation, result.operation) if result.operation != "none" else result.status
    return f"{receipt.tool}{source}: {done} at {when}, receipt {receipt.receipt_id}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
