"""What the host demands of a plugin, and how it puts a fault into words."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from datamind.core.errors import PluginError
from datamind.plugins import specs
from datamind.plugins.records import PluginRecord, PluginState

if TYPE_CHECKING:
    from pluggy import HookImpl

MAX_CAUSE_CHARS: Final = 300

PLUGIN_FAULTS: Final = (Exception, SystemExit)
"""What a plugin can do wrong without ending the process; KeyboardInterrupt and cancellation pass."""


class Named(Protocol):
    """Anything with a name that is unique among its kind."""

    @property
    def name(self) -> str:
        """The name."""


_T = TypeVar("_T")


class IncompatiblePlugin(Exception):
    """A plugin written for another version of the hooks."""


def check_api(plugin: object) -> None:
    """Raises: IncompatiblePlugin: ``PLUGIN_API`` is missing, malformed, of another major or of a newer minor."""
    declared = getattr(plugin, "PLUGIN_API", None)
    ours = f"this datamind-core has plugin API {specs.PLUGIN_API}"
    if declared is None:
        raise IncompatiblePlugin(f"it declares no PLUGIN_API; {ours}")
    if not isinstance(declared, tuple) or [type(part) for part in declared] != [int, int]:
        raise IncompatiblePlugin(f"its PLUGIN_API {declared!r:.60} is not a tuple (major, minor); {ours}")
    major, minor = declared
    if major != specs.PLUGIN_API[0] or minor > specs.PLUGIN_API[1]:
        side = "datamind-core" if (major, minor) > specs.PLUGIN_API else "the plugin"
        raise IncompatiblePlugin(f"it was written for plugin API {declared}; {ours}; upgrade {side}")


def check_markers(plugin: object, implemented: Iterable[str]) -> None:
    """Raises: TypeError: a function has the name of a hook and is not marked, so it would never be called."""
    hooks = [name for name in vars(specs) if name.startswith(f"{specs.HOOK_PREFIX}_")]
    for name in hooks:
        if hasattr(plugin, name) and name not in implemented:
            raise TypeError(f"{name} is not marked with @hookimpl")


def check_implementations(hook: str, implementations: Sequence[HookImpl]) -> None:
    """Check those of one plugin for one hook.

    Raises:
        TypeError: One is asynchronous, or a wrapper, which would see and change what others return; an argument has
            a default, which pluggy would leave at that; or there are two.
    """
    if len(implementations) > 1:
        raise TypeError(f"{hook} is implemented twice in one plugin")
    for implementation in implementations:
        function = implementation.function
        if iscoroutinefunction(function) or isasyncgenfunction(function):
            raise TypeError(f"{hook} is asynchronous; a hook is an ordinary function")
        if implementation.wrapper or implementation.hookwrapper:
            raise TypeError(f"{hook} is a wrapper; each plugin is called alone")
        if implementation.kwargnames:
            raise TypeError(f"{hook} has a default for {implementation.kwargnames[0]!r}, which would never be filled")


def checked_items(result: Any, expected: type[_T]) -> list[_T]:
    """Consume what a hook returned.

    Raises:
        TypeError: It is no iterable, or an item is not an ``expected``.
    """
    wanted = f"an iterable of {expected.__name__}"
    if not isinstance(result, Iterable) or isinstance(result, str | bytes | Mapping):
        raise TypeError(f"returned {type(result).__name__}, expected {wanted}")
    items = list(result)
    for item in items:
        if not isinstance(item, expected):
            raise TypeError(f"returned {item!r:.80} of type {type(item).__name__} among its items, expected {wanted}")
    return items


def one_line(error: BaseException) -> str:
    """The class and message of an error, of our own the message alone.

    Without line breaks, control characters and a final stop; at most 300 characters.
    """
    text = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = " ".join(printable.split()).rstrip(".")
    return line if len(line) <= MAX_CAUSE_CHARS else f"{line[: MAX_CAUSE_CHARS - 1]}…"


def failed(record: PluginRecord, error: BaseException, hook: str = "") -> PluginRecord:
    """The record of a plugin that raised, while it was loaded or in ``hook``."""
    if isinstance(error, IncompatiblePlugin):
        return replace(record, state=PluginState.INCOMPATIBLE, cause=str(error))
    cause = f"{hook}: {one_line(error)}" if hook else one_line(error)
    trace = "".join(traceback.format_exception(error)) if error.__traceback__ else ""
    return replace(record, state=PluginState.FAILED, cause=cause, traceback=trace)


def clash(what: str, owners: Sequence[PluginRecord]) -> PluginError:
    """One name is claimed twice: nobody is preferred, whatever the order of installation."""
    labels = list(dict.fromkeys(f"{owner.label} (plugin {owner.name!r})" for owner in owners))
    claimed = f"both {' and '.join(labels)}" if len(labels) > 1 else f"{labels[0]}, twice"
    return PluginError(
        f"{what} is claimed by {claimed}.",
        code="plugin_error.clash",
        hint="Uninstall one, or name its plugin in DATAMIND_PLUGINS_BLOCK.",
    )
