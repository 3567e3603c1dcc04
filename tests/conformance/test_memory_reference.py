"""The memory store in memory passes every test of the kit that a volatile store can."""

from __future__ import annotations

from datamind.testing.conformance.memory import MemoryStoreConformance


class TestInMemoryStore(MemoryStoreConformance):
    factory = "datamind.capabilities.memory.providers.memory:open_store"
