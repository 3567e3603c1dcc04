"""Settings and profiles. Importing this loads neither; a name loads its module when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datamind.config.describe import SettingDescription, describe_settings
    from datamind.config.profile import Profile, list_profiles
    from datamind.config.profile_file import write_profile_file
    from datamind.config.sections import (
        AgentSettings,
        DataSettings,
        DbSettings,
        EmbeddingSettings,
        GraphSettings,
        HooksSettings,
        IngestSettings,
        KbSettings,
        LlmSettings,
        LoggingSettings,
        MemorySettings,
        PluginsSettings,
        RetrievalSettings,
        Section,
        SkillsSettings,
    )
    from datamind.config.settings import SettingOrigin, Settings
    from datamind.config.sources import Origin, seen_vendor_variables

_MODULE_OF = {
    **dict.fromkeys(("SettingDescription", "describe_settings"), "describe"),
    **dict.fromkeys(("Profile", "list_profiles"), "profile"),
    "write_profile_file": "profile_file",
    **dict.fromkeys(("SettingOrigin", "Settings"), "settings"),
    **dict.fromkeys(("Origin", "seen_vendor_variables"), "sources"),
}

__all__ = [
    "AgentSettings",
    "DataSettings",
    "DbSettings",
    "EmbeddingSettings",
    "GraphSettings",
    "HooksSettings",
    "IngestSettings",
    "KbSettings",
    "LlmSettings",
    "LoggingSettings",
    "MemorySettings",
    "Origin",
    "PluginsSettings",
    "Profile",
    "RetrievalSettings",
    "Section",
    "SettingDescription",
    "SettingOrigin",
    "Settings",
    "SkillsSettings",
    "describe_settings",
    "list_profiles",
    "seen_vendor_variables",
    "write_profile_file",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF.get(name, 'sections')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
