"""How results look in a notebook: HTML of their own words only, nothing fetched, and whatever they hold is text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datamind.core.evidence import Evidence, InferenceResult
    from datamind.core.receipts import IngestReceipt, StoreResult

_SHOWN_CHARS: Final = 200
_EVIDENCE_CHARS: Final = 4_000
_SHOWN_RECEIPTS: Final = 50
_MARKER: Final = re.compile(r"\[(\d+)\]")


def escaped(value: Any, max_chars: int = _SHOWN_CHARS) -> str:
    """A value as text of a page, cut where it is long."""
    text = "" if value is None else str(value)
    short = text if len(text) <= max_chars else f"{text[:max_chars]}…"
    return html.escape(short.encode("utf-8", "replace").decode("utf-8"))


def table_html(columns: Iterable[Any], rows: Iterable[Iterable[Any]], below: str = "") -> str:
    """Rows below a header, and a line below them."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows)
    foot = f"<p>{escaped(below)}</p>" if below else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def answer_html(result: InferenceResult) -> str:
    """The answer, its footnotes, and below them what each cites, to be opened."""
    known = _cited(result)
    notes = "".join(_evidence_html(number, known[number]) for number in sorted(known))
    said = f"<p><small>{escaped(status_of(result))}</small></p>"
    return f'<div><p style="white-space:pre-wrap">{footnoted(result)}</p>{notes}{said}</div>'


def footnoted(result: InferenceResult) -> str:
    """The text of an answer, what each marker cites shown where a pointer rests on it."""
    known = _cited(result)
    # Escaped first: what is put around a marker afterwards is all the markup there is.
    return _MARKER.sub(lambda found: _footnote(found, known), escaped(result.answer, len(result.answer)))


def status_of(result: InferenceResult) -> str:
    """How much of the answer holds, who gave it, and how long that took."""
    claims = result.claims
    total = claims.supported + claims.unsupported + claims.stale
    said = f"{claims.supported} of {total} claims supported" if total else "nothing claimed"
    parts = [said, "extractive" if result.extractive else result.model, f"{result.duration_s:.2f} s"]
    return " · ".join(part for part in parts if part)


def _cited(result: InferenceResult) -> dict[int, Evidence]:
    numbers = dict.fromkeys(citation.number for citation in result.citations)
    return {number: result.evidence[number - 1] for number in numbers if 0 < number <= len(result.evidence)}


def _footnote(found: re.Match[str], known: dict[int, Evidence]) -> str:
    number = int(found[1])
    if number not in known:
        return found[0]
    return f'<sup title="{escaped(known[number].content)}">[{number}]</sup>'


def _evidence_html(number: int, item: Evidence) -> str:
    title = f"[{number}] {item.surface} · {item.source.uri} · {span_of(item)}"
    return f"<details><summary>{escaped(title)}</summary>{_content_html(item)}</details>"


def _content_html(item: Evidence) -> str:
    locator = item.locator
    if locator.type == "triple":
        return table_html(("subject", "relation", "object"), [(locator.subject, locator.predicate, locator.object)])
    if (table := item.table()) is not None:
        statement = f"<pre>{escaped(locator.statement, _EVIDENCE_CHARS)}</pre>" if locator.type == "table" else ""
        return statement + table._repr_html_()
    return f'<blockquote style="white-space:pre-wrap">{escaped(item.content, _EVIDENCE_CHARS)}</blockquote>'


def span_of(item: Evidence) -> str:
    """Where in its source a piece of evidence stands, in a few words."""
    match item.locator.type:
        case "text":
            page = f"page {item.locator.page}, " if item.locator.page else ""
            return f"{page}characters {item.locator.start}-{item.locator.end}"
        case "table":
            return ", ".join(item.locator.tables)
        case "triple":
            return "statement"
        case "memory":
            return item.note or item.locator.memory_id
        case "skill":
            return item.locator.name
    return item.locator.tool


def store_html(result: StoreResult) -> str:
    """The status, what the agent said, the receipts and what was passed over."""
    words = f'<p style="white-space:pre-wrap">{escaped(result.answer, _EVIDENCE_CHARS)}</p>' if result.answer else ""
    skipped = f"<p>{len(result.skipped):,} passed over</p>" if result.skipped else ""
    return f"<div><p><b>{escaped(result.status)}</b></p>{words}{receipts_html(result.receipts)}{skipped}</div>"


def receipts_html(receipts: Sequence[IngestReceipt]) -> str:
    """One row a receipt."""
    if not receipts:
        return "<p>no receipt</p>"
    columns = ("receipt", "surface", "operation", "status", "items", "source", "read back")
    left = len(receipts) - _SHOWN_RECEIPTS
    rows = [_receipt_row(receipt) for receipt in receipts[:_SHOWN_RECEIPTS]]
    return table_html(columns, rows, f"and {left:,} more" if left > 0 else "")


def _receipt_row(receipt: IngestReceipt) -> tuple[Any, ...]:
    result = receipt.result
    seen = f"{result.error.code}: {result.error.message}" if result.error else receipt.read_back
    source = receipt.source.uri if receipt.source else ""
    return (receipt.receipt_id, result.surface, result.operation, result.status, result.items_written, source, seen)


def answer_text(result: InferenceResult) -> str:
    """The answer, and a line for each piece of evidence it cites."""
    lines = [result.answer]
    for number in sorted({citation.number for citation in result.citations}):
        if 0 < number <= len(result.evidence):
            item = result.evidence[number - 1]
            content = " ".join(item.content.split())
            short = content if len(content) <= _SHOWN_CHARS else f"{content[:_SHOWN_CHARS]}…"
            lines.append(f"  [{number}] {item.source.uri}, {span_of(item)}: {short}")
    return "\n".join(lines)


def store_text(result: StoreResult) -> str:
    """The status, and a line for each receipt."""
    lines = [f"{result.status}: {result.answer}" if result.answer else result.status]
    lines += [f"  {receipt_text(receipt)}" for receipt in result.receipts[:_SHOWN_RECEIPTS]]
    if len(result.receipts) > _SHOWN_RECEIPTS:
        lines.append(f"  and {len(result.receipts) - _SHOWN_RECEIPTS:,} more")
    return "\n".join(lines)


def receipt_text(receipt: IngestReceipt) -> str:
    """One receipt as one line."""
    result = receipt.result
    source = f" from {receipt.source.uri}" if receipt.source else ""
    error = f" ({result.error.code})" if result.error else ""
    did = f"{result.status}: {result.items_written:,} {result.operation} on {result.surface}{source}{error}"
    return f"{receipt.receipt_id} {did}"
