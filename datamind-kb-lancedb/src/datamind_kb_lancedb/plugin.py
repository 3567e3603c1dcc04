"""Registers the KB store ``lancedb`` and the lexical index ``bm25s``."""

from __future__ import annotations

from datamind.plugins import PLUGIN_API as _CURRENT_API
from datamind.plugins import ProviderKind, ProviderSpec, hookimpl

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """One store."""
    return [
        ProviderSpec(
            ProviderKind.KB_STORE,
            "lancedb",
            "datamind_kb_lancedb.store:open_store",
            "datamind_kb_lancedb.options:LanceOptions",
            "Documents, words and vectors in Lance tables that several processes may write.",
        ),
    ]
