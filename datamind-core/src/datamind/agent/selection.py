"""Which provider serves each kind, and why a surface is off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from datamind.agent.idle_settings import refuse_idle_settings
from datamind.capabilities.hub import named_provider
from datamind.config.sources import Origin
from datamind.core.errors import PluginError
from datamind.core.types import DataSurface
from datamind.plugins import ProviderKind, ProviderRegistry, ProviderSpec

if TYPE_CHECKING:
    from datamind.config.settings import Settings

_KIND_OF: Final = {
    DataSurface.KB: ProviderKind.KB_STORE,
    DataSurface.DB: ProviderKind.DB_DIALECT,
    DataSurface.GRAPH: ProviderKind.GRAPH_STORE,
    DataSurface.MEMORY: ProviderKind.MEMORY_STORE,
    DataSurface.SKILLS: ProviderKind.SKILLS_SOURCE,
}
_ACTS_WITHOUT_A_PROVIDER: Final = frozenset({"memory.short_term_turns"})


@dataclass
class Selection:
    """What will be opened on use, and what will not.

    Attributes:
        model_error: Why there is no model client, when none was named and the default is absent.
    """

    chosen: dict[ProviderKind, ProviderSpec] = field(default_factory=dict)
    off: dict[DataSurface, str] = field(default_factory=dict)
    model_protocol: str = ""
    model_error: PluginError | None = None


def select_providers(
    settings: Settings, registry: ProviderRegistry, enable: Collection[DataSurface] | None
) -> Selection:
    """Look up everything Settings name.

    A default whose plugin is absent switches its surface off; what was *named* and is absent raises.

    Raises:
        PluginError: A named provider is missing or broken.
        ConfigError: A setting that nothing installed acts on.
    """
    named = {origin.key for origin in settings.origins() if origin.origin is not Origin.DEFAULT}
    selection = Selection()
    for surface, kind in _KIND_OF.items():
        if enable is not None and surface not in enable:
            selection.off[surface] = "it was not enabled"
            continue
        _select(registry, settings, kind, _is_named(kind, named), selection, surface)
    _select_model(registry, settings, named, selection)
    _select(registry, settings, ProviderKind.KB_RETRIEVER, True, selection, None)
    _select(registry, settings, ProviderKind.AGENT_LOOP, True, selection, None)
    _select(registry, settings, ProviderKind.EMBEDDING, _is_named(ProviderKind.EMBEDDING, named), selection, None)
    if settings.retrieval.rerank:
        registry.select(ProviderKind.KB_RERANKER, named_provider(settings, ProviderKind.KB_RERANKER))
    if settings.kb.lexical != "store":
        registry.select(ProviderKind.KB_LEXICAL_INDEX, named_provider(settings, ProviderKind.KB_LEXICAL_INDEX))
    refuse_idle_settings(settings, selection.model_protocol)
    return selection


def _is_named(kind: ProviderKind, named: Collection[str]) -> bool:
    # Any key of a section that only its provider acts on: taken and ignored it must not be.
    section = kind.setting.partition(".")[0]
    return any(key.startswith(f"{section}.") and key not in _ACTS_WITHOUT_A_PROVIDER for key in named)


def _select(
    registry: ProviderRegistry,
    settings: Settings,
    kind: ProviderKind,
    was_named: bool,
    selection: Selection,
    surface: DataSurface | None,
) -> None:
    try:
        selection.chosen[kind] = registry.select(kind, named_provider(settings, kind))
    except PluginError as error:
        if was_named:
            raise
        if surface is not None:
            selection.off[surface] = str(error)


def _select_model(registry: ProviderRegistry, settings: Settings, named: Collection[str], selection: Selection) -> None:
    protocol = settings.llm.protocol or ("anthropic" if settings.llm.api_key else "offline")
    selection.model_protocol = protocol
    try:
        selection.chosen[ProviderKind.MODEL_CLIENT] = registry.select(ProviderKind.MODEL_CLIENT, protocol)
    except PluginError as error:
        if {"llm.protocol", "llm.api_key"} & set(named):
            raise
        selection.model_error = error
