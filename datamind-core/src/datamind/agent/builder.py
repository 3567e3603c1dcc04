"""``build_datamind``: from Settings and what is installed to one working system, in four steps."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from datamind.agent.erasing import finish_erasures
from datamind.agent.facade import AgentParts, DataMind, RetrieveAgent, StoreAgent
from datamind.agent.listing import OWN_HOOK_NAMES, make_host, own_tools
from datamind.agent.prompt import make_system_prompt
from datamind.agent.selection import Selection, select_providers
from datamind.agent.services import SURFACES, AgentServices, make_services
from datamind.capabilities.control.control import NoRecord
from datamind.capabilities.hooks.access import AccessHook
from datamind.capabilities.hooks.path_allowlist import PathAllowlistHook
from datamind.capabilities.hub import ProviderHub
from datamind.capabilities.ingest.ledger import IngestLedger
from datamind.config.profile import Profile
from datamind.core.dispatch import DecisionRecorder, Gate, Sides
from datamind.core.errors import ConfigError
from datamind.core.hooks import HookChain, NamedHook
from datamind.core.logging import configure_logging, redactor
from datamind.core.protocols.agent import Approver
from datamind.core.tools import ToolRegistry, ToolSpec
from datamind.core.types import DataSurface, Role
from datamind.plugins import PluginHost, PluginRecord, ProviderRegistry

if TYPE_CHECKING:
    from datamind.config.settings import Settings


async def build_datamind(
    settings: Settings,
    *,
    enable: Collection[DataSurface | str] | None = None,
    approver: Approver | None = None,
    host: PluginHost | None = None,
) -> DataMind:
    """Assemble what is installed.

    Writes whose process died are finished before this returns. Stores open on first use.

    Args:
        settings: What to build.
        enable: Only these surfaces; all that are installed when left out.
        approver: Lets a person decide what a hook asks; without one such calls are refused.
        host: The plugins; found anew, as the plugins section says, when left out.

    Raises:
        ConfigError: A setting is wrong, a named provider is missing, or a required hook is absent.
        StoreError: The profile's folder cannot be written, or control.db cannot be opened.
    """
    _prepare_logging(settings)
    # In threads, here and below: a first build imports what an event loop should not wait for.
    if host is None:
        host = await run_sync(make_host, settings)
    registry = ProviderRegistry(host)
    profile = Profile.of(settings)
    profile.ensure()

    # 1 the model client, reused by everything that needs a model
    selection = select_providers(settings, registry, _surfaces(enable))
    hub = ProviderHub(registry, settings, profile, selection.chosen)
    shared_hub = ProviderHub(registry, settings, Profile.shared(settings), selection.chosen)

    # 2 the services
    extractive = selection.model_protocol == "offline"
    services = make_services(settings, profile, hub, shared_hub, selection.off, extractive=extractive)
    try:
        return await _assemble(services, selection, host, approver)
    except BaseException:
        await services.aclose()
        raise


def _prepare_logging(settings: Settings) -> None:
    for secret in settings.secrets():
        redactor.add(secret)
    # An application that has set up logging keeps it; its handlers are its own.
    if logging.getLogger("datamind").hasHandlers():
        return
    try:
        configure_logging(settings.logging.level, settings.logging.format, settings.logging.file)
    except OSError as error:
        raise ConfigError(
            f"logging.file {str(settings.logging.file)!r} cannot be opened ({error.strerror})",
            hint="Name a file in a folder you can write to.",
        ) from error


async def _assemble(
    services: AgentServices, selection: Selection, host: PluginHost, approver: Approver | None
) -> DataMind:
    # 3 one catalogue; the registries of both roles are views of it
    sides = Sides(services.read, services.write)
    ledger = IngestLedger(services.profile.name, services.control_of, services.controls, sides, services.write.sync)
    own = await run_sync(own_tools, services.on)
    added = host.contributions(
        services.settings,
        services,
        tool_names=[tool.name for tool in own],
        hook_names=OWN_HOOK_NAMES,
        with_hooks=services.settings.hooks.enabled,
    )
    specs = [*own, *added.tools]
    by_name = {spec.name: spec for spec in specs}
    services.repairs.replay = services.shared_repairs.replay = partial(ledger.replay, by_name)
    await _recover(ledger, by_name, services)

    # 4 receipt wrappers, hooks, prompts, loops, facade
    catalogue = tuple(ledger.wrap(spec) for spec in specs)
    chain = make_hook_chain(services, added.hooks, host.records)
    recorder: DecisionRecorder = services.control if services.settings.hooks.audit_log else NoRecord()
    agents = {}
    for role in Role:
        tools = ToolRegistry.select(catalogue, role)
        gate = Gate(tools, chain, sides, recorder, approver)
        agents[role] = AgentParts(gate, make_system_prompt(role, services.on, added.sections[role]))
    system = DataMind(services, selection, catalogue, agents)
    await finish_erasures(system)
    return system


def make_hook_chain(
    services: AgentServices, of_plugins: Sequence[NamedHook], plugins: Sequence[PluginRecord]
) -> HookChain:
    """The built-in hooks that Settings leave on, then those of plugins.

    Raises:
        ConfigError: A hook that ``hooks.required`` names is absent, whatever the reason.
    """
    settings = services.settings.hooks
    hooks = [NamedHook("access", 0, AccessHook())]
    if settings.enabled and settings.path_allowlist:
        hooks.append(NamedHook("path_allowlist", 100, PathAllowlistHook(services.write.paths)))
    hooks += of_plugins
    absent = sorted(set(settings.required) - {hook.name for hook in hooks})
    if absent:
        broken = "".join(f" {record}." for record in plugins if record.is_broken)
        raise ConfigError(
            f"the required hook {absent[0]!r} is absent (present: {', '.join(hook.name for hook in hooks)})",
            hint=f"Install or switch on the hook, or take it off hooks.required.{broken}",
        )
    return HookChain(hooks)


async def _recover(ledger: IngestLedger, by_name: Mapping[str, ToolSpec], services: AgentServices) -> None:
    for control in services.controls():
        await ledger.recover(by_name, control)


def _surfaces(enable: Collection[DataSurface | str] | None) -> frozenset[DataSurface] | None:
    if enable is None:
        return None
    known = {surface.value for surface in SURFACES}
    for name in enable:
        if name not in known:
            raise ConfigError(f"there is no surface {str(name)[:40]!r}", hint=f"Known: {', '.join(sorted(known))}.")
    return frozenset(DataSurface(name) for name in enable)


async def build_store_agent(settings: Settings, *, approver: Approver | None = None) -> StoreAgent:
    """A StoreAgent alone: it writes and cannot read. Raises like ``build_datamind``."""
    return StoreAgent(await build_datamind(settings, approver=approver))


async def build_agent(settings: Settings) -> RetrieveAgent:
    """A RetrieveAgent alone: it reads and cannot write. Raises like ``build_datamind``."""
    return RetrieveAgent(await build_datamind(settings))
