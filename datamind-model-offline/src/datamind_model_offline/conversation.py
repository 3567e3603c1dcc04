"""What a request holds, read back into a question, the calls made for it and what they returned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from datamind.core.messages import Message, ModelRequest, SurfaceStatus, TextBlock, ToolDefinition, ToolResultBlock
from datamind_model_offline.passages import Found

_ID_PREFIX: Final = "offline_"


@dataclass(frozen=True, slots=True)
class Step:
    """One call of this run and its result; a result is data, whatever it says.

    Attributes:
        data: What the result holds beside its rows.
        error: Code and message, both empty when the call went well.
    """

    name: str
    arguments: Mapping[str, Any]
    found: tuple[Found, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    error: tuple[str, str] = ("", "")

    @property
    def failed(self) -> bool:
        """Whether it returned an error."""
        return self.error != ("", "")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request as the planners see it.

    Attributes:
        text: What the user said last.
        earlier: What the user said before, oldest first.
        rounds: Steps of this run, one tuple for each reply that asked for tools.
        tools: Callable now, by name.
        next_id: Call ids from here on are new to the conversation.
    """

    text: str
    earlier: tuple[str, ...]
    rounds: tuple[tuple[Step, ...], ...]
    tools: Mapping[str, ToolDefinition]
    surfaces: Mapping[str, SurfaceStatus]
    next_id: int = 1

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of this run, in order."""
        return tuple(step for steps in self.rounds for step in steps)

    def has(self, tool: str) -> bool:
        """Whether the tool may be called."""
        return tool in self.tools

    def holds(self, surface: str) -> bool:
        """Whether the surface is on and not known to be empty."""
        status = self.surfaces.get(surface)
        return status is None or (status.available and status.items > 0)


def read_request(request: ModelRequest) -> Conversation:
    """Take a request apart."""
    messages = request.messages
    start = _question_at(messages)
    question = _words(messages[start]) if start >= 0 else ""
    earlier = tuple(_words(messages[i]) for i in range(max(start, 0)) if _is_question(messages, i))
    return Conversation(
        text=question,
        earlier=tuple(text for text in earlier if text),
        rounds=tuple(_rounds(messages[start + 1 :])),
        tools={tool.name: tool for tool in request.tools},
        surfaces={status.surface: status for status in request.surfaces},
        next_id=_next_id(messages),
    )


def call_id(number: int) -> str:
    """The id of the call with this number."""
    return f"{_ID_PREFIX}{number}"


def _is_question(messages: Sequence[Message], i: int) -> bool:
    # A loop that has run out of budget adds a user message behind the results: an instruction, not a question.
    return messages[i].role == "user" and (i == 0 or messages[i - 1].role != "tool")


def _question_at(messages: Sequence[Message]) -> int:
    return next((i for i in reversed(range(len(messages))) if _is_question(messages, i)), -1)


def _words(message: Message) -> str:
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock)).strip()


def _rounds(messages: Sequence[Message]) -> list[tuple[Step, ...]]:
    results = {block.call_id: block for message in messages for block in message.results}
    return [
        tuple(_step(call.name, call.arguments, results.get(call.id)) for call in message.calls)
        for message in messages
        if message.calls
    ]


def _step(name: str, arguments: str, block: ToolResultBlock | None) -> Step:
    given = _object(arguments)
    if block is None:
        return Step(name, given, error=("no_result", ""))
    body = _object(block.content)
    error = body.get("error")
    if block.is_error or error:
        told = error if isinstance(error, dict) else {}
        return Step(name, given, error=(str(told.get("code", "error")), str(told.get("message", ""))))
    rows = body.pop("results", None)
    found = _found(rows if isinstance(rows, list) else [])
    if name == "skill_get" and body.get("description"):
        # What a skill is for is the heading of its steps.
        found = [replace(item, note=str(body["description"])) for item in found]
    return Step(name, given, tuple(found), body)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _found(rows: Sequence[Any]) -> list[Found]:
    """Rows that can be cited; the share of each is measured against the best score of the call."""
    usable = [row for row in rows if isinstance(row, dict) and isinstance(row.get("cite"), int)]
    scores = [_score(row) for row in usable]
    best = max(scores, default=0.0)
    return [
        Found(
            cite=row["cite"],
            content=str(row.get("content", "")),
            surface=str(row.get("surface", "")),
            source=str(row.get("source", "")),
            note=str(row.get("note", "")),
            rank=rank,
            share=score / best if best > 0 else 1.0 / (1 + rank),
        )
        for rank, (row, score) in enumerate(zip(usable, scores, strict=True))
    ]


def _score(row: Mapping[str, Any]) -> float:
    score = row.get("score")
    return float(score) if isinstance(score, int | float) else 0.0


def _next_id(messages: Sequence[Message]) -> int:
    numbers = [
        int(number)
        for message in messages
        for call in message.calls
        if (number := call.id.removeprefix(_ID_PREFIX)).isdigit() and call.id.startswith(_ID_PREFIX)
    ]
    return max(numbers, default=0) + 1
