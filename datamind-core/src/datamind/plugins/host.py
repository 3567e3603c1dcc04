"""PluginHost: loads what is installed, keeps a record of each, and is the only caller of plugin hooks."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from datamind.core.errors import PluginError
from datamind.plugins import checks, specs
from datamind.plugins.contributions import CommandSpec, Contributions, PromptSection, ProviderSpec, ToolHookSpec
from datamind.plugins.discovery import PluginPolicy, core_plugin, installed_entry_points, record_of
from datamind.plugins.records import CORE_PLUGIN, PluginRecord, PluginState

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from datamind.core.hooks import NamedHook

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_N = TypeVar("_N", bound=checks.Named)


class PluginHost:
    """The installed plugins, and one typed method for each hook.

    Building it imports the ``plugin.py`` of every allowed plugin and nothing else. A broken plugin costs one
    warning and a record; only ``DATAMIND_PLUGINS_STRICT=1`` makes it an error at once. One thread at a time.
    """

    def __init__(
        self, entry_points: Iterable[EntryPoint] | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        """Load core's plugin, then the others by name.

        Args:
            entry_points: Those of group ``datamind``; None reads what is installed.
            environ: Where allow-list, block-list and strict mode are read; None for ``os.environ``.

        Raises:
            ConfigError: A variable has a value that is not understood.
            PluginError: Strict mode, and a plugin is broken or one that a list names is not installed.
        """
        self._policy = PluginPolicy.from_environ(os.environ if environ is None else environ)
        self._manager = pluggy.PluginManager(specs.HOOK_PREFIX)
        self._manager.add_hookspecs(specs)
        self._loaded: dict[str, PluginRecord] = {}
        self._refused: list[PluginRecord] = []
        self._unmatched: tuple[str, ...] = ()
        found, unreadable = installed_entry_points() if entry_points is None else (list(entry_points), [])
        self._load_all(found)
        for record in unreadable:
            if not self._is_blocked([record]):
                self._refuse(record)
        self._report_unmatched()

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """Every plugin found, core first, then by name; of one name the loaded one first, then by distribution."""
        found = [*self._loaded.values(), *sorted(self._refused, key=lambda record: record.distribution)]
        return tuple(sorted(found, key=lambda record: (record.name != CORE_PLUGIN, record.name)))

    @property
    def unmatched(self) -> tuple[str, ...]:
        """What the lists of allowed and blocked plugins name and is not installed, one sentence each."""
        return self._unmatched

    def providers(self) -> list[ProviderSpec]:
        """Every provider on offer; of two plugins that claim one pair of kind and name, both are failed."""
        found = self._collect(specs.datamind_register_providers, ProviderSpec)
        self._unclaimed(found, lambda spec: f"{spec.kind} {spec.name!r}")
        return [replace(spec, origin=record) for record, spec in found]

    def contributions(
        self,
        settings: Any,
        services: Any,
        *,
        tool_names: Iterable[str] = (),
        hook_names: Iterable[str] = (),
        with_hooks: bool = True,
    ) -> Contributions:
        """Everything the plugins add to one build; nothing of a plugin that fails in any of it.

        Args:
            settings: The Settings of the build.
            services: Its AgentServices.
            tool_names: Names of core's own tools, which no plugin may take.
            hook_names: Those of core's own hooks.
            with_hooks: Whether hooks are made at all.
        """
        from datamind.core.tools import ToolSpec  # brings pydantic, which listing plugins does without
        from datamind.core.types import Role

        found = self._collect(specs.datamind_register_tools, ToolSpec, services=services)
        tools = self._unclaimed(found, lambda tool: f"Tool {tool.name!r}", tool_names)
        hooks = self._hooks(settings, services, hook_names) if with_hooks else []
        sections = {
            role: self._collect(specs.datamind_prompt_sections, PromptSection, role=role, services=services)
            for role in Role
        }
        return Contributions(
            tuple(tool for record, tool in tools if self._is_loaded(record)),
            tuple(hook for record, hook in hooks if self._is_loaded(record)),
            {
                role: _in_order(section for record, section in of if self._is_loaded(record))
                for role, of in sections.items()
            },
        )

    def implement_service_hooks(self) -> tuple[PluginRecord, ...]:
        """The loaded plugins that add to a build: tools, hooks or prompt sections."""
        names = ("datamind_register_tools", "datamind_register_tool_hooks", "datamind_prompt_sections")
        callers: list[pluggy.HookCaller] = [getattr(self._manager.hook, name) for name in names]
        plugins = {implementation.plugin_name for caller in callers for implementation in caller.get_hookimpls()}
        return tuple(record for name, record in self._loaded.items() if name in plugins)

    def commands(self, taken: Iterable[str] = ()) -> list[CommandSpec]:
        """Every subcommand of a plugin, by name; a plugin that takes the name of another's, or a built-in one, fails.

        Args:
            taken: Names of the built-in commands.
        """
        found = self._collect(specs.datamind_register_commands, CommandSpec)
        mine = self._unclaimed(found, lambda command: f"Command {command.name!r}", taken)
        return sorted((replace(spec, origin=record) for record, spec in mine), key=lambda spec: spec.name)

    def _hooks(self, settings: Any, services: Any, taken: Iterable[str]) -> list[tuple[PluginRecord, NamedHook]]:
        from datamind.core.hooks import NamedHook
        from datamind.plugins.lazy import make_tool_hook

        found = self._collect(specs.datamind_register_tool_hooks, ToolHookSpec, settings=settings, services=services)
        made = []
        for record, spec in self._unclaimed(found, lambda hook: f"Tool hook {hook.name!r}", taken):
            try:
                hook = make_tool_hook(replace(spec, origin=record), settings, services)
            except PluginError as error:
                self._fail(record, error)
            else:
                made.append((record, NamedHook(spec.name, spec.order, hook)))
        return made

    def _unclaimed(
        self, found: Sequence[tuple[PluginRecord, _N]], describe: Callable[[_N], str], taken: Iterable[str] = ()
    ) -> list[tuple[PluginRecord, _N]]:
        """Those whose name nobody else has. Of two plugins that claim one neither is preferred: both fail."""
        core = self._loaded[CORE_PLUGIN]
        own = frozenset(taken)
        owners: dict[str, list[PluginRecord]] = {}
        for record, item in found:
            first = [core] if item.name in own else []
            owners.setdefault(describe(item), first).append(record)
        for what, records in owners.items():
            if len(records) > 1:
                error = checks.clash(what, records)
                for record in dict.fromkeys(records):
                    self._fail(record, error)
        return [(record, item) for record, item in found if self._is_loaded(record)]

    def _is_loaded(self, record: PluginRecord) -> bool:
        return self._loaded.get(record.name) is record

    def _fail(self, record: PluginRecord, error: BaseException, hook: str = "") -> None:
        if record.name != CORE_PLUGIN and self._is_loaded(record):
            del self._loaded[record.name]
            self._refuse(checks.failed(record, error, hook), error)

    def _load_all(self, entries: list[EntryPoint]) -> None:
        core = core_plugin()
        self._load(*core)
        claims: dict[str, list[tuple[EntryPoint, PluginRecord]]] = {}
        for entry in entries:
            claims.setdefault(entry.name, []).append((entry, record_of(entry)))
        for name in sorted(claims):
            records = [record for _, record in claims[name]]
            if name == CORE_PLUGIN:
                self._refuse_duplicates(records, also=[core[1]])
            elif self._is_blocked(records):
                continue
            elif len(records) > 1:
                self._refuse_duplicates(records)
            else:
                self._load(*claims[name][0])

    def _is_blocked(self, records: list[PluginRecord]) -> bool:
        cause = self._policy.refusal(records[0].name)
        if cause:
            self._refused.extend(replace(record, state=PluginState.BLOCKED, cause=cause) for record in records)
        return bool(cause)

    def _refuse_duplicates(self, records: list[PluginRecord], also: Iterable[PluginRecord] = ()) -> None:
        # None of them loads: which one was meant must not depend on the order of installation.
        owners = " and ".join([*(record.label for record in also), *sorted(record.label for record in records)])
        cause = f"the name is claimed by {owners}; uninstall one"
        self._refused.extend(replace(record, state=PluginState.DUPLICATE, cause=cause) for record in records)
        self._complain(f"plugin {records[0].name!r} is not loaded: {cause}.")

    def _load(self, entry: EntryPoint, record: PluginRecord) -> None:
        try:
            plugin = entry.load()
            checks.check_api(plugin)
            self._register(plugin, record.name)
        except checks.PLUGIN_FAULTS as error:
            self._refuse(checks.failed(record, error), error)
        else:
            self._loaded[record.name] = record

    def _register(self, plugin: object, name: str) -> None:
        try:
            self._manager.register(plugin, name)
            self._manager.check_pending()  # until here a misspelt hook is accepted
            callers = self._manager.get_hookcallers(plugin) or []
            checks.check_markers(plugin, [caller.name for caller in callers])
            for caller in callers:
                own = [implementation for implementation in caller.get_hookimpls() if implementation.plugin is plugin]
                checks.check_implementations(caller.name, own)
        except Exception:
            self._manager.unregister(name=name)
            raise

    def _collect(
        self, hook: Callable[..., Iterable[_T]], expected: type[_T], **arguments: Any
    ) -> list[tuple[PluginRecord, _T]]:
        caller: pluggy.HookCaller = getattr(self._manager.hook, hook.__name__)
        implementations = {implementation.plugin_name: implementation for implementation in caller.get_hookimpls()}
        found: list[tuple[PluginRecord, _T]] = []
        for name, record in tuple(self._loaded.items()):
            if name not in implementations:
                continue
            implementation = implementations[name]
            try:
                result = implementation.function(*(arguments[argument] for argument in implementation.argnames))
                found.extend((record, item) for item in checks.checked_items(result, expected))
            except checks.PLUGIN_FAULTS as error:
                self._fail(record, error, hook.__name__)
        return found

    def _refuse(self, record: PluginRecord, error: BaseException | None = None) -> None:
        self._refused.append(record)
        self._complain(f"{record}.", error)

    def _report_unmatched(self) -> None:
        installed = [record.name for record in self.records]
        told = []
        for variable, name in self._policy.unmatched(installed):
            nearest = get_close_matches(name, installed, n=1)
            meant = f" Did you mean {nearest[0]!r}?" if nearest else ""
            told.append(f"{variable} names {name!r:.80}, and no plugin of that name is installed.{meant}")
            self._complain(told[-1])
        self._unmatched = tuple(told)

    def _complain(self, message: str, error: BaseException | None = None) -> None:
        if self._policy.strict:
            hint = "DATAMIND_PLUGINS_STRICT is set: mend it, uninstall it or name it in DATAMIND_PLUGINS_BLOCK."
            raise PluginError(message, code="plugin_error.strict", hint=hint) from error
        log.warning("%s", message)


def _in_order(sections: Iterable[PromptSection]) -> tuple[PromptSection, ...]:
    return tuple(sorted(sections, key=lambda section: (section.order, section.title)))
