"""Systems whose model is scripted and whose plugins are objects of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from datamind.agent import DataMind, build_datamind
from datamind.core.protocols.agent import Approver
from datamind.core.protocols.models import ToolCallingModelClient
from datamind.plugins import NO_OPTIONS, PluginHost, ProviderKind, ProviderSpec, hookimpl
from datamind.plugins.discovery import installed_entry_points
from tests.support.systems import settings_in

_models: dict[str, ToolCallingModelClient] = {}


class Entry:
    """An entry point that loads an object made by the test."""

    dist = None

    def __init__(self, name: str, **hooks: Any) -> None:
        self.name = name
        self._plugin = SimpleNamespace(PLUGIN_API=(1, 0), **hooks)

    def load(self) -> SimpleNamespace:
        """The object itself."""
        return self._plugin


def installed(*names: str) -> list[Any]:
    """Entry points of the installed plugins, of all or of those named."""
    return [entry for entry in installed_entry_points()[0] if not names or entry.name in names]


def host_of(*entries: Any) -> PluginHost:
    """A host of core and exactly these plugins, whatever is installed."""
    return PluginHost(entry_points=entries, environ={})


@hookimpl
def _register_model() -> list[ProviderSpec]:
    target = "tests.support.scripted:open_model"
    return [ProviderSpec(ProviderKind.MODEL_CLIENT, "scripted", target, NO_OPTIONS, "A scripted model.")]


async def open_model(ctx: Any, options: Any) -> ToolCallingModelClient:
    """The factory of the provider `scripted`."""
    return _models[ctx.settings.llm.model]


@asynccontextmanager
async def open_scripted(
    folder: Path,
    model: ToolCallingModelClient,
    *plugins: Any,
    approver: Approver | None = None,
    without: Iterable[str] = (),
    **sections: Any,
) -> AsyncIterator[DataMind]:
    """A system that the model drives, over the installed plugins and those given; closed at the end."""
    name = f"model-{id(model)}"
    _models[name] = model
    sections["llm"] = {"protocol": "scripted", "model": name, **sections.get("llm", {})}
    others = [entry for entry in installed() if entry.name not in without]
    host = host_of(*others, Entry("scripted", datamind_register_providers=_register_model), *plugins)
    system = await build_datamind(settings_in(folder, **sections), approver=approver, host=host)
    try:
        yield system
    finally:
        await system.aclose()
        del _models[name]
