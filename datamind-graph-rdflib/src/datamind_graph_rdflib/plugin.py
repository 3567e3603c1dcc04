"""Registers the graph store ``rdflib``."""

from __future__ import annotations

from datamind.plugins import PLUGIN_API as _CURRENT_API
from datamind.plugins import ProviderKind, ProviderSpec, hookimpl

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """One store."""
    return [
        ProviderSpec(
            ProviderKind.GRAPH_STORE,
            "rdflib",
            "datamind_graph_rdflib.store:open_store",
            "datamind_graph_rdflib.options:RdflibGraphOptions",
            "An RDF graph on disk, kept by Oxigraph, with SPARQL.",
        )
    ]
