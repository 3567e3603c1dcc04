"""What a user may set under ``graph.options``."""

from __future__ import annotations

from pydantic import Field

from datamind.plugins import ProviderOptions


class RdflibGraphOptions(ProviderOptions):
    """Options of the graph store ``rdflib``."""

    query_memory_mb: int = Field(2048, ge=256, le=65_536, description="Most memory a SPARQL query may take.")
