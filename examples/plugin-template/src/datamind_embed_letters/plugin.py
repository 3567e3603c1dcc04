"""What this distribution adds to DataMind. Imported by every command, so it imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from datamind.plugins import CommandSpec, PromptSection, ProviderKind, ProviderSpec, ToolHookSpec, hookimpl

if TYPE_CHECKING:
    from datamind.core.tools import ToolSpec
    from datamind.core.types import Role

PLUGIN_API = (1, 0)


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """An embedding, chosen by ``embedding.provider = "letters"``."""
    return [
        ProviderSpec(
            ProviderKind.EMBEDDING,
            "letters",
            factory="datamind_embed_letters.embedding:open_embedding",
            options="datamind_embed_letters.options:LettersOptions",
            summary="Counts letters. An example, not for search.",
        )
    ]


@hookimpl
def datamind_register_tools(services: Any) -> list[ToolSpec]:
    """A utility for RetrieveAgent."""
    from datamind_embed_letters.tools import make_tools

    return make_tools()


@hookimpl
def datamind_register_tool_hooks(settings: Any, services: Any) -> list[ToolHookSpec]:
    """A check of every call, after the built-in ones."""
    return [ToolHookSpec("no_shouting", order=500, factory="datamind_embed_letters.hook:make_hook")]


@hookimpl
def datamind_prompt_sections(role: Role, services: Any) -> list[PromptSection]:
    """A sentence for the reading agent's instructions."""
    if role.value != "retrieve":
        return []
    return [PromptSection("Slugs", order=500, text="Use `slugify` when someone asks for the slug of a title.")]


@hookimpl
def datamind_register_commands() -> list[CommandSpec]:
    """``datamind letters``."""
    return [CommandSpec("letters", "Count the letters of a text.", "datamind_embed_letters.command:command")]
