"""Skills: SKILL.md instructions that are found by description and loaded only when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from datamind.core.record import Record


class SkillDraft(Record):
    """A skill about to be written.

    Attributes:
        name: ``[a-z0-9][a-z0-9-]{0,63}``; it becomes a folder name.
        body: Markdown after the front matter.
    """

    name: str
    description: str
    body: str
    keywords: tuple[str, ...] = ()


class Skill(Record):
    """A skill as found.

    Attributes:
        body: Empty unless it was asked for.
        checksum: SHA-256 of the SKILL.md file.
        files: Bundled files, relative, with sizes in bytes; never read.
        writable: Whether this source may change it.
    """

    name: str
    description: str
    body: str = ""
    keywords: tuple[str, ...] = ()
    checksum: str = ""
    location: str = ""
    files: tuple[tuple[str, int], ...] = ()
    writable: bool = False


class SkillHit(Record):
    """A skill without its body, and a score; best first, ties by name."""

    skill: Skill
    score: float
    score_meaning: str


class SkillProblem(Record):
    """A folder that is no skill, and why."""

    location: str
    message: str


@runtime_checkable
class SkillReader(Protocol):
    """The reading half of a skill source.

    G1 A skill that was written or removed on disk is seen by the next call.
    G2 One broken skill hides no other; it is in ``problems``.
    G3 Of two skills of one name the first root wins and the other is in ``problems``.
    G4 A search that matches nothing returns nothing.
    """

    async def skills(self) -> Sequence[Skill]:
        """All skills by name, without bodies."""
        ...

    async def skill(self, name: str) -> Skill | None:
        """One skill with its body, or None."""
        ...

    async def search(self, text: str, limit: int) -> Sequence[SkillHit]:
        """By name, description, keywords and body; see G4."""
        ...

    async def problems(self) -> Sequence[SkillProblem]:
        """What could not be read."""
        ...


@runtime_checkable
class SkillSource(SkillReader, Protocol):
    """A source that can be written.

    G5 ``put`` replaces a skill in one step: a reader sees the old or the new file.
    G6 Putting the same draft again changes nothing and returns False.
    G7 A name that is no plain folder name is refused with InputInvalid; nothing outside the root is touched.
    G8 ``remove`` takes only what this source may write, and returns whether there was one.
    G9 After ``sync`` the writes survive a power loss.
    """

    async def put(self, draft: SkillDraft) -> bool:
        """Whether anything changed; see G5 to G7."""
        ...

    async def remove(self, name: str) -> bool:
        """See G8."""
        ...

    def read_view(self) -> SkillReader:
        """The same skills without a way to write."""
        ...

    async def sync(self) -> None:
        """Make every write so far survive a power loss."""
        ...

    async def aclose(self) -> None:
        """Close files; may be called twice."""
        ...


@runtime_checkable
class ReadsSkillFiles(Protocol):
    """A skill source that reads the SKILL.md format.

    G1 What it returns, when it is put, is the skill that the file describes.
    """

    def read_skill_file(self, content: bytes, folder: str) -> SkillDraft:
        """The skill in a SKILL.md file; ``folder`` names it where the file does not.

        Raises:
            SourceUnreadable: It is no SKILL.md file.
            InputInvalid: Its name or description is not allowed.
        """
        ...
