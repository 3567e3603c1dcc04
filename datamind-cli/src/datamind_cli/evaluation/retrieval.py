"""Storing passages, searching for every query, and the figures that come of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from datamind_cli.calls import written_from_path
from datamind_cli.evaluation.metrics import Estimate, estimate, ndcg, recall, reciprocal_rank

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind_cli.evaluation.beir import RetrievalSet

METRICS: Final = ("nDCG@10", "Recall@5", "Recall@10", "MRR@10")
_DEPTH: Final = 10
_PART: Final = 20_000
_QUERY_CHARS: Final = 2_000
_SOURCE: Final = "corpus"


@dataclass(frozen=True)
class Searched:
    """One query: its language, what was found for it, and how good that is, by METRICS."""

    id: str
    lang: str
    found: tuple[str, ...]
    values: tuple[float, ...]


@dataclass
class RetrievalReport:
    """What an evaluation of searches found.

    Attributes:
        problems: What could not be stored, embedded or searched for.
    """

    passages: int
    strategy: str
    vectors: str
    problems: list[str]
    items: list[Searched] = field(default_factory=list)
    duration_s: float = 0.0

    def groups(self) -> Iterator[tuple[str, Sequence[Searched]]]:
        """By language, then all of them under ``all``."""
        for lang in sorted({item.lang for item in self.items}):
            yield lang, [item for item in self.items if item.lang == lang]
        yield "all", self.items

    def estimates(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Group to metric to its mean and interval."""
        return {
            name: {metric: estimate([item.values[place] for item in items]) for place, metric in enumerate(METRICS)}
            for name, items in self.groups()
        }

    def to_json(self) -> dict[str, Any]:
        """All of it as a JSON object."""
        counts = {name: len(items) for name, items in self.groups()}
        return {
            "passages": self.passages,
            "strategy": self.strategy,
            "vectors": self.vectors,
            "problems": self.problems,
            "groups": {
                name: {"queries": counts[name], **{metric: figure._asdict() for metric, figure in figures.items()}}
                for name, figures in self.estimates().items()
            },
            "duration_s": round(self.duration_s, 3),
            "items": [
                {
                    "id": item.id,
                    "lang": item.lang,
                    "found": item.found,
                    **dict(zip(METRICS, item.values, strict=True)),
                }
                for item in self.items
            ],
        }


async def evaluate_retrieval(
    system: DataMind, given: RetrievalSet, folder: Path, progress: Callable[[str], None]
) -> RetrievalReport:
    """Store the passages by ``kb_add_chunks``, make their vectors where they are used, and search for every query.

    Args:
        system: A system over a fresh profile.
        given: What to store and to search for.
        folder: A place for files of chunks.
        progress: Shows how far it is.

    Raises:
        DataMindError: The passages cannot be stored.
    """
    from datamind.capabilities.text.language import detect_language

    started = time.monotonic()
    names = list(given.passages)
    problems = [problem async for problem in _stored(system, given, folder, progress)]
    strategy = system.settings.retrieval.strategy
    if strategy != "lexical":
        drain = await system.drain(progress=lambda done, what: progress(f"{done} {what} embedded"))
        if drain.remaining:
            problems.append(
                f"{drain.remaining} passages have no vector: {drain.notice.message if drain.notice else ''}"
            )
    share = await system.services.read.kb.vector_share()
    vectors = f"{share.counts.embedded} of {share.counts.chunks}"
    report = RetrievalReport(len(names), strategy, vectors, problems)
    for number, (name, text) in enumerate(given.queries.items(), 1):
        progress(f"{number} of {len(given.queries)} queries")
        found = await _found(system, name, text, names, problems)
        report.items.append(Searched(name, detect_language(text), found, _values(found, given.gains[name])))
    report.duration_s = time.monotonic() - started
    return report


async def _stored(system: DataMind, given: RetrievalSet, folder: Path, progress: Callable[[str], None]) -> Any:
    rows = list(enumerate(given.passages.values()))
    for first in range(0, len(rows), _PART):
        progress(f"{first} of {len(rows)} passages stored")
        path = folder / f"chunks-{first}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for place, (title, text) in rows[first : first + _PART]:
                # A passage is known by its place: its own id may be anything.
                chunk = {"id": str(place), "title": title[:300], "text": text.strip() or title, "source": _SOURCE}
                file.write(json.dumps(chunk) + "\n")
        outcome = await written_from_path(system, "kb_add_chunks", str(path), {})
        for receipt in outcome.receipts:
            if receipt.result.error:
                yield f"passages are not stored: {receipt.result.error.message}"
            for row in receipt.result.detected.rejected:
                yield f"corpus.jsonl, passage {first + row.line} is not stored: {row.code}"


async def _found(system: DataMind, name: str, text: str, names: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    from datamind.core.types import Role

    arguments = {"query": text[:_QUERY_CHARS], "top_k": _DEPTH}
    outcome = await system.call("kb_search", arguments, role=Role.RETRIEVE)
    if outcome.is_error:
        problems.append(f"query {name[:60]!r} failed: {outcome.message}")
    return tuple(names[int(item.source.uri.rpartition("#")[2])] for item in outcome.evidence)


def _values(found: Sequence[str], gains: Mapping[str, int]) -> tuple[float, ...]:
    return (
        ndcg(found, gains, _DEPTH),
        recall(found, gains, 5),
        recall(found, gains, _DEPTH),
        reciprocal_rank(found, gains, _DEPTH),
    )
