"""The tests of a skill source."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.core.errors import DataMindError, InputInvalid, SourceUnreadable
from datamind.core.protocols.skills import ReadsSkillFiles, Skill, SkillDraft, SkillReader, SkillSource
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.conformance.kb_store import WRITING
from datamind.testing.crash import write_and_die

_RELEASE: Final = SkillDraft(
    name="release-notes",
    description='How to write release notes: "short" and # honest.',
    body="# Steps\n\n1. Collect the changes.\n\n---\n\n2. 写下要点。\n",
    keywords=("changelog", "发布"),
)
_BACKUP: Final = SkillDraft(name="backup", description="Restore a backup.", body="Stop the server first.\n")

BAD_NAMES: Final = (
    *("", ".", "..", "../x", "a/b", "a\\b", "/abs", "C:x", "~", "a b", "A", "Release", "-a", "_a", "a_b", "a.b"),
    *("名", "a\0", "a\n", "a" * 65, "a/../../x", "…"),
)


async def write_a_skill(source: SkillSource) -> None:
    """What the child process of G9 writes before it is killed."""
    await source.put(_RELEASE)
    await source.sync()


class SkillSourceConformance(ProviderConformance):
    """Tests of SkillSource.

    Capabilities: ``durable``, ``disk`` (skills are folders with a SKILL.md below ``roots``) and ``two_roots``
    (there is a second folder, which is only read).

    Troubleshooting: with ``disk`` the tests write SKILL.md files themselves, behind the source's back.
    """

    protocols = (SkillReader, SkillSource)
    kind = ProviderKind.SKILLS_SOURCE
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "disk", "two_roots"})

    def roots(self, folder: Path) -> Sequence[Path]:
        """With ``disk``: the folders of skill folders for a profile under ``folder``, the writable one first."""
        raise NotImplementedError(f"{type(self).__name__} needs roots")

    def write_file(self, folder: Path, name: str, content: str | bytes, root: int = 0) -> Path:
        """Put a SKILL.md into the folder ``name`` of a root."""
        path = self.roots(folder)[root] / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def test_a_skill_comes_back_as_it_was_written(self, tmp_path: Path) -> None:
        """With its body when it is asked for, and only then."""
        async with self.opened(tmp_path) as source:
            assert isinstance(source, SkillSource)
            assert await source.put(_RELEASE) is True
            skill = await source.skill(_RELEASE.name)
            assert skill is not None
            assert draft_of(skill) == _RELEASE
            assert (skill.writable, len(skill.checksum)) == (True, 64)
            await source.put(_BACKUP)
            listed = await source.skills()
            assert [one.name for one in listed] == ["backup", "release-notes"]
            assert {one.body for one in listed} == {""}
            assert await source.skill("nobody") is None

    async def test_g1_a_write_is_seen_by_the_next_call(self, tmp_path: Path) -> None:
        """Put, changed and removed through the source, seen by a view taken before."""
        async with self.opened(tmp_path) as source:
            view = source.read_view()
            assert list(await view.skills()) == []
            await source.put(_RELEASE)
            assert await names_of(view) == [_RELEASE.name]
            changed = _RELEASE.model_copy(update={"description": "About zebras."})
            await source.put(changed)
            assert [one.description for one in await view.skills()] == ["About zebras."]
            assert await found(view, "zebras") == [_RELEASE.name]
            await source.remove(_RELEASE.name)
            assert await names_of(view) == []
            assert await found(view, "zebras") == []

    async def test_g1_a_change_on_disk_is_seen_by_the_next_call(self, tmp_path: Path) -> None:
        """Written, changed and removed by somebody else."""
        self.need("disk")
        async with self.opened(tmp_path) as source:
            assert await names_of(source) == []
            path = self.write_file(tmp_path, "zebra", "---\nname: zebra\ndescription: Striped.\n---\nRun.\n")
            assert await found(source, "striped") == ["zebra"]
            path.write_text("---\nname: zebra\ndescription: Dotted!\n---\nRun.\n")
            assert await found(source, "striped") == []
            assert await found(source, "dotted") == ["zebra"]
            skill = await source.skill("zebra")
            assert skill is not None and skill.checksum == sha256(path.read_bytes()).hexdigest()
            path.unlink()
            assert await names_of(source) == []
            assert await source.skill("zebra") is None

    async def test_g2_one_broken_skill_hides_no_other(self, tmp_path: Path) -> None:
        """Each of them is in ``problems`` with its folder."""
        self.need("disk")
        broken: dict[str, str | bytes] = {
            "no-front-matter": "Just text.\n",
            "bad-yaml": "---\nname: [unclosed\n---\n",
            "no-description": "---\nname: no-description\n---\nBody.\n",
            "not-closed": "---\nname: not-closed\ndescription: Never ends.\n",
            "not-text": b"\xff\xfe\x00---\x00",
            "a-list": "---\n- name\n---\n",
            "empty": "",
        }
        async with self.opened(tmp_path) as source:
            await source.put(_BACKUP)
            for name, content in broken.items():
                self.write_file(tmp_path, name, content)
            assert await names_of(source) == [_BACKUP.name]
            problems = await source.problems()
            assert all(problem.message for problem in problems)
            for name in broken:
                assert [name in problem.location for problem in problems].count(True) == 1, name

    async def test_g2_a54_the_forms_that_people_write_are_read(self, tmp_path: Path) -> None:
        """Block scalars, a byte order mark, CRLF, keywords as a list."""
        self.need("disk")
        texts: dict[str, str] = {
            "block": "---\nname: block\ndescription: >\n  Folded over\n  two lines.\n---\nBody.\n",
            "marked": "\ufeff---\nname: marked\ndescription: With a mark.\n---\nBody.\n",
            "crlf": "---\r\nname: crlf\r\ndescription: With returns.\r\n---\r\nBody.\r\n",
            "listed": "---\nname: listed\ndescription: With words.\nkeywords:\n  - zebra\n  - 斑马\n---\nBody.\n",
        }
        async with self.opened(tmp_path) as source:
            for name, text in texts.items():
                self.write_file(tmp_path, name, text)
            assert await names_of(source) == sorted(texts)
            assert list(await source.problems()) == []
            described = {one.name: one.description.strip() for one in await source.skills()}
            assert described["block"] == "Folded over two lines."
            assert await found(source, "zebra") == ["listed"]

    async def test_g3_a54_of_two_skills_of_one_name_the_first_root_wins(self, tmp_path: Path) -> None:
        """The other is a problem, and comes to light when the first is removed."""
        self.need("two_roots")
        text = "---\nname: backup\ndescription: The shared one.\n---\nBody.\n"
        self.write_file(tmp_path, "backup", text, root=1)
        async with self.opened(tmp_path) as source:
            assert [one.writable for one in await source.skills()] == [False]
            self.write_file(tmp_path, "backup", text.replace("shared", "own"))
            assert [one.description for one in await source.skills()] == ["The own one."]
            assert len(await source.problems()) == 1
            assert await source.remove("backup") is True
            assert [one.description for one in await source.skills()] == ["The shared one."]

    async def test_g4_a_search_that_matches_nothing_returns_nothing(self, tmp_path: Path) -> None:
        """And one that matches finds by name, description, keywords and body."""
        async with self.opened(tmp_path) as source:
            await source.put(_RELEASE)
            await source.put(_BACKUP)
            for text in ("zebra", "斑马", "", "!!"):
                assert await found(source, text) == [], text
            for text in ("release notes", "honest", "changelog", "发布", "collect", "要点"):
                assert await found(source, text) == [_RELEASE.name], text

    async def test_g4_hits_are_best_first_ties_by_name_and_no_more_than_the_limit(self, tmp_path: Path) -> None:
        """Without bodies."""
        async with self.opened(tmp_path) as source:
            for name in ("c", "a", "b"):
                await source.put(SkillDraft(name=name, description="About zebras.", body="Run.\n"))
            hits = await source.search("zebras", 10)
            assert [hit.skill.name for hit in hits] == ["a", "b", "c"]
            assert {hit.skill.body for hit in hits} == {""}
            assert all(hit.score > 0 and hit.score_meaning for hit in hits)
            assert await found(source, "zebras", 2) == ["a", "b"]

    async def test_g5_readers_see_the_old_or_the_new(self, tmp_path: Path) -> None:
        """While one version replaces the other again and again."""
        versions = [
            _RELEASE.model_copy(update={"body": word * size}) for word, size in (("old ", 4_000), ("new ", 9_000))
        ]
        async with self.opened(tmp_path) as source:
            await source.put(versions[0])
            view, seen = source.read_view(), 0
            writer = asyncio.ensure_future(put_all(source, versions[::-1] * 10))
            while not writer.done() or seen < 3:
                skill = await view.skill(_RELEASE.name)
                assert skill is not None
                assert skill.body.strip() in [one.body.strip() for one in versions]
                seen += 1
                await asyncio.sleep(0)
            await writer

    async def test_g6_putting_the_same_again_changes_nothing(self, tmp_path: Path) -> None:
        """And says so; a change of any field says the opposite."""
        async with self.opened(tmp_path) as source:
            assert await source.put(_RELEASE) is True
            before = await source.skill(_RELEASE.name)
            assert await source.put(_RELEASE) is False
            assert await source.skill(_RELEASE.name) == before
            for change in ({"description": "Other."}, {"body": "Other.\n"}, {"keywords": ("other",)}):
                assert await source.put(_RELEASE.model_copy(update=change)) is True, change

    async def test_g7_c10_a_name_that_is_no_folder_name_is_refused(self, tmp_path: Path) -> None:
        """Written or removed, nothing on disk changes."""
        async with self.opened(tmp_path) as source:
            await source.put(_BACKUP)
            before = files_in(tmp_path)
            for name in BAD_NAMES:
                with pytest.raises(InputInvalid):
                    await source.put(SkillDraft(name=name, description="x", body="x"))
                assert await removed(source, name) is False, name
                assert await source.skill(name) is None, name
            assert files_in(tmp_path) == before
            assert await names_of(source) == [_BACKUP.name]

    async def test_g8_remove_says_whether_there_was_one(self, tmp_path: Path) -> None:
        """Once."""
        async with self.opened(tmp_path) as source:
            await source.put(_BACKUP)
            assert await source.remove("nobody") is False
            assert await source.remove(_BACKUP.name) is True
            assert await source.remove(_BACKUP.name) is False
            assert await source.put(_BACKUP) is True

    async def test_g8_what_is_only_read_is_not_removed(self, tmp_path: Path) -> None:
        """Refused, or False: it stays."""
        self.need("two_roots")
        path = self.write_file(tmp_path, "shared", "---\nname: shared\ndescription: Shared.\n---\nBody.\n", root=1)
        async with self.opened(tmp_path) as source:
            assert await removed(source, "shared") is False
            assert path.exists()
            assert await names_of(source) == ["shared"]

    async def test_g9_a_synced_write_survives_the_death_of_the_process(self, tmp_path: Path) -> None:
        """A child process writes, syncs and is killed."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_a_skill.__name__}")
        async with self.opened(tmp_path) as source:
            skill = await source.skill(_RELEASE.name)
            assert skill is not None and draft_of(skill) == _RELEASE

    async def test_g9_sync_may_be_called_at_any_time_and_aclose_twice(self, tmp_path: Path) -> None:
        """Neither raises."""
        async with self.opened(tmp_path) as source:
            await source.sync()
            await source.put(_BACKUP)
            await source.sync()
            await source.aclose()

    async def test_a_read_view_has_no_method_that_writes(self, tmp_path: Path) -> None:
        """By the names of its public attributes."""
        async with self.opened(tmp_path) as source:
            view = source.read_view()
            assert isinstance(view, SkillReader)
            assert not [name for name in dir(view) if name.startswith(WRITING)]


