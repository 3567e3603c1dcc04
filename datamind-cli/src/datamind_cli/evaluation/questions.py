"""The file format of ``datamind eval qa``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from datamind.core.errors import InputInvalid, SourceUnreadable

_QUESTION_KEYS: Final = frozenset({"id", "question", "answers", "sources", "lang", "kind"})


@dataclass(frozen=True)
class Question:
    """One question of the file.

    Attributes:
        answers: Accepted strings; None when the corpus does not answer it.
        sources: Of which one must be cited: a path, a table, a subject of the graph or the text of a memory.
    """

    id: str
    question: str
    answers: tuple[str, ...] | None
    sources: tuple[str, ...]
    lang: str = ""
    kind: str = ""


@dataclass(frozen=True)
class QaFile:
    """A file of questions and what is stored before they are asked."""

    path: Path
    ingest: tuple[Path, ...]
    questions: tuple[Question, ...]


def read_qa_file(path: Path) -> QaFile:
    """The file, checked as a whole before anything is stored.

    Raises:
        SourceUnreadable: It cannot be read.
        InputInvalid: A line is not of the format, with its number.
    """
    rows = list(_rows(path))
    if not rows or set(rows[0][1]) != {"ingest"}:
        raise InputInvalid(_first_line_problem(path, rows), hint='It must be {"ingest": [paths]}.')
    entries = rows[0][1]["ingest"]
    if not _are_strings(entries):
        raise InputInvalid(f'{path.name}, line {rows[0][0]}: "ingest" is not a list of paths.')
    ingest = tuple(path.parent / entry for entry in entries)
    for place in ingest:
        if not place.exists():
            raise InputInvalid(f"{path.name} names {str(place)!r}, which does not exist.")
    questions = [_question(path, number, row) for number, row in rows[1:]]
    if not questions:
        raise InputInvalid(f"{path.name} has no question;", hint="each line after the first is one.")
    _refuse_repeated(path, questions)
    return QaFile(path, ingest, tuple(questions))


def _first_line_problem(path: Path, rows: Sequence[tuple[int, dict[str, Any]]]) -> str:
    if not rows:
        return f"{path.name} is empty, so it has no first line."
    number, row = rows[0]
    return (
        f"{path.name}, line {number} names no corpus: its keys are {', '.join(map(repr, sorted(row)))[:120] or 'none'}."
    )


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Each line that is not blank, with its number, as JSON.

    Raises:
        SourceUnreadable: It cannot be read.
        InputInvalid: A line is not JSON.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise SourceUnreadable(f"there is no file {str(path)!r};", hint="check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(f"{str(path)!r} cannot be read ({error});", hint="give a JSONL file in UTF-8.") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputInvalid(f"{path.name}, line {number} is not JSON: {error}.") from None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in read_json_lines(path):
        if not isinstance(row, dict):
            raise InputInvalid(f"{path.name}, line {number} is not a JSON object.")
        yield number, row


def _question(path: Path, number: int, row: dict[str, Any]) -> Question:
    problem = _problem(row)
    if problem:
        raise InputInvalid(f"{path.name}, line {number}: {problem}.")
    answers = row["answers"]
    return Question(
        id=str(row["id"]),
        question=row["question"],
        answers=None if answers is None else tuple(map(str, answers)),
        sources=tuple(row.get("sources") or ()),
        lang=row.get("lang") or "",
        kind=row.get("kind") or "",
    )


def _problem(row: dict[str, Any]) -> str:
    unknown = sorted(set(row) - _QUESTION_KEYS)
    if unknown:
        return f"{unknown[0]!r} is no key of a question"
    if "id" not in row or not isinstance(row.get("question"), str) or not row["question"].strip():
        return '"id" and "question" are needed'
    if "answers" not in row or not (row["answers"] is None or _is_list_of(row["answers"], str | int | float)):
        return '"answers" is neither a list of accepted strings nor null'
    if not _are_strings(row.get("sources") or []):
        return '"sources" is not a list of strings'
    if row["answers"] is not None and not row.get("sources"):
        return '"sources" is needed, because an answer counts only with a source'
    return ""


def _are_strings(value: Any) -> bool:
    return value == [] or _is_list_of(value, str)


def _is_list_of(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, kind) for item in value)


def _refuse_repeated(path: Path, questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise InputInvalid(f"{path.name} has two questions with the id {question.id!r}.")
        seen.add(question.id)
