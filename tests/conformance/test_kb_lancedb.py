"""The KB store in Lance tables passes every test of the kit."""

from __future__ import annotations

from datamind.testing.conformance.kb_batches import BatchesConformance
from datamind.testing.conformance.kb_store import VectorStoreConformance
from datamind.testing.conformance.kb_vectors import VectorsConformance

FACTORY = "datamind_kb_lancedb.store:open_store"
OPTIONS = "datamind_kb_lancedb.options:LanceOptions"


class TestLanceStore(VectorStoreConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = frozenset({"durable", "handles", "vectors"})


class TestLanceVectors(VectorsConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = frozenset({"durable", "fresh_vectors", "rankings"})


class TestLanceBatches(BatchesConformance):
    factory = FACTORY
    options_model = OPTIONS
