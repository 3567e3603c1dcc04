"""What a plugin can provide, and the setting that selects each kind."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ProviderKind(StrEnum):
    """Every kind of provider. A new kind is a new constant here, not a new hook."""

    MODEL_CLIENT = "model.client"
    EMBEDDING = "embedding"
    KB_STORE = "kb.store"
    KB_LEXICAL_INDEX = "kb.lexical_index"
    KB_RETRIEVER = "kb.retriever"
    KB_RERANKER = "kb.reranker"
    DB_DIALECT = "db.dialect"
    GRAPH_STORE = "graph.store"
    MEMORY_STORE = "memory.store"
    SKILLS_SOURCE = "skills.source"
    AGENT_LOOP = "agent.loop"
    INGEST_LOADER = "ingest.loader"

    @property
    def setting(self) -> str:
        """The Settings key whose value names the provider; empty for loaders, which follow the media type."""
        return _SETTING_OF[self]

    @property
    def options_key(self) -> str:
        """Where in Settings the chosen provider's own options stand, such as ``kb.options``."""
        return f"{(self.setting or self.value).partition('.')[0]}.options"


_SETTING_OF: Final = {
    ProviderKind.MODEL_CLIENT: "llm.protocol",
    ProviderKind.EMBEDDING: "embedding.provider",
    ProviderKind.KB_STORE: "kb.backend",
    ProviderKind.KB_LEXICAL_INDEX: "kb.lexical",
    ProviderKind.KB_RETRIEVER: "retrieval.strategy",
    ProviderKind.KB_RERANKER: "retrieval.rerank_model",
    ProviderKind.DB_DIALECT: "db.dialect",
    ProviderKind.GRAPH_STORE: "graph.backend",
    ProviderKind.MEMORY_STORE: "memory.backend",
    ProviderKind.SKILLS_SOURCE: "skills.backend",
    ProviderKind.AGENT_LOOP: "agent.backend",
    ProviderKind.INGEST_LOADER: "",
}
