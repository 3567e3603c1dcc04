"""Options of the ``profile`` skill source."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from datamind.plugins.options import ProviderOptions


class SkillSourceOptions(ProviderOptions):
    """What ``skills.options`` may hold."""

    extra_dirs: tuple[Path, ...] = Field(
        default=(),
        description="Further folders of skills, only read; relative ones start in the profile's data folder.",
    )
