"""Subcommands that plugins bring: found without slowing down, or ever breaking, the built-in ones."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datamind.core.errors import ConfigError, DataMindError, PluginError

if TYPE_CHECKING:
    import click

    from datamind.plugins import CommandSpec, PluginHost, PluginRecord
    from datamind_cli.state import State

_HOOK: Final = "datamind_register_commands"
_STRICT: Final = "DATAMIND_PLUGINS_STRICT"


@dataclass(frozen=True)
class Offered:
    """What the installed plugins offer.

    Attributes:
        problem: Why nothing is offered although something might be; empty when all is well.
        broken: Plugins that should have worked.
    """

    commands: dict[str, CommandSpec] = field(default_factory=dict)
    problem: str = ""
    broken: tuple[PluginRecord, ...] = ()


def offered_commands(built_in: frozenset[str]) -> Offered:
    """The commands of all plugins but those that take the name of another. Never raises for a plugin's fault."""
    from datamind.plugins import PluginHost

    try:
        with quiet_plugins():
            host = PluginHost(environ=lenient_environ())
            specs = host.commands(built_in)
    except ConfigError as error:
        return Offered(problem=str(error))
    broken = tuple(record for record in host.records if record.is_broken)
    return Offered({spec.name: spec for spec in specs}, broken=broken)


def examined_plugins(state: State) -> tuple[PluginHost, tuple[str, ...]]:
    """The plugins that Settings let load, asked what they add to a build, and why they were not asked, if so.

    Those released with core are tested with it; asking them would take three times as long as all the rest.
    """
    from datamind.plugins import PluginHost
    from datamind.plugins.known import KNOWN_DISTRIBUTIONS

    host = PluginHost(environ=lenient_environ())
    adding = host.implement_service_hooks()
    if not any(record.distribution not in KNOWN_DISTRIBUTIONS for record in adding):
        return host, ()
    from datamind.agent.listing import list_contributions, make_host
    from datamind_cli.session import load_settings

    try:
        settings = load_settings(state)
        host = make_host(settings, strict=False)
        list_contributions(settings, host)
    except DataMindError as error:
        return host, (f"what plugins add to the agents was not looked at: {error}",)
    return host, ()


def load_command(spec: CommandSpec) -> click.Command:
    """The command itself.

    Raises:
        PluginError: It does not import, or is no click command.
    """
    import click

    from datamind.plugins import load_attribute

    command = load_attribute(spec.target, spec.origin)
    if not isinstance(command, click.Command):
        owner = spec.origin.label if spec.origin else "a plugin"
        raise PluginError(f"the command {spec.name!r} of {owner} is no click command.", code="plugin_error.broken")
    return command


def lenient_environ() -> dict[str, str]:
    """The environment without strict mode: listing what is broken must not fail because something is."""
    return {name: value for name, value in os.environ.items() if name != _STRICT}


@contextmanager
def quiet_plugins() -> Iterator[None]:
    """No warning of a broken plugin, where one is given anyway or the whole output is about plugins."""
    logger = logging.getLogger("datamind.plugins")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def may_offer_commands() -> bool:
    """Whether loading the plugins could add a command: a look at their text, which takes a tenth of the time.

    Only a plugin whose text is found and does not name the hook counts as having none.
    """
    return any(_may_have_hook(module) for folder in sys.path for module in _plugin_modules(folder or "."))


def _plugin_modules(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return
    for name in names:
        try:
            text = Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if "[datamind]" in text:
            yield from _entry_modules(text)


def _entry_modules(text: str) -> Iterator[str]:
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[datamind]" and "=" in line:
            yield line.partition("=")[2].partition("[")[0].partition(":")[0].strip()


def _may_have_hook(module: str) -> bool:
    relative = Path(*module.split("."))
    for folder in sys.path:
        for path in (Path(folder, f"{relative}.py"), Path(folder, relative, "__init__.py")):
            if path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                return _HOOK in text or "import *" in text
    return True
