"""Any order of writes leaves both memory stores in the state of a model made of dicts."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from datamind.testing.machines.memory import MemoryMachine
from datamind.testing.providers import ProviderTarget

LIMITS = settings(deadline=None, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow])


class ReferenceMachine(MemoryMachine):
    target = ProviderTarget("memory.store", "datamind.capabilities.memory.providers.memory:open_store")
    durable = False


class SqliteMachine(MemoryMachine):
    target = ProviderTarget(
        "memory.store",
        "datamind_memory_sqlite.store:open_store",
        "datamind_memory_sqlite.options:SqliteMemoryOptions",
    )


TestReference = ReferenceMachine.TestCase
TestReference.settings = settings(LIMITS, max_examples=60)
TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(LIMITS, max_examples=20)
