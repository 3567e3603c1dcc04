"""Requests as the loop makes them, and a loop over tools that answer from a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datamind.core.messages import Message, ModelReply, ModelRequest, SurfaceStatus, ToolCall, ToolDefinition
from datamind.core.messages import ToolResultBlock as Result
from datamind_model_offline.client import OfflineModelClient

READS = (
    "memory_recall", "memory_list", "memory_history", "kb_search", "kb_get", "kb_list_documents", "kb_count",
    "skill_search", "skill_get", "skill_list", "calculator", "unit_convert", "get_current_time", "analyze_text",
)  # fmt: skip
WRITES = (
    "memory_save", "memory_update", "memory_forget", "kb_add_text", "kb_add_file", "kb_add_path", "kb_delete",
    "skill_upsert", "skill_delete",
)  # fmt: skip
SURFACES = ("memory", "kb", "skills")

Answer = Mapping[str, Any] | str
Tools = Mapping[str, Answer | Callable[[Mapping[str, Any]], Answer]]


def definitions(names: Sequence[str]) -> tuple[ToolDefinition, ...]:
    """Tools whose schemas know any argument."""
    return tuple(ToolDefinition(name=name, description="", input_schema={"type": "object"}) for name in names)


def request(
    *messages: Message, tools: Sequence[str] = READS, holds: Sequence[str] = SURFACES, system: str = "s"
) -> ModelRequest:
    """A request in which the surfaces of ``holds`` hold something and the others are empty."""
    statuses = [SurfaceStatus(surface=name, available=True, items=int(name in holds)) for name in SURFACES]
    return ModelRequest(system=system, messages=messages, tools=definitions(tools), surfaces=tuple(statuses))


def row(cite: int, content: str, surface: str = "kb", **more: Any) -> dict[str, Any]:
    """One result as a tool tells it."""
    return {"cite": cite, "content": content, "surface": surface, "source": f"file:{cite}.md", **more}


def found(*rows: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """What a reading tool returns."""
    return {"found": len(rows), "results": list(rows), **facts}


def failed(code: str, message: str) -> dict[str, Any]:
    """What a failed call returns."""
    return {"error": {"code": code, "message": message}}


@dataclass
class Run:
    """A finished run."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.calls]

    def arguments(self, position: int = 0) -> dict[str, Any]:
        return dict(json.loads(self.calls[position].arguments))


async def run(
    text: str,
    answers: Tools | None = None,
    *,
    tools: Sequence[str] = READS,
    holds: Sequence[str] = SURFACES,
    earlier: Sequence[Message] = (),
    limit: int = 12,
) -> Run:
    """Ask the client until it has a final text; fails if that takes more than ``limit`` replies."""
    client = OfflineModelClient()
    done = Run(messages=[*earlier, Message.user(text)])
    for _ in range(limit):
        reply: ModelReply = await client.complete(request(*done.messages, tools=tools, holds=holds))
        done.messages.append(reply.message)
        if not reply.message.calls:
            done.text = reply.message.text
            return done
        done.calls += reply.message.calls
        done.messages.append(
            Message(role="tool", blocks=tuple(_result(call, answers or {}) for call in reply.message.calls))
        )
    raise AssertionError(f"no final text after {limit} replies: {done.names}")


def _result(call: ToolCall, answers: Tools) -> Result:
    answer = answers.get(call.name, {"found": 0})
    if callable(answer):
        answer = answer(json.loads(call.arguments))
    content = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    is_error = not isinstance(answer, str) and "error" in answer
    return Result(call_id=call.id, name=call.name, content=content, is_error=is_error)
