"""The calls of a model's replies on their way through the gate and back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, get_args

import anyio

from datamind.agent.budgets import RunBudget
from datamind.agent.evidence import EvidenceNormalizer
from datamind.agent.history import interrupted_result
from datamind.core.arguments import read_arguments
from datamind.core.context import RequestContext
from datamind.core.dispatch import Gate, dispatch
from datamind.core.errors import ArgumentsInvalid, BudgetExceeded
from datamind.core.events import AgentEvent, ToolResultEvent, ToolUseEvent
from datamind.core.messages import ToolCall, ToolResultBlock
from datamind.core.outcome import ToolOutcome, outcome_of_error
from datamind.core.results import StopReason

PREVIEW_CHARS: Final = 400
SAME_CALLS: Final = 3

_NO_CALLS_LEFT: Final = "The run has no tool calls left, so this one did not run."
_NO_TIME_LEFT: Final = "The run has no time left, so this call did not run."
_REPEATED: Final = "The same call was made just before; this is its result again. Do something else, or answer."

Emit = Callable[[AgentEvent], Awaitable[None]]


class CallRunner:
    """Runs the calls of one run.

    Attributes:
        outcomes: Of the calls that came to an end, in call order.
        evidence: What they found, numbered in call order.
        stop: Why the run must end, once a call has met a limit.
    """

    def __init__(self, gate: Gate, ctx: RequestContext, budget: RunBudget, emit: Emit) -> None:
        self._gate = gate
        self._ctx = ctx
        self._budget = budget
        self._emit = emit
        self.outcomes: list[ToolOutcome] = []
        self.evidence = EvidenceNormalizer()
        self.stop: StopReason | None = None
        self._last_key: tuple[str, str] | None = None
        self._last_block: ToolResultBlock | None = None
        self._same = 0

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResultBlock]:
        """One result for each call, in call order: reads at once, writes one after another."""
        allowed = self._budget.calls_left()
        self._budget.tool_calls += min(len(calls), allowed)
        if len(calls) > allowed:
            self.stop = "max_tool_calls"
        for call in calls[:allowed]:
            await self._emit(ToolUseEvent(id=call.id, name=call.name, input=self._shown_input(call)))
        blocks: list[ToolResultBlock] = []
        for group in self._groups(calls[:allowed]):
            blocks += await self._run_group(group)
        refused = [error_block(call, "budget_exceeded.max_tool_calls", _NO_CALLS_LEFT) for call in calls[allowed:]]
        return [*blocks, *refused]

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
        """Neighbouring reads together, a write alone."""
        groups: list[list[ToolCall]] = []
        for call in calls:
            if groups and not self._writes(call) and not self._writes(groups[-1][-1]):
                groups[-1].append(call)
            else:
                groups.append([call])
        return groups

    def _writes(self, call: ToolCall) -> bool:
        spec = self._gate.registry.get(call.name)
        return spec is not None and spec.writes

    async def _run_group(self, group: Sequence[ToolCall]) -> list[ToolResultBlock]:
        # By position: what two calls of one id found must not be mixed up.
        outcomes: dict[int, ToolOutcome] = {}
        repeats = [self._is_repeat(call) for call in group]
        left_s = self._budget.work_left_s()

        async def one(position: int, call: ToolCall) -> None:
            outcomes[position] = await self._dispatch(call)

        # Time that runs out here cancels reads; a write past its intent still finishes and is recorded.
        with anyio.move_on_after(max(left_s, 0.0)):
            async with anyio.create_task_group() as tasks:
                for position, call in enumerate(group):
                    if left_s > 0 and not repeats[position]:
                        tasks.start_soon(one, position, call)
        blocks: list[ToolResultBlock] = []
        for position, call in enumerate(group):
            # Evidence is numbered here, in call order, not in the order the calls ended.
            outcome = outcomes.get(position)
            block = self._repeated(call) if repeats[position] else self._block(call, outcome, started=left_s > 0)
            self._last_block = block
            if outcome is not None:
                self.outcomes.append(outcome)
            preview = block.content[:PREVIEW_CHARS]
            await self._emit(ToolResultEvent(id=call.id, name=call.name, is_error=block.is_error, preview=preview))
            blocks.append(block)
        return blocks

    async def _dispatch(self, call: ToolCall) -> ToolOutcome:
        try:
            return await dispatch(call, self._ctx, self._gate)
        except BudgetExceeded as error:
            if error.limit in get_args(StopReason):
                self.stop = error.limit  # type: ignore[assignment]
            return outcome_of_error(call.id, call.name, error)

    def _block(self, call: ToolCall, outcome: ToolOutcome | None, *, started: bool) -> ToolResultBlock:
        if outcome is not None:
            content = self.evidence.add(outcome)
            return ToolResultBlock(call_id=call.id, name=call.name, content=content, is_error=outcome.is_error)
        return interrupted_result(call) if started else error_block(call, "budget_exceeded.wall_clock", _NO_TIME_LEFT)

    def _is_repeat(self, call: ToolCall) -> bool:
        """Whether it is the third identical call in a row: answered from the one before; a fourth ends the run."""
        key = (call.name, _canonical(call.arguments))
        self._same = self._same + 1 if key == self._last_key else 1
        self._last_key = key
        if self._same > SAME_CALLS:
            self.stop = "repeated_call"
        return self._same >= SAME_CALLS

    def _repeated(self, call: ToolCall) -> ToolResultBlock:
        assert self._last_block is not None  # the third of three
        content = json.dumps({"repeated": _REPEATED, **json.loads(self._last_block.content)}, ensure_ascii=False)
        return self._last_block.model_copy(update={"call_id": call.id, "content": content})

    def _shown_input(self, call: ToolCall) -> dict[str, Any]:
        spec = self._gate.registry.get(call.name)
        try:
            return read_arguments(call.arguments, **({"max_bytes": spec.max_argument_bytes} if spec else {}))
        except ArgumentsInvalid:
            return {}


def error_block(call: ToolCall, code: str, message: str) -> ToolResultBlock:
    """The result of a call that did not run."""
    content = json.dumps({"error": {"code": code, "message": message}})
    return ToolResultBlock(call_id=call.id, name=call.name, content=content, is_error=True)


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(read_arguments(arguments), sort_keys=True)
    except ArgumentsInvalid:
        return arguments
