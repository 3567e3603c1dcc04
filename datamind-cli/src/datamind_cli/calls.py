"""Tool calls of the command line: through the gate like any other, and an error that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.core.outcome import ToolOutcome


async def read(
    system: DataMind, tool: str, arguments: Mapping[str, object], *, sink: Callable[[bytes], object] | None = None
) -> ToolOutcome:
    """Call a tool of RetrieveAgent; ``sink`` takes the exact bytes of one that exports.

    Raises:
        DataMindError: The call failed.
    """
    from datamind.core.context import RequestContext
    from datamind.core.errors import error_of
    from datamind.core.types import Role

    ctx = RequestContext(system.profile.name, Role.RETRIEVE, by_application=True, sink=sink)
    outcome = await system.call(tool, arguments, role=Role.RETRIEVE, ctx=ctx)
    if outcome.is_error:
        raise error_of(outcome.code, outcome.message)
    return outcome


async def written_from_path(system: DataMind, tool: str, path: str, arguments: Mapping[str, object]) -> ToolOutcome:
    """Call a tool that stores a path. Naming it on the command line grants it.

    Raises:
        DataMindError: Nothing was even tried.
    """
    from datamind.agent.direct import grant
    from datamind.core.context import RequestContext
    from datamind.core.errors import error_of
    from datamind.core.types import Role

    named = grant(Path(path))
    ctx = RequestContext(system.profile.name, Role.STORE, granted_paths=(named,), by_application=True)
    outcome = await system.call(tool, {"path": str(named), **arguments}, role=Role.STORE, ctx=ctx)
    if outcome.is_error and not outcome.receipts:
        raise error_of(outcome.code, outcome.message)
    return outcome
