"""Storing without a model: paths and records, through the same gate, hooks and ledger."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datamind.agent.results import make_store_result, receipts_of, surfaces_used, trace_of
from datamind.capabilities.ingest.routing import Route, route_path, route_records
from datamind.core.context import RequestContext
from datamind.core.errors import InputInvalid, NotFound, error_of
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import StoreResult
from datamind.core.types import Role

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

IngestSource = str | Path | Sequence[Path] | Sequence[Mapping[str, Any]]


class Direct:
    """Routes what an application hands over to the tools that take it."""

    def __init__(self, system: DataMind) -> None:
        self._system = system

    async def ingest(
        self, source: Path | Sequence[Path] | Sequence[Mapping[str, Any]], ctx: RequestContext
    ) -> StoreResult:
        """Store paths or records; every write has its receipt.

        Raises:
            InputInvalid: Nothing was given, or a mixture.
            NotFound: A path that does not exist.
            DataMindError: The first refusal, when nothing at all was written.
        """
        started = time.monotonic()
        routes, granted = self._routes(source)
        ctx = replace(ctx, granted_paths=granted)
        outcomes = [await self._call(route, ctx) for route in routes]
        receipts = receipts_of(outcomes)
        refused = [outcome for outcome in outcomes if outcome.is_error and not outcome.receipts]
        if refused and not receipts:
            raise error_of(refused[0].code, refused[0].message)
        return make_store_result(
            " ".join(outcome.message for outcome in refused),
            outcomes,
            refused=bool(refused),
            surfaces_used=surfaces_used(outcomes),
            tool_trace=tuple(trace_of(outcome) for outcome in outcomes),
            stop_reason="direct",
            notices=self._system.notices,
            trace_id=ctx.trace_id,
            duration_s=round(time.monotonic() - started, 4),
        )

    def _routes(
        self, source: Path | Sequence[Path] | Sequence[Mapping[str, Any]]
    ) -> tuple[list[Route], tuple[Path, ...]]:
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
            return [route_path(path, available) for path in granted], granted
        if all(isinstance(item, Mapping) for item in items):
            return [route_records([dict(item) for item in items if isinstance(item, Mapping)], available)], ()
        raise InputInvalid("a mixture of paths and records cannot be stored in one call", hint="Store them apart.")

    async def _call(self, route: Route, ctx: RequestContext) -> ToolOutcome:
        return await self._system.call(route.tool, route.arguments, role=Role.STORE, ctx=ctx)


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
