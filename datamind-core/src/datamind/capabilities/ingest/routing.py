"""Which surface takes a file or records when no model decides."""

from __future__ import annotations

import re
from typing import Final

from datamind.capabilities.ingest.files import Located, peek
from datamind.capabilities.ingest.loaders import JSON, JSON_LINES, OFFICE, guess_media_type, named_media_type
from datamind.core.errors import DataMindError
from datamind.core.types import DataSurface

SKILL_FILE: Final = "SKILL.md"
_HEAD_BYTES: Final = 4_096
_TABLES: Final = frozenset(
    {
        "text/csv",
        "text/tab-separated-values",
        "application/vnd.apache.parquet",
        f"{OFFICE}.spreadsheetml.sheet",
    }
)
_GRAPHS: Final = frozenset(
    {
        "text/turtle",
        "application/n-triples",
        "application/n-quads",
        "application/trig",
        "application/ld+json",
        "application/rdf+xml",
    }
)
_TEXTS: Final = frozenset({"text/plain", "text/markdown"})
_NOBODY: Final = re.compile(r"(image|audio|video)/|application/(gzip|zip)$")
_RECORDS: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?P<list>\[)?\s*(?P<row>\{)?")
TOOLS: Final = {
    DataSurface.KB: "kb_add_path",
    DataSurface.DB: "db_import_path",
    DataSurface.GRAPH: "graph_import_path",
    DataSurface.SKILLS: "skill_upsert",
}
"""The tool that takes a path of each surface."""


def surface_of(located: Located) -> DataSurface | None:
    """Tables to the database, triples to the graph, skills to their shelf, everything else to the knowledge base.

    The name decides where it promises text; else the first bytes are looked at, so that a web page called ``.csv`` is
    a document. None: no surface has a use for it, such as a picture. Blocking.
    """
    name = located.path.name
    if name == SKILL_FILE:
        return DataSurface.SKILLS
    named = named_media_type(name)
    if named in _TEXTS:
        return DataSurface.KB
    try:
        head = peek(located, _HEAD_BYTES)
    except DataMindError:
        return DataSurface.KB  # whoever reads it is told why it cannot be
    return _by_content(name, named, head)


def _by_content(name: str, named: str, head: bytes) -> DataSurface | None:
    media_type = guess_media_type(name, head)
    if media_type in _TABLES or (media_type in (JSON, JSON_LINES) and _holds_records(media_type, head)):
        return DataSurface.DB
    if media_type in _GRAPHS:
        return DataSurface.GRAPH
    if _NOBODY.match(media_type) and not (named and media_type == "application/zip"):
        return None
    return DataSurface.KB


def _holds_records(media_type: str, head: bytes) -> bool:
    found = _RECORDS.match(head)
    if found is None or not found["row"]:
        return False
    return media_type == JSON_LINES or bool(found["list"])
