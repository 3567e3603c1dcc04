"""KB filters as typed expressions of the engine: no value ever becomes part of a string."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_

from lancedb.expr import Expr, col, lit

from datamind.core.protocols.kb import KBFilter
from datamind_kb_lancedb.schema import entry_of


def is_chunk() -> Expr:
    """Rows that hold a chunk."""
    return col("position") >= lit(0)


def is_document() -> Expr:
    """One row for each document."""
    return col("is_first") == lit(True)


def is_one_of(column: str, values: Iterable[str]) -> Expr:
    """Rows whose value in a text column is among these; there must be one at least."""
    return col(column).isin(sorted(set(values)))


def conditions(where: KBFilter | None) -> list[Expr]:
    """What must hold for a row of a document that may answer."""
    if where is None:
        return []
    found: list[Expr] = []
    if where.document_ids:
        found.append(is_one_of("document_id", where.document_ids))
    if where.sources:
        found.append(_is_source(where.sources))
    # Entries stand side by side, each between its own separators.
    found += [col("metadata").contains(lit(entry_of(key, value))) for key, value in where.metadata.items()]
    return found


def all_of(parts: Sequence[Expr]) -> Expr:
    """Every part, of which there is one at least."""
    return reduce(and_, parts)


def _is_source(names: Sequence[str]) -> Expr:
    return is_one_of("uri", names) | is_one_of("source_id", names) | is_one_of("name", names)
