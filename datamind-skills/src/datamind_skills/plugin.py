"""Registers the skill source ``profile`` and the utility tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from datamind.plugins import PLUGIN_API as _CURRENT_API
from datamind.plugins import ProviderKind, ProviderSpec, hookimpl

if TYPE_CHECKING:
    from datamind.core.tools import ToolSpec

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """One source."""
    return [
        ProviderSpec(
            ProviderKind.SKILLS_SOURCE,
            "profile",
            "datamind_skills.source:open_source",
            "datamind_skills.options:SkillSourceOptions",
            "SKILL.md folders in the profile's data folder, and further folders to read.",
        )
    ]


@hookimpl
def datamind_register_tools(services: Any) -> list[ToolSpec]:
    """Four utilities."""
    from datamind_skills.tools import utility_tools

    return utility_tools()
