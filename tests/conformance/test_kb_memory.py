"""The KB store in memory passes every test of the kit that a volatile store can."""

from __future__ import annotations

from datamind.testing.conformance.kb_batches import BatchesConformance
from datamind.testing.conformance.kb_store import VectorStoreConformance
from datamind.testing.conformance.kb_vectors import VectorsConformance

FACTORY = "datamind.capabilities.kb.providers.memory:open_store"


class TestMemoryStore(VectorStoreConformance):
    factory = FACTORY
    capabilities = frozenset({"vectors"})


class TestMemoryVectors(VectorsConformance):
    factory = FACTORY
    capabilities = frozenset({"fresh_vectors"})


class TestMemoryBatches(BatchesConformance):
    factory = FACTORY
