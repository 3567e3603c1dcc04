"""The folder format of ``datamind eval kb``: the layout of BEIR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind_cli.evaluation.questions import read_json_lines

_QRELS: Final = ("qrels.tsv", "qrels/test.tsv")
_FIELDS: Final = 3


@dataclass(frozen=True)
class RetrievalSet:
    """Passages, queries, and which passage is how relevant to which query.

    Attributes:
        passages: Id to ``(title, text)``.
        queries: Id to text; only those that something is relevant to.
        gains: Query id to passage id to relevance, above 0.
    """

    passages: Mapping[str, tuple[str, str]]
    queries: Mapping[str, str]
    gains: Mapping[str, Mapping[str, int]]


def read_beir(folder: Path) -> RetrievalSet:
    """The folder, checked as a whole before anything is stored.

    Raises:
        SourceUnreadable: A file is missing or cannot be read.
        InputInvalid: A line is not of the format, with its number.
    """
    passages: dict[str, tuple[str, str]] = {}
    for number, row in _rows(folder / "corpus.jsonl", passages):
        title, text = row.get("title") or "", row.get("text") or ""
        if not isinstance(title, str) or not isinstance(text, str) or not (text.strip() or title.strip()):
            raise InputInvalid(f'corpus.jsonl, line {number}: "text" is not a text.')
        passages[row["_id"]] = (title, text)
    queries: dict[str, str] = {}
    for number, row in _rows(folder / "queries.jsonl", queries):
        if not isinstance(row.get("text"), str) or not row["text"].strip():
            raise InputInvalid(f'queries.jsonl, line {number}: "text" is not a text.')
        queries[row["_id"]] = row["text"]
    gains = _read_qrels(folder, passages, queries)
    asked = {name: text for name, text in queries.items() if name in gains}
    if not asked:
        raise InputInvalid(f"nothing in {str(folder)!r} is relevant to a query.")
    return RetrievalSet(passages, asked, gains)


def _rows(path: Path, seen: Mapping[str, object]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in read_json_lines(path):
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str) or not row["_id"]:
            raise InputInvalid(f'{path.name}, line {number} is not an object with an "_id".')
        if row["_id"] in seen:
            raise InputInvalid(f"{path.name}, line {number}: the id {row['_id'][:60]!r} is there already.")
        yield number, row


def _read_qrels(
    folder: Path, passages: Mapping[str, object], queries: Mapping[str, object]
) -> Mapping[str, Mapping[str, int]]:
    path = next((folder / name for name in _QRELS if (folder / name).is_file()), None)
    if path is None:
        raise SourceUnreadable(f"{str(folder)!r} has neither {_QRELS[0]} nor {_QRELS[1]}.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(f"{str(path)!r} cannot be read ({error}).") from None
    gains: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if not line.strip() or (number == 1 and fields[0] == "query-id"):
            continue
        if len(fields) != _FIELDS or not fields[2].strip().lstrip("-").isdecimal():
            raise InputInvalid(f"{path.name}, line {number} is not query-id, corpus-id and a whole number, by tabs.")
        query, passage, gain = fields[0], fields[1], int(fields[2])
        for name, held, where in ((query, queries, "queries.jsonl"), (passage, passages, "corpus.jsonl")):
            if name not in held:
                raise InputInvalid(f"{path.name}, line {number}: {name[:60]!r} is not in {where}.")
        if gain > 0:
            gains.setdefault(query, {})[passage] = gain
    return gains
