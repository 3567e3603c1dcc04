"""Storing without a model: paths and records, through the same gate, hooks and ledger."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from datamind.agent.direct_plan import Plan, Step, plan_paths, plan_records, skill_name_of
from datamind.agent.gone import drop_gone
from datamind.agent.keeping import with_all_receipts
from datamind.agent.results import make_store_result, surfaces_used, trace_of
from datamind.capabilities.ingest.files import Located, printable, read_file
from datamind.core.context import RequestContext
from datamind.core.errors import DataMindError, InputInvalid, NotFound, SurfaceUnavailable, error_of
from datamind.core.outcome import ToolOutcome, outcome_of_error
from datamind.core.receipts import StoreResult
from datamind.core.types import DataSurface, Role

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

IngestSource = str | Path | Sequence[Path] | Sequence[Mapping[str, object]]
_SKILL_BYTES = 1 << 20


class Direct:
    """Routes what an application hands over to the tools that take it."""

    def __init__(self, system: DataMind) -> None:
        self._system = system

    async def ingest(
        self, source: Path | Sequence[Path] | Sequence[Mapping[str, object]], ctx: RequestContext
    ) -> StoreResult:
        """Store paths or records; every write has its receipt, also when a later one fails.

        Raises:
            InputInvalid: Nothing was given, or a mixture.
            NotFound: A path that does not exist.
            SurfaceUnavailable: Nothing at all was written, for the surface that would take it is off.
            DataMindError: The first refusal, when nothing at all was written.
        """
        started = time.monotonic()
        ctx, plan = await self._plan(source, _counting(ctx))
        outcomes = [await self._call(step, ctx) for step in plan.steps]
        refused = [outcome for outcome in outcomes if outcome.is_error and not outcome.receipts]
        dropped, gone = await drop_gone(self._system, plan.surveys, ctx)
        result = make_store_result(
            " ".join(outcome.message for outcome in refused),
            [*outcomes, *dropped],
            refused=bool(refused or plan.off),
            surfaces_used=surfaces_used([*outcomes, *dropped]),
            tool_trace=tuple(trace_of(outcome) for outcome in [*outcomes, *dropped]),
            stop_reason="direct",
            notices=self._system.notices,
            trace_id=ctx.trace_id,
            duration_s=round(time.monotonic() - started, 4),
            skipped=tuple(plan.skipped),
            gone=gone,
        )
        # A call that broke off has its receipts in the ledger alone.
        result = await with_all_receipts(result, self._system.services, refused=bool(refused or plan.off))
        if not result.receipts and (refused or plan.off):
            raise error_of(refused[0].code, refused[0].message) if refused else self._off(plan)
        return result

    async def _plan(
        self, source: Path | Sequence[Path] | Sequence[Mapping[str, object]], ctx: RequestContext
    ) -> tuple[RequestContext, Plan]:
        if not isinstance(source, Path | Sequence):
            raise InputInvalid(
                f"a {type(source).__name__} cannot be stored", hint="Give text, a Path, Paths or records."
            )
        items = [source] if isinstance(source, Path) else list(source)
        available = frozenset(self._system.registry(Role.STORE))
        if not items:
            raise InputInvalid("there is nothing to store", hint="Give text, a Path, Paths or records.")
        if all(isinstance(item, Path) for item in items):
            granted = tuple(grant(item) for item in items if isinstance(item, Path))
            ctx = replace(ctx, granted_paths=granted)
            policy = self._system.services.write.paths.for_request(ctx)
            return ctx, await anyio.to_thread.run_sync(plan_paths, granted, policy, available)
        if all(isinstance(item, Mapping) for item in items):
            return ctx, plan_records([item for item in items if isinstance(item, Mapping)], available)
        raise InputInvalid("a mixture of paths and records cannot be stored in one call", hint="Store them apart.")

    async def _call(self, step: Step, ctx: RequestContext) -> ToolOutcome:
        try:
            arguments = await self._skill(step.skill) if step.skill else step.arguments
        except DataMindError as error:
            where = printable(step.skill.path) if step.skill else ""
            told = error_of(error.code, f"{where!r:.200} is not stored: {error}")
            return replace(outcome_of_error("", step.tool, told), surface=DataSurface.SKILLS)
        return await self._system.call(step.tool, arguments, role=Role.STORE, ctx=ctx)

    async def _skill(self, located: Located) -> Mapping[str, object]:
        content = await anyio.to_thread.run_sync(lambda: read_file(located, max_bytes=_SKILL_BYTES))
        skills = self._system.services.write.skills
        assert skills is not None  # its tool is there
        draft = await skills.draft_of(content, skill_name_of(located))
        return draft.model_dump(mode="json")

    def _off(self, plan: Plan) -> SurfaceUnavailable:
        first = plan.off[0]
        surface = DataSurface(first.code.rpartition(".")[2])
        reason = self._system.services.off.get(surface, "no tool of it is installed")
        return SurfaceUnavailable(
            f"{first.path!r:.200} is not stored: {surface} is off ({reason})",
            code=first.code if len(plan.off) == 1 else None,
            hint="`datamind doctor` shows which surfaces are off and what to install.",
        )


def _counting(ctx: RequestContext) -> RequestContext:
    """The same request, its progress counted over all its calls."""
    tell = ctx.progress
    if tell is None:
        return ctx
    done = 0

    def progress(_: int, label: str) -> None:
        nonlocal done
        done += 1
        tell(done, label)

    return replace(ctx, progress=progress)


def grant(path: Path) -> Path:
    """The absolute path a user named; links on the way are followed, one in the last part is not.

    Raises:
        NotFound: There is nothing.
    """
    try:
        named = path.expanduser()
        resolved = named.parent.resolve(strict=True) / named.name if named.name not in ("", "..") else named.resolve()
        resolved.lstat()
    except (OSError, RuntimeError, ValueError):
        raise NotFound(f"there is no file or folder {str(path)[:200]!r}", code="not_found.file") from None
    return resolved
