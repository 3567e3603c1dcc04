"""Paths in prose. Whether one may be read is for the gate to decide."""

from __future__ import annotations

import re
from typing import Final

from datamind_model_offline.planning import PlannedCall

_TABLES: Final = frozenset(["csv", "tsv", "parquet", "jsonl", "ndjson", "xlsx"])
_GRAPHS: Final = frozenset(["ttl", "nt", "nq", "trig", "jsonld", "rdf"])
_FILES: Final = (
    _TABLES
    | _GRAPHS
    | frozenset(["md", "txt", "rst", "pdf", "docx", "pptx", "html", "htm", "epub", "eml", "json", "log", "markdown"])
)
_ENDINGS: Final = "|".join(sorted(_FILES, key=lambda ending: (-len(ending), ending)))
_VERB: Final = re.compile(
    r"\b(?:ingest|add|import|load|read|index|store|save|upload|take in|process)\b|导入|加入|添加|读取|索引"
    r"|收录|保存|存入",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“'`]([^\"”'`\n]+)[\"”'`]")
_PATH: Final = re.compile(
    rf"(?:~|\.{{1,2}}|[A-Za-z]:)?[/\\][^\s\"'“”`，。；,;]+"
    rf"|[^\s\"'“”`，。；：,;:/\\]+(?:/[^\s\"'“”`，。；,;]+)*\.(?:{_ENDINGS})\b|[\w.-]+(?:/[\w.-]+)*/(?=\s"
    rf"|\Z|[，。,.])"
)
_MOST_WORDS: Final = 40


def path_calls(text: str) -> list[PlannedCall]:
    """Writes for the paths of a short message that names some and asks to take them in, or is nothing but paths."""
    if len(text.split()) > _MOST_WORDS or "://" in text:
        return []
    quoted = [match[1] for match in _QUOTED.finditer(text) if _PATH.fullmatch(match[1]) or "/" in match[1]]
    rest = _QUOTED.sub(" ", text)
    paths = [*quoted, *(match[0].rstrip(".") for match in _PATH.finditer(rest))]
    is_nothing_else = not _PATH.sub("", rest).strip(" \t\n,;，；、.。")
    if not paths or not (is_nothing_else or _VERB.search(text)):
        return []
    return [_call(path) for path in dict.fromkeys(paths)]


def _call(path: str) -> PlannedCall:
    ending = path.rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
    if ending in _TABLES:
        return PlannedCall("db_import_path", {"path": path})
    if ending in _GRAPHS:
        return PlannedCall("graph_import_path", {"path": path})
    return PlannedCall("kb_add_file" if ending in _FILES else "kb_add_path", {"path": path})
