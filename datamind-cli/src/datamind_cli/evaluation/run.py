"""Storing, asking and judging, and the figures that come of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from datamind.core.errors import DataMindError
from datamind_cli.evaluation.corpus import SESSION, plan_corpus, store_corpus
from datamind_cli.evaluation.judge import cited_evidence, reason_wrong
from datamind_cli.records import source_label

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind_cli.evaluation.questions import QaFile, Question


@dataclass(frozen=True)
class Judged:
    """One question with its answer.

    Attributes:
        reason: Why it is wrong; empty when it is right.
        cited: Sources that the answer cites.
    """

    id: str
    question: str
    lang: str
    kind: str
    answer: str
    cited: tuple[str, ...]
    reason: str
    duration_s: float

    @property
    def is_right(self) -> bool:
        """Whether the answer is right."""
        return not self.reason


@dataclass
class Report:
    """What an evaluation found.

    Attributes:
        problems: What could not be stored; the questions about it count as wrong.
    """

    model: str
    extractive: bool
    problems: list[str]
    items: list[Judged] = field(default_factory=list)
    duration_s: float = 0.0

    @property
    def right(self) -> int:
        """How many answers are right."""
        return sum(item.is_right for item in self.items)

    @property
    def is_perfect(self) -> bool:
        """Whether every answer is right and everything was stored."""
        return self.right == len(self.items) and not self.problems

    def by(self, attribute: str) -> dict[str, tuple[int, int]]:
        """Right and all answers for each language or kind, by name."""
        groups: dict[str, tuple[int, int]] = {}
        for item in self.items:
            name = getattr(item, attribute) or "other"
            right, total = groups.get(name, (0, 0))
            groups[name] = (right + item.is_right, total + 1)
        return dict(sorted(groups.items()))

    def to_json(self) -> dict[str, Any]:
        """All of it as a JSON object."""
        return {
            "right": self.right,
            "total": len(self.items),
            "by_lang": _shares(self.by("lang")),
            "by_kind": _shares(self.by("kind")),
            "model": self.model,
            "extractive": self.extractive,
            "problems": self.problems,
            "duration_s": round(self.duration_s, 3),
            "items": [{**asdict(item), "right": item.is_right} for item in self.items],
        }


async def evaluate(system: DataMind, qa: QaFile, progress: Callable[[str], None]) -> Report:
    """Store the corpus, ask every question, judge every answer."""
    from datamind.core.types import Role

    started = time.monotonic()
    progress("storing")
    entries = [path.resolve() for path in qa.ingest]
    corpus = plan_corpus(entries, frozenset(system.registry(Role.STORE)))
    problems = await store_corpus(system, corpus)
    drain = await system.drain(progress=lambda done, what: progress(f"{done} {what} embedded"))
    if drain.remaining:
        problems.append(f"{drain.remaining} texts have no vector: {drain.notice.message if drain.notice else ''}")
    session = SESSION if corpus.has_session_memories else ""
    report = Report(system.model_name, system.extractive, problems)
    for number, question in enumerate(qa.questions, 1):
        progress(f"{number} of {len(qa.questions)}, {report.right} right: {question.question}")
        report.items.append(await _judged(system, question, session))
    report.duration_s = time.monotonic() - started
    return report


async def _judged(system: DataMind, question: Question, session: str) -> Judged:
    about = (question.id, question.question, question.lang, question.kind)
    started = time.monotonic()
    try:
        result = await system.query(question.question, session=session)
    except DataMindError as error:
        return Judged(*about, "", (), f"{error.code}: {error}", time.monotonic() - started)
    cited = tuple(dict.fromkeys(source_label(item.source) for item in cited_evidence(result)))
    return Judged(*about, result.answer, cited, reason_wrong(question, result), time.monotonic() - started)


def _shares(groups: dict[str, tuple[int, int]]) -> dict[str, dict[str, int]]:
    return {name: {"right": right, "total": total} for name, (right, total) in groups.items()}


def wrong_rows(items: Iterable[Judged], shorten: Callable[[str, int], str]) -> Sequence[tuple[str, ...]]:
    """The wrong answers as rows: id, language, kind, reason, question, answer."""
    return [
        (item.id, item.lang, item.kind, item.reason, shorten(item.question, 50), shorten(item.answer, 70))
        for item in items
        if not item.is_right
    ]
