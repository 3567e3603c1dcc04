"""Which memories hold, now or at a time, when several say the same of one thing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from datamind_model_offline.asked_facts import asked_fact
from datamind_model_offline.passages import Found
from datamind_model_offline.statements import Statement, parse_statement

_HELD: Final = re.compile(r"\b(since|until) (\d{4}-\d{2}-\d{2})")

Fact = tuple[str, str]


def holding(found: Sequence[Found], *, at: str = "") -> list[Found]:
    """``found`` without memories that are over, and without earlier values of what has one value at a time.

    Args:
        found: In any order; what is not a memory is kept.
        at: A day as ``YYYY-MM-DD``: what began later is left out; now when empty.
    """
    kept = _not_ended([item for item in found if item.surface != "memory" or _began(item, at)])
    newest: dict[Fact, Found] = {}
    for item in kept:
        fact = fact_of(item)
        if fact is not None and (fact not in newest or _since(item) > _since(newest[fact])):
            newest[fact] = item
    return [item for item in kept if (fact := fact_of(item)) is None or newest[fact] is item]


def _not_ended(found: Sequence[Found]) -> list[Found]:
    """Without memories whose value a later one says no longer holds."""
    ends: dict[tuple[Fact, str], str] = {}
    for item in found:
        statement = _statement_of(item)
        if statement is not None and statement.ends:
            key = (_folded((statement.subject, statement.attribute)), statement.ends.casefold())
            ends[key] = max(ends.get(key, ""), _since(item))
    return [item for item in found if not ends or not _is_ended(item, ends)]


def _is_ended(item: Found, ends: Mapping[tuple[Fact, str], str]) -> bool:
    statement = _statement_of(item)
    if statement is None or not statement.value:
        return False
    end = ends.get((_folded((statement.subject, statement.attribute)), statement.value.casefold()))
    return end is not None and _since(item) <= end


def _statement_of(item: Found) -> Statement | None:
    return parse_statement(item.content) if item.surface == "memory" else None


def stating(found: Sequence[Found], question: str) -> Found | None:
    """The memory that states the very fact a question asks for."""
    asked = asked_fact(question)
    return next((item for item in found if asked is not None and fact_of(item) == _folded(asked)), None)


def superseded(found: Sequence[Found], question: str) -> list[Found]:
    """Earlier values of the one fact that the question asks for, newest first; empty when that fact is not known."""
    asked = asked_fact(question)
    if asked is None:
        return []
    memories = [item for item in found if item.surface == "memory"]
    current = {item.cite for item in holding(memories)}
    past = [item for item in memories if item.cite not in current and fact_of(item) == _folded(asked)]
    return _before_the_one_named(sorted(past, key=_since, reverse=True), question)


def _before_the_one_named(past: Sequence[Found], question: str) -> list[Found]:
    """ "Before Bergen" means what came before it, also when Bergen is over too."""
    for i, item in enumerate(past):
        statement = parse_statement(item.content)
        if statement is not None and statement.value.casefold() in question.casefold():
            return list(past[i + 1 :])
    return list(past)


def fact_of(item: Found) -> Fact | None:
    """Subject and attribute of a memory that states one value at a time."""
    statement = _statement_of(item)
    if statement is None or not statement.functional:
        return None
    return _folded((statement.subject, statement.attribute))


def _folded(fact: Fact) -> Fact:
    return fact[0].casefold(), fact[1].casefold()


def _began(item: Found, at: str) -> bool:
    held = _HELD.search(item.note)
    if at:
        return held is None or held[1] != "since" or held[2] <= at
    return held is None or held[1] == "since"


def _since(item: Found) -> str:
    held = _HELD.search(item.note)
    return held[2] if held else ""
