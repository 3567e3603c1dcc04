"""Memory tools: thin; what they mean is in the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from datamind.capabilities.memory.restoring import memory_restore_tool
from datamind.capabilities.memory.service import ALL_SCOPES, MemoryReads, make_draft, origin_of, visible
from datamind.capabilities.sides import WriteSide
from datamind.core.context import ToolContext
from datamind.core.errors import ArgumentsInvalid, InputInvalid
from datamind.core.hooks import Candidates
from datamind.core.protocols.memory import MemoryFilter, MemoryItem, MemoryKind, MemoryScope, SaveOutcome
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, Selector, ToolOutput, ToolSpec
from datamind.core.types import SHARED_PROFILE, DataSurface, ToolEffect

_TEXT_CHARS = 8_000
_QUERY_CHARS = 2_000


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RecallArguments(_Arguments):
    """What to look for, and where."""

    query: str = Field(min_length=1, max_length=_QUERY_CHARS, description="Words to look for.")
    top_k: int = Field(5, ge=1, le=50, description="Most memories to return.")
    scope_filter: list[MemoryScope] | None = Field(None, description="Only these scopes; all when left out.")
    kind_filter: list[MemoryKind] | None = Field(None, description="Only these kinds.")
    as_of: datetime | None = Field(None, description="What held at this time (ISO 8601 with zone); now when left out.")


class ListArguments(_Arguments):
    """Which memories to list."""

    scope_filter: list[MemoryScope] | None = Field(None, description="Only these scopes; all when left out.")
    kind_filter: list[MemoryKind] | None = Field(None, description="Only these kinds.")
    as_of: datetime | None = Field(None, description="What held at this time; now when left out.")
    offset: int = Field(0, ge=0, description="How many to skip.")
    limit: int = Field(20, ge=1, le=100, description="Most memories to return.")


class HistoryArguments(_Arguments):
    """What a value was over time."""

    subject: str = Field(min_length=1, max_length=200, description="What the value is of, such as `user`.")
    attribute: str = Field("", max_length=200, description="Which value, such as `residence`; all when empty.")
    limit: int = Field(20, ge=1, le=100, description="Most entries to return.")


class NamespacesArguments(_Arguments):
    """Nothing to give: only the caller's own scopes are shown."""


class FactArguments(_Arguments):
    """A memory, and the fact in it where there is one."""

    text: str = Field(min_length=1, max_length=_TEXT_CHARS, description="What to remember, in the user's words.")
    kind: MemoryKind = Field(MemoryKind.FACT, description="What sort of thing it is.")
    subject: str = Field("", max_length=200, description="What the value is of, such as `user` or `weekly report`.")
    attribute: str = Field("", max_length=200, description="Which value, such as `residence` or `language`.")
    value: str = Field("", max_length=1000, description="The value.")
    functional: bool = Field(False, description="One value at a time: a new one ends the old one.")
    valid_from: datetime | None = Field(None, description="Since when (ISO 8601 with zone); now when left out.")


class SaveArguments(FactArguments):
    """A memory, who sees it, and what it ends."""

    ends: str = Field("", max_length=1000, description="The value of this subject and attribute that holds no longer.")
    scope: MemoryScope = Field(MemoryScope.PROFILE, description="global, profile or session.")


class UpdateArguments(FactArguments):
    """Which memory, and its new text."""

    memory_id: str = Field("", max_length=80, description="The memory to replace; or give `query`.")
    query: str = Field("", max_length=_QUERY_CHARS, description="Words that name the memory to replace.")


class ForgetArguments(_Arguments):
    """Which memories to forget."""

    memory_ids: list[str] = Field(default_factory=list, max_length=10_000, description="Ids; or give `query`.")
    query: str = Field("", max_length=_QUERY_CHARS, description="Words that name the memory.")
    subject: str = Field("", max_length=200, description="Every memory of this subject …")
    attribute: str = Field("", max_length=200, description="… and this attribute.")


def _filter(args: RecallArguments | ListArguments, ctx: ToolContext) -> MemoryFilter:
    # Profile and session come from the request alone; a model cannot name another's.
    scopes = tuple(args.scope_filter) if args.scope_filter is not None else ALL_SCOPES
    if not ctx.request.session:
        scopes = tuple(scope for scope in scopes if scope is not MemoryScope.SESSION)
    kinds = tuple(args.kind_filter or ())
    return MemoryFilter(scopes=scopes, session=ctx.request.session, kinds=kinds, as_of=args.as_of)


async def _recall(args: RecallArguments, ctx: ToolContext) -> ToolOutput:
    asked_by_model = not ctx.request.by_application
    found = await ctx.side.memory.recall(args.query, _filter(args, ctx), limit=args.top_k, for_model=asked_by_model)
    return ToolOutput({"found": len(found)}, found)


