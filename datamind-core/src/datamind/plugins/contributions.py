"""The values a plugin returns from its hooks. Each validates itself, so that a mistake is reported at its author."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from datamind.core.errors import PluginError
from datamind.plugins.kinds import ProviderKind
from datamind.plugins.records import PluginRecord

if TYPE_CHECKING:
    from datamind.core.hooks import NamedHook
    from datamind.core.tools import ToolSpec
    from datamind.core.types import Role

NO_OPTIONS: Final = "datamind.plugins.options:NoOptions"
"""``ProviderSpec.options`` of a provider that takes none."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def check_name(what: str, name: object) -> None:
    """Raises: PluginError: ``name`` is not ``[a-z0-9][a-z0-9_-]*``."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise PluginError(
            f"{what} name {name!r:.80} is not allowed.",
            hint="Use a-z, 0-9, '-' and '_', starting with a letter or digit.",
        )


def check_target(what: str, target: object) -> None:
    """Raises: PluginError: ``target`` is not of the form ``package.module:attribute``."""
    if not isinstance(target, str) or _TARGET.fullmatch(target) is None:
        raise PluginError(
            f"{what} {target!r:.120} is not a string of the form 'package.module:attribute'.",
            hint="Give the place of the object, not the object: it is imported on first use.",
        )


def _check_order(what: str, order: object) -> None:
    if not isinstance(order, int) or isinstance(order, bool):
        raise PluginError(f"{what} order {order!r:.80} is not an integer.")


def _check_line(what: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip() or len(text.splitlines()) > 1:
        raise PluginError(f"{what} {text!r:.80} is not one line of text.")


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A provider that can be selected by name in Settings.

    Attributes:
        kind: What it is; with ``name`` unique among all installed plugins.
        name: The value of the setting that selects it.
        factory: ``"module:attr"`` of ``async factory(ctx: ProviderContext, options) -> provider``.
        options: ``"module:attr"`` of its pydantic model with ``extra="forbid"``; ``NO_OPTIONS`` if it takes none.
        summary: One line for ``datamind plugins``.
        origin: The plugin it came from; filled in by the host.
    """

    kind: ProviderKind
    name: str
    factory: str
    options: str
    summary: str
    origin: PluginRecord | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in tuple(ProviderKind):
            raise PluginError(f"Provider kind {self.kind!r:.80} is not one of {', '.join(ProviderKind)}.")
        object.__setattr__(self, "kind", ProviderKind(self.kind))
        check_name(f"{self.kind} provider", self.name)
        check_target(f"{self.kind} {self.name!r}: factory", self.factory)
        check_target(f"{self.kind} {self.name!r}: options", self.options)
        _check_line(f"{self.kind} {self.name!r}: summary", self.summary)

    def __str__(self) -> str:
        owner = f" of {self.origin.label}" if self.origin else ""
        return f"{self.kind} {self.name!r}{owner}"


@dataclass(frozen=True, slots=True)
class ToolHookSpec:
    """A hook of the HookChain that every tool call passes.

    Attributes:
        name: What ``hooks.required`` refers to; unique among all installed plugins.
        order: Place in the chain, lower first, ties by name.
        factory: ``"module:attr"`` of ``factory(settings, services) -> ToolHook``, called once for each build.
        origin: The plugin it came from; filled in by the host.
    """

    name: str
    order: int
    factory: str
    origin: PluginRecord | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_name("Tool hook", self.name)
        _check_order(f"Tool hook {self.name!r}:", self.order)
        check_target(f"Tool hook {self.name!r}: factory", self.factory)


@dataclass(frozen=True, slots=True)
class PromptSection:
    """Text of a plugin in the system prompt of a role.

    Attributes:
        title: One line; the heading of the section.
        order: Place in the prompt, lower first, ties by title.
        text: Markdown. The prompt prefix is cached, so it holds no clock, no id and nothing that differs by request.
    """

    title: str
    order: int
    text: str

    def __post_init__(self) -> None:
        _check_line("Prompt section title", self.title)
        _check_order(f"Prompt section {self.title!r:.80}:", self.order)
        if not isinstance(self.text, str) or not self.text.strip():
            raise PluginError(f"Prompt section {self.title!r:.80}: text {self.text!r:.80} is not text, or is empty.")


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A subcommand of ``datamind``.

    Attributes:
        name: The subcommand; unique among all installed plugins.
        help: One line for ``datamind --help``, printed without importing the command.
        target: ``"module:command"`` of a click command.
        origin: The plugin it came from; filled in by the host.
    """

    name: str
    help: str
    target: str
    origin: PluginRecord | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_name("Command", self.name)
        _check_line(f"Command {self.name!r}: help", self.help)
        check_target(f"Command {self.name!r}: target", self.target)


@dataclass(frozen=True, slots=True)
class Contributions:
    """What all plugins add to one build.

    Attributes:
        tools: In the order of plugin names.
        hooks: Made already.
        sections: Lowest order first, ties by title, then by plugin name.
    """

    tools: tuple[ToolSpec, ...]
    hooks: tuple[NamedHook, ...]
    sections: Mapping[Role, tuple[PromptSection, ...]]
