"""Which tool takes a path or records when no model decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from datamind.core.errors import SurfaceUnavailable

_TABLES: Final = frozenset({".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", ".xlsx"})
_GRAPHS: Final = frozenset({".ttl", ".nt", ".nq", ".trig", ".jsonld", ".rdf", ".owl"})


@dataclass(frozen=True, slots=True)
class Route:
    """One tool call."""

    tool: str
    arguments: Mapping[str, Any]


def route_path(path: Path, available: Set[str]) -> Route:
    """Tables to the database, triples to the graph, everything else to the knowledge base.

    Raises:
        SurfaceUnavailable: No installed surface takes it.
    """
    suffix = path.suffix.lower()
    tool = "db_import_path" if suffix in _TABLES else "graph_import_path" if suffix in _GRAPHS else "kb_add_path"
    if tool not in available:
        raise SurfaceUnavailable(
            f"nothing installed here takes {path.name!r}: the tool {tool} is absent",
            hint="`datamind doctor` shows which surfaces are off and what to install.",
        )
    return Route(tool, {"path": str(path)})


def route_records(records: Sequence[Mapping[str, Any]], available: Set[str]) -> Route:
    """Records to the database.

    Raises:
        SurfaceUnavailable: The database surface is off.
    """
    if "db_import_records" not in available:
        raise SurfaceUnavailable(
            f"nothing installed here takes {len(records)} records: the database surface is off",
            hint="`datamind doctor` shows what to install.",
        )
    return Route("db_import_records", {"records": [dict(record) for record in records]})
