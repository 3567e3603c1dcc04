"""Registers the model client ``offline``."""

from __future__ import annotations

from typing import Final

from datamind.plugins import NO_OPTIONS, ProviderKind, ProviderSpec, hookimpl

PLUGIN_API: Final = (1, 0)


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """The one client."""
    return [
        ProviderSpec(
            ProviderKind.MODEL_CLIENT,
            "offline",
            "datamind_model_offline.client:open_client",
            NO_OPTIONS,
            "Extractive answers by grammar and words: no network, no key, no language model.",
        )
    ]
