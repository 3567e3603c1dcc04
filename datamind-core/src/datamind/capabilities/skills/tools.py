"""Skill tools: thin; what they mean is in the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from datamind.capabilities.sides import ReadSide, WriteSide
from datamind.capabilities.skills.restoring import skill_restore_tool
from datamind.capabilities.skills.service import SkillReads, SkillWrites
from datamind.core.context import ToolContext
from datamind.core.hooks import Candidates
from datamind.core.protocols.skills import SkillDraft
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, ResultBound, Selector, ToolOutput, ToolSpec
from datamind.core.types import DataSurface, ToolEffect

_BODY_CHARS = 100_000


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SkillSearchArguments(_Arguments):
    """What the skill should be good for."""

    query: str = Field(min_length=1, max_length=2_000, description="What you want to do.")
    top_k: int = Field(5, ge=1, le=50, description="Most skills to return.")


class SkillNameArguments(_Arguments):
    """Which skill."""

    name: str = Field(min_length=1, max_length=64, description="Name of the skill.")


class SkillListArguments(_Arguments):
    """Nothing to give."""


class SkillUpsertArguments(_Arguments):
    """A skill to write or replace."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="Lower-case letters, digits and hyphens.")
    description: str = Field(min_length=1, max_length=1024, description="What it does and when to use it.")
    body: str = Field(min_length=1, max_length=_BODY_CHARS, description="The instructions, in Markdown.")
    keywords: list[str] = Field(default_factory=list, max_length=50, description="Words to find it by.")


async def _search(args: SkillSearchArguments, ctx: ToolContext) -> ToolOutput:
    found = await _skills(ctx).search(args.query, limit=args.top_k)
    return ToolOutput({"found": len(found)}, found)


async def _get(args: SkillNameArguments, ctx: ToolContext) -> ToolOutput:
    evidence, skill = await _skills(ctx).read(args.name)
    files = [{"path": path, "bytes": size} for path, size in skill.files]
    return ToolOutput({"name": skill.name, "description": skill.description, "files": files}, (evidence,))


async def _list(args: SkillListArguments, ctx: ToolContext) -> ToolOutput:
    skills = await _skills(ctx).skills()
    problems = await _skills(ctx).problems()
    data: dict[str, Any] = {"skills": [{"name": skill.name, "description": skill.description} for skill in skills]}
    if problems:
        data["problems"] = [{"location": problem.location, "message": problem.message} for problem in problems]
    return ToolOutput(data, total=len(skills))


async def _plan_upsert(args: SkillUpsertArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    previous = await _previous(args.name, ctx)
    yield PlannedWrite({"draft": args.model_dump(mode="json"), "previous": previous}, label=args.name)


async def _plan_delete(args: SkillNameArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    yield PlannedWrite({"name": args.name, "previous": await _previous(args.name, ctx)}, label=args.name)


async def _previous(name: str, ctx: ToolContext) -> dict[str, Any] | None:
    # Kept in the intent: a redo reports what the first try did, and a revert has what to restore.
    side: WriteSide = ctx.side
    skill = await side.read.skills.find(name)
    return (
        skill.model_dump(mode="json", include={"name", "description", "body", "keywords", "checksum"})
        if skill
        else None
    )


async def _upsert(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    before = args["previous"]["checksum"] if args["previous"] else ""
    return await _writes(ctx).put(SkillDraft.model_validate(args["draft"]), before, ctx.unit)


async def _find(args: SkillNameArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    known = [skill for skill in await side.read.skills.skills() if skill.name == args.name and skill.writable]
    return Candidates(
        tuple(skill.name for skill in known), tuple(f"{skill.name}: {skill.description}" for skill in known)
    )


def _pin(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {"name": ids[0]}


async def _delete(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    return await _writes(ctx).remove(args["name"], ctx.unit)


async def _is_there(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    there = await _skills(ctx).find(result.ids[0]) is not None
    return ReadBack(there, "the skill is found" if there else "the skill is not found")


async def _is_gone(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    there = await _skills(ctx).find(result.ids[0]) is not None
    return ReadBack(not there, "the skill is still found" if there else "the skill is not found")


def _skills(ctx: ToolContext) -> SkillReads:
    side: ReadSide = ctx.side
    return side.skills


def _writes(ctx: ToolContext) -> SkillWrites:
    side: WriteSide = ctx.side
    return side.skills


def skill_tools() -> list[ToolSpec]:
    """The skill book's tools."""
    reads = {"effect": ToolEffect.READ, "surface": DataSurface.SKILLS}
    return [
        ToolSpec.of(
            SkillSearchArguments,
            _search,
            name="skill_search",
            description="Find skills: instructions for doing something the way this team does it.",
            **reads,
        ),
        ToolSpec.of(
            SkillNameArguments,
            _get,
            name="skill_get",
            description="Load one skill's instructions.",
            bound=ResultBound(max_items=1, max_chars=_BODY_CHARS),
            **reads,
        ),
        ToolSpec.of(SkillListArguments, _list, name="skill_list", description="List all skills.", **reads),
        ToolSpec.of(
            SkillUpsertArguments,
            _upsert,
            name="skill_upsert",
            description="Write or replace a skill.",
            effect=ToolEffect.WRITE,
            surface=DataSurface.SKILLS,
            plan=_plan_upsert,
            read_back=_is_there,
            revert="restores_previous",
        ),
        ToolSpec.of(
            SkillNameArguments,
            _delete,
            name="skill_delete",
            description="Remove a skill.",
            effect=ToolEffect.DESTRUCTIVE,
            surface=DataSurface.SKILLS,
            selector=Selector(_find, _pin),
            plan=_plan_delete,
            read_back=_is_gone,
            revert="exact",
        ),
        skill_restore_tool(),
    ]
