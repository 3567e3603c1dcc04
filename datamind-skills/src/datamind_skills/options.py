"""Options of the ``profile`` skill source."""

from __future__ import annotations

from pathlib import Path

from datamind.plugins.options import ProviderOptions
from pydantic import Field


class SkillSourceOptions(ProviderOptions):
    """What ``skills.options`` may hold."""

    extra_dirs: tuple[Path, ...] = Field(
        default=(),
        description="Further folders of skills, only read; relative ones start in the profile's data folder.",
    )
