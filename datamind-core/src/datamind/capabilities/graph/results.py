"""What a query gave: as evidence, and exactly, as the format of SPARQL results in JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from datamind.capabilities.graph.terms import name_of
from datamind.core.protocols.graph import XSD_STRING, QueryResult, Term

_MINTED: Final = "urn:datamind:"


def render(result: QueryResult) -> str:
    """Compact JSON of column names and rows; a name made here stands as it was given, and values as their text."""
    columns = list(result.columns) if result.answer is None else ["answer"]
    rows: list[list[Any]] = [[_shown(term) for term in row] for row in result.rows]
    if result.answer is not None:
        rows = [[result.answer]]
    return json.dumps({"columns": columns, "rows": rows}, ensure_ascii=False, separators=(",", ":"))


def to_sparql_json(result: QueryResult) -> bytes:
    """The document that SPARQL endpoints send. Source: SPARQL 1.1 Query Results JSON Format, W3C 2013."""
    body: dict[str, Any] = {"head": {"vars": list(result.columns)}}
    if result.answer is not None:
        body = {"head": {}, "boolean": result.answer}
    else:
        rows = (zip(result.columns, row, strict=True) for row in result.rows)
        body["results"] = {"bindings": [{name: _binding(term) for name, term in row if term} for row in rows]}
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _shown(term: Term | None) -> str | None:
    if term is None or term.is_literal:
        return None if term is None else term.value
    return name_of(term) if term.value.startswith(_MINTED) else term.value


def _binding(term: Term) -> dict[str, str]:
    if not term.is_literal:
        # A blank node, which only a query can make, comes under its label.
        is_blank = term.value.startswith("_:")
        return {"type": "bnode" if is_blank else "uri", "value": term.value.removeprefix("_:")}
    binding = {"type": "literal", "value": term.value}
    if term.language:
        return binding | {"xml:lang": term.language}
    return binding if term.datatype == XSD_STRING else binding | {"datatype": term.datatype}
