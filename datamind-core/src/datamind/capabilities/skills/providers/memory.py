"""The skill source in memory: what the Protocol asks for and nothing else. Gone with the process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.text.bm25 import BM25Index
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.errors import InputInvalid
from datamind.core.protocols.skills import Skill, SkillDraft, SkillHit, SkillProblem, SkillReader
from datamind.core.types import content_hash

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

Skills = Mapping[str, Skill]


async def open_source(ctx: ProviderContext, options: Any) -> MemorySkillSource:
    """An empty source."""
    return MemorySkillSource()


class MemorySkillReader:
    """The reading side."""

    def __init__(self, current: Callable[[], Skills]) -> None:
        self._current = current

    async def skills(self) -> Sequence[Skill]:
        """All skills by name, without bodies."""
        return [_without_body(skill) for _, skill in sorted(self._current().items())]

    async def skill(self, name: str) -> Skill | None:
        """One skill with its body, or None."""
        return self._current().get(name)

    async def search(self, text: str, limit: int) -> Sequence[SkillHit]:
        """BM25 over name, description, keywords and body."""
        now, index = self._current(), BM25Index()
        for name, skill in now.items():
            index.add(name, tokenize_for_index("\n".join((name, skill.description, *skill.keywords, skill.body))))
        return [
            SkillHit(skill=_without_body(now[name]), score=score, score_meaning="bm25")
            for name, score in index.search(tokenize(text), limit)
        ]

    async def problems(self) -> Sequence[SkillProblem]:
        """None: what is in memory was checked when it was put there."""
        return ()


class MemorySkillSource(MemorySkillReader):
    """The source; every write is one assignment, so a reader sees the old or the new."""

    def __init__(self) -> None:
        self._now: Skills = {}
        super().__init__(lambda: self._now)

    async def put(self, draft: SkillDraft) -> bool:
        """Whether anything changed.

        Raises:
            InputInvalid: The name is not ``[a-z0-9][a-z0-9-]{0,63}``.
        """
        if not _NAME.fullmatch(draft.name):
            raise InputInvalid(f"skill name {draft.name[:80]!r} is not a-z, 0-9 and '-', at most 64 characters")
        skill = _stored(draft)
        if self._now.get(draft.name) == skill:
            return False
        self._now = {**self._now, draft.name: skill}
        return True

    async def remove(self, name: str) -> bool:
        """Whether there was one."""
        found = name in self._now
        self._now = {key: skill for key, skill in self._now.items() if key != name}
        return found

    def read_view(self) -> SkillReader:
        """The same skills without a way to write."""
        return MemorySkillReader(self._current)

    async def sync(self) -> None:
        """Nothing to do: the source ends with the process."""

    async def aclose(self) -> None:
        """Forget everything."""
        self._now = {}


def _stored(draft: SkillDraft) -> Skill:
    return Skill(
        name=draft.name,
        description=draft.description,
        body=draft.body,
        keywords=draft.keywords,
        checksum=content_hash(_file_text(draft)),
        location=f"memory:{draft.name}",
        writable=True,
    )


def _file_text(draft: SkillDraft) -> str:
    # JSON strings are YAML strings too.
    head = {"name": draft.name, "description": draft.description, "keywords": list(draft.keywords)}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    return "\n".join(["---", *lines, "---", draft.body])


def _without_body(skill: Skill) -> Skill:
    return skill.model_copy(update={"body": ""})
