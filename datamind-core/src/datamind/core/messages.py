"""Provider-neutral conversation: what a model client receives and returns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from datamind.core.record import Record
from datamind.core.types import new_id


class Usage(Record):
    """Tokens and cost of one or more model calls.

    Attributes:
        estimated: True when a gateway left the counts out and they were computed from the text.
        cost_usd: None when the price of the model is not known; never a guess.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        costs = [usage.cost_usd for usage in (self, other) if usage != Usage()]
        known = [cost for cost in costs if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            estimated=self.estimated or other.estimated,
            cost_usd=sum(known) if known and len(known) == len(costs) else None,
        )


class ToolCall(Record):
    """One call a model asks for.

    Attributes:
        id: Unique within the run; minted by the client when the wire's own id is empty or repeated.
        arguments: JSON text exactly as it arrived. Only the gate parses it.
    """

    id: str
    name: str
    arguments: str = "{}"

    @classmethod
    def of(cls, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """A call made by the application instead of a model."""
        return cls(id=new_id("call"), name=name, arguments=json.dumps(dict(arguments), ensure_ascii=True))


class TextBlock(Record):
    """Text of a user or an assistant; never empty on the wire."""

    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(Record):
    """A provider's own reasoning block, kept byte-exact within a turn and dropped for another provider."""

    type: Literal["thinking"] = "thinking"
    provider: str
    payload: dict[str, Any]


class MediaBlock(Record):
    """An image or a PDF given by the user."""

    type: Literal["media"] = "media"
    media_type: str
    data: bytes


class ToolCallBlock(Record):
    """The assistant asks for a tool."""

    type: Literal["tool_call"] = "tool_call"
    call: ToolCall


class ToolResultBlock(Record):
    """The answer to exactly one call of the message before."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    name: str
    content: str
    is_error: bool = False


Block = Annotated[TextBlock | ThinkingBlock | MediaBlock | ToolCallBlock | ToolResultBlock, Field(discriminator="type")]


class Message(Record):
    """One turn of one party. ``tool`` messages hold only results, one for each call of the message before."""

    role: Literal["user", "assistant", "tool"]
    blocks: tuple[Block, ...]

    @classmethod
    def user(cls, text: str) -> Message:
        """A user's words."""
        return cls(role="user", blocks=(TextBlock(text=text),))

    @classmethod
    def assistant(cls, text: str = "", calls: tuple[ToolCall, ...] = ()) -> Message:
        """An assistant's words, then its calls; empty text is left out."""
        words = (TextBlock(text=text),) if text else ()
        return cls(role="assistant", blocks=(*words, *(ToolCallBlock(call=call) for call in calls)))

    @property
    def text(self) -> str:
        """All text of the message, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of an assistant message, in order."""
        return tuple(block.call for block in self.blocks if isinstance(block, ToolCallBlock))

    @property
    def results(self) -> tuple[ToolResultBlock, ...]:
        """The results of a tool message, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolResultBlock))


class ToolDefinition(Record):
    """What a model is told of a tool."""

    name: str
    description: str
    input_schema: dict[str, Any]


class SurfaceStatus(Record):
    """Whether a surface is on and holds anything; planning information that never goes on the wire.

    Attributes:
        note: Why the surface is off, or an empty string.
    """

    surface: str
    available: bool
    items: int = 0
    note: str = ""


class ModelRequest(Record):
    """One model call.

    Attributes:
        system: Byte-stable across the turns of a run: no clock, no ids.
        surfaces: For planners that run inside the process; a wire client must not send it.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int = 4096
    temperature: float | None = None
    timeout_s: float = 60.0
    surfaces: tuple[SurfaceStatus, ...] = ()


ModelStop = Literal["end_turn", "tool_calls", "max_tokens", "refusal"]


class ModelReply(Record):
    """A complete reply: the stream ended with its stop event."""

    message: Message
    stop_reason: ModelStop
    usage: Usage = Usage()
    model: str = ""


class TextDelta(Record):
    """More of the answer's text."""

    type: Literal["text"] = "text"
    delta: str


class ThinkingDelta(Record):
    """More of the reasoning a provider shows."""

    type: Literal["thinking"] = "thinking"
    delta: str


class ResetDelta(Record):
    """Text sent so far in this reply is withdrawn; the client is trying again."""

    type: Literal["reset"] = "reset"
    reason: str


class ReplyDone(Record):
    """Always last, exactly once, in a stream that did not raise."""

    type: Literal["done"] = "done"
    reply: ModelReply


ModelDelta = TextDelta | ThinkingDelta | ResetDelta | ReplyDone
