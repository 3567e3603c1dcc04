"""Plugins: what they declare (cheap, imported by every ``plugin.py``) and how they are found and opened (on use)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from datamind.plugins.contributions import (
    NO_OPTIONS,
    CommandSpec,
    Contributions,
    PromptSection,
    ProviderSpec,
    ToolHookSpec,
)
from datamind.plugins.kinds import ProviderKind
from datamind.plugins.records import CORE_PLUGIN, PluginRecord, PluginState

if TYPE_CHECKING:
    from datamind.plugins.host import PluginHost
    from datamind.plugins.lazy import ProviderContext, load_attribute, make_options, make_tool_hook, open_provider
    from datamind.plugins.options import ProviderOptions
    from datamind.plugins.registry import ProviderRegistry
    from datamind.plugins.specs import PLUGIN_API, hookimpl

__all__ = [
    "CORE_PLUGIN",
    "NO_OPTIONS",
    "PLUGIN_API",
    "CommandSpec",
    "Contributions",
    "PluginHost",
    "PluginRecord",
    "PluginState",
    "PromptSection",
    "ProviderContext",
    "ProviderKind",
    "ProviderOptions",
    "ProviderRegistry",
    "ProviderSpec",
    "ToolHookSpec",
    "hookimpl",
    "load_attribute",
    "make_options",
    "make_tool_hook",
    "open_provider",
]

_MODULE_OF: Final = {
    "PLUGIN_API": "specs",
    "hookimpl": "specs",
    "PluginHost": "host",
    "ProviderRegistry": "registry",
    "ProviderContext": "lazy",
    "load_attribute": "lazy",
    "make_options": "lazy",
    "make_tool_hook": "lazy",
    "open_provider": "lazy",
    "ProviderOptions": "options",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