async def _list(args: ListArguments, ctx: ToolContext) -> ToolOutput:
    where = _filter(args, ctx)
    total = await ctx.side.memory.count(where)
    found = await ctx.side.memory.find(where, offset=args.offset, limit=args.limit)
    end = args.offset + len(found)
    return ToolOutput({"total": total}, found, total=total, next_offset=end if end < total else None)


async def _history(args: HistoryArguments, ctx: ToolContext) -> ToolOutput:
    where = visible(ctx.request.session, subject=args.subject, attribute=args.attribute, include_closed=True)
    found = await ctx.side.memory.find(where, limit=args.limit)
    return ToolOutput({"found": len(found)}, found)


async def _namespaces(args: NamespacesArguments, ctx: ToolContext) -> ToolOutput:
    where = visible(ctx.request.session)
    counts = {
        scope.value: await ctx.side.memory.count(where.model_copy(update={"scopes": (scope,)}))
        for scope in where.scopes
    }
    return ToolOutput({"profile": ctx.request.profile, "session": ctx.request.session, "memories": counts})


async def _plan_save(args: SaveArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    scope = args.scope
    if "scope" not in args.model_fields_set and ctx.request.memory_scope:
        scope = MemoryScope(ctx.request.memory_scope)
    shared = scope is MemoryScope.GLOBAL
    unit = {**_fact(args, ctx), "scope": scope.value}
    if args.ends:
        side: WriteSide = ctx.side
        fact = (args.subject, args.attribute, args.ends)
        ended = await side.memory.holding(fact, scope, ctx.request.session)
        unit |= {"memory_id": ended.memory_id} if ended else {}
    yield _planned(unit, args.text, ctx, shared)


async def _save(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    draft = _draft(args, ctx)
    if args.get("memory_id"):
        return _result(await ctx.side.memory.update(args["memory_id"], draft), "updated")
    return _result(await ctx.side.memory.save(draft), "added")


async def _plan_update(args: UpdateArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    for shared in (False, True):
        for item in await _found((args.memory_id,), ctx, shared=shared, include_closed=False):
            unit = {**_fact(args, ctx), "scope": item.scope.value, "memory_id": item.memory_id}
            if not args.subject:
                unit |= {"subject": item.subject, "attribute": item.attribute, "functional": item.functional}
            yield _planned(unit, args.text, ctx, shared)


async def _update(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    return _result(await ctx.side.memory.update(args["memory_id"], _draft(args, ctx)), "updated")


async def _plan_forget(args: ForgetArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    for shared in (False, True):
        found = await _found(args.memory_ids, ctx, shared=shared, include_closed=True)
        if found:
            unit = {"memory_ids": [item.memory_id for item in found], "shared": shared}
            yield PlannedWrite(unit, ledger_profile=SHARED_PROFILE if shared else "")


async def _found(
    memory_ids: Sequence[str], ctx: ToolContext, *, shared: bool, include_closed: bool
) -> Sequence[MemoryItem]:
    side: WriteSide = ctx.side
    return await side.memory.found(memory_ids, ctx.request.session, shared=shared, include_closed=include_closed)


async def _forget(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    ids = tuple(args["memory_ids"])
    count = await ctx.side.memory.forget(ids, ctx.unit.receipt_id, shared=args["shared"])  # type: ignore[union-attr]
    return SurfaceWriteResult(
        surface=DataSurface.MEMORY,
        operation="forgotten" if count else "none",
        status="stored" if count else "unchanged",
        items_written=count,
        ids=ids,
        revert="exact",
    )


def _fact(args: FactArguments, ctx: ToolContext) -> dict[str, Any]:
    fact = args.model_dump(include={"text", "kind", "subject", "attribute", "value", "functional"}, mode="json")
    # Fixed in the plan: a redo after a crash must not move the time.
    fact["valid_from"] = (args.valid_from or now()).isoformat()
    fact["origin"] = "user" if ctx.request.by_application else origin_of(args.text, ctx.request.user_text)
    return fact


def _planned(unit: dict[str, Any], text: str, ctx: ToolContext, shared: bool) -> PlannedWrite:
    profile = SHARED_PROFILE if shared else ctx.request.profile
    source = SourceRef.of_text(text, profile=profile, origin=unit["origin"])
    return PlannedWrite(unit, source=source, ledger_profile=SHARED_PROFILE if shared else "")


def _draft(args: Mapping[str, Any], ctx: ToolContext) -> Any:
    assert ctx.unit is not None  # the ledger runs writes
    return make_draft(
        ctx.unit,
        text=args["text"],
        kind=MemoryKind(args["kind"]),
        scope=MemoryScope(args["scope"]),
        session=ctx.request.session,
        fact=(args["subject"], args["attribute"], args["value"]),
        functional=args["functional"],
        valid_from=datetime.fromisoformat(args["valid_from"]),
        origin=args["origin"],
    )


def _result(outcome: SaveOutcome, operation: str) -> SurfaceWriteResult:
    changed = outcome.status != "unchanged"
    if not changed:
        operation = "none"
    elif operation == "added" and outcome.status == "superseded":
        operation = "superseded"
    return SurfaceWriteResult(
        surface=DataSurface.MEMORY,
        operation=operation,
        status="stored" if changed else "unchanged",
        items_written=int(changed),
        ids=(outcome.memory_id,),
        closed_ids=outcome.closed_ids,
        revert="restores_previous" if outcome.closed_ids else "exact",
    )


async def _is_there(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    seen = await ctx.side.memory.seen(result.ids, ctx.request.session)
    return ReadBack(seen == len(result.ids), f"{seen} of {len(result.ids)} memories found")


async def _is_gone(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    seen = await ctx.side.memory.seen(result.ids, ctx.request.session)
    return ReadBack(seen == 0, f"{seen} of {len(result.ids)} memories found")


async def _find_one(args: UpdateArguments, ctx: ToolContext) -> Candidates:
    if args.memory_id:
        return await _reads(ctx).named(visible(ctx.request.session, memory_ids=(args.memory_id,)))
    _need(args.query, "memory_id or query")
    found = await _reads(ctx).candidates(args.query, visible(ctx.request.session))
    if len(found.ids) > 1:
        # One text cannot replace several memories, and a yes would not say which.
        raise InputInvalid(
            f"{len(found.ids)} memories match", code="input_invalid.ambiguous", hint="Use words that fit only one."
        )
    return found


async def _find_some(args: ForgetArguments, ctx: ToolContext) -> Candidates:
    # What no longer holds can be forgotten too: by id, by its fact, or by words when nothing that holds matches.
    ever = visible(ctx.request.session, include_closed=True)
    if args.memory_ids:
        return await _reads(ctx).named(ever.model_copy(update={"memory_ids": tuple(args.memory_ids)}))
    if args.subject:
        return await _reads(ctx).named(ever.model_copy(update={"subject": args.subject, "attribute": args.attribute}))
    _need(args.query, "memory_ids, query or subject")
    holding = await _reads(ctx).candidates(args.query, visible(ctx.request.session))
    return holding if holding.ids else await _reads(ctx).candidates(args.query, ever)


def _reads(ctx: ToolContext) -> MemoryReads:
    side: WriteSide = ctx.side
    return side.read.memory


def _need(value: str, names: str) -> None:
    if not value.strip():
        raise ArgumentsInvalid(f"nothing says which memory is meant; give {names}")


def _pin_one(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {**args, "memory_id": ids[0], "query": ""}


def _pin_some(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {"memory_ids": list(ids)}


def memory_tools() -> list[ToolSpec]:
    """The memory surface's tools."""
    return [*_reading(), *_writing(), memory_restore_tool()]


def _reading() -> list[ToolSpec]:
    reads = {"effect": ToolEffect.READ, "surface": DataSurface.MEMORY}
    return [
        ToolSpec.of(
            RecallArguments,
            _recall,
            name="memory_recall",
            description="Find what is remembered of the user, the profile or this session: preferences, decisions, "
            "workflows and facts that hold now, or held at a time.",
            **reads,
        ),
        ToolSpec.of(
            ListArguments, _list, name="memory_list", description="List memories, newest first, page by page.", **reads
        ),
        ToolSpec.of(
            HistoryArguments,
            _history,
            name="memory_history",
            description="How a fact changed over time: all its values, the newest first, those that ended included.",
            **reads,
        ),
        ToolSpec.of(
            NamespacesArguments,
            _namespaces,
            name="memory_list_namespaces",
            description="How many memories each of your own scopes holds.",
            **reads,
        ),
    ]


def _writing() -> list[ToolSpec]:
    return [
        ToolSpec.of(
            SaveArguments,
            _save,
            name="memory_save",
            description="Remember one thing. Give subject, attribute and value when it states a fact, and functional "
            "when there is one value at a time, so that a later value ends this one.",
            effect=ToolEffect.WRITE,
            surface=DataSurface.MEMORY,
            plan=_plan_save,
            read_back=_is_there,
            revert="restores_previous",
        ),
        ToolSpec.of(
            UpdateArguments,
            _update,
            name="memory_update",
            description="Replace one memory by a new text; the old one stays in its history.",
            effect=ToolEffect.WRITE,
            surface=DataSurface.MEMORY,
            selector=Selector(_find_one, _pin_one),
            plan=_plan_update,
            read_back=_is_there,
            revert="restores_previous",
        ),
        ToolSpec.of(
            ForgetArguments,
            _forget,
            name="memory_forget",
            description="Forget memories by id, by words that name one, or by subject and attribute.",
            effect=ToolEffect.DESTRUCTIVE,
            surface=DataSurface.MEMORY,
            selector=Selector(_find_some, _pin_some),
            plan=_plan_forget,
            read_back=_is_gone,
            revert="exact",
        ),
    ]
