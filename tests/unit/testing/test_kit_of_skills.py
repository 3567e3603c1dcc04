"""The kit of skill sources fails where one step is broken."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import pytest

from datamind.capabilities.skills.providers.memory import MemorySkillReader, MemorySkillSource, _stored
from datamind.core.errors import DataMindError
from datamind.core.protocols.skills import SkillHit, SkillProblem
from datamind.testing.conformance.skills import SkillSourceConformance
from datamind.testing.providers import make_provider_context
from tests.unit.testing.kits import failures_of, numbers_of, suite_of


class FrozenView(MemorySkillSource):
    """G1: a view of what was there when it was taken."""

    def read_view(self):
        then = self._now
        return MemorySkillReader(lambda: then)


class AlwaysSomething(MemorySkillSource):
    """G4: a search that matches nothing returns the first skill."""

    async def search(self, text, limit):
        hits = await super().search(text, limit)
        return hits or [SkillHit(skill=skill, score=0.0, score_meaning="bm25") for skill in await self.skills()][:1]


class NoBodies(MemorySkillSource):
    """G4: the body is not searched."""

    async def search(self, text, limit):
        bodies = self._now
        self._now = {name: skill.model_copy(update={"body": ""}) for name, skill in bodies.items()}
        try:
            return await super().search(text, limit)
        finally:
            self._now = bodies


class RemoveThenAdd(MemorySkillSource):
    """G5: between the versions there is none."""

    async def put(self, draft):
        if draft.name in self._now and self._now[draft.name] != _stored(draft):
            await self.remove(draft.name)
            await asyncio.sleep(0)
        return await super().put(draft)


class AlwaysChanged(MemorySkillSource):
    """G6: every put says that something changed."""

    async def put(self, draft):
        await super().put(draft)
        return True


class AnyName(MemorySkillSource):
    """G7: a name is a name."""

    async def put(self, draft):
        self._now = {**self._now, draft.name: _stored(draft)}
        return True


class AlwaysRemoved(MemorySkillSource):
    """G8: remove is always successful."""

    async def remove(self, name):
        await super().remove(name)
        return True


class SyncRaises(MemorySkillSource):
    """G9: nothing to sync is an error."""

    async def sync(self):
        raise OSError("nothing was opened")


class ViewIsTheSource(MemorySkillSource):
    """The view can write."""

    def read_view(self):
        return self


@pytest.mark.parametrize(
    ("source", "guarantee"),
    [
        (FrozenView, "g1"),
        (AlwaysSomething, "g4"),
        (NoBodies, "g4"),
        (RemoveThenAdd, "g5"),
        (AlwaysChanged, "g6"),
        (AnyName, "g7"),
        (AlwaysRemoved, "g8"),
        (SyncRaises, "g9"),
        (ViewIsTheSource, "test_a_read_view_has_no_method_that_writes"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_source_is_broken(tmp_path, source, guarantee):
    assert guarantee in numbers_of(await failures_of(suite_of(SkillSourceConformance, source), tmp_path))


class OnDisk:
    """A wrapper of the profile's source whose steps can be broken."""

    def __init__(self, source, folder: Path) -> None:
        self._source = source
        self.folder = folder

    def __getattr__(self, name):
        return getattr(self._source, name)


class HidesProblems(OnDisk):
    """G2: what is broken is not told."""

    async def problems(self):
        return ()


class OneBadSpoilsAll(OnDisk):
    """G2: nothing is listed as long as one skill is broken."""

    async def skills(self):
        return () if await self._source.problems() else await self._source.skills()


class LastRootWins(OnDisk):
    """G3: the read-only folder is in front."""

    async def skills(self):
        shared = self.folder.parent / "common-skills" / "backup" / "SKILL.md"
        found = await self._source.skills()
        if not shared.exists():
            return found
        return [skill.model_copy(update={"description": "The shared one.", "writable": False}) for skill in found]


class RemovesAnything(OnDisk):
    """G8: deletes files it may only read."""

    async def remove(self, name):
        try:
            return await self._source.remove(name)
        except DataMindError:
            (self.folder.parent / "common-skills" / name / "SKILL.md").unlink()
            return True


class InventsProblems(OnDisk):
    """G2: good files are reported."""

    async def problems(self):
        return (*await self._source.problems(), SkillProblem(location="x", message="y"))


@pytest.mark.parametrize(
    ("wrapper", "guarantee"),
    [
        (HidesProblems, "g2"),
        (OneBadSpoilsAll, "g2"),
        (InventsProblems, "g2"),
        (LastRootWins, "g3"),
        (RemovesAnything, "g8"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_folders_are_broken(tmp_path, wrapper, guarantee):
    class Suite(SkillSourceConformance):
        factory = "datamind_skills.source:open_source"
        options_model = "datamind_skills.options:SkillSourceOptions"
        options: ClassVar[Any] = {"extra_dirs": ["../common-skills"]}
        capabilities = frozenset({"disk", "two_roots"})

        def roots(self, folder):
            data_dir = make_provider_context(folder).data_dir
            (data_dir.parent / "common-skills").mkdir(exist_ok=True)
            return data_dir / "skills", data_dir.parent / "common-skills"

        async def open_provider(self, folder, **dependencies):
            return wrapper(await super().open_provider(folder), make_provider_context(folder).data_dir)

    assert guarantee in numbers_of(await failures_of(Suite, tmp_path, only=f"test_{guarantee}"))
