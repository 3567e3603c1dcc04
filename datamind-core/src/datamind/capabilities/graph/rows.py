"""Triples as rows of a table: CSV, TSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from datamind.capabilities.graph.terms import PREDICATE, make_literal, make_node
from datamind.capabilities.ingest.decoding import decode_text
from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind.core.protocols.graph import LANG_STRING, XSD_STRING, Assertion, Term, Triple
from datamind.core.receipts import RejectedRow

CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
JSONL: Final = "application/x-ndjson"
ROW_MEDIA_TYPES: Final = (CSV, TSV, JSONL)
COLUMNS: Final = ("subject", "predicate", "object", "object_type", "datatype", "language")

_SYNONYMS: Final = {
    **dict.fromkeys(("subject", "s", "head", "source", "from"), "subject"),
    **dict.fromkeys(("predicate", "p", "relation", "relationship", "property", "edge"), "predicate"),
    **dict.fromkeys(("object", "o", "tail", "target", "to", "value"), "object"),
    **{name: name for name in ("object_type", "datatype", "language", "confidence")},
}
_NEEDED: Final = frozenset({"subject", "predicate", "object"})
_MAX_CELL: Final = 1 << 20


def make_assertion(row: Mapping[str, Any]) -> Assertion:
    """One assertion from named values.

    Raises:
        InputInvalid: A name is blank or no term, or a confidence outside 0 to 1.
    """
    for key in sorted(_NEEDED):
        may_be_empty = key == "object" and row.get("object_type") == "literal"
        if row.get(key) is None or (row[key] == "" and not may_be_empty):
            raise InputInvalid(f"the {key} is missing", code="input_invalid.missing")
    confidence = float(row.get("confidence") or 1.0)
    if not 0 < confidence <= 1:
        raise InputInvalid(
            f"the confidence {confidence!r} is not above 0 and at most 1", code="input_invalid.confidence"
        )
    subject = make_node(str(row["subject"]))
    predicate = make_node(str(row["predicate"]), namespace=PREDICATE)
    return Assertion(Triple(subject, predicate, _object(row)), confidence=confidence)


def _object(row: Mapping[str, Any]) -> Term:
    value, datatype, language = row["object"], row.get("datatype") or "", row.get("language") or ""
    kind = row.get("object_type") or ""
    if kind not in ("", "entity", "literal"):
        raise InputInvalid(f"the object type {kind[:40]!r} is neither entity nor literal", code="input_invalid.type")
    if kind == "literal" or datatype or language or not isinstance(value, str):
        if not isinstance(value, str | int | float | bool):
            raise InputInvalid("the object is neither text nor number", code="input_invalid.type")
        return make_literal(value, datatype=datatype, language=language)
    return make_node(value)


def read_rows(content: bytes, media_type: str) -> Iterator[Assertion | RejectedRow]:
    """Assertions in the order of the file; a row that is none is given with its line. Blocking, lazy.

    Raises:
        SourceUnreadable: It cannot be decoded, or its first line does not name subject, predicate and object.
    """
    text, _ = decode_text(content)
    rows = _json_rows(text) if media_type == JSONL else _csv_rows(text, media_type)
    for line, row in rows:
        if row is None:
            yield RejectedRow(line=line, code="malformed")
            continue
        try:
            yield make_assertion(row)
        except (InputInvalid, ValueError) as error:
            yield RejectedRow(line=line, code=getattr(error, "code", "input_invalid.number"))


def _csv_rows(text: str, media_type: str) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    head = text.partition("\n")[0]
    delimiter = "\t" if media_type == TSV else max(",;\t", key=head.count)
    csv.field_size_limit(_MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [_SYNONYMS.get(name.strip().lower(), "") for name in next(reader, [])]
        _check_columns(names)
        for cells in reader:
            row = {name: cell for name, cell in zip(names, cells, strict=False) if name}
            if any(cells):
                yield reader.line_num, row if len(cells) == len(names) else None
    except csv.Error as error:
        raise SourceUnreadable(f"line {reader.line_num} is no row of a table ({error})") from None


def _check_columns(names: Iterable[str]) -> None:
    missing = sorted(_NEEDED - set(names))
    if missing:
        raise SourceUnreadable(
            f"the first line names no column {missing[0]!r}",
            code="source_unreadable.columns",
            hint="A table of triples has the columns subject, predicate and object.",
        )


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    for number, line in enumerate(io.StringIO(text), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            yield number, {_SYNONYMS.get(str(key).lower(), ""): value for key, value in row.items()}
        else:
            yield number, None


def write_rows(triples: Iterable[Triple], media_type: str, *, header: bool) -> str:
    """Triples as text that ``read_rows`` reads; ``header`` for the first piece of a table."""
    rows = [_row(triple) for triple in triples]
    if media_type == JSONL:
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, delimiter="\t" if media_type == TSV else ",", lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _row(triple: Triple) -> dict[str, str]:
    term = triple.object
    return {
        "subject": f"<{triple.subject.value}>",
        "predicate": f"<{triple.predicate.value}>",
        "object": term.value if term.is_literal else f"<{term.value}>",
        "object_type": "literal" if term.is_literal else "entity",
        "datatype": f"<{term.datatype}>" if term.is_literal and term.datatype not in (XSD_STRING, LANG_STRING) else "",
        "language": term.language,
    }
