"""Evidence, receipts and results as rows and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from datamind_cli.render import Output, count_of, shorten

if TYPE_CHECKING:
    from datamind.core.evidence import Evidence, InferenceResult, Locator
    from datamind.core.receipts import Detected, IngestReceipt, StoreResult
    from datamind.core.results import Notice, RunResult
    from datamind.core.source import SourceRef

EVIDENCE_COLUMNS: Final = ("n", "surface", "source", "span", "receipts", "content")
RECEIPT_COLUMNS: Final = ("receipt", "surface", "operation", "status", "items", "source")
_CONTENT_CHARS: Final = 120
_ID_CHARS: Final = 12
_SHOWN_REJECTS: Final = 10
_NORMAL_STOPS: Final = ("end_turn", "direct")
_SURFACE_OFF: Final = "surface_off."
_RECEIPT_CHARS: Final = 18


def show_evidence(out: Output, result: InferenceResult, *, everything: bool = False) -> None:
    """The evidence an answer cites, or all that was read, numbered as in the answer."""
    cited = {citation.number for citation in result.citations}
    numbered = [(n, item) for n, item in enumerate(result.evidence, 1) if everything or n in cited]
    out.table(EVIDENCE_COLUMNS, [_evidence_row(n, item) for n, item in numbered])


def _evidence_row(number: int, item: Evidence) -> tuple[str, ...]:
    content = shorten(item.content, _CONTENT_CHARS)
    receipts = str(len(item.receipt_ids)) if item.receipt_ids else "none"
    return (str(number), item.surface.value, source_label(item.source), span_label(item.locator), receipts, content)


def source_label(source: SourceRef | None) -> str:
    """A source as a person knows it: a path, or what kind of text it was."""
    if source is None:
        return ""
    scheme, _, rest = source.uri.partition(":")
    if scheme == "file":
        return unquote(rest)
    if scheme == "chunk":
        return rest
    return f"text {rest[:12]}" if source.kind == "text" else source.kind


def span_label(locator: Locator) -> str:
    """Where in its source a piece of evidence stands."""
    match locator.type:
        case "text":
            page = f"p. {locator.page}, " if locator.page else ""
            return f"{page}{locator.start}-{locator.end}"
        case "table":
            return ", ".join((*locator.tables, *locator.columns))
        case "triple":
            return f"{locator.subject} {locator.predicate} {locator.object}"
        case "memory":
            return locator.memory_id[:_ID_CHARS]
        case "skill":
            return locator.name
        case "tool":
            return locator.tool


def show_receipts(out: Output, receipts: Sequence[IngestReceipt], *, times: bool = False) -> None:
    """One row a receipt, with its time where writes of different times stand together; below it why one failed."""
    if times:
        out.table(("time", *RECEIPT_COLUMNS), [(_time(receipt), *_receipt_row(receipt)) for receipt in receipts])
    else:
        out.table(RECEIPT_COLUMNS, [_receipt_row(receipt) for receipt in receipts])
    for receipt in receipts:
        if receipt.result.error:
            out.line(f"{source_label(receipt.source) or receipt.tool}: {receipt.result.error.message}")


def _receipt_row(receipt: IngestReceipt) -> tuple[str, ...]:
    result = receipt.result
    return (
        short_id(receipt.receipt_id),
        result.surface.value,
        result.operation,
        result.status,
        str(result.items_written),
        source_label(receipt.source),
    )


def short_id(receipt_id: str) -> str:
    """The beginning of a receipt id, which ``receipts``, ``trace`` and ``why`` take: its time and three characters."""
    return receipt_id[:_RECEIPT_CHARS]


def _time(receipt: IngestReceipt) -> str:
    return receipt.completed_at.astimezone().isoformat(sep=" ", timespec="seconds")


def answer_status(out: Output, result: InferenceResult) -> str:
    """The honest line below an answer: who answered, from what, how much of it holds, what it took."""
    cited = {citation.evidence_id for citation in result.citations}
    uncited = sum(item.evidence_id not in cited for item in result.evidence)
    backed = sum(1 for item in result.evidence if item.evidence_id in cited and item.receipt_ids)
    return out.join(
        [
            _model(result),
            ", ".join(result.surfaces_used) or "no surface used",
            _claims(result),
            f"{backed} of {len(cited)} receipt-backed" if cited else "",
            f"{uncited} read, not cited" if uncited else "",
            "" if result.citations else _off(result),
            *_run_parts(result),
        ]
    )


def store_status(out: Output, result: StoreResult) -> str:
    """The same below a write."""
    surfaces = ", ".join(dict.fromkeys(receipt.result.surface.value for receipt in result.receipts))
    receipts = count_of(len(result.receipts), "receipt")
    return out.join(
        [
            result.status,
            f"{receipts} ({surfaces})" if surfaces else receipts,
            _model(result),
            "" if result.receipts else _off(result),
            *_run_parts(result),
        ]
    )


def _off(result: RunResult) -> str:
    """The surfaces that could not be searched or written, where nothing was found or stored."""
    names = [
        notice.code.removeprefix(_SURFACE_OFF) for notice in result.notices if notice.code.startswith(_SURFACE_OFF)
    ]
    return f"off here: {', '.join(dict.fromkeys(names))}" if names else ""


def _model(result: RunResult) -> str:
    if result.stop_reason == "direct":
        return "no model"
    return f"{result.model or 'model'} (extractive)" if result.extractive else result.model


def _claims(result: InferenceResult) -> str:
    claims = result.claims
    total = claims.supported + claims.unsupported + claims.stale
    if not total:
        return "nothing claimed" if not result.citations else ""
    stale = f", {claims.stale} stale" if claims.stale else ""
    return f"{claims.supported} of {count_of(total, 'claim')} supported{stale}"


def _run_parts(result: RunResult) -> Iterator[str]:
    usage = result.usage
    if usage.input_tokens or usage.output_tokens:
        about = "about " if usage.estimated else ""
        yield f"{about}{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    if usage.cost_usd:
        yield f"${usage.cost_usd:.4f}"
    if result.stop_reason not in _NORMAL_STOPS:
        yield f"stopped: {result.stop_reason}"
    yield f"{result.duration_s:.2f} s"


def show_notices(out: Output, notices: Iterable[Notice]) -> None:
    """What a reader must know beside the result, each once; with -v the surfaces that are off, in one line."""
    told = list(notices)
    off = [notice.code.removeprefix(_SURFACE_OFF) for notice in told if notice.code.startswith(_SURFACE_OFF)]
    for message in dict.fromkeys(notice.message for notice in told if not notice.code.startswith(_SURFACE_OFF)):
        out.note(f"note: {message}")
    if off and out.verbosity:
        out.note(f"note: off here: {', '.join(dict.fromkeys(off))} (`datamind doctor` says why)")


def show_rejected(out: Output, found: Detected, *, what: str = "line", where: str = "") -> None:
    """Which lines of a file were left out, and by which code; ``where`` names the file."""
    if found.rejected_total:
        lines = ", ".join(f"{row.line} ({row.code})" for row in found.rejected[:_SHOWN_REJECTS])
        more = ", ..." if found.rejected_total > _SHOWN_REJECTS else ""
        left_out = f"{count_of(found.rejected_total, what)} left out: {lines}{more}"
        out.line(f"{where}: {left_out}" if where else left_out)


def show_receipt(out: Output, receipt: IngestReceipt) -> None:
    """Everything one receipt says, a line each; empty fields are left out."""
    result, source = receipt.result, receipt.source
    detected = result.detected
    fields = {
        "receipt": receipt.receipt_id,
        "status": result.status,
        "operation": f"{result.operation} by {receipt.tool} on {result.surface.value}",
        "items": f"{result.items_written:,}",
        "ids": ", ".join(result.ids[:10]) + (" ..." if len(result.ids) > 10 else ""),
        "closed": ", ".join(result.closed_ids),
        "error": f"{result.error.code}: {result.error.message}" if result.error else "",
        "source": f"{source_label(source)} ({source.media_type}, {source.origin})" if source else "",
        "checksum": source.checksum if source else "",
        "detected": ", ".join(part for part in (detected.encoding, detected.delimiter, detected.media_type) if part),
        "rejected": f"{detected.rejected_total:,} rows" if detected.rejected_total else "",
        "read back": receipt.read_back,
        "started": receipt.started_at.isoformat(timespec="milliseconds"),
        "completed": receipt.completed_at.isoformat(timespec="milliseconds"),
        "trace": receipt.trace_id,
        "key": receipt.idempotency_key,
        "revert": result.revert,
    }
    for name, value in fields.items():
        if value:
            out.line(f"{name:<10} {value}")
