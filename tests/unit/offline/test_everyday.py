"""Everyday questions over invented documents and memories, asked of a whole system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datamind.capabilities.text.normalize import contains_normalized
from datamind.core.evidence import InferenceResult
from datamind.core.types import Role
from tests.support.systems import open_system

DATA = Path(__file__).parent / "data"

# Shares that hold, of answers with a right source and of silence where nothing is known.
LEAST = {
    "office": (0.96, 0.86),
    "house": (0.96, 0.93),
    "club": (0.92, 0.78),
    "trip": (0.92, 0.86),
    "service": (0.88, 0.80),
    "season": (0.90, 0.79),
}


def is_right(question: dict, result: InferenceResult) -> bool:
    if question["answers"] is None:
        return not result.citations
    cited = {citation.evidence_id for citation in result.citations}
    sources = [s for e in result.evidence if e.evidence_id in cited for s in (e.source.uri, e.content)]
    is_cited = any(source.endswith(wanted) for source in sources for wanted in question["sources"])
    return is_cited and any(contains_normalized(result.answer, answer) for answer in question["answers"])


@pytest.mark.parametrize("name", LEAST)
async def test_everyday_questions(tmp_path, name):
    _, *questions = map(json.loads, (DATA / name / "questions.jsonl").read_text("utf-8").splitlines())
    wrong: dict[bool, list[str]] = {True: [], False: []}
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        await system.ingest(DATA / name / "documents")
        for memory in map(json.loads, (DATA / name / "memory.jsonl").read_text("utf-8").splitlines()):
            arguments = {**memory, "valid_from": memory["said_at"]}
            del arguments["said_at"]
            assert not (await system.call("memory_save", arguments, role=Role.STORE)).is_error
        for question in questions:
            result = await system.query(question["question"])
            assert not result.claims.unsupported
            if not is_right(question, result):
                wrong[question["answers"] is not None].append(f"{question['question']} -> {result.answer}")
    for known, least in zip((True, False), LEAST[name], strict=True):
        total = sum((question["answers"] is not None) is known for question in questions)
        assert 1 - len(wrong[known]) / total >= least, "\n".join(wrong[known])
