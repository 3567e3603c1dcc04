"""Tables for the application: statements through the same gate as an agent's, page after page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from datamind.core.errors import Conflict, InputInvalid, error_of
from datamind.core.outcome import ToolOutcome
from datamind.core.result_table import ResultTable
from datamind.core.types import Role

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

_PAGE_ROWS: Final = 1_000


async def read_table(system: DataMind, statement: str, max_rows: int) -> ResultTable:
    """The first rows of a result; of none the columns alone.

    Raises:
        InputInvalid: ``max_rows`` is below 0.
        DataMindError: The statement was refused, failed or took too long.
        Conflict: A table changed between two pages.
    """
    if max_rows < 0:
        raise InputInvalid(f"max_rows is {max_rows}; it must be 0 or more")
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    total: int | None = None
    async for page in read_pages(system, statement, max_rows=max_rows):
        columns, kinds, total = page.columns, page.kinds or kinds, page.total
        rows += page.rows
    return ResultTable(columns, tuple(rows[:max_rows]), kinds, total)


async def read_pages(
    system: DataMind, statement: str, *, max_rows: int | None = None, page_rows: int = _PAGE_ROWS
) -> AsyncIterator[ResultTable]:
    """Pages of a result in order, at least one; all of them rest on the same versions of the tables.

    Raises:
        DataMindError: The statement was refused, failed or took too long.
        Conflict: A table changed between two pages.
    """
    offset: int | None = 0
    versions: Mapping[str, str] | None = None
    while offset is not None:
        limit = page_rows if max_rows is None else min(page_rows, max_rows - offset)
        arguments = {"sql": statement, "offset": offset, "limit": max(limit, 1)}
        outcome = await system.call("db_query_sql", arguments, role=Role.RETRIEVE)
        if outcome.is_error:
            raise error_of(outcome.code, outcome.message)
        versions = _same_versions(outcome, versions)
        yield _page(outcome)
        offset = outcome.truncated.get("next_offset")
        if offset is not None and max_rows is not None and offset >= max_rows:
            return


def _same_versions(outcome: ToolOutcome, before: Mapping[str, str] | None) -> Mapping[str, str] | None:
    found = [item.locator.data_versions for item in outcome.evidence if item.locator.type == "table"]
    if found and before is not None and found[0] != before:
        raise Conflict("a table changed between two pages of its rows", code="conflict.table_changed", retryable=True)
    return found[0] if found else before


def _page(outcome: ToolOutcome) -> ResultTable:
    total = outcome.data.get("total_rows")
    counted = total if isinstance(total, int) else None
    for item in outcome.evidence:
        if (table := item.table()) is not None:
            return ResultTable(table.columns, table.rows, table.kinds, counted)
    columns: Mapping[str, str] = outcome.data["columns"]
    return ResultTable(tuple(columns), (), (), counted)
