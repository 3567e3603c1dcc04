"""What an evaluation stores before it asks: documents, tables, triples, skills and memories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from datamind.core.errors import DataMindError
from datamind_cli.evaluation.questions import read_json_lines

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

_MEMORY_FILE: Final = "memory.jsonl"
_MEMORY_KEYS: Final = frozenset({"text", "kind", "scope", "said_at"})
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_SCOPE_WORDS: Final = {
    "profile": ("", ""),
    "global": (" in all projects", "，在所有项目中"),
    "session": (" for this session", "，本次会话"),
}

SESSION: Final = "eval"
"""The conversation that session memories are said in, and that the questions are asked in when there are some."""


@dataclass
class Corpus:
    """Where each path of the file goes."""

    paths: list[Path] = field(default_factory=list)
    memories: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def has_session_memories(self) -> bool:
        """Whether questions must be asked in the session to see all of it."""
        return any(isinstance(row, dict) and row.get("scope") == "session" for row in self.memories)


def plan_corpus(entries: Sequence[Path], tools: frozenset[str]) -> Corpus:
    """Sort the paths; what needs a surface that is off becomes a problem, and its questions count as wrong.

    Args:
        entries: Files and folders, absolute.
        tools: The storing agent's tools.
    """
    corpus = Corpus()
    for entry in entries:
        memory_files = [path for path in _files(entry) if _is_memory_file(path, is_listed=path == entry)]
        for path in memory_files:
            corpus.memories += [row for _, row in read_json_lines(path)]
        for path in _without(entry, memory_files):
            _plan_path(corpus, path, entry, tools)
    return corpus


def _plan_path(corpus: Corpus, path: Path, entry: Path, tools: frozenset[str]) -> None:
    from datamind.capabilities.ingest.files import Located
    from datamind.capabilities.ingest.routing import TOOLS, surface_of
    from datamind.core.types import DataSurface

    files = list(_files(path))
    off = []
    for file in files:
        surface = surface_of(Located(file.parent, (file.name,))) or DataSurface.KB
        if TOOLS[surface] not in tools:
            name = f"{entry.name}/{file.name}" if file != entry else file.name
            off.append(f"{name} is skipped: {surface} is off, no {TOOLS[surface]} is installed")
    corpus.problems += off
    if len(off) < len(files):
        corpus.paths.append(path)  # as a whole, so that its files share commits


def _files(entry: Path) -> Iterator[Path]:
    if not entry.is_dir():
        yield entry
        return
    for path in sorted(entry.rglob("*")):
        relative = path.relative_to(entry)
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in relative.parts):
            yield path


def _without(entry: Path, left_out: Sequence[Path]) -> Iterator[Path]:
    """The entry, or, where some of its files are left out, what it holds beside them."""
    if entry in left_out:
        return
    if not any(path.is_relative_to(entry) for path in left_out):
        yield entry
        return
    for child in sorted(entry.iterdir()):
        if not child.name.startswith(".") and not child.is_symlink():
            yield from _without(child, left_out)


def _is_memory_file(path: Path, *, is_listed: bool) -> bool:
    """By its shape where the file itself is listed; in a folder, whose tables may look so, by its name too."""
    named = path.suffix.lower() == ".jsonl" if is_listed else path.name == _MEMORY_FILE
    if not named or path.is_dir():
        return False
    first = next(read_json_lines(path), (0, None))[1]
    return isinstance(first, dict) and "text" in first and set(first) <= _MEMORY_KEYS


async def store_corpus(system: DataMind, corpus: Corpus) -> list[str]:
    """Store it; returns what went wrong, one line each."""
    problems = list(corpus.problems)
    problems += [problem for path in corpus.paths async for problem in _stored(system, path)]
    problems += [problem for row in corpus.memories async for problem in _remembered(system, row)]
    return problems


async def _stored(system: DataMind, path: Path) -> Any:
    try:
        result = await system.ingest(path)
    except DataMindError as error:
        yield f"{path.name} is not stored: {error}"
        return
    for receipt in result.receipts:
        if receipt.result.error:
            name = receipt.source.uri if receipt.source else path.name
            yield f"{name} is not stored: {receipt.result.error.message}"
    if any(call.is_error and not call.receipt_ids for call in result.tool_trace):
        yield f"{path.name} is not stored as a whole: {' '.join(result.answer.split())}"


async def _remembered(system: DataMind, row: Any) -> Any:
    """Said as a user says it, so that the agent finds the fact in it and a later value ends an earlier one."""
    problem = _problem_of_memory(row)
    if problem:
        yield problem
        return
    session = SESSION if row.get("scope") == "session" else ""
    try:
        result = await system.ingest(remember_words(row), session=session)
    except DataMindError as error:
        yield f"a memory is not stored ({row['text'][:60]!r}): {error}"
        return
    if result.status not in ("stored", "unchanged"):
        yield f"a memory is not stored ({row['text'][:60]!r}): {' '.join(result.answer.split())[:200]}"


def _problem_of_memory(row: Any) -> str:
    from datamind.core.protocols.memory import MemoryKind

    is_form = (
        isinstance(row, dict) and not set(row) - _MEMORY_KEYS and all(isinstance(v or "", str) for v in row.values())
    )
    if not is_form or not (row.get("text") or "").strip():
        return f"a memory is not of the form {{text, kind, scope, said_at}}: {str(row)[:80]}"
    if (row.get("scope") or "profile") not in _SCOPE_WORDS:
        return f"a memory has the unknown scope {row['scope'][:40]!r} ({row['text'][:60]!r})"
    if row.get("kind") and row["kind"] not in set(MemoryKind):
        return f"a memory has the unknown kind {row['kind'][:40]!r} ({row['text'][:60]!r})"
    return ""


def remember_words(row: Mapping[str, str]) -> str:
    """The message to StoreAgent for one line of a memory.jsonl, in the language of its text."""
    is_han = _HAN.search(row["text"]) is not None
    order, said_on = ("记住", "记于") if is_han else ("Remember", "said on ")
    said = f" ({said_on}{row['said_at']})" if row.get("said_at") else ""
    scope = _SCOPE_WORDS[row.get("scope") or "profile"][is_han]
    return f"{order}{said}{scope}: {row['text'].strip()}"
