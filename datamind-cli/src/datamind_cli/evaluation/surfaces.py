"""The file formats of ``datamind eval memory`` and ``datamind eval graph``, and the figures that come of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from datamind.core.errors import InputInvalid, error_of
from datamind.core.types import Role
from datamind_cli.evaluation.metrics import Estimate, estimate, recall, reciprocal_rank
from datamind_cli.evaluation.questions import read_json_lines
from datamind_cli.render import count_of

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.core.outcome import ToolOutcome

MEMORY_METRICS: Final = ("Recall@5", "Recall@10", "MRR@10")
WALK_METRICS: Final = ("precision", "recall")
SEARCH_METRICS: Final = ("R@1", "R@10", "MRR@10")
_DEPTH: Final = 10
_TEXT_CHARS: Final = 8_000
_QUERY_CHARS: Final = 2_000

Progress = Callable[[str], None]
_Text = Annotated[str, Field(min_length=1)]
_Line = TypeVar("_Line", bound="_Strict")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class Turn(_Strict):
    """What one speaker said at once."""

    id: _Text
    speaker: str = ""
    text: _Text
    said_at: str = ""


class Talk(_Strict):
    """A conversation; the questions below it, up to the next one, are about it."""

    conversation: list[Turn] = Field(min_length=1)


class MemoryQuestion(_Strict):
    """A question, and the turns that answer it."""

    id: _Text
    question: _Text
    evidence: list[str] = Field(min_length=1)
    kind: str = ""


class GraphCorpus(_Strict):
    """The first line: files of statements, relative to the file."""

    ingest: list[_Text] = Field(min_length=1)


class GraphQuestion(_Strict):
    """What is around an entity within some hops, or which entity a search means."""

    id: _Text
    entity: str = ""
    search: str = ""
    hops: int = Field(1, ge=1, le=6)
    relations: list[str] = []
    expected: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_one_of_both(self) -> GraphQuestion:
        if bool(self.entity) == bool(self.search):
            raise ValueError('either "entity" or "search" must be given')
        return self


@dataclass(frozen=True)
class Measured:
    """One question, what was found for it, and how good that is.

    Attributes:
        values: By the metrics of its group.
    """

    id: str
    group: str
    found: tuple[str, ...]
    values: tuple[float, ...]


@dataclass
class SurfaceReport:
    """What an evaluation of one surface found.

    Attributes:
        metrics: Names of the figures of each group of questions.
        stored: How much was stored, in words.
    """

    metrics: Mapping[str, tuple[str, ...]]
    stored: str = ""
    problems: list[str] = field(default_factory=list)
    items: list[Measured] = field(default_factory=list)
    duration_s: float = 0.0

    def estimates(self) -> Iterator[tuple[str, int, Mapping[str, Estimate]]]:
        """Each group with the number of its questions, and each of its figures with its interval."""
        for group, names in self.metrics.items():
            items = [item for item in self.items if item.group == group]
            if items:
                yield (
                    group,
                    len(items),
                    {name: estimate([item.values[place] for item in items]) for place, name in enumerate(names)},
                )

    def to_json(self) -> dict[str, Any]:
        """All of it as a JSON object."""
        return {
            "stored": self.stored,
            "problems": self.problems,
            "groups": {
                group: {"questions": count, **{name: figure._asdict() for name, figure in figures.items()}}
                for group, count, figures in self.estimates()
            },
            "duration_s": round(self.duration_s, 3),
            "items": [
                {"id": item.id, "group": item.group, "found": item.found}
                | dict(zip(self.metrics[item.group], item.values, strict=True))
                for item in self.items
            ],
        }


def read_memory_file(path: Path) -> list[tuple[Talk, list[MemoryQuestion]]]:
    """Each conversation with its questions.

    Raises:
        SourceUnreadable: It cannot be read.
        InputInvalid: A line is not of the format, with its number.
    """
    found: list[tuple[Talk, list[MemoryQuestion]]] = []
    for number, row in read_json_lines(path):
        if isinstance(row, dict) and "conversation" in row:
            found.append((_line(Talk, path, number, row), []))
            continue
        question = _line(MemoryQuestion, path, number, row)
        if not found:
            raise InputInvalid(f"{path.name}, line {number} is a question before any conversation.")
        unknown = set(question.evidence) - {turn.id for turn in found[-1][0].conversation}
        if unknown:
            raise InputInvalid(f"{path.name}, line {number}: no turn has the id {min(unknown)[:60]!r}.")
        found[-1][1].append(question)
    if not any(questions for _, questions in found):
        raise InputInvalid(f"{path.name} has no question;", hint="see the format of `datamind eval memory --help`.")
    return found


def read_graph_file(path: Path) -> tuple[list[Path], list[GraphQuestion]]:
    """The files to store, and the questions.

    Raises:
        SourceUnreadable: It cannot be read.
        InputInvalid: A line is not of the format, with its number.
    """
    rows = list(read_json_lines(path))
    if len(rows) < 2:
        raise InputInvalid(f"{path.name} has no question;", hint="see the format of `datamind eval graph --help`.")
    corpus = _line(GraphCorpus, path, *rows[0])
    files = [path.parent / name for name in corpus.ingest]
    for place in files:
        if not place.exists():
            raise InputInvalid(f"{path.name} names {str(place)!r}, which does not exist.")
    return files, [_line(GraphQuestion, path, number, row) for number, row in rows[1:]]


def _line(form: type[_Line], path: Path, number: int, row: Any) -> _Line:
    try:
        return form.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputInvalid(f"{path.name}, line {number}: {place} {first['msg']}".replace("  ", " ")) from None


async def evaluate_memory(
    system: DataMind, given: Sequence[tuple[Talk, Sequence[MemoryQuestion]]], progress: Progress
) -> SurfaceReport:
    """Remember every turn in a session of its conversation, and recall it for every question."""
    started = time.monotonic()
    kinds = dict.fromkeys(question.kind for _, questions in given for question in questions if question.kind)
    report = SurfaceReport(dict.fromkeys([*kinds, "all"], MEMORY_METRICS))
    turns_of: list[dict[str, list[str]]] = []
    for number, (talk, _) in enumerate(given, 1):
        turns_of.append(await _remember(system, talk, f"talk-{number}", progress))
    turns_said = sum(len(talk.conversation) for talk, _ in given)
    report.stored = f"{count_of(turns_said, 'turn')} of {count_of(len(given), 'conversation')}"
    if system.settings.retrieval.strategy != "lexical":
        await system.drain(progress=lambda done, what: progress(f"{done} {what} embedded"))
    for number, ((_, questions), turns) in enumerate(zip(given, turns_of, strict=True), 1):
        for question in questions:
            progress(f"recalling: {question.question}")
            measured = await _recalled(system, question, f"talk-{number}", turns)
            report.items += [measured, replace(measured, group=question.kind)] if question.kind else [measured]
    report.duration_s = time.monotonic() - started
    return report


async def _remember(system: DataMind, talk: Talk, session: str, progress: Progress) -> dict[str, list[str]]:
    """Store a conversation; returns which turns each memory is of."""
    turns: dict[str, list[str]] = {}
    for place, turn in enumerate(talk.conversation, 1):
        progress(f"{session}: {place} of {len(talk.conversation)} turns")
        said = f" ({turn.said_at})" if turn.said_at else ""
        text = f"{turn.speaker}{said}: {turn.text}" if turn.speaker else turn.text
        arguments = {"text": text[:_TEXT_CHARS], "kind": "fact", "scope": "session"}
        outcome = await system.call("memory_save", arguments, role=Role.STORE, session=session)
        _raise_error(outcome)
        turns.setdefault(outcome.receipts[0].result.ids[0], []).append(turn.id)
    return turns


async def _recalled(
    system: DataMind, question: MemoryQuestion, session: str, turns: Mapping[str, Sequence[str]]
) -> Measured:
    arguments = {"query": question.question[:_QUERY_CHARS], "top_k": _DEPTH}
    outcome = await system.call("memory_recall", arguments, role=Role.RETRIEVE, session=session)
    _raise_error(outcome)
    ids = [item.locator.memory_id for item in outcome.evidence if item.locator.type == "memory"]
    # Equal words of two turns are one memory, and stand for both.
    found = tuple(turn for one in ids for turn in turns.get(one, ()))
    wanted = set(question.evidence)
    values = (recall(found, wanted, 5), recall(found, wanted, _DEPTH), reciprocal_rank(found, wanted, _DEPTH))
    return Measured(question.id, "all", found, values)


async def evaluate_graph(
    system: DataMind, files: Sequence[Path], questions: Sequence[GraphQuestion], progress: Progress
) -> SurfaceReport:
    """Store the files, then walk from entities and search for them as the questions say."""
    started = time.monotonic()
    report = SurfaceReport({"neighbours": WALK_METRICS, "search": SEARCH_METRICS})
    progress("storing")
    stored = await system.ingest([path.resolve() for path in files])
    report.problems += [
        f"{receipt.source.uri if receipt.source else receipt.tool}: {receipt.result.error.message}"
        for receipt in stored.receipts
        if receipt.result.error
    ]
    report.stored = count_of(sum(receipt.result.items_written for receipt in stored.receipts), "statement")
    for question in questions:
        progress(question.entity or question.search)
        report.items.append(await (_walked(system, question) if question.entity else _searched(system, question)))
    report.duration_s = time.monotonic() - started
    return report


async def _walked(system: DataMind, question: GraphQuestion) -> Measured:
    arguments: dict[str, Any] = {"start": [question.entity], "hops": question.hops, "limit": 200, "fan_out": 200}
    if question.relations:
        arguments["predicates"] = question.relations
    outcome = await system.call("graph_traverse", arguments, role=Role.RETRIEVE)
    if outcome.code.partition(".")[0] != "not_found":
        _raise_error(outcome)
    start = _folded(question.entity)
    nodes = {_name(term) for item in outcome.evidence if item.locator.type == "triple" for term in _ends(item.locator)}
    found, wanted = nodes - {start}, {_folded(name) for name in question.expected}
    hits = len(found & wanted)
    values = (hits / len(found) if found else 0.0, hits / len(wanted))
    return Measured(question.id, "neighbours", tuple(sorted(found)), values)


async def _searched(system: DataMind, question: GraphQuestion) -> Measured:
    arguments = {"query": question.search, "limit": _DEPTH}
    outcome = await system.call("graph_search_entities", arguments, role=Role.RETRIEVE)
    _raise_error(outcome)
    found = tuple(_folded(row["name"]) for row in outcome.data["entities"])
    wanted = {_folded(name) for name in question.expected}
    values = (recall(found, wanted, 1), recall(found, wanted, _DEPTH), reciprocal_rank(found, wanted, _DEPTH))
    return Measured(question.id, "search", found, values)


def _ends(locator: Any) -> tuple[str, str]:
    return locator.subject, locator.object


def _name(term: str) -> str:
    """The name of a node, or the words of a literal, out of its N-Triples form."""
    from datamind.capabilities.graph.terms import name_of
    from datamind.core.protocols.graph import Term

    if term.startswith("<"):
        return _folded(name_of(Term(term.strip("<>"))))
    return _folded(term[1:].rpartition('"')[0] if term.startswith('"') else term)


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _raise_error(outcome: ToolOutcome) -> None:
    if outcome.is_error:
        raise error_of(outcome.code, outcome.message)
