"""The budget of one run."""

from __future__ import annotations

from datamind.agent.base import AgentLoopConfig
from datamind.agent.budgets import RunBudget
from datamind.core.messages import Usage
from datamind.testing.fakes import ManualClock

UNLIMITED = AgentLoopConfig(max_turns=99, max_input_tokens=None)


def test_each_limit_is_reached_exactly() -> None:
    for config, limit in (
        (AgentLoopConfig(max_turns=2), "max_turns"),
        (AgentLoopConfig(max_input_tokens=20), "max_input_tokens"),
        (AgentLoopConfig(max_output_tokens=10), "max_output_tokens"),
        (AgentLoopConfig(max_cost_usd=0.2), "max_cost"),
    ):
        budget = RunBudget(config, clock=ManualClock().monotonic)
        budget.add(Usage(input_tokens=10, output_tokens=5, cost_usd=0.1))
        assert budget.reached() is None, limit
        budget.add(Usage(input_tokens=10, output_tokens=5, cost_usd=0.1))
        assert budget.reached() == limit


def test_work_ends_where_the_reserve_begins() -> None:
    clock = ManualClock()
    budget = RunBudget(AgentLoopConfig(wall_clock_s=100, reserve_s=20), clock=clock.monotonic)
    clock.advance(79)
    assert (budget.reached(), budget.work_left_s(), budget.left_s()) == (None, 1, 21)
    clock.advance(1)
    assert (budget.reached(), budget.left_s()) == ("wall_clock", 20)


def test_a_known_cost_counts_beside_an_unknown_one() -> None:
    budget = RunBudget(AgentLoopConfig(max_cost_usd=1.0), clock=ManualClock().monotonic)
    budget.add(Usage(input_tokens=1, cost_usd=1.5))
    budget.add(Usage(input_tokens=1))
    assert budget.usage.cost_usd is None, "the sum is not known"
    assert (budget.reached(), budget.cost_is_unknown) == ("max_cost", True)


def test_a_cost_limit_that_cannot_be_held_is_known() -> None:
    for config, usage, unknown in (
        (AgentLoopConfig(max_cost_usd=1.0), Usage(input_tokens=1), True),
        (AgentLoopConfig(max_cost_usd=1.0), Usage(input_tokens=1, cost_usd=0.0), False),
        (AgentLoopConfig(), Usage(input_tokens=1), False),
        (AgentLoopConfig(max_cost_usd=1.0), Usage(), False),
    ):
        budget = RunBudget(config, clock=ManualClock().monotonic)
        budget.add(usage)
        assert budget.cost_is_unknown is unknown, (config, usage)


def test_tool_calls_are_counted_down_to_none() -> None:
    budget = RunBudget(AgentLoopConfig(max_tool_calls=2), clock=ManualClock().monotonic)
    left = []
    for _ in range(4):
        left.append(budget.calls_left())
        budget.tool_calls += 1
    assert left == [2, 1, 0, 0]


def test_none_is_no_limit() -> None:
    budget = RunBudget(UNLIMITED, clock=ManualClock().monotonic)
    budget.add(Usage(input_tokens=10**9, output_tokens=10**9, cost_usd=10**9))
    assert budget.reached() is None
