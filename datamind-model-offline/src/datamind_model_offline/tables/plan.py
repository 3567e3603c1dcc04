"""The calls that answer a question from tables, round by round, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from datamind_model_offline.conversation import Conversation, Step
from datamind_model_offline.planning import PlannedCall
from datamind_model_offline.tables.answer import answer_text, cells_of
from datamind_model_offline.tables.compose import compose
from datamind_model_offline.tables.linking import Mention, Text, lookup_sql, name_mentions, prepare, value_mentions
from datamind_model_offline.tables.query import Query, to_sql
from datamind_model_offline.tables.reading import read
from datamind_model_offline.tables.relations import relations
from datamind_model_offline.tables.schema import Table, listed_tables

_LISTED: Final = 100
_DESCRIBED: Final = 6
_LOOKED_UP: Final = 100
_WHOLE: Final = 0.97
Cells = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Asked:
    """A question put to the tables, with what the calls so far told."""

    conversation: Conversation
    text: Text

    @cached_property
    def tables(self) -> list[Table]:
        """The tables whose names or columns fit the question best."""
        listed = listed_tables(self.conversation.steps)
        if len(listed) <= _DESCRIBED:
            return listed
        best = {
            table.name: sum({m.start: m.score for m in name_mentions(self.text, [table])}.values()) for table in listed
        }
        ranked = sorted(listed, key=lambda table: -best[table.name])[:_DESCRIBED]
        return [table for table in listed if table in ranked]


def ask_tables(conversation: Conversation, question: str, language: str) -> Asked | None:
    """The question, if there are tables that can be read."""
    if not conversation.holds("db") or not conversation.has("db_query_sql") or not conversation.has("db_list_tables"):
        return None
    return Asked(conversation, prepare(question, language))


def table_calls(asked: Asked) -> list[PlannedCall]:
    """The next calls; each returns those that were made already, so that a reader can tell when it is done.

    The profiles of the tables are asked for only where the list and the cells say that the question is about them.
    """
    listing = PlannedCall("db_list_tables", {"limit": _LISTED})
    if not _made(asked, "db_list_tables"):
        return [listing]
    tables = asked.tables
    if not tables:
        return []
    lookup = lookup_sql(asked.text, tables)
    if _result(asked, lookup) is None:
        return [PlannedCall("db_query_sql", {"sql": lookup, "limit": _LOOKED_UP})]
    if not _mentions(asked.text, tables, looked_up_cells(asked, tables)):
        return []
    if not _made(asked, "db_describe_table"):
        return [PlannedCall("db_describe_table", {"table": table.name}) for table in tables]
    query = table_query(asked)
    return [] if query is None else [PlannedCall("db_query_sql", {"sql": to_sql(query)})]


def table_query(asked: Asked) -> Query | None:
    """What is asked of the rows, once the calls have told enough; None when the tables do not answer."""
    tables = asked.tables
    if not tables or not _made(asked, "db_describe_table"):
        return None
    return _query_of(asked.text, tuple(tables), looked_up_cells(asked, tables))


def looked_up_cells(asked: Asked, tables: Sequence[Table]) -> Cells:
    """What the look-up found; nothing before it was made."""
    step = _result(asked, lookup_sql(asked.text, tables))
    cells = cells_of(step.found[0])[1] if step is not None and step.found else []
    return tuple(tuple(map(str, row)) for row in cells)


def _mentions(text: Text, tables: Sequence[Table], cells: Cells) -> list[Mention]:
    return _longest([*name_mentions(text, tables), *value_mentions(text, cells)])


@lru_cache(maxsize=8)
def _query_of(text: Text, tables: tuple[Table, ...], cells: Cells) -> Query | None:
    mentions = _mentions(text, tables, cells)
    found: list[tuple[float, Query]] = []
    for relation in relations(tables):
        if len(relation.tables) > 1 and found:
            break  # one table says it
        reading = read(text, relation, mentions)
        query = compose(reading, mentions)
        if query is not None:
            found.append((reading.score, query))
    return max(found, key=lambda one: one[0])[1] if found else None


def _longest(mentions: list[Mention]) -> list[Mention]:
    """Without the names that are only a part of a cell's text: 销售 in 销售部."""
    cells = [(one.start, one.end) for one in mentions if one.kind == "value" and one.score >= _WHOLE]
    return [
        one
        for one in mentions
        if one.kind == "value"
        or not any(start <= one.start and one.end <= end and end - start > one.end - one.start for start, end in cells)
    ]


def table_answer(asked: Asked, language: str) -> str:
    """The rows in words; empty without any."""
    query = table_query(asked)
    step = _result(asked, to_sql(query)) if query is not None else None
    if query is None or step is None or not step.found:
        return ""
    return answer_text(query, step.found[0], language)


def _made(asked: Asked, name: str) -> bool:
    return any(step.name == name for step in asked.conversation.steps)


def _result(asked: Asked, sql: str) -> Step | None:
    steps = asked.conversation.steps
    return next((s for s in steps if s.name == "db_query_sql" and s.arguments.get("sql") == sql and not s.failed), None)
