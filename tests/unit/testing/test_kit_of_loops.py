"""The kit of loops passes a second loop, and fails where one step of it is broken."""

from __future__ import annotations

import asyncio

import pytest

from datamind.core.arguments import read_arguments
from datamind.core.errors import ArgumentsInvalid, BudgetExceeded
from datamind.core.outcome import ToolOutcome
from datamind.testing.conformance import loop_checks, loops
from datamind.testing.conformance.loops import LoopConformance
from tests.unit.testing.kits import failures_of, numbers_of
from tests.unit.testing.small_loop import SmallLoop


def suite_of(loop_class: type[SmallLoop]) -> type[LoopConformance]:
    class Suite(LoopConformance):
        async def open_loop(self, folder, parts):
            return loop_class(parts)

    return Suite


class EndsTwice(SmallLoop):
    """G1: the end is told again."""

    async def end(self, queue, event):
        queue.put_nowait(event)
        await super().end(queue, event)


class NeverEnds(SmallLoop):
    """G1: the last event is left out."""

    async def end(self, queue, event):
        queue.put_nowait(None)


class PastTheGate(SmallLoop):
    """G2: handlers are called without hooks."""

    async def call(self, call, turn):
        spec = self.parts.gate.registry.get(call.name)
        if spec is None:
            return ToolOutcome(call.id, call.name, is_error=True)
        output = await spec.handler(read_arguments(call.arguments), None)
        return ToolOutcome(call.id, call.name, data=output.data)


class ReadsInTurn(SmallLoop):
    """G2: reads wait for one another."""

    def is_alone(self, call):
        return True


class WritesAtOnce(SmallLoop):
    """G2: writes do not wait."""

    def is_alone(self, call):
        return False


class ResultsAsTheyEnd(SmallLoop):
    """G3: results in another order."""

    def blocks(self, calls, outcomes):
        return super().blocks(calls, outcomes)[::-1]


class ForgetsErrors(SmallLoop):
    """G3: a failed call has no result."""

    def blocks(self, calls, outcomes):
        return [block for block in super().blocks(calls, outcomes) if not block.is_error] or super().blocks(
            calls, outcomes
        )


class MendsArguments(SmallLoop):
    """G3: half an object is closed and run."""

    async def call(self, call, turn):
        try:
            read_arguments(call.arguments)
        except ArgumentsInvalid:
            call = call.model_copy(update={"arguments": call.arguments + '"}'})
        return await super().call(call, turn)


class LimitsRaise(SmallLoop):
    """G4: a limit is an error."""

    async def finish(self, run, reason):
        raise BudgetExceeded(reason, "too much")


class WorksOn(SmallLoop):
    """G5: nobody tells the run that nobody listens."""

    async def stop(self, task):
        for _ in range(20):
            await asyncio.sleep(0)


class TrustsHistory(SmallLoop):
    """G5: sends what it is given."""

    def mend(self, history):
        return list(history)


BROKEN = [
    (EndsTwice, "g1"),
    (NeverEnds, "g1"),
    (PastTheGate, "g2"),
    (ReadsInTurn, "g2"),
    (WritesAtOnce, "g2"),
    (ResultsAsTheyEnd, "g3"),
    (ForgetsErrors, "g3"),
    (MendsArguments, "g3"),
    (LimitsRaise, "g4"),
    (WorksOn, "g5"),
    (TrustsHistory, "g5"),
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for module in (loops, loop_checks):
        monkeypatch.setattr(module, "PATIENCE_S", 1.0)


@pytest.mark.parametrize(("loop", "guarantee"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
async def test_the_kit_fails_where_the_loop_is_broken(tmp_path, loop, guarantee):
    failures = await failures_of(suite_of(loop), tmp_path, only=f"test_{guarantee}_")
    assert numbers_of(failures) == {guarantee}
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


class TestSmallLoop(LoopConformance):
    async def open_loop(self, folder, parts):
        return SmallLoop(parts)