async def put_all(source: SkillSource, drafts: Sequence[SkillDraft]) -> None:
    """Put one after another."""
    for draft in drafts:
        await source.put(draft)


async def names_of(reader: SkillReader) -> list[str]:
    """Names of all skills, in order."""
    return [skill.name for skill in await reader.skills()]


async def found(reader: SkillReader, text: str, limit: int = 10) -> list[str]:
    """Names of the hits, in order."""
    return [hit.skill.name for hit in await reader.search(text, limit)]


async def removed(source: SkillSource, name: str) -> bool:
    """Whether it was removed; a refusal is a no."""
    try:
        return await source.remove(name)
    except DataMindError:
        return False


class SkillFilesConformance(ProviderConformance):
    """Tests of ReadsSkillFiles, for a skill source that has it."""

    protocols = (ReadsSkillFiles,)
    kind = ProviderKind.SKILLS_SOURCE

    async def test_g1_what_a_file_describes_is_what_is_put(self, tmp_path: Path) -> None:
        """Read, put and asked for again; the folder names a skill whose file does not."""
        async with self.opened(tmp_path) as source:
            assert isinstance(source, ReadsSkillFiles) and isinstance(source, SkillSource)
            named = b"---\nname: backup\ndescription: Restore a backup.\n---\nStop the server first.\n"
            for content in (named, named.replace(b"name: backup\n", b"")):
                draft = source.read_skill_file(content, "backup")
                await source.put(draft)
                skill = await source.skill("backup")
                assert skill is not None and draft_of(skill) == draft == _BACKUP

    @pytest.mark.parametrize("content", [b"", b"\x00\xff", b"no front matter", b"---\nname: [\n---\n"])
    async def test_what_is_no_skill_file_is_refused(self, tmp_path: Path, content: bytes) -> None:
        """In one line of a known code."""
        async with self.opened(tmp_path) as source:
            assert isinstance(source, ReadsSkillFiles)
            with pytest.raises((SourceUnreadable, InputInvalid)):
                source.read_skill_file(content, "backup")


def draft_of(skill: Skill) -> SkillDraft:
    """The draft that would give this skill."""
    return SkillDraft(name=skill.name, description=skill.description, body=skill.body, keywords=skill.keywords)


def files_in(folder: Path) -> dict[str, Any]:
    """Every path with its content."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}
