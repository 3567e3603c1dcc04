"""The SQLite memory store passes every test of the kit."""

from __future__ import annotations

from datamind.testing.conformance.memory import MemoryStoreConformance
from datamind.testing.conformance.memory_vectors import MemoryVectorsConformance

FACTORY = "datamind_memory_sqlite.store:open_store"
OPTIONS = "datamind_memory_sqlite.options:SqliteMemoryOptions"


class TestSqliteStore(MemoryStoreConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = frozenset({"durable", "processes", "vectors"})


class TestSqliteVectors(MemoryVectorsConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = frozenset({"durable"})
