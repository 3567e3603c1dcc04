"""Cited evidence, read again from its surface without a model."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.memory.service import visible
from datamind.core.errors import IntegrityError
from datamind.core.evidence import (
    Evidence,
    MemoryLocator,
    SkillLocator,
    TableLocator,
    TextLocator,
    ToolLocator,
    TripleLocator,
)
from datamind.core.outcome import ToolOutcome
from datamind.core.types import DataSurface, Role
from datamind.core.verification import CitationState

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind


@dataclass(frozen=True, slots=True)
class Reread:
    """How a piece of evidence stands now, and what differs."""

    state: CitationState
    detail: str = ""


_INTACT: Final = Reread("intact")


async def reread(system: DataMind, item: Evidence, session: str) -> Reread:
    """Look at one piece of evidence again.

    Args:
        system: The profile that the answer was given by.
        item: As it was cited.
        session: The conversation it was read in; memories of a session are seen by no other.

    Raises:
        SurfaceUnavailable: Its surface is off.
        StoreError: It cannot be read.
    """
    look: _Look = _LOOKS[item.locator.type]
    return await look(system, item, session)


async def _text(system: DataMind, item: Evidence, session: str) -> Reread:
    assert isinstance(item.locator, TextLocator)
    sources = system.services.control.sources
    versions = await sources.get(item.source.source_id)
    version = next((one for one in versions if one.state == "active"), versions[0] if versions else None)
    if version is None:
        return Reread("gone", f"{item.source.uri} is not held here")
    if await sources.current(DataSurface.KB, version.document_id) is None:
        return Reread("gone", f"{item.source.uri} was removed")
    try:
        text = await sources.text(version.content_hash)
    except IntegrityError as error:
        return Reread("changed", str(error))
    if text[item.locator.start : item.locator.end] != item.content:
        return Reread("changed", f"characters {item.locator.start}-{item.locator.end} of the stored text are others")
    if version.state == "replaced":
        when = f" at {version.ended_at.isoformat(sep=' ', timespec='seconds')}" if version.ended_at else ""
        return Reread("stale", f"{item.source.uri} was replaced{when}")
    return _INTACT


async def _table(system: DataMind, item: Evidence, session: str) -> Reread:
    assert isinstance(item.locator, TableLocator)
    of_graph = item.surface is DataSurface.GRAPH
    first, _, end = item.locator.row_key.partition(":")
    page = {} if of_graph else {"offset": int(first or 0), "limit": max(int(end or 0) - int(first or 0), 1)}
    arguments = {"sparql" if of_graph else "sql": item.locator.statement, **page}
    outcome = await system.call("graph_query" if of_graph else "db_query_sql", arguments, role=Role.RETRIEVE)
    if outcome.is_error:
        return await _refused(system, item, outcome)
    found = next((one for one in outcome.evidence if isinstance(one.locator, TableLocator)), None)
    content = found.content if found else ""
    if content == item.content:
        return _INTACT
    if content and _rows(content) == _rows(item.content):
        return Reread("intact", "the same rows in another order")
    if found is not None and _same_data(item.locator, found.locator):
        return Reread("not_repeatable", "the tables are as they were, and the statement gives another result")
    return Reread("changed", _difference(item.content, content))


async def _refused(system: DataMind, item: Evidence, outcome: ToolOutcome) -> Reread:
    assert isinstance(item.locator, TableLocator)
    if item.surface is DataSurface.DB:
        there = {table.name for table in await system.services.read.db.tables()}
        if gone := [name for name in item.locator.tables if name not in there]:
            return Reread("gone", f"there is no table {', '.join(map(repr, gone))}")
    return Reread("changed", f"the statement fails now: {outcome.message}")


def _same_data(before: TableLocator, now: Any) -> bool:
    return bool(before.data_versions) and before.data_versions == now.data_versions


def _rows(content: str) -> list[str]:
    found = json.loads(content)
    return sorted(json.dumps(row) for row in [found["columns"], *found["rows"]])


def _difference(before: str, now: str) -> str:
    """The first row that is another one, or how many there are."""
    if not now:
        return "the statement gives no rows now"
    old, new = json.loads(before)["rows"], json.loads(now)["rows"]
    for number, (was, has) in enumerate(zip(old, new, strict=False), 1):
        if was != has:
            return f"row {number} was {_short(was)} and is {_short(has)}"
    return f"there were {len(old)} rows and are {len(new)}" if len(old) != len(new) else "the columns are others"


def _short(row: Any) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:120]}…"


async def _triple(system: DataMind, item: Evidence, session: str) -> Reread:
    assert isinstance(item.locator, TripleLocator)
    found = await system.services.read.graph.statement(item.locator)
    if found is None:
        return Reread("gone", "the graph does not hold the statement")
    return _INTACT if found.content == item.content else Reread("changed", f"it reads {found.content!r} now")


async def _memory(system: DataMind, item: Evidence, session: str) -> Reread:
    assert isinstance(item.locator, MemoryLocator)
    memory, ids = system.services.read.memory, (item.locator.memory_id,)
    held = await memory.find(visible(session, memory_ids=ids))
    found = held or await memory.find(visible(session, memory_ids=ids, include_closed=True))
    if not found:
        return Reread("gone", "it was forgotten")
    if found[0].content != item.content:
        return Reread("changed", f"it reads {found[0].content[:120]!r} now")
    return _INTACT if held else Reread("stale", f"it holds no more ({found[0].note})")


async def _skill(system: DataMind, item: Evidence, session: str) -> Reread:
    assert isinstance(item.locator, SkillLocator)
    skill = await system.services.read.skills.find(item.locator.name)
    if skill is None:
        return Reread("gone", f"there is no skill {item.locator.name!r}")
    if skill.checksum == item.source.checksum:
        return _INTACT
    held = await system.services.control.sources.get(item.source.source_id)
    return Reread("stale" if held else "changed", f"the skill {item.locator.name!r} was replaced")


async def _tool(system: DataMind, item: Evidence, session: str) -> Reread:
    assert isinstance(item.locator, ToolLocator)
    if not item.locator.repeatable:
        return Reread("not_repeatable", f"{item.locator.tool} tells something else at another time")
    arguments: Mapping[str, Any] = item.locator.arguments
    outcome = await system.call(item.locator.tool, arguments, role=Role.RETRIEVE)
    told = [one.content for one in outcome.evidence]
    if outcome.is_error or not told:
        return Reread("gone", outcome.message or f"{item.locator.tool} gives nothing")
    return _INTACT if item.content in told else Reread("changed", f"it gives {told[0][:120]!r} now")


_Look = Callable[["DataMind", Evidence, str], Awaitable[Reread]]
_LOOKS: Final[Mapping[str, _Look]] = {
    "text": _text,
    "table": _table,
    "triple": _triple,
    "memory": _memory,
    "skill": _skill,
    "tool": _tool,
}
