"""What the demo stores and asks, and what must come out."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datamind_cli.evaluation.judge import reason_wrong
from datamind_cli.evaluation.questions import Question

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.capabilities.control.trace import Trace
    from datamind.core.evidence import InferenceResult
    from datamind.core.receipts import IngestReceipt, StoreResult

STATEMENTS: Final = (
    "Remember that I live in Oslo.",
    "Remember that I prefer window seats on the ferry.",
    "记住，我对花生过敏。",
    "记住，云杉的端口是8090。",
    "The autumn timetable of Larkspur Ferries starts on 14 September. The last boat to Skarv leaves at 21:40.",
)
CHANGE: Final = "Remember that I moved to Bergen."
"""Said after the statements: it ends the first one, which stays in the history."""

DOCUMENTS: Final = ("handbook.md", "duty-zh.md")
SKILL: Final = "refund-a-ticket"

QUESTIONS: Final = (
    Question("home", "Where do I live?", ("Bergen",), ("I moved to Bergen.",)),
    Question("seat", "Which seats do I prefer on the ferry?", ("window seats",), (STATEMENTS[1],)),
    Question("allergy", "我对什么过敏？", ("花生",), ("我对花生过敏。",)),
    Question("port", "云杉的端口是多少？", ("8090",), ("云杉的端口是8090。",)),
    Question("leave", "How many days of paid leave does the crew get?", ("27",), ("handbook.md",)),
    Question("price", "What does a return ticket to Skarv cost?", ("184 crowns",), ("handbook.md",)),
    Question("boat", "When does the last boat to Skarv leave?", ("21:40",), (STATEMENTS[4],)),
    Question("phone", "夜间值班电话是多少？", ("6620-4417",), ("duty-zh.md",)),
    Question("refund", "How do I refund a ticket for a missed crossing?", ("60 percent",), (SKILL,)),
    Question("nothing", "Who painted the lighthouse of Tarvik?", None, ()),
)


@dataclass
class Story:
    """Everything that happened.

    Attributes:
        problems: What should have come out and did not.
    """

    stored: list[tuple[str, StoreResult]] = field(default_factory=list)
    asked: list[tuple[Question, InferenceResult]] = field(default_factory=list)
    receipts: list[IngestReceipt] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    trace: Trace | None = None
    duration_s: float = 0.0


async def tell(system: DataMind) -> Story:
    """Store, ask, trace; nothing is raised for an outcome that is not the right one."""
    story, started = Story(), time.monotonic()
    for text in STATEMENTS:
        story.stored.append((text, await system.ingest(text)))
    for path in _place_documents(system.profile.data_dir):
        story.stored.append((path.name, await system.ingest(path)))
    await _store_skill(system, story)
    story.stored.append((CHANGE, await system.ingest(CHANGE)))
    await system.drain()
    story.problems += _problems_of_writes(story)
    for question in QUESTIONS:
        result = await system.query(question.question)
        story.asked.append((question, result))
        if reason := reason_wrong(question, result):
            story.problems.append(f"{question.question} {reason}")
    await _trace(system, story)
    story.receipts = list(await system.receipts.latest(limit=50))
    story.duration_s = time.monotonic() - started
    return story


def _place_documents(folder: Path) -> Iterator[Path]:
    for name in DOCUMENTS:
        with as_file(files("datamind_cli") / "demo_files" / name) as source:
            yield Path(shutil.copyfile(source, folder / name))


async def _store_skill(system: DataMind, story: Story) -> None:
    from datamind.core.types import Role

    with as_file(files("datamind_cli") / "demo_files" / SKILL) as source:
        text = (source / "SKILL.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    description = front.partition("description: ")[2].partition("\n")[0]
    draft = {"name": SKILL, "description": description, "body": body}
    outcome = await system.call("skill_upsert", draft, role=Role.STORE)
    if outcome.is_error:
        story.problems.append(f"the skill {SKILL} is not stored: {outcome.message}")


def _problems_of_writes(story: Story) -> Iterator[str]:
    for text, result in story.stored:
        if result.status != "stored":
            yield f"{text!r} is {result.status}"
    change = story.stored[-1][1]
    if not any(receipt.result.closed_ids for receipt in change.receipts):
        yield f"{CHANGE!r} did not end what was said before"


async def _trace(system: DataMind, story: Story) -> None:
    cited = next((result for _, result in story.asked if result.citations), None)
    if cited is None:
        story.problems.append("no answer cites anything, so there is nothing to trace")
        return
    story.trace = await system.trace(cited.trace_id)
    for name in ("evidence", "sources", "receipts", "audit"):
        if not getattr(story.trace, name):
            story.problems.append(f"the trace of {cited.trace_id} has no {name}")
