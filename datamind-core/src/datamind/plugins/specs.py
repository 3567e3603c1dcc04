"""The five hooks a plugin may implement.

A plugin is a module named by an entry point of group ``datamind``. It declares ``PLUGIN_API`` and decorates the
hooks it wants with ``hookimpl``::

    from datamind.plugins import NO_OPTIONS, ProviderKind, ProviderSpec, hookimpl

    PLUGIN_API = (1, 0)

    @hookimpl
    def datamind_register_providers():
        return [ProviderSpec(ProviderKind.KB_STORE, "acme", "acme_kb.store:open_store", NO_OPTIONS, "Acme search.")]

What holds for every hook:

* It is an ordinary function: not ``async``, not a wrapper. An implementation may leave out arguments it does not need.
* It returns an iterable, ``[]`` when there is nothing to add. ``None`` is an error: a forgotten ``return`` is seen.
* It is called alone. If it raises, an item is of another type, or a name is taken, this plugin is ``failed``: all it
  adds is left out, `datamind plugins` lists it with the cause, and the other plugins are not affected.
* It does no I/O and imports nothing heavy: every ``datamind`` command pays for it. Behaviour is named as a
  ``"module:attr"`` string and imported on first use.
* Plugins are called in the order of their entry point names, core first. What is selected never depends on that order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import pluggy

if TYPE_CHECKING:
    from datamind.core.tools import ToolSpec
    from datamind.core.types import Role
    from datamind.plugins.contributions import CommandSpec, PromptSection, ProviderSpec, ToolHookSpec

PLUGIN_API: Final = (1, 0)
"""``(major, minor)`` of the hooks and of the values they return.

A plugin states the version it was written for. It loads when the major is the same and its minor is not newer.
"""

HOOK_PREFIX: Final = "datamind"
hookspec: Final = pluggy.HookspecMarker(HOOK_PREFIX)
hookimpl: Final = pluggy.HookimplMarker(HOOK_PREFIX)


@hookspec
def datamind_register_providers() -> Iterable[ProviderSpec]:  # type: ignore[empty-body]
    """Name the providers this plugin brings.

    Called whenever providers are listed or selected, before anything is opened. Registering selects nothing: a
    provider runs when Settings name it, or when it is the constant default of its kind.

    Returns:
        One spec for each pair of kind and name. A pair that another plugin claims too fails both plugins.
    """


@hookspec
def datamind_register_tools(services: Any) -> Iterable[ToolSpec]:  # type: ignore[empty-body]
    """Add tools to the catalogue.

    Called once for each build. The role decides from ``ToolSpec.effect`` which agent holds the tool, and every
    call passes dispatch and the HookChain, as for a built-in tool.

    Args:
        services: The ``AgentServices`` of this build. Its surfaces open on first use, so keep it for the handler
            and do not touch a surface here.

    Returns:
        Tools with names of their own: a name of core's tools fails this plugin, one that another plugin claims too
        fails both.
    """


@hookspec
def datamind_register_tool_hooks(settings: Any, services: Any) -> Iterable[ToolHookSpec]:  # type: ignore[empty-body]
    """Add checks to the HookChain.

    Called once for each build. Governance fails closed: a name in ``hooks.required`` that no plugin registers, or
    whose hook cannot be made, stops the build; a hook that raises denies the call.

    Args:
        settings: The ``Settings`` of this build, to decide whether the check applies.
        services: The ``AgentServices`` of this build.

    Returns:
        Specs of hooks with names of their own. ``order`` places a check among the built-in ones.
    """


@hookspec
def datamind_prompt_sections(role: Role, services: Any) -> Iterable[PromptSection]:  # type: ignore[empty-body]
    """Add text to the system prompt of a role.

    Called once for each role and build, and never again: the prompt prefix stays the same bytes from turn to turn.

    Args:
        role: Whose prompt is built. StoreAgent cannot read and RetrieveAgent cannot write, whatever the text says.
        services: The ``AgentServices`` of this build.

    Returns:
        Sections; an empty list for a role that needs none.
    """


@hookspec
def datamind_register_commands() -> Iterable[CommandSpec]:  # type: ignore[empty-body]
    """Add subcommands to ``datamind``.

    Called when the command line lists its commands or meets one it does not know. The command itself is imported
    when it runs.

    Returns:
        Commands with names of their own: a built-in command's fails this plugin, one that another plugin claims too
        fails both.
    """
