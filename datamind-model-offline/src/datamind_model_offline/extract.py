"""From what was found to an answer: exact spans with their numbers, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from datamind_model_offline.answer_types import AnswerType
from datamind_model_offline.mismatches import is_beside_the_point
from datamind_model_offline.passages import Found, Unit, distinct_units, shown_text
from datamind_model_offline.question import Question
from datamind_model_offline.scoring import Candidate, Scorer

SURE: Final = 1.5
"""From this trust on, a reader need not look at further surfaces."""

_ADDRESSED: Final = re.compile(r"\b(?:i|me|my|you|your|we|our|us)\b|[我你您咱]|本人|员工|同学|学员|会员", re.IGNORECASE)
_MY: Final = re.compile(r"\bmy\b|我的", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?<![\d.,-])(?:19|20)\d\d(?![\d.,-]?\d)")
_CLOSE: Final = 1.8
_WORSE_WITHOUT_KIND: Final = 3.0
_MAX_LIST_CHARS: Final = 700
_AS_MANY: Final = 0.05


@dataclass(frozen=True, slots=True)
class Quote:
    """A span of one result, on one line."""

    text: str
    cite: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the evidence says.

    Attributes:
        trust: Above 0; the surer, the higher.
    """

    quotes: tuple[Quote, ...]
    trust: float


def choose(question: Question, found: Sequence[Found]) -> Answer | None:
    """The span or two that answer best; None when nothing found answers."""
    units = [unit for unit in distinct_units(found) if _is_of_the_year(question, unit)]
    ranked = _to_the_point(question, sorted(Scorer(question, units).candidates(), key=lambda one: -one.choice))
    best = _best(ranked)
    if best is None or best.trust <= 0 or best.features["kind_missing"] or best.features["relation_missing"]:
        return None
    if _is_of_somebody_else(question, best.unit):
        return None
    quotes = [_quote(question, best.unit, units)]
    second = next((candidate for candidate in ranked if candidate is not best), None)
    if second is not None and _adds(second, best, quotes):
        quotes.append(_quote(question, second.unit, units))
    return Answer(tuple(quotes), best.trust)


def _is_of_the_year(question: Question, unit: Unit) -> bool:
    """Whether the year that is asked about stands in the result at all; a memory seldom says its own."""
    years = set(_YEAR.findall(question.text))
    said = f"{unit.found.content} {unit.found.note} {unit.found.source}"
    return not years or unit.found.surface == "memory" or any(year in said for year in years)


def _to_the_point(question: Question, ranked: Sequence[Candidate]) -> list[Candidate]:
    """Without sentences that cannot be meant; one that has fewer of the words than the first of these is not either."""
    if not ranked or not is_beside_the_point(question, ranked[0].unit):
        return [one for one in ranked if not is_beside_the_point(question, one.unit)]
    said = _share_said(ranked[0])
    rest = [one for one in ranked[1:] if _share_said(one) >= said - _AS_MANY]
    return [one for one in rest if not is_beside_the_point(question, one.unit)]


def _share_said(candidate: Candidate) -> float:
    return candidate.features["own"] + candidate.features["related"]


def _best(ranked: Sequence[Candidate]) -> Candidate | None:
    """The first of the kind asked for, unless it is much worse than the first of all."""
    if not ranked:
        return None
    fitting = next((candidate for candidate in ranked if _fits(candidate)), ranked[0])
    return fitting if ranked[0].choice - fitting.choice <= _WORSE_WITHOUT_KIND else ranked[0]


def _is_of_somebody_else(question: Question, unit: Unit) -> bool:
    """Whether a document tells of people of its own where "my brother" or "my doctor" is asked for."""
    asks = question.kind in (AnswerType.PERSON, AnswerType.NAME) and _MY.search(question.text) is not None
    return asks and unit.found.surface == "kb" and _ADDRESSED.search(unit.text) is None


def _fits(candidate: Candidate) -> bool:
    return not (candidate.features["kind_missing"] or candidate.features["relation_missing"])


def _adds(second: Candidate, best: Candidate, quotes: Sequence[Quote]) -> bool:
    return (
        best.choice - second.choice < _CLOSE
        and second.trust > 0
        and _fits(second)
        and second.unit.shown not in quotes[0].text
    )


def _quote(question: Question, unit: Unit, units: Sequence[Unit]) -> Quote:
    if question.wants_list and unit.kind == "item":
        return Quote(_whole_list(unit, units), unit.found.cite)
    if unit.points_back and unit.lead:
        return Quote(f"{shown_text(unit.lead)} {unit.shown}", unit.found.cite)
    return Quote(unit.shown, unit.found.cite)


def _whole_list(unit: Unit, units: Sequence[Unit]) -> str:
    """The list around the item, as it stands, within a bound; else the item alone."""
    same = [u for u in units if u.found == unit.found and u.kind == "item" and u.heading == unit.heading]
    text = shown_text(unit.found.content[same[0].start : same[-1].end], keep_lines=True)
    return text if len(text) <= _MAX_LIST_CHARS else unit.shown


def leading_sentences(found: Sequence[Found], *, limit: int = 3) -> Answer | None:
    """The first sentences of what ranks best: as near to a summary as exact spans come."""
    units = distinct_units([item for item in found if item.surface == "kb"][:limit])
    spread: list[Unit] = []
    documents = dict.fromkeys(unit.found.cite for unit in units)
    for cite in documents:
        own = [unit for unit in units if unit.found.cite == cite]
        spread += own[: limit if len(documents) == 1 else 1]
    quotes = tuple(Quote(unit.shown, unit.found.cite) for unit in spread[:limit])
    return Answer(quotes, SURE) if quotes else None
