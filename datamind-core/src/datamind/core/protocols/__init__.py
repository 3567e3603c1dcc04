"""One Protocol, one specification: its numbered guarantees are what the conformance kit tests.

Nothing is loaded before a name is used: a child process needs few of the modules, and their models take long to make.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datamind.core.protocols.agent import AgentLoopProtocol, ApprovalRequest, Approver, LoopTurn
    from datamind.core.protocols.database import (
        ColumnProfile,
        DatabaseDialect,
        DatabaseReader,
        NewTable,
        TableColumn,
        TableDescription,
        TableDrop,
        TableImport,
        TableInfo,
        TableOutcome,
        TableQuery,
        TableResult,
    )
    from datamind.core.protocols.graph import (
        AssertedBy,
        Assertion,
        Edges,
        Entity,
        EntityHit,
        GraphReader,
        GraphStats,
        GraphStore,
        GraphUnit,
        ParsedQuery,
        QueryResult,
        StatementPage,
        SupportsGraphFiles,
        SupportsSparql,
        Term,
        Triple,
        TriplePattern,
    )
    from datamind.core.protocols.ingest import FileLoader, LoadedDocument, LoadLimits
    from datamind.core.protocols.kb import (
        ChunkHit,
        ChunkRow,
        DocumentPage,
        DocumentRow,
        KBCounts,
        KBFilter,
        KBQuery,
        LexicalIndex,
        Reranker,
        Retriever,
        SupportsVectors,
        VectorReader,
        VectorSearch,
        VectorStore,
    )
    from datamind.core.protocols.memory import (
        MemoryDraft,
        MemoryFilter,
        MemoryHit,
        MemoryItem,
        MemoryKind,
        MemoryQuery,
        MemoryReader,
        MemoryScope,
        MemoryStore,
        MemoryVectorReader,
        SaveOutcome,
        SupportsMemoryVectors,
    )
    from datamind.core.protocols.models import (
        EmbeddingDescription,
        EmbeddingProvider,
        TextModelClient,
        ToolCallingModelClient,
    )
    from datamind.core.protocols.skills import (
        ReadsSkillFiles,
        Skill,
        SkillDraft,
        SkillHit,
        SkillProblem,
        SkillReader,
        SkillSource,
    )

__all__ = [
    "AgentLoopProtocol",
    "ApprovalRequest",
    "Approver",
    "AssertedBy",
    "Assertion",
    "ChunkHit",
    "ChunkRow",
    "ColumnProfile",
    "DatabaseDialect",
    "DatabaseReader",
    "DocumentPage",
    "DocumentRow",
    "Edges",
    "EmbeddingDescription",
    "EmbeddingProvider",
    "Entity",
    "EntityHit",
    "FileLoader",
    "GraphReader",
    "GraphStats",
    "GraphStore",
    "GraphUnit",
    "KBCounts",
    "KBFilter",
    "KBQuery",
    "LexicalIndex",
    "LoadLimits",
    "LoadedDocument",
    "LoopTurn",
    "MemoryDraft",
    "MemoryFilter",
    "MemoryHit",
    "MemoryItem",
    "MemoryKind",
    "MemoryQuery",
    "MemoryReader",
    "MemoryScope",
    "MemoryStore",
    "MemoryVectorReader",
    "NewTable",
    "ParsedQuery",
    "QueryResult",
    "ReadsSkillFiles",
    "Reranker",
    "Retriever",
    "SaveOutcome",
    "Skill",
    "SkillDraft",
    "SkillHit",
    "SkillProblem",
    "SkillReader",
    "SkillSource",
    "StatementPage",
    "SupportsGraphFiles",
    "SupportsMemoryVectors",
    "SupportsSparql",
    "SupportsVectors",
    "TableColumn",
    "TableDescription",
    "TableDrop",
    "TableImport",
    "TableInfo",
    "TableOutcome",
    "TableQuery",
    "TableResult",
    "Term",
    "TextModelClient",
    "ToolCallingModelClient",
    "Triple",
    "TriplePattern",
    "VectorReader",
    "VectorSearch",
    "VectorStore",
]

_MODULES: Final = ("agent", "database", "graph", "ingest", "kb", "memory", "models", "skills")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in (import_module(f"{__name__}.{part}") for part in _MODULES):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
