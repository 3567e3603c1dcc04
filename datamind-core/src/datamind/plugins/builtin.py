"""Core's own registrations: the reference providers in memory, the retrievers and the default loop."""

from __future__ import annotations

from typing import Final

from datamind.plugins.contributions import NO_OPTIONS, ProviderSpec
from datamind.plugins.kinds import ProviderKind as Kind
from datamind.plugins.specs import PLUGIN_API as _CURRENT_API
from datamind.plugins.specs import hookimpl

PLUGIN_API: Final = _CURRENT_API

_CAPABILITIES: Final = "datamind.capabilities"


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """What works with core alone."""
    return [*_stores(), *_retrieval(), _loop()]


def _stores() -> list[ProviderSpec]:
    places = (
        (Kind.KB_STORE, f"{_CAPABILITIES}.kb.providers.memory:open_store", "Chunks in memory, gone with the process."),
        (Kind.MEMORY_STORE, f"{_CAPABILITIES}.memory.providers.memory:open_store", "Memories in memory, gone with it."),
        (Kind.DB_DIALECT, f"{_CAPABILITIES}.db.providers.memory:open_database", "Tables in memory, gone with it."),
        (Kind.GRAPH_STORE, f"{_CAPABILITIES}.graph.providers.memory:open_store", "A graph in memory, gone with it."),
        (Kind.SKILLS_SOURCE, f"{_CAPABILITIES}.skills.providers.memory:open_source", "Skills in memory, gone with it."),
    )
    return [ProviderSpec(kind, "memory", factory, NO_OPTIONS, summary) for kind, factory, summary in places]


def _retrieval() -> list[ProviderSpec]:
    retrieval = f"{_CAPABILITIES}.kb.retrieval"
    hashing = f"{_CAPABILITIES}.embedding.hashing:open_embedding"
    fused = "Words and vectors, joined by reciprocal rank fusion."
    return [
        ProviderSpec(Kind.EMBEDDING, "hashing", hashing, NO_OPTIONS, "Hashed tokens, no meaning; for tests."),
        ProviderSpec(Kind.KB_RETRIEVER, "hybrid", f"{retrieval}:open_hybrid", NO_OPTIONS, fused),
        ProviderSpec(Kind.KB_RETRIEVER, "lexical", f"{retrieval}:open_lexical", NO_OPTIONS, "Words only."),
        ProviderSpec(Kind.KB_RETRIEVER, "vector", f"{retrieval}:open_vector", NO_OPTIONS, "Vectors only."),
    ]


def _loop() -> ProviderSpec:
    return ProviderSpec(
        Kind.AGENT_LOOP, "native", "datamind.agent.loop_native:open_loop", NO_OPTIONS, "The default agent loop."
    )
