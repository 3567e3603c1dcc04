"""KB stores in any order of calls."""

from __future__ import annotations

from hypothesis import settings

from datamind.testing.machines.kb import KBMachine
from datamind.testing.providers import ProviderTarget


class Memory(KBMachine):
    target = ProviderTarget("kb.store", "datamind.capabilities.kb.providers.memory:open_store")
    durable = False


TestMemory = Memory.TestCase
TestMemory.settings = settings(max_examples=60, stateful_step_count=30)


class Lance(KBMachine):
    target = ProviderTarget(
        "kb.store", "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions"
    )


TestLance = Lance.TestCase
TestLance.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
