"""Skills: found by description, loaded when asked for."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio.to_thread

from datamind.capabilities.control.sources import SourceLog
from datamind.capabilities.control.versions import Restoration, VersionLog
from datamind.core.context import WriteUnit
from datamind.core.errors import NotFound, SourceUnreadable, changed_since
from datamind.core.evidence import Evidence, SkillLocator
from datamind.core.protocols.skills import ReadsSkillFiles, Skill, SkillDraft, SkillProblem, SkillReader, SkillSource
from datamind.core.receipts import RevertKind, SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, content_hash, derived_id

OpenSource = Callable[[], Awaitable[SkillSource]]


class SkillReads:
    """What the reading side may do. Holds a read view only."""

    def __init__(self, open_source: OpenSource, profile: str, sources: SourceLog) -> None:
        self._open_source = open_source
        self._profile = profile
        self._sources = sources

    async def search(self, text: str, *, limit: int) -> tuple[Evidence, ...]:
        """Skills by description, best first; bodies are not loaded."""
        hits = await (await self._reader()).search(text, limit)
        found = [await self._evidence(hit.skill, _summary(hit.skill), hit.score, hit.score_meaning) for hit in hits]
        return tuple(found)

    async def read(self, name: str) -> tuple[Evidence, Skill]:
        """One skill with its body.

        Raises:
            NotFound: There is none of this name.
        """
        skill = await self.find(name)
        if skill is None:
            raise NotFound(f"there is no skill {name[:80]!r}", hint="skill_list shows them.")
        return await self._evidence(skill, skill.body), skill

    async def skills(self) -> Sequence[Skill]:
        """All skills by name, without bodies."""
        return await (await self._reader()).skills()

    async def problems(self) -> Sequence[SkillProblem]:
        """Folders that are no skills, and why."""
        return await (await self._reader()).problems()

    async def find(self, name: str) -> Skill | None:
        """One skill with its body, or None."""
        return await (await self._reader()).skill(name)

    async def _evidence(
        self, skill: Skill, content: str, score: float | None = None, score_meaning: str = ""
    ) -> Evidence:
        source = skill_source(skill.name, skill.checksum or content_hash(content), self._profile)
        stored = await self._sources.current(DataSurface.SKILLS, _document_id(skill.name))
        # A file edited by hand since the write rests on no receipt.
        receipts = stored.receipt_ids if stored and stored.source.checksum == skill.checksum else ()
        return Evidence.of(
            DataSurface.SKILLS,
            source,
            SkillLocator(name=skill.name),
            content,
            receipt_ids=receipts,
            score=score,
            score_meaning=score_meaning,
            note=skill.description[:200],
        )

    async def _reader(self) -> SkillReader:
        return (await self._open_source()).read_view()


class SkillWrites:
    """What the writing side may do."""

    def __init__(self, open_source: OpenSource, profile: str, sources: SourceLog, versions: VersionLog) -> None:
        self._open_source = open_source
        self._profile = profile
        self._sources = sources
        self._versions = versions

    async def draft_of(self, content: bytes, folder: str) -> SkillDraft:
        """The skill in a SKILL.md file; ``folder`` names it where the file does not.

        Raises:
            SourceUnreadable: It is no SKILL.md file, or the skill source does not read them.
        """
        source = await self._open_source()
        if not isinstance(source, ReadsSkillFiles):
            raise SourceUnreadable(
                "the skill source does not read SKILL.md files.",
                code="source_unreadable.no_loader",
                hint="Run: pip install datamind-skills",
            )
        return await anyio.to_thread.run_sync(source.read_skill_file, content, folder)

    async def put(self, draft: SkillDraft, before: str, unit: WriteUnit) -> SurfaceWriteResult:
        """Write or replace one skill.

        Args:
            draft: What to write.
            before: Checksum of the file when the write was planned, so that a redo reports what the first try did.
            unit: The write.
        """
        source = await self._open_source()
        old = await source.skill(draft.name)
        if old is not None and old.checksum == before:
            await self._register(old)
        try:
            changed = await self._put(source, draft, before, unit)
        except Exception:
            await _put_back(source, draft.name, old)
            raise
        if not changed:
            return _result("none", draft.name, "none")
        return _result("replaced" if before else "added", draft.name, "restores_previous" if before else "exact")

    async def _put(self, source: SkillSource, draft: SkillDraft, before: str, unit: WriteUnit) -> bool:
        await source.put(draft)
        written = await source.skill(draft.name)
        checksum = written.checksum if written else ""
        known = await self._sources.current(DataSurface.SKILLS, _document_id(draft.name))
        if checksum == before and known is not None and known.source.checksum == checksum:
            return False
        await self._keep(draft, checksum, unit.receipt_id)
        return True

    async def _register(self, skill: Skill) -> None:
        """Keep a skill as it is, if that is not how the last write left it, so that it can come back."""
        known = await self._sources.current(DataSurface.SKILLS, _document_id(skill.name))
        if known is None or known.source.checksum != skill.checksum:
            await self._keep(skill, skill.checksum, "")

    async def _keep(self, skill: Skill | SkillDraft, checksum: str, receipt_id: str) -> None:
        keywords = {"keywords": json.dumps(skill.keywords, ensure_ascii=False)} if skill.keywords else {}
        await self._sources.put(
            DataSurface.SKILLS,
            _document_id(skill.name),
            skill_source(skill.name, checksum, self._profile),
            skill.body,
            receipt_id,
            title=skill.name,
            metadata={"description": skill.description, **keywords},
        )

    async def remove(self, name: str, unit: WriteUnit) -> SurfaceWriteResult:
        """Remove one skill."""
        source = await self._open_source()
        old = await source.skill(name)
        if old is not None:
            await self._register(old)
        await source.remove(name)
        try:
            await self._sources.end(DataSurface.SKILLS, [_document_id(name)], unit.receipt_id)
        except Exception:
            await _put_back(source, name, old)
            raise
        return _result("deleted", name, "exact")

    async def reverting(self, receipt_id: str) -> Restoration:
        """What taking a write back would do.

        Raises:
            Conflict: A later write, or an editor, changed the skill.
        """
        change = await self._versions.reverting(DataSurface.SKILLS, receipt_id)
        source = await self._open_source()
        for stored in (*change.back, *change.gone):
            known = await self._sources.current(DataSurface.SKILLS, stored.document_id)
            skill = await source.skill(stored.title)
            if (skill.checksum if skill else "") != (known.source.checksum if known else ""):
                raise changed_since(receipt_id, "")
        return change

    async def restore(self, change: Restoration, unit: WriteUnit) -> None:
        """Bring a version back, or take a skill away."""
        source = await self._open_source()
        for stored in change.back:
            keywords = tuple(json.loads(str(stored.metadata.get("keywords", "[]"))))
            body = await self._sources.text(stored.content_hash)
            description = str(stored.metadata["description"])
            await source.put(SkillDraft(name=stored.title, description=description, body=body, keywords=keywords))
        for stored in change.gone:
            await source.remove(stored.title)
        await self._versions.restore(DataSurface.SKILLS, await self._as_written(source, change), unit.receipt_id)

    async def _as_written(self, source: SkillSource, change: Restoration) -> Restoration:
        """The versions with the checksums of their files: one that was laid out by hand is laid out anew."""
        back = []
        for stored in change.back:
            written = await source.skill(stored.title)
            checksum = written.checksum if written else stored.source.checksum
            back.append(replace(stored, source=skill_source(stored.title, checksum, self._profile)))
        return replace(change, back=tuple(back))

    async def sync(self) -> None:
        """Make the writes so far survive a power loss."""
        await (await self._open_source()).sync()


def skill_source(name: str, checksum: str, profile: str) -> SourceRef:
    """The source of one version of a skill."""
    return SourceRef(
        source_id=derived_id("src", "skill", name, checksum),
        kind="skill",
        uri=f"skill:{name}",
        checksum=checksum,
        media_type="text/markdown",
        profile=profile,
        origin="file",
    )


async def _put_back(source: SkillSource, name: str, old: Skill | None) -> None:
    # A skill that could not be registered must not be found as it was written.
    if old is None:
        await source.remove(name)
    else:
        await source.put(SkillDraft(name=name, description=old.description, body=old.body, keywords=old.keywords))


def _document_id(name: str) -> str:
    return derived_id("doc", f"skill:{name}")


def _summary(skill: Skill) -> str:
    return f"{skill.name}: {skill.description}"


def _result(operation: str, name: str, revert: RevertKind) -> SurfaceWriteResult:
    changed = operation != "none"
    return SurfaceWriteResult(
        surface=DataSurface.SKILLS,
        operation=operation,
        status="stored" if changed else "unchanged",
        items_written=int(changed),
        ids=(name,),
        revert=revert,
    )
