"""How one call ended, and the bounded form in which a model sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from datamind.core.errors import DataMindError
from datamind.core.evidence import Evidence
from datamind.core.receipts import IngestReceipt
from datamind.core.tools import ResultBound, ToolOutput
from datamind.core.types import DataSurface


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The one result of one call, whatever happened.

    Attributes:
        args: Validated arguments, or empty when they never were.
        code: Stable code of the error or denial; empty when all went well.
        denied: A wall or a hook refused; nothing ran.
        truncated: What was cut: ``shown``, ``total`` and, where there is a next page, ``next_offset``.
    """

    call_id: str
    name: str
    surface: DataSurface | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    receipts: tuple[IngestReceipt, ...] = ()
    is_error: bool = False
    code: str = ""
    message: str = ""
    denied: bool = False
    truncated: Mapping[str, int] = field(default_factory=dict)
    duration_s: float = 0.0

    def to_text(self, numbers: Mapping[str, int] | None = None) -> str:
        """JSON for a model; ``numbers`` gives the citation number of each evidence id."""
        if self.is_error:
            body: dict[str, Any] = {"error": {"code": self.code, "message": self.message}, **self.data}
        else:
            body = dict(self.data)
            if self.evidence:
                body["results"] = [_row(evidence, numbers or {}) for evidence in self.evidence]
        if self.truncated:
            body["truncated"] = dict(self.truncated)
        return json.dumps(body, ensure_ascii=False)


def _row(evidence: Evidence, numbers: Mapping[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "content": evidence.content,
        "surface": evidence.surface.value,
        "source": evidence.source.uri,
    }
    if evidence.evidence_id in numbers:
        row = {"cite": numbers[evidence.evidence_id], **row}
    if evidence.score is not None:
        row["score"] = round(evidence.score, 4)
    if evidence.note:
        row["note"] = evidence.note
    return row


def outcome_of_error(call_id: str, name: str, error: DataMindError, *, denied: bool = False) -> ToolOutcome:
    """An error as an outcome; the loop never sees an exception."""
    return ToolOutcome(call_id, name, is_error=True, code=error.code, message=str(error), denied=denied)


def bounded(output: ToolOutput, bound: ResultBound) -> tuple[dict[str, Any], tuple[Evidence, ...], dict[str, int]]:
    """``data``, ``evidence`` and what was cut, within ``bound``: whole items from the front, never half of one."""
    evidence: list[Evidence] = []
    used = 0
    for item in output.evidence[: bound.max_items]:
        used += len(item.content)
        if evidence and used > bound.max_chars:
            break
        evidence.append(item)
    data, cut = _bounded_data(dict(output.data), bound)
    total = output.total if output.total is not None else len(output.evidence)
    if len(evidence) < total and output.evidence:
        cut = {"shown": len(evidence), "total": total}
    if output.next_offset is not None:
        cut["next_offset"] = output.next_offset - (len(output.evidence) - len(evidence))
    return data, tuple(evidence), cut


def _bounded_data(data: dict[str, Any], bound: ResultBound) -> tuple[dict[str, Any], dict[str, int]]:
    lists = [key for key, value in data.items() if isinstance(value, list)]
    key = max(lists, key=lambda name: len(data[name]), default=None)
    cut: dict[str, int] = {}
    if key is not None:
        rows = data[key]
        kept = rows[: bound.max_items]
        while len(kept) > 1 and _length({**data, key: kept}) > bound.max_chars:
            kept = kept[: len(kept) // 2]
        if len(kept) < len(rows):
            cut = {"shown": len(kept), "total": len(rows)}
        data = {**data, key: kept}
    text = json.dumps(data, ensure_ascii=False, default=str)
    if len(text) <= bound.max_chars:
        return data, cut
    half = bound.max_chars // 2
    return {"head": text[:half], "tail": text[-half:]}, {"shown": 2 * half, "total": len(text)}


def _length(data: Mapping[str, Any]) -> int:
    return len(json.dumps(data, ensure_ascii=False, default=str))
