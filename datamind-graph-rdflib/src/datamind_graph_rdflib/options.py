"""What a user may set under ``graph.options``."""

from __future__ import annotations

from pydantic import Field

from datamind.plugins import ProviderOptions


class RdflibGraphOptions(ProviderOptions):
    """Options of the graph store ``rdflib``."""

    lock_wait_s: float = Field(
        5.0, ge=0, le=600, description="How long to wait for another process that has the graph open."
    )
    idle_close_s: float = Field(2.0, ge=0, le=3600, description="How long the graph stays open without work.")
    query_memory_mb: int = Field(2048, ge=256, le=65_536, description="Most memory a SPARQL query may take.")
