"""One run of an agent: the turns between a model and the gate."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from datamind.agent.base import LoopParts, LoopTurn
from datamind.agent.budgets import RunBudget
from datamind.agent.evidence import EvidenceNormalizer
from datamind.agent.history import interrupted_result, repair
from datamind.agent.prompt import fill
from datamind.agent.results import make_result
from datamind.core.dispatch import dispatch
from datamind.core.errors import BudgetExceeded, ModelStreamError
from datamind.core.events import (
    AgentEvent,
    DoneEvent,
    ResetEvent,
    TextEvent,
    ThinkingEvent,
    ToolResultEvent,
    ToolUseEvent,
)
from datamind.core.evidence import InferenceResult
from datamind.core.messages import (
    Message,
    ModelReply,
    ModelRequest,
    ReplyDone,
    ResetDelta,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResultBlock,
)
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import StoreResult
from datamind.core.results import StopReason

PREVIEW_CHARS = 400
SAME_CALLS = 3
_CLOSE_S = 2.0
_CUT = "Your reply was cut off before this call was complete, so it did not run. Send it again, shorter."
_NO_CALLS_LEFT = "The run has no tool calls left, so this one did not run."

Emit = Callable[[AgentEvent], Awaitable[None]]


class AgentRun:
    """State and steps of one run. Used once."""

    def __init__(self, parts: LoopParts, turn: LoopTurn, emit: Emit) -> None:
        self._parts = parts
        self._turn = turn
        self._emit = emit
        self._budget = RunBudget(parts.config)
        self._history = repair(turn.history)
        self._transcript = turn.transcript
        self.evidence = EvidenceNormalizer()
        self.outcomes: list[ToolOutcome] = []
        self._last_key: tuple[str, str] | None = None
        self._last_block: ToolResultBlock | None = None
        self._same = 0
        self._stop: StopReason | None = None
        self._started = time.monotonic()

    async def run(self) -> InferenceResult | StoreResult:
        """Turns until the model answers or a limit is reached; then a result, always.

        Raises:
            ModelError: The model failed, or gave no answer within the reserve.
        """
        self._transcript.append(self._turn.message)
        answer: str | None = None
        while answer is None:
            self._stop = self._stop or self._budget.reached()
            if self._stop is not None:
                answer = await self._finish(self._stop)
                break
            reply = await self._ask(self._budget.work_left_s())
            if reply is not None:
                answer = await self._take(reply)
        result = make_result(self._parts, self._turn, self, answer, self._stop or "end_turn")
        await self._emit(
            DoneEvent(iterations=result.iterations, stop_reason=result.stop_reason, usage=result.usage, result=result)
        )
        return result

    @property
    def budget(self) -> RunBudget:
        """What the run has used."""
        return self._budget

    @property
    def messages(self) -> tuple[Message, ...]:
        """The valid conversation, this turn included."""
        return (*self._history, *self._transcript)

    @property
    def duration_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started

    async def _ask(self, limit_s: float, *, with_tools: bool = True) -> ModelReply | None:
        """One model call; None when the time is up."""
        reply: ModelReply | None = None
        with anyio.move_on_after(max(limit_s, 0.0)):
            stream = self._parts.client.stream(self._request(with_tools, limit_s))
            try:
                async for delta in stream:
                    match delta:
                        case TextDelta(delta=text):
                            await self._emit(TextEvent(delta=text))
                        case ThinkingDelta(delta=text):
                            await self._emit(ThinkingEvent(delta=text))
                        case ResetDelta(reason=reason):
                            await self._emit(ResetEvent(reason=reason))
                        case ReplyDone():
                            reply = delta.reply
            finally:
                await _close(stream)
            if reply is None:
                raise ModelStreamError("the model's stream ended without its stop event")
            self._budget.add(reply.usage)
        return reply

    def _request(self, with_tools: bool, limit_s: float) -> ModelRequest:
        config = self._parts.config
        return ModelRequest(
            system=self._parts.system,
            messages=self.messages,
            tools=self._parts.gate.registry.definitions() if with_tools else (),
            max_tokens=config.reply_tokens,
            temperature=config.temperature,
            timeout_s=max(0.001, min(config.model_timeout_s, limit_s)),
            surfaces=self._turn.surfaces,
        )

    async def _take(self, reply: ModelReply) -> str | None:
        """Keep a reply; returns the answer, or None when the run goes on."""
        calls = reply.message.calls
        self._transcript.append(reply.message)
        if not calls:
            if reply.stop_reason in ("max_tokens", "refusal"):
                self._stop = reply.stop_reason
            return reply.message.text
        if reply.stop_reason == "max_tokens":
            blocks = [_error_block(call, "reply_cut", _CUT) for call in calls]
        else:
            blocks = await self._run_calls(calls)
        self._transcript.append(Message(role="tool", blocks=tuple(blocks)))
        return None

    async def _run_calls(self, calls: Sequence[ToolCall]) -> list[ToolResultBlock]:
        allowed = self._budget.calls_left()
        self._budget.tool_calls += min(len(calls), allowed)
        if len(calls) > allowed:
            self._stop = "max_tool_calls"
        for call in calls[:allowed]:
            await self._emit(ToolUseEvent(id=call.id, name=call.name, input=_shown_input(call)))
        blocks: list[ToolResultBlock] = []
        for group in self._groups(calls[:allowed]):
            for call, (block, outcome) in zip(group, await self._run_group(group), strict=True):
                if outcome is not None:
                    self.outcomes.append(outcome)
                preview = block.content[:PREVIEW_CHARS]
                await self._emit(ToolResultEvent(id=call.id, name=call.name, is_error=block.is_error, preview=preview))
                blocks.append(block)
        refused = [_error_block(call, "budget_exceeded.max_tool_calls", _NO_CALLS_LEFT) for call in calls[allowed:]]
        return [*blocks, *refused]

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
        """Neighbouring reads run at once, a write alone."""
        groups: list[list[ToolCall]] = []
        for call in calls:
            if groups and not self._writes(call) and not self._writes(groups[-1][-1]):
                groups[-1].append(call)
            else:
                groups.append([call])
        return groups

    def _writes(self, call: ToolCall) -> bool:
        spec = self._parts.gate.registry.get(call.name)
        return spec is not None and spec.writes

    async def _run_group(self, group: Sequence[ToolCall]) -> list[tuple[ToolResultBlock, ToolOutcome | None]]:
        outcomes: dict[str, ToolOutcome] = {}
        repeats = {call.id for call in group if self._is_repeat(call)}

        async def one(call: ToolCall) -> None:
            outcomes[call.id] = await dispatch(call, self._turn.ctx, self._parts.gate)

        # Time that runs out here cancels reads; a write past its intent still finishes and is recorded.
        with anyio.move_on_after(max(self._budget.work_left_s(), 0.0)):
            async with anyio.create_task_group() as tasks:
                for call in group:
                    if call.id not in repeats:
                        tasks.start_soon(one, call)
        return [self._block(call, outcomes.get(call.id), call.id in repeats) for call in group]

    def _block(
        self, call: ToolCall, outcome: ToolOutcome | None, repeat: bool
    ) -> tuple[ToolResultBlock, ToolOutcome | None]:
        # Evidence is numbered here, in call order, not in the order the calls ended.
        if repeat and self._last_block is not None:
            block = self._last_block.model_copy(update={"call_id": call.id})
        elif outcome is None:
            block = interrupted_result(call)
        else:
            content = self.evidence.add(outcome)
            block = ToolResultBlock(call_id=call.id, name=call.name, content=content, is_error=outcome.is_error)
        self._last_block = block
        return block, outcome

    def _is_repeat(self, call: ToolCall) -> bool:
        """Whether it is the third identical call in a row: answered from the one before; a fourth ends the run."""
        key = (call.name, call.arguments)
        self._same = self._same + 1 if key == self._last_key else 1
        self._last_key = key
        if self._same > SAME_CALLS:
            self._stop = "repeated_call"
        return self._same >= SAME_CALLS

    async def _finish(self, reason: StopReason) -> str:
        """The final answer, without tools, within what is left of the time."""
        self._transcript.append(Message.user(fill("finish", reason=reason)))
        reply = await self._ask(self._budget.left_s(), with_tools=False)
        if reply is None or not reply.message.text.strip():
            raise BudgetExceeded(
                "wall_clock" if reply is None else reason,
                f"the run reached {reason} and the model gave no final answer",
                hint="Raise the limit in the agent section.",
            )
        self._transcript.append(Message.assistant(reply.message.text))
        return reply.message.text


async def _close(stream: object) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await close()


def _error_block(call: ToolCall, code: str, message: str) -> ToolResultBlock:
    content = json.dumps({"error": {"code": code, "message": message}})
    return ToolResultBlock(call_id=call.id, name=call.name, content=content, is_error=True)


def _shown_input(call: ToolCall) -> dict[str, Any]:
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
