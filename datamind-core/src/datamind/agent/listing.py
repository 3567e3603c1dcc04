"""What plugins add to a build, asked with and without one."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from datamind.agent.selection import select_providers
from datamind.config.profile import Profile
from datamind.core.types import DataSurface
from datamind.plugins import Contributions, PluginHost, ProviderRegistry
from datamind.plugins.discovery import ALLOW_VARIABLE, BLOCK_VARIABLE, STRICT_VARIABLE

if TYPE_CHECKING:
    from datamind.agent.services import AgentServices
    from datamind.config.settings import Settings
    from datamind.core.tools import ToolSpec

OWN_HOOK_NAMES: Final = frozenset({"access", "path_allowlist"})


def make_host(settings: Settings, *, strict: bool | None = None) -> PluginHost:
    """The plugins that Settings let load.

    Args:
        settings: Whose ``plugins`` section holds.
        strict: Instead of what the section says.
    """
    plugins = settings.plugins
    return PluginHost(
        environ={
            ALLOW_VARIABLE: ",".join(plugins.allow or ()),
            BLOCK_VARIABLE: ",".join(plugins.block),
            STRICT_VARIABLE: "1" if (plugins.strict if strict is None else strict) else "0",
        }
    )


def list_contributions(settings: Settings, host: PluginHost) -> Contributions:
    """What the plugins would add to a build; those that fail in it are failed in ``host`` then.

    Raises:
        ConfigError: Settings name what is not installed, so that there would be no build.
    """
    services = _UnopenedServices(settings, host)
    try:
        names = [tool.name for tool in own_tools(services.on)]
        return host.contributions(settings, services, tool_names=names, hook_names=OWN_HOOK_NAMES)
    finally:
        services.close()


def own_tools(on: Collection[DataSurface]) -> list[ToolSpec]:
    """Every tool of these surfaces, before the ledger wraps those that write."""
    specs: list[ToolSpec] = []
    if DataSurface.MEMORY in on:
        from datamind.capabilities.memory.tools import memory_tools

        specs += memory_tools()
    if DataSurface.KB in on:
        from datamind.capabilities.kb.tools import kb_tools

        specs += kb_tools()
    if DataSurface.SKILLS in on:
        from datamind.capabilities.skills.tools import skill_tools

        specs += skill_tools()
    if DataSurface.DB in on:
        from datamind.capabilities.db.tools import db_tools

        specs += db_tools()
    if DataSurface.GRAPH in on:
        from datamind.capabilities.graph.tools import graph_tools

        specs += graph_tools()
    return specs


class _UnopenedServices:
    """Stands for AgentServices while plugins are only listed: control.db opens when a plugin looks at it."""

    def __init__(self, settings: Settings, host: PluginHost) -> None:
        self.settings = settings
        self.profile = Profile.of(settings)
        self._registry = ProviderRegistry(host)
        self._selection = select_providers(settings, self._registry, None)
        self.off = self._selection.off
        self._opened: AgentServices | None = None

    @property
    def on(self) -> tuple[DataSurface, ...]:
        """Like ``AgentServices.on``."""
        return tuple(surface for surface in DataSurface if surface not in (*self.off, DataSurface.UTILITY))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._opened is None:
            self._opened = self._open()
        return getattr(self._opened, name)

    def _open(self) -> AgentServices:
        from datamind.agent.services import make_services  # opens SQLite, which a mere list does without
        from datamind.capabilities.hub import ProviderHub

        self.profile.ensure()
        hub, shared_hub = (
            ProviderHub(self._registry, self.settings, profile, self._selection.chosen)
            for profile in (self.profile, Profile.shared(self.settings))
        )
        return make_services(self.settings, self.profile, hub, shared_hub, self.off, extractive=True)

    def close(self) -> None:
        """Close what a plugin made open."""
        if self._opened is not None:
            self._opened.shared_control.close()
            self._opened.control.close()
