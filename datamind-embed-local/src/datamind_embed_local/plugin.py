"""Registers the embeddings ``local`` and ``fastembed``."""

from __future__ import annotations

from datamind.plugins import NO_OPTIONS, ProviderKind, ProviderSpec, hookimpl
from datamind.plugins import PLUGIN_API as _CURRENT_API

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """Two embeddings that need no service."""
    return [
        ProviderSpec(
            ProviderKind.EMBEDDING,
            "local",
            "datamind_embed_local.local:open_local",
            NO_OPTIONS,
            "Multilingual, on this machine; nothing to download.",
        ),
        ProviderSpec(
            ProviderKind.EMBEDDING,
            "fastembed",
            "datamind_embed_local.downloaded:open_fastembed",
            "datamind_embed_local.options:FastembedOptions",
            "A model of your choice, downloaded once.",
        ),
    ]
