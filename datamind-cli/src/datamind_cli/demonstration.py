"""What the demo stores and asks, and what must come out: the invented company of ``enterprise``."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datamind.core.types import DataSurface
from datamind_cli.evaluation.corpus import Corpus, plan_corpus, remember_words
from datamind_cli.evaluation.judge import reason_wrong
from datamind_cli.evaluation.questions import Question, read_qa_file
from datamind_cli.records import source_label

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.capabilities.control.trace import Trace
    from datamind.core.evidence import InferenceResult
    from datamind.core.receipts import IngestReceipt, StoreResult

EXAMPLE: Final = "enterprise"
QUESTIONS: Final = "questions.jsonl"
_NOT_STORED: Final = ("make.py", "README.md")
_GOOD: Final = frozenset({"stored", "unchanged"})

Progress = Callable[[str], None]


@dataclass
class Story:
    """Everything that happened.

    Attributes:
        skipped: Questions about what nothing installed can store, with the reason.
        problems: What should have come out and did not.
    """

    stored: list[tuple[str, StoreResult]] = field(default_factory=list)
    asked: list[tuple[Question, InferenceResult]] = field(default_factory=list)
    skipped: list[tuple[Question, str]] = field(default_factory=list)
    receipts: list[IngestReceipt] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    trace: Trace | None = None
    duration_s: float = 0.0


async def tell(system: DataMind, progress: Progress = lambda _: None) -> Story:
    """Store, ask, trace; nothing is raised for an outcome that is not the right one."""
    story, started = Story(), time.monotonic()
    example = _placed(system.profile.data_dir)
    questions = read_qa_file(example / QUESTIONS).questions
    missing = await _store(system, example, story, progress)
    await system.drain(progress=lambda done, what: progress(f"{done} {what} embedded"))
    for number, question in enumerate(questions, 1):
        progress(f"{number} of {len(questions)}: {question.question}")
        if reason := _why_skipped(question, system.services.off, missing):
            story.skipped.append((question, reason))
        else:
            await _ask(system, question, story)
    await _trace(system, story)
    story.receipts = list(await system.receipts.latest(limit=50))
    story.duration_s = time.monotonic() - started
    return story


def _placed(folder: Path) -> Path:
    """The example's files in the profile's own folder."""
    target = folder / EXAMPLE
    with as_file(files("datamind_cli") / EXAMPLE) as source:
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_NOT_STORED))
    return target


async def _store(system: DataMind, example: Path, story: Story, progress: Progress) -> list[str]:
    """Store what the example has; returns the names of files that nothing installed takes."""
    from datamind.core.types import Role

    corpus = plan_corpus(read_qa_file(example / QUESTIONS).ingest, frozenset(system.registry(Role.STORE)))
    for path in corpus.paths:
        progress(f"storing {path.name}")
        story.stored.append((path.name, await system.ingest(path)))
    if DataSurface.MEMORY not in system.services.off:
        await _remember(system, corpus, story)
    missing = [problem.partition(" is skipped")[0] for problem in corpus.problems]
    return missing + list(_failed(story))


async def _remember(system: DataMind, corpus: Corpus, story: Story) -> None:
    for row in corpus.memories:
        result = await system.ingest(remember_words(row))
        story.stored.append((row["text"], result))
        if result.status not in _GOOD:
            story.problems.append(f"{row['text']!r} is {result.status}")


def _failed(story: Story) -> list[str]:
    """File names that have no loader; any other failure is a problem."""
    names = []
    for _, result in story.stored:
        for receipt in result.receipts:
            name = source_label(receipt.source).rpartition("/")[2] or receipt.tool
            error = receipt.result.error
            if error and error.code.startswith(("surface_unavailable", "source_unreadable.no_loader")):
                names.append(name)
            elif receipt.status not in _GOOD:
                story.problems.append(f"{name} is {receipt.status}")
    return names


def _why_skipped(question: Question, off: Mapping[DataSurface, str], missing: Sequence[str]) -> str:
    needed = set(DataSurface) if question.kind == "several" else {question.kind}
    if without := [surface.value for surface in off if surface.value in needed or surface in needed]:
        return f"{', '.join(without)} is off"
    if question.sources and all(any(source in name for name in missing) for source in question.sources):
        return f"{', '.join(question.sources)} could not be read with what is installed"
    return ""


async def _ask(system: DataMind, question: Question, story: Story) -> None:
    result = await system.query(question.question)
    story.asked.append((question, result))
    if reason := reason_wrong(question, result):
        story.problems.append(f"{question.question} {reason}")


async def _trace(system: DataMind, story: Story) -> None:
    cited = next((result for _, result in story.asked if result.citations), None)
    if cited is None:
        story.problems.append("no answer cites anything, so there is nothing to trace")
        return
    story.trace = await system.trace(cited.trace_id)
    for name in ("evidence", "sources", "receipts", "audit"):
        if not getattr(story.trace, name):
            story.problems.append(f"the trace of {cited.trace_id} has no {name}")
