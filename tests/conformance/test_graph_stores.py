"""The graph stores pass every test of the kit."""

from __future__ import annotations

import pytest

from datamind.testing.conformance.graph_formats import GraphFilesConformance, SparqlConformance
from datamind.testing.conformance.graph_store import GraphStoreConformance
from datamind_graph_rdflib import writing

FACTORY = "datamind_graph_rdflib.store:open_store"
OPTIONS = "datamind_graph_rdflib.options:RdflibGraphOptions"
ALL = frozenset({"durable", "processes", "files", "sparql"})


class TestMemoryStore(GraphStoreConformance):
    factory = "datamind.capabilities.graph.providers.memory:open_store"
    one_commit = 1_000


class TestOxigraphStore(GraphStoreConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = ALL
    one_commit = 1_000

    @pytest.fixture(autouse=True)
    def _small_commits(self, monkeypatch):
        monkeypatch.setattr(writing, "ONE_COMMIT", self.one_commit)
        monkeypatch.setattr(writing, "SLICE", 200)
        monkeypatch.setattr(writing, "_CONVERTED", 70)


class TestOxigraphFiles(GraphFilesConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = ALL


class TestOxigraphSparql(SparqlConformance):
    factory = FACTORY
    options_model = OPTIONS
    capabilities = ALL
