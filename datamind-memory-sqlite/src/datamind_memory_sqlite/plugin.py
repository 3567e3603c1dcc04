"""Registers the memory store ``sqlite``."""

from __future__ import annotations

from datamind.plugins import PLUGIN_API as _CURRENT_API
from datamind.plugins import ProviderKind, ProviderSpec, hookimpl

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """One store."""
    return [
        ProviderSpec(
            ProviderKind.MEMORY_STORE,
            "sqlite",
            "datamind_memory_sqlite.store:open_store",
            "datamind_memory_sqlite.options:SqliteMemoryOptions",
            "Memories in one SQLite file that several processes may write.",
        )
    ]
