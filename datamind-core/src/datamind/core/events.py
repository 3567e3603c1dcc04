"""What a run streams: the same events in the same order from every loop."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from datamind.core.evidence import InferenceResult
from datamind.core.messages import Usage
from datamind.core.receipts import StoreResult
from datamind.core.record import Record


class TextEvent(Record):
    """More of the answer."""

    type: Literal["text"] = "text"
    delta: str


class ThinkingEvent(Record):
    """More of what the model shows of its reasoning."""

    type: Literal["thinking"] = "thinking"
    delta: str


class ResetEvent(Record):
    """Text of the present reply so far is withdrawn."""

    type: Literal["reset"] = "reset"
    reason: str


class ToolUseEvent(Record):
    """A call is about to go to the gate."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: dict[str, Any]


class ToolResultEvent(Record):
    """A call has ended; ``preview`` is at most 400 characters."""

    type: Literal["tool_result"] = "tool_result"
    id: str
    name: str
    is_error: bool
    preview: str


class ProgressEvent(Record):
    """How far a long write is."""

    type: Literal["progress"] = "progress"
    done: int
    total: int
    label: str = ""


class ErrorEvent(Record):
    """The run failed; nothing follows."""

    type: Literal["error"] = "error"
    code: str
    message: str


class DoneEvent(Record):
    """The run ended with a result; nothing follows."""

    type: Literal["done"] = "done"
    iterations: int
    stop_reason: str
    usage: Usage
    result: InferenceResult | StoreResult


AgentEvent = Annotated[
    TextEvent | ThinkingEvent | ResetEvent | ToolUseEvent | ToolResultEvent | ProgressEvent | ErrorEvent | DoneEvent,
    Field(discriminator="type"),
]
