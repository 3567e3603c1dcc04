"""Paths in prose. Whether one may be read is for the gate to decide."""

from __future__ import annotations

import re
from typing import Final

from datamind_model_offline.planning import PlannedCall

_TABLES: Final = frozenset({"csv", "tsv", "parquet", "jsonl", "ndjson", "xlsx"})
_GRAPHS: Final = frozenset({"ttl", "nt", "nq", "trig", "jsonld", "rdf"})
_TEXTS: Final = frozenset(
    {"md", "markdown", "txt", "rst", "pdf", "docx", "pptx", "html", "htm", "epub", "eml", "json", "log"}
)
_FILES: Final = _TABLES | _GRAPHS | _TEXTS
_VERB: Final = re.compile(
    r"\b(?:ingest|add|import|load|read|index|store|save|upload|take in|process)\b|导入|加入|添加|读取|索引|收录|保存|存入",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“`]([^\"”`\n]{1,300})[\"”`]")
_BETWEEN: Final = re.compile(r"[\s\"'“”`，。；、：,;]+")
_ROOTED: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]\S")
_MOST_CHARS: Final = 1_000
_MOST_WORDS: Final = 40


def path_calls(text: str) -> list[PlannedCall]:
    """Writes for the paths of a short message that names some and asks to take them in, or is nothing but paths."""
    if len(text) > _MOST_CHARS or len(text.split()) > _MOST_WORDS or "://" in text:
        return []
    quoted = [match[1] for match in _QUOTED.finditer(text) if _is_path(match[1])]
    words = [word for word in _BETWEEN.split(_QUOTED.sub(" ", text)) if word]
    paths = [*quoted, *(path for word in words if _is_path(path := word.rstrip(".")))]
    is_nothing_else = len(paths) == len(words) + len(quoted)
    if not paths or not (is_nothing_else or _VERB.search(text)):
        return []
    return [_call(path) for path in dict.fromkeys(paths)]


def _is_path(word: str) -> bool:
    return _ROOTED.match(word) is not None or _ending(word) in _FILES or (word.endswith("/") and len(word) > 1)


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""


def _call(path: str) -> PlannedCall:
    ending = _ending(path)
    if ending in _TABLES:
        return PlannedCall("db_import_path", {"path": path})
    if ending in _GRAPHS:
        return PlannedCall("graph_import_path", {"path": path})
    return PlannedCall("kb_add_file" if ending in _FILES else "kb_add_path", {"path": path})
