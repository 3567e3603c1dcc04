"""Skill sources in any order of calls."""

from __future__ import annotations

from hypothesis import settings

from datamind.testing.machines.skills import SkillsMachine
from datamind.testing.providers import ProviderTarget


class Memory(SkillsMachine):
    target = ProviderTarget("skills.source", "datamind.capabilities.skills.providers.memory:open_source")
    durable = False


class Profile(SkillsMachine):
    target = ProviderTarget(
        "skills.source", "datamind_skills.source:open_source", "datamind_skills.options:SkillSourceOptions"
    )


TestMemory = Memory.TestCase
TestMemory.settings = settings(max_examples=50, stateful_step_count=20)

TestProfile = Profile.TestCase
TestProfile.settings = settings(max_examples=15, stateful_step_count=15)
