"""Chunks that a user has cut: read line by line, what is no chunk told by line and code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from datamind.capabilities.ingest.files import printable
from datamind.capabilities.kb.writes import NewDocument
from datamind.core.receipts import RejectedRow
from datamind.core.source import SourceRef
from datamind.core.types import content_hash

GIVEN: Final = "given"
"""What chunks belong to that name no source and come in no file."""

_KEYS: Final = frozenset({"id", "text", "title", "source", "metadata"})
_SHOWN_REJECTS: Final = 100
_MAX_TITLE: Final = 300
_MAX_NAME: Final = 1_000
_ESCAPED: Final = re.compile("[%#]")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass
class ChunkLines:
    """What the lines hold.

    Attributes:
        chunks: Documents of one chunk each, with their texts.
        rejected: The first 100 lines that are no chunk; ``rejected_total`` counts all.
    """

    chunks: list[tuple[NewDocument, str]] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    rejected_total: int = 0

    def reject(self, line: int, code: str) -> None:
        """Leave a line out."""
        self.rejected_total += 1
        if len(self.rejected) < _SHOWN_REJECTS:
            self.rejected.append(RejectedRow(line=line, code=code))


def read_chunks(content: bytes, *, name: str, profile: str, is_file: bool) -> ChunkLines:
    """JSON Lines of ``{"id", "text", "title", "source", "metadata"}``, of which only the text is needed.

    A chunk without an id has the hash of its text. Of two with one source and id the first counts. CPU-bound: run it
    in a worker thread.

    Args:
        content: UTF-8; blank lines and a byte order mark are passed over.
        name: Stands for the source of chunks that name none.
        profile: Whose sources they become.
        is_file: Whether they stood in a file, or came in a call.
    """
    lines, seen = ChunkLines(), set[str]()
    for number, line in _lines(content):
        chunk = _chunk(line, name)
        if isinstance(chunk, str):
            lines.reject(number, chunk)
            continue
        if chunk.uri in seen:
            lines.reject(number, "repeated_id")
            continue
        seen.add(chunk.uri)
        source = SourceRef.of_content(
            "chunk",
            chunk.uri,
            chunk.text.encode("utf-8"),
            media_type="text/plain",
            profile=profile,
            origin="file" if is_file else "user",
        )
        lines.chunks.append((NewDocument(source, chunk.title, chunk.metadata), chunk.text))
    return lines


@dataclass(frozen=True, slots=True)
class _Chunk:
    uri: str
    text: str
    title: str
    metadata: Mapping[str, str | int | float | bool]


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(content.removeprefix(_BOM).split(b"\n"), 1):
        if line and not line.isspace():
            yield number, line


def _chunk(line: bytes, name: str) -> _Chunk | str:
    """A chunk, or the code of what is wrong with the line."""
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "invalid_encoding"
    except (ValueError, RecursionError):
        return "invalid_json"
    if not isinstance(row, dict):
        return "not_an_object"
    if not row.keys() <= _KEYS:
        return "unknown_key"
    return _problem(row) or _checked(row, name)


def _checked(row: dict[str, Any], name: str) -> _Chunk:
    text, key = row["text"], str(row.get("id", "") if row.get("id") is not None else "")
    source = _escaped(row.get("source") or name)
    return _Chunk(
        f"chunk:{source}#{_escaped(key) or content_hash(text)[:16]}",
        text,
        row.get("title") or "",
        row.get("metadata") or {},
    )


def _problem(row: dict[str, Any]) -> str:
    text = row.get("text")
    if not isinstance(text, str) or not text.strip():
        return "no_text"
    key = row.get("id", "")
    if not (key is None or type(key) is int or (isinstance(key, str) and len(key) <= _MAX_NAME)):
        return "invalid_id"
    if not _is_short(row.get("title"), _MAX_TITLE):
        return "invalid_title"
    if not _is_short(row.get("source"), _MAX_NAME):
        return "invalid_source"
    metadata = row.get("metadata")
    if metadata and not (isinstance(metadata, dict) and all(map(_is_value, metadata.values()))):
        return "invalid_metadata"
    return "" if _is_text(row) else "invalid_encoding"


def _is_short(value: Any, limit: int) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= limit)


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _is_text(row: dict[str, Any]) -> bool:
    """Whether no string of it holds half of a surrogate pair, which no file can hold."""
    try:
        for value in row.values():
            (value if isinstance(value, str) else str(value)).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(name: str) -> str:
    shown = name if name.isprintable() and "\\" not in name else printable(name)
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", shown)
