"""The skill sources: in memory, and SKILL.md folders of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from datamind.testing.conformance.skills import SkillFilesConformance, SkillSourceConformance
from datamind.testing.providers import make_provider_context


class TestMemorySkills(SkillSourceConformance):
    factory = "datamind.capabilities.skills.providers.memory:open_source"


class TestProfileSkills(SkillSourceConformance):
    factory = "datamind_skills.source:open_source"
    options_model = "datamind_skills.options:SkillSourceOptions"
    options: ClassVar[Mapping[str, Any]] = {"extra_dirs": ["../common-skills"]}
    capabilities = frozenset({"durable", "disk", "two_roots"})

    def roots(self, folder: Path) -> Sequence[Path]:
        data_dir = make_provider_context(folder).data_dir
        shared = data_dir.parent / "common-skills"
        shared.mkdir(exist_ok=True)
        return data_dir / "skills", shared


class TestProfileSkillFiles(SkillFilesConformance):
    factory = "datamind_skills.source:open_source"
    options_model = "datamind_skills.options:SkillSourceOptions"
