"""Where the known providers come from: what an error about a missing one tells the user to install.

Data only. A requirement may name an extra; core's own providers are not here, they are never missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from datamind.plugins.kinds import ProviderKind as Kind

PROVIDER_REQUIREMENTS: Final[Mapping[tuple[Kind, str], str]] = MappingProxyType(
    {
        (Kind.MODEL_CLIENT, "anthropic"): "datamind-model-anthropic",
        (Kind.MODEL_CLIENT, "openai_chat_completions"): "datamind-model-openai",
        (Kind.MODEL_CLIENT, "offline"): "datamind-model-offline",
        (Kind.EMBEDDING, "openai"): "datamind-model-openai",
        (Kind.EMBEDDING, "local"): "datamind-embed-local",
        (Kind.EMBEDDING, "fastembed"): "datamind-embed-local[fastembed]",
        (Kind.KB_STORE, "lancedb"): "datamind-kb-lancedb",
        (Kind.KB_LEXICAL_INDEX, "bm25s"): "datamind-kb-lancedb",
        (Kind.DB_DIALECT, "duckdb"): "datamind-db-duckdb",
        (Kind.DB_DIALECT, "sqlite"): "datamind-db-sqlalchemy",
        (Kind.DB_DIALECT, "mysql"): "datamind-db-sqlalchemy[mysql]",
        (Kind.DB_DIALECT, "postgres"): "datamind-db-sqlalchemy[postgres]",
        (Kind.GRAPH_STORE, "rdflib"): "datamind-graph-rdflib",
        (Kind.GRAPH_STORE, "sparql"): "datamind-graph-rdflib",
        (Kind.MEMORY_STORE, "sqlite"): "datamind-memory-sqlite",
        (Kind.SKILLS_SOURCE, "profile"): "datamind-skills",
        (Kind.AGENT_LOOP, "sdk"): "datamind-loop-sdk",
        **{
            (Kind.INGEST_LOADER, name): "datamind-documents"
            for name in ("pdf", "docx", "pptx", "xlsx", "html", "csv", "epub", "eml")
        },
    }
)

COMMAND_REQUIREMENTS: Final[Mapping[str, str]] = MappingProxyType({"mcp": "datamind-mcp", "serve": "datamind-http"})
"""Subcommands of ``datamind`` that another distribution brings."""


NOT_RELEASED: Final = frozenset(
    {
        "datamind-model-anthropic",
        "datamind-model-openai",
        "datamind-db-sqlalchemy",
        "datamind-loop-sdk",
        "datamind-http",
        "datamind-mcp",
    }
)
"""Those of the distributions above that do not exist yet; nobody is told to install one."""

KNOWN_DISTRIBUTIONS: Final = frozenset(
    requirement.partition("[")[0] for requirement in (*PROVIDER_REQUIREMENTS.values(), *COMMAND_REQUIREMENTS.values())
)
"""Those that are released together with core."""


def distribution_of(requirement: str) -> str:
    """The distribution of a requirement, without its extra."""
    return requirement.partition("[")[0]


def advice(requirement: str) -> str:
    """What to do about something that comes with ``requirement``: one sentence, with the command to paste."""
    if distribution_of(requirement) in NOT_RELEASED:
        return f"It comes with {distribution_of(requirement)}, which is not released yet."
    # Quoted where a shell would read the brackets of an extra.
    return f"Run: pip install '{requirement}'" if "[" in requirement else f"Run: pip install {requirement}"
