"""A model that says what a test tells it to. Needs core alone."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from datamind.core.errors import AnswerInvalid, ArgumentsInvalid, ModelError, ModelStreamError
from datamind.core.messages import (
    Message,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ModelStop,
    ReplyDone,
    ResetDelta,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from datamind.core.validation import make_schema_validator

DELTA_CHARS: Final = 16


@dataclass(frozen=True)
class Turn:
    """One reply of a scripted model, and what goes wrong with it.

    Attributes:
        calls: Their ids may be empty or repeated, as on a real wire; what leaves the model has ids of its own then.
        stop_reason: None follows from ``calls``.
        withdrawn: Text that is streamed and then taken back with a ``reset``.
        pause: Awaited before the first delta.
        cut_after: Number of deltas after which the stream ends without its stop event.
        error: Raised instead of the stop event, after all deltas; or after ``cut_after`` of them.
    """

    text: str = ""
    calls: Sequence[ToolCall] = ()
    thinking: str = ""
    stop_reason: ModelStop | None = None
    usage: Usage = field(default_factory=lambda: Usage(input_tokens=10, output_tokens=5))
    withdrawn: str = ""
    pause: Callable[[], Awaitable[object]] | None = None
    cut_after: int | None = None
    error: ModelError | None = None


Reply = str | Turn | ModelError
"""Text, a whole turn, or an error that the call ends with."""

Script = Reply | Callable[[ModelRequest], Reply]
"""A reply, or a function that makes one from the request."""


def calling(name: str, arguments: str | Mapping[str, Any] = "{}", *, call_id: str = "") -> Turn:
    """A turn with one call; arguments given as text reach the gate as they are, valid or not."""
    return Turn(calls=(call_of(name, arguments, call_id=call_id),))


def call_of(name: str, arguments: str | Mapping[str, Any] = "{}", *, call_id: str = "") -> ToolCall:
    """One call of a turn."""
    text = arguments if isinstance(arguments, str) else ToolCall.of(name, arguments).arguments
    return ToolCall(id=call_id, name=name, arguments=text)


class ScriptedModel:
    """A ToolCallingModelClient that answers from a list, or from a function of the request.

    Attributes:
        requests: What it was asked, in order.
        stopped: Streams that were closed before they had ended.
        closed: Whether ``aclose`` was called.
    """

    name = "scripted"

    def __init__(
        self,
        script: Iterable[Script] | Callable[[ModelRequest], Reply] = (),
        *,
        model: str = "scripted-1",
        extractive: bool = False,
    ) -> None:
        self.model = model
        self.extractive = extractive
        self.requests: list[ModelRequest] = []
        self.stopped = 0
        self.closed = False
        self._always = script if callable(script) else None
        self._script: list[Script] = [] if callable(script) else list(script)
        self._ids: set[str] = set()

    def add(self, *replies: Script) -> ScriptedModel:
        """Say more after what the script holds already."""
        self._script.extend(replies)
        return self

    @property
    def remaining(self) -> int:
        """Replies nobody has asked for yet."""
        return len(self._script)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta, None]:
        """The next reply in deltas of 16 characters.

        Raises:
            ModelError: The script says so.
            AssertionError: The script has run out.
        """
        turn = self._next(request)
        ended = False
        try:
            if turn.pause:
                await turn.pause()
            for number, delta in enumerate(self._deltas(turn)):
                if number == turn.cut_after:
                    break
                yield delta
            ended = True
            if turn.error:
                raise turn.error
            if turn.cut_after is not None:
                raise ModelStreamError(f"the stream of {self.model!r} ended before its stop event")
            yield ReplyDone(reply=self._reply(turn))
        finally:
            self.stopped += not ended

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply that ``stream`` ends with."""
        async with aclosing(self.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, ReplyDone):
                    return delta.reply
        raise AssertionError("a stream ended without a reply and without an error")

    async def aclose(self) -> None:
        """Note that it was closed."""
        self.closed = True

    def _next(self, request: ModelRequest) -> Turn:
        self.requests.append(request)
        if self._always is None and not self._script:
            raise AssertionError(f"the model was called {len(self.requests)} times and the script has run out")
        said: Any = self._always or self._script.pop(0)
        if callable(said):
            said = said(request)
        if isinstance(said, ModelError):
            return Turn(error=said)
        return Turn(text=said) if isinstance(said, str) else said

    def _deltas(self, turn: Turn) -> Iterator[ModelDelta]:
        if turn.thinking:
            yield ThinkingDelta(delta=turn.thinking)
        if turn.withdrawn:
            yield from _text_deltas(turn.withdrawn)
            yield ResetDelta(reason="the script withdraws it")
        yield from _text_deltas(turn.text)

    def _reply(self, turn: Turn) -> ModelReply:
        calls = tuple(call.model_copy(update={"id": self._own_id(call.id)}) for call in turn.calls)
        return ModelReply(
            message=Message.assistant(turn.text, calls),
            stop_reason=turn.stop_reason or ("tool_calls" if calls else "end_turn"),
            usage=turn.usage,
            model=self.model,
        )

    def _own_id(self, wire_id: str) -> str:
        own = wire_id if wire_id and wire_id not in self._ids else f"call_{len(self._ids)}_{self.model}"
        self._ids.add(own)
        return own


def _text_deltas(text: str) -> Iterator[TextDelta]:
    for start in range(0, len(text), DELTA_CHARS):
        yield TextDelta(delta=text[start : start + DELTA_CHARS])


class ScriptedTextModel:
    """A TextModelClient that answers from a list.

    Attributes:
        prompts: ``(system, prompt)`` of each call, in order.
    """

    def __init__(self, answers: Iterable[str]) -> None:
        self.prompts: list[tuple[str, str]] = []
        self._answers = list(answers)

    async def generate_text(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> str:
        """The next answer.

        Raises:
            AnswerInvalid: It is not JSON that is valid by ``schema``.
        """
        self.prompts.append((system, prompt))
        answer = self._answers.pop(0)
        if schema is not None:
            _check_answer(answer, schema)
        return answer


def _check_answer(answer: str, schema: Mapping[str, Any]) -> None:
    # Validated as the one key of an object, because a tool's validator takes objects alone.
    whole = {"type": "object", "properties": {"answer": dict(schema)}}
    try:
        make_schema_validator(whole)({"answer": json.loads(answer)})
    except (ValueError, ArgumentsInvalid) as error:
        raise AnswerInvalid(f"the answer {answer[:60]!r} does not meet the schema: {error}") from None
