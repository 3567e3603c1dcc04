"""Graph stores in any order of calls."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from datamind.testing.machines.graph import GraphMachine
from datamind.testing.providers import ProviderTarget


class Memory(GraphMachine):
    target = ProviderTarget("graph.store", "datamind.capabilities.graph.providers.memory:open_store")
    durable = False


class Oxigraph(GraphMachine):
    target = ProviderTarget(
        "graph.store",
        "datamind_graph_rdflib.store:open_store",
        "datamind_graph_rdflib.options:RdflibGraphOptions",
    )


TestMemory = Memory.TestCase
TestMemory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

TestOxigraph = Oxigraph.TestCase
TestOxigraph.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
