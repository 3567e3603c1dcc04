"""One run of an agent: the turns between a model and the gate."""

from __future__ import annotations

import time
from typing import Final

import anyio
import anyio.lowlevel

from datamind.agent.base import LoopParts, LoopTurn
from datamind.agent.budgets import RunBudget
from datamind.agent.calls import CallRunner, Emit, error_block
from datamind.agent.evidence import uncited
from datamind.agent.history import compacted, repair, wellformed, with_own_ids
from datamind.agent.prompt import fill
from datamind.agent.results import make_result
from datamind.core.errors import DataMindError, ModelError, ModelStreamError
from datamind.core.events import DoneEvent, ResetEvent, TextEvent, ThinkingEvent
from datamind.core.evidence import InferenceResult
from datamind.core.messages import (
    Message,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ReplyDone,
    ResetDelta,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from datamind.core.receipts import StoreResult
from datamind.core.results import Notice, StopReason

_CLOSE_S: Final = 2.0
_CUT: Final = "Your reply was cut off before this call was complete, so it did not run. Send it again, shorter."


class AgentRun:
    """State and steps of one run. Used once."""

    def __init__(self, parts: LoopParts, turn: LoopTurn, emit: Emit) -> None:
        self._parts = parts
        self._turn = turn
        self._emit = emit
        self.budget = RunBudget(parts.config)
        self.calls = CallRunner(parts.gate, turn.ctx, self.budget, emit)
        self.notices: list[Notice] = []
        history = [uncited(message) for message in repair(turn.history)]
        self._history = compacted(history, parts.config.history_tokens)
        self._transcript = turn.transcript
        self._ids = {call.id for message in self._history for call in message.calls}
        self._stop: StopReason | None = None
        self._started = time.monotonic()

    async def run(self) -> InferenceResult | StoreResult:
        """Turns until the model answers or a limit is reached; then a result, always.

        Raises:
            ModelError: The model failed.
        """
        self._transcript.append(self._turn.message)
        answer: str | None = None
        while answer is None:
            self._stop = self._stop or self.calls.stop or self.budget.reached()
            if self._stop is not None:
                answer = await self._finish(self._stop)
                break
            reply = await self._ask(self.budget.work_left_s())
            if reply is not None:
                answer = await self._take(reply)
        result = make_result(self._parts, self._turn, self, answer, self._stop or "end_turn")
        await self._emit(
            DoneEvent(iterations=result.iterations, stop_reason=result.stop_reason, usage=result.usage, result=result)
        )
        return result

    @property
    def messages(self) -> tuple[Message, ...]:
        """The valid conversation, this turn included."""
        return (*self._history, *self._transcript)

    @property
    def duration_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started

    async def _ask(self, limit_s: float, *, finish: Message | None = None) -> ModelReply | None:
        """One model call; None when the time is up, and then the text it had sent is withdrawn."""
        reply: ModelReply | None = None
        sent = False
        with anyio.move_on_after(max(limit_s, 0.0)):
            stream = self._parts.client.stream(self._request(limit_s, finish))
            try:
                async for delta in stream:
                    if isinstance(delta, ReplyDone):
                        reply = delta.reply
                        break
                    sent = True
                    await self._show(delta)
                    # A stream that never waits would let nothing else run, not even the clock.
                    await anyio.lowlevel.checkpoint()
            except DataMindError:
                raise
            except Exception as error:
                raise ModelError(f"the model client failed ({type(error).__name__})") from error
            finally:
                await _close(stream)
            if reply is None:
                raise ModelStreamError("the model's stream ended without its stop event")
        if reply is None and sent:
            await self._emit(ResetEvent(reason="the time is up"))
        self.budget.add(reply.usage if reply else Usage())
        return reply

    async def _show(self, delta: ModelDelta) -> None:
        match delta:
            case TextDelta(delta=text):
                await self._emit(TextEvent(delta=text))
            case ThinkingDelta(delta=text):
                await self._emit(ThinkingEvent(delta=text))
            case ResetDelta(reason=reason):
                await self._emit(ResetEvent(reason=reason))

    def _request(self, limit_s: float, finish: Message | None) -> ModelRequest:
        config = self._parts.config
        return ModelRequest(
            system=self._parts.system,
            messages=self.messages if finish is None else (*self.messages, finish),
            tools=self._parts.gate.registry.definitions() if finish is None else (),
            max_tokens=config.reply_tokens,
            temperature=config.temperature,
            timeout_s=max(0.001, min(config.model_timeout_s, limit_s)),
            surfaces=self._turn.surfaces,
        )

    async def _take(self, reply: ModelReply) -> str | None:
        """Keep a reply; returns the answer, or None when the run goes on."""
        own = with_own_ids(reply.message, self._ids)
        message = wellformed(own)
        if message.blocks:
            self._transcript.append(message)
        if not message.calls:
            if reply.stop_reason in ("max_tokens", "refusal"):
                self._stop = reply.stop_reason
            return message.text
        if reply.stop_reason == "max_tokens":
            blocks = [error_block(call, "reply_cut", _CUT) for call in message.calls]
        else:
            # The gate is given the arguments as they arrived: what is malformed is refused, not mended.
            blocks = await self.calls.run([_sent(*pair) for pair in zip(message.calls, own.calls, strict=True)])
        self._transcript.append(Message(role="tool", blocks=tuple(blocks)))
        return None

    async def _finish(self, reason: StopReason) -> str:
        """The final answer, without tools, within what is left of the time; empty when the model gives none."""
        # Not kept: a later turn must not read that its budget is used up.
        reply = await self._ask(self.budget.left_s(), finish=Message.user(fill("finish", reason=reason)))
        answer = wellformed(reply.message).text if reply else ""
        if answer.strip():
            self._transcript.append(Message.assistant(answer))
            return answer
        message = f"the run reached {reason} and the model gave no final answer; raise the limit in the agent section"
        self.notices.append(Notice(code=f"budget_exceeded.{reason}", message=message))
        return ""


def _sent(wellformed_call: ToolCall, call: ToolCall) -> ToolCall:
    return wellformed_call.model_copy(update={"arguments": call.arguments})


async def _close(stream: object) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await close()
