"""The budget of one run: what is used, and which limit is reached first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from datamind.agent.base import AgentLoopConfig
from datamind.config.settings import Settings
from datamind.core.messages import Usage
from datamind.core.results import StopReason


@dataclass
class RunBudget:
    """Counts turns, calls, tokens, cost and time.

    Attributes:
        clock: Seconds that only grow; the event loop's by default.
        cost_usd: Of the calls whose cost is known; the limit holds for these even beside one whose cost is not.
    """

    config: AgentLoopConfig
    clock: Callable[[], float] = anyio.current_time
    turns: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def add(self, usage: Usage) -> None:
        """Count one model call."""
        self.turns += 1
        self.usage = self.usage + usage
        self.cost_usd += usage.cost_usd or 0.0

    def reached(self) -> StopReason | None:
        """The limit that forbids another working turn, if any."""
        config, usage = self.config, self.usage
        if self.work_left_s() <= 0:
            return "wall_clock"
        if self.turns >= config.max_turns:
            return "max_turns"
        if config.max_input_tokens is not None and usage.input_tokens >= config.max_input_tokens:
            return "max_input_tokens"
        if config.max_output_tokens is not None and usage.output_tokens >= config.max_output_tokens:
            return "max_output_tokens"
        if config.max_cost_usd is not None and self.cost_usd >= config.max_cost_usd:
            return "max_cost"
        return None

    @property
    def cost_is_unknown(self) -> bool:
        """Whether a limit of cost is set that cannot be held, because a call was made whose price is not known."""
        return self.config.max_cost_usd is not None and self.usage != Usage() and self.usage.cost_usd is None

    def calls_left(self) -> int:
        """Tool calls that may still run."""
        return max(0, self.config.max_tool_calls - self.tool_calls)

    def work_left_s(self) -> float:
        """Seconds left before the reserve begins."""
        return self.left_s() - self.config.reserve_s

    def left_s(self) -> float:
        """Seconds left in all."""
        return self.config.wall_clock_s - (self.clock() - self.started)


def loop_config(settings: Settings) -> AgentLoopConfig:
    """Limits of a run from Settings."""
    agent, llm = settings.agent, settings.llm
    return AgentLoopConfig(
        max_turns=agent.max_turns,
        max_tool_calls=agent.max_tool_calls,
        max_input_tokens=agent.max_input_tokens,
        max_output_tokens=agent.max_output_tokens,
        max_cost_usd=agent.max_cost_usd,
        wall_clock_s=agent.wall_clock_timeout_s,
        reserve_s=agent.finalization_reserve_s,
        reply_tokens=llm.max_tokens,
        temperature=llm.temperature,
        model_timeout_s=llm.timeout_s,
    )
