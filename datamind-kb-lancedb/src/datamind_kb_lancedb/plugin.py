"""Registers the KB store ``lancedb`` and the lexical index ``bm25s``."""

from __future__ import annotations

from datamind.plugins import NO_OPTIONS, ProviderKind, ProviderSpec, hookimpl
from datamind.plugins import PLUGIN_API as _CURRENT_API

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """One store, and one index that may stand beside it."""
    return [
        ProviderSpec(
            ProviderKind.KB_STORE,
            "lancedb",
            "datamind_kb_lancedb.store:open_store",
            "datamind_kb_lancedb.options:LanceOptions",
            "Documents, words and vectors in Lance tables that several processes may write.",
        ),
        ProviderSpec(
            ProviderKind.KB_LEXICAL_INDEX,
            "bm25s",
            "datamind_kb_lancedb.lexical:open_index",
            NO_OPTIONS,
            "A snapshot of all words, for what is written in bulk and then read.",
        ),
    ]
