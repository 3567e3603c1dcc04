"""How one call ended, and the bounded form in which a model sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datamind.core.errors import DataMindError
from datamind.core.evidence import Evidence
from datamind.core.logging import redactor
from datamind.core.receipts import IngestReceipt
from datamind.core.results import Notice
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
        max_chars: Most characters of one piece of evidence that a model is shown; the evidence itself stays whole.
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
    max_chars: int = ResultBound().max_chars
    notices: tuple[Notice, ...] = ()

    def to_text(self, numbers: Mapping[str, int] | None = None) -> str:
        """JSON for a model; ``numbers`` gives the citation number of each evidence id."""
        if self.is_error:
            body: dict[str, Any] = {"error": {"code": self.code, "message": self.message}, **self.data}
        else:
            body = dict(self.data)
            if self.evidence:
                body["results"] = [_row(evidence, numbers or {}, self.max_chars) for evidence in self.evidence]
        if self.truncated:
            body["truncated"] = dict(self.truncated)
        return _to_json(body)


def _row(evidence: Evidence, numbers: Mapping[str, int], max_chars: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "content": _shortened(evidence.content, max_chars),
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


def _shortened(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} of {len(text)} characters left out …\n{text[-half:]}"


def outcome_of_error(call_id: str, name: str, error: DataMindError, *, denied: bool = False) -> ToolOutcome:
    """An error as an outcome, without secrets; the loop never sees an exception."""
    message = redactor.text(str(error))
    return ToolOutcome(call_id, name, is_error=True, code=error.code, message=message, denied=denied)


def bounded(
    output: ToolOutput, bound: ResultBound, *, offset: int | None = None
) -> tuple[dict[str, Any], tuple[Evidence, ...], dict[str, int]]:
    """``data``, ``evidence`` and what was cut, within ``bound``: whole items from the front, never half of one.

    Args:
        output: What the handler returned; ``data`` comes back as JSON values, whatever was in it.
        bound: Its limits.
        offset: Where this page starts, for a tool that can be asked for the next one.
    """
    evidence = _first(output.evidence, bound)
    data, rows, shown_rows = _bounded_rows(dict(output.data), bound)
    # The items that are counted and paged: evidence where there is any, else the longest list.
    found, shown = (len(output.evidence), len(evidence)) if output.evidence else (rows, shown_rows)
    total = max(found, output.total or 0)
    cut = {"shown": shown, "total": total} if shown < total else {}
    if output.evidence and not cut and shown_rows < rows:
        cut = {"shown": shown_rows, "total": rows}
    next_offset = _next_offset(output.next_offset, found - shown, None if offset is None else offset + shown)
    if next_offset is not None:
        cut["next_offset"] = next_offset
    data, shortened = _bounded_text(data, bound)
    return data, evidence, {**cut, **shortened}


def _next_offset(after_all: int | None, left_out: int, after_shown: int | None) -> int | None:
    if after_all is not None:
        return after_all - left_out
    return after_shown if left_out else None


def _first(evidence: Sequence[Evidence], bound: ResultBound) -> tuple[Evidence, ...]:
    kept: list[Evidence] = []
    used = 0
    for item in evidence[: bound.max_items]:
        used += len(item.content)
        if kept and used > bound.max_chars:
            break
        kept.append(item)
    return tuple(kept)


def _bounded_rows(data: dict[str, Any], bound: ResultBound) -> tuple[dict[str, Any], int, int]:
    """``data`` with its longest list cut to the bound, and how many items that list had and has."""
    lists = [key for key, value in data.items() if isinstance(value, list | tuple)]
    key = max(lists, key=lambda name: len(data[name]), default=None)
    if key is None:
        return data, 0, 0
    rows = data[key]
    kept = rows[: bound.max_items]
    while len(kept) > 1 and _length({**data, key: kept}) > bound.max_chars:
        kept = kept[: len(kept) // 2]
    return {**data, key: kept}, len(rows), len(kept)


def _bounded_text(data: dict[str, Any], bound: ResultBound) -> tuple[dict[str, Any], dict[str, int]]:
    text = _to_json(data)
    if len(text) <= bound.max_chars:
        return json.loads(text, parse_constant=lambda _: None), {}
    half = bound.max_chars // 2
    return {"head": text[:half], "tail": text[-half:]}, {"shown": 2 * half, "total": len(text)}


def _length(data: Mapping[str, Any]) -> int:
    return len(_to_json(data))


def _to_json(value: Any) -> str:
    """JSON that UTF-8 can hold; what JSON has no form for, such as a date, becomes its text."""
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace").decode("utf-8")
