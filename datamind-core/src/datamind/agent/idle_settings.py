"""Advertised settings act or are rejected: what a chosen provider would take and ignore is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from datamind.core.errors import ConfigError

if TYPE_CHECKING:
    from datamind.config.settings import Settings

_LOCAL_EMBEDDINGS: Final = frozenset({"hashing", "local"})
_FOLDER_GRAPHS: Final = frozenset({"memory", "rdflib"})
_FILE_MEMORY: Final = frozenset({"memory", "sqlite"})
_FILE_TABLES: Final = frozenset({"memory", "duckdb"})


def refuse_idle_settings(settings: Settings, model_protocol: str) -> None:
    """Check the settings that act with some providers only.

    Raises:
        ConfigError: One is set and the chosen provider does nothing with it.
    """
    for keys, reason in (*_of_models(settings, model_protocol), *_of_stores(settings)):
        raise ConfigError(f"{keys} {'do' if ' and ' in keys else 'does'} nothing: {reason}", hint="Remove it.")


def _of_models(settings: Settings, model_protocol: str) -> Iterator[tuple[str, str]]:
    if settings.llm.api_base and model_protocol == "offline":
        yield "llm.api_base", "the offline model client asks no service; set llm.protocol to one that does"
    embedding = settings.embedding
    if embedding.provider in _LOCAL_EMBEDDINGS:
        for name in ("api_base", "api_key", "model"):
            if getattr(embedding, name) is not None:
                yield f"embedding.{name}", f"the embedding provider {embedding.provider!r} brings its one model along"


def _of_stores(settings: Settings) -> Iterator[tuple[str, str]]:
    graph, memory, db = settings.graph, settings.memory, settings.db
    if graph.dsn is not None and graph.backend in _FOLDER_GRAPHS:
        yield "graph.dsn", f"the graph store {graph.backend!r} keeps a folder of the profile"
    if memory.dsn is not None and memory.backend in _FILE_MEMORY:
        yield "memory.dsn", f"the memory store {memory.backend!r} keeps a file of the profile"
    if (db.dsn or db.read_dsn) is not None and db.dialect in _FILE_TABLES:
        yield "db.dsn and db.read_dsn", f"the dialect {db.dialect!r} keeps a file of the profile"
