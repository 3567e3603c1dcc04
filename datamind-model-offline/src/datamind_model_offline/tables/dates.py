"""Years, quarters, months and days of a question as half-open ranges of days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ],
        1,
    )
    for name in names.split()
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR: Final = r"(?:1[5-9]|20|21)\d\d"
_FORMS: Final = (
    rf"(?P<y>{_YEAR})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})",
    rf"(?P<y>{_YEAR})年(?P<m>\d{{1,2}})月(?P<d>\d{{1,2}})[日号]",
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\.?,? (?P<y>{_YEAR})\b",
    rf"\b(?P<name>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>{_YEAR})\b",
    rf"(?P<y>{_YEAR})年?第?(?P<zq>[一二三四1-4])季度",
    rf"\bq(?P<q>[1-4])(?: of)?(?: in)? ?(?P<y>{_YEAR})\b|\b(?P<y2>{_YEAR})[ -]?q(?P<q2>[1-4])\b",
    rf"\b(?:the )?(?P<wq>first|second|third|fourth|last) quarter(?: of)?(?: in)? (?P<y>{_YEAR})\b",
    rf"(?P<y>{_YEAR})年(?P<m>\d{{1,2}})月份?",
    rf"(?P<y>{_YEAR})-(?P<m>[01]\d)(?!\d)",
    rf"\b(?P<name>{_MONTH})\.?,?(?: of)? (?P<y>{_YEAR})\b",
    rf"(?P<y>{_YEAR})年(?:度|全年)?",
    rf"(?<![\d.,])\b(?P<y>{_YEAR})\b(?![\d.,]\d)",
)
_BARE: Final = (
    r"(?<![\d年])(?P<m>1[0-2]|[1-9])月(?P<d>\d{1,2})[日号]",
    rf"\bon (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\b|\bon (?P<name2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b",
    rf"\b(?:in|during|of|for) (?P<name>{_MONTH})\b(?! \d)",
    r"(?<![\d年])(?P<m>1[0-2]|[1-9])月份?(?!\d)",
)
_QUARTERS: Final = {"一": 1, "二": 2, "三": 3, "四": 4, "first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}


@dataclass(frozen=True, slots=True)
class When:
    """A stretch of time in a question.

    Attributes:
        first: The first day of it; None for a month of any year.
        after: The day behind it.
        month: The month of any year, else 0.
        day: The day of that month, else 0.
        is_year: Whether it is a whole year, so that a column of years may hold it as a number.
    """

    start: int
    end: int
    first: date | None
    after: date | None
    month: int = 0
    day: int = 0
    is_year: bool = False


def find_dates(text: str) -> Iterator[When]:
    """The times of a question in lower case, the exact ones first; none overlap."""
    taken: list[tuple[int, int]] = []
    for form in (*_FORMS, *_BARE):
        for match in re.finditer(form, text):
            start, end = match.span()
            if any(start < stop and begin < end for begin, stop in taken):
                continue
            found = _when(match)
            if found is not None:
                taken.append((start, end))
                yield found


def _when(match: re.Match[str]) -> When | None:
    parts = {key.rstrip("2"): value for key, value in match.groupdict().items() if value}
    month = _MONTHS[parts["name"]] if "name" in parts else int(parts.get("m", 0))
    quarter = parts.get("zq") or parts.get("q") or parts.get("wq") or ""
    number = _QUARTERS.get(quarter) or (int(quarter) if quarter.isdigit() else 0)
    try:
        if "y" not in parts:
            return When(*match.span(), None, None, month, int(parts.get("d", 0))) if 1 <= month <= 12 else None
        return When(
            *match.span(), *_range(int(parts["y"]), month, int(parts.get("d", 0)), number), is_year=len(parts) == 1
        )
    except ValueError:
        return None


def _range(year: int, month: int, day: int, quarter: int) -> tuple[date, date]:
    if day:
        first = date(year, month, day)
        return first, first + timedelta(days=1)
    if quarter:
        return date(year, 3 * quarter - 2, 1), _month_after(year, 3 * quarter)
    if month:
        return date(year, month, 1), _month_after(year, month)
    return date(year, 1, 1), date(year + 1, 1, 1)


def _month_after(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1)
