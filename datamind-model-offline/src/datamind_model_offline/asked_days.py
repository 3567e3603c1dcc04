"""The day a question asks about: "in May 2030", "as of 2030-05-01", "2030年5月"."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

_MONTHS: Final = {name.casefold()[:3]: number for number, name in enumerate(calendar.month_name) if name}
_MONTH: Final = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_YEAR: Final = r"(?P<year>(?:19|20|21)\d\d)"
_HOW: Final = r"(?P<how>\b(?:as of|back in|before|prior to|in|on|until|by|during|at|of|in early|in late) )?(?:the )?"
_FORMS: Final = (
    rf"\b{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b",
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH},? {_YEAR}\b",
    rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}\b",
    rf"\b{_MONTH},? {_YEAR}\b",
    rf"{_YEAR}年(?:(?P<month>\d{{1,2}})月)?(?:(?P<day>\d{{1,2}})[日号])?(?P<zh>之?以?前)?",
    rf"\b(?:(?:year|summer|winter|spring|autumn) (?:of )?)?{_YEAR}\b",
)
_HAS_YEAR: Final = re.compile(r"(?:19|20|21)\d\d")


@dataclass(frozen=True, slots=True)
class AskedDay:
    """A day in a question.

    Attributes:
        day: ``YYYY-MM-DD``: the last day of what is named, or the day before it where "before" stands in front.
        rest: The question without it.
    """

    day: str
    rest: str


def asked_day(question: str) -> AskedDay | None:
    """The first day, month or year that a question names."""
    if not _HAS_YEAR.search(question):
        return None
    for form in _FORMS:
        match = re.search(_HOW + form, question, re.IGNORECASE)
        if match is not None:
            groups = match.groupdict()
            rest = f"{question[: match.start()]} {question[match.end() :]}"
            day = _day(groups)
            return AskedDay(day, re.sub(r"\s+(?=[?.,]|\Z)|(?<=\s)\s+|\A\s+", "", rest)) if day else None
    return None


def _day(groups: dict[str, str | None]) -> str:
    year = int(groups["year"] or 0)
    named = groups.get("name")
    month = _MONTHS[named.casefold()[:3]] if named else int(groups.get("month") or 0)
    day = int(groups.get("day") or 0)
    if month > 12 or day > calendar.monthrange(year, month or 1)[1]:
        return ""
    if groups.get("zh") or (groups.get("how") or "").strip().casefold() in ("before", "prior to"):
        return str(date(year, month or 1, day or 1) - timedelta(days=1))
    month = month or 12
    return str(date(year, month, day or calendar.monthrange(year, month)[1]))
