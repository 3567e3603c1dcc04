"""The numbers a text states, by value, so that a claim can be held against its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from datamind.capabilities.text.offsets import normalize_with_offsets

_SCALES: Final = {
    "thousand": 3, "million": 6, "billion": 9, "trillion": 12,
    "万": 4, "萬": 4, "亿": 8, "億": 8, "万亿": 12, "萬億": 12,
}  # fmt: skip
_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_PLACES: Final = {"十": 10, "百": 100, "千": 1000}

_ARABIC: Final = re.compile(
    r"(?P<dotted>\d+(?:\.\d+){2,})"
    r"|(?P<hundredth>百分之)?(?P<sign>(?<![\w)\]])-)?[$€£¥]?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)(?P<exponent>e[+-]?\d{1,3}(?!\w))?"
    r"(?:(?P<percent>\s?(?:%|(?:percent|per cent|pct)\b))"
    r"|\s?(?P<scale>(?:thousand|million|billion|trillion)\b|万亿|萬億|[万萬亿億]))?",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    rf"(?P<year>[{''.join(_DIGITS)}]{{4}}(?=年))"
    rf"|(?P<hundredth>百分之)?(?P<run>[{''.join(_DIGITS)}十百千万萬亿億]{{2,}})"
)


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number in ``source[start:end]``.

    Attributes:
        value: Exact, scale words applied; 50 for "50%".
        is_percent: Whether it is written as a percentage.
    """

    value: Decimal
    start: int
    end: int
    is_percent: bool = False


def find_numbers(text: str) -> list[FoundNumber]:
    """Numbers in order: "1,200", "-3.5", "50 percent", "1.2 million", "3万", "三十五", "二〇二四年".

    A version or an address gives its parts. Chinese numerals count when they name their places; one alone, or a
    shortened form such as "一百五", is left out, for it may mean something else.
    """
    normalized = normalize_with_offsets(text)
    source = normalized.text.replace("−", "-")
    found = [
        FoundNumber(value, *normalized.source_span(start, end), is_percent)
        for value, start, end, is_percent in (*_arabic(source), *_chinese(source))
    ]
    return sorted(found, key=lambda number: number.start)


def _arabic(text: str) -> Iterator[tuple[Decimal, int, int, bool]]:
    for match in _ARABIC.finditer(text):
        if match["dotted"]:
            for part in re.finditer(r"\d+", match[0]):
                yield Decimal(part[0]), match.start() + part.start(), match.start() + part.end(), False
            continue
        value = Decimal((match["sign"] or "") + match["digits"].replace(",", "") + (match["exponent"] or ""))
        if match["scale"]:
            value = value.scaleb(_SCALES[match["scale"].lower()])
        yield value, match.start(), match.end(), bool(match["percent"] or match["hundredth"])


def _chinese(text: str) -> Iterator[tuple[Decimal, int, int, bool]]:
    for match in _CHINESE.finditer(text):
        if match["year"]:
            yield Decimal("".join(str(_DIGITS[digit]) for digit in match["year"])), *match.span(), False
            continue
        value = _chinese_value(match["run"])
        if value is not None:
            yield Decimal(value), *match.span(), match["hundredth"] is not None


def _chinese_value(run: str) -> int | None:
    total = section = digit = 0
    for before, char in zip(" " + run, run, strict=False):
        if char in _DIGITS:
            if _DIGITS.get(before):
                return None
            digit = _DIGITS[char]
        elif char in _PLACES:
            if digit == 0 and char != "十":
                return None
            section, digit = section + (digit or 1) * _PLACES[char], 0
        elif total + section + digit == 0:
            return None
        elif char in "亿億":
            total, section, digit = (total + section + digit) * 10**8, 0, 0
        else:
            total, section, digit = total + (section + digit) * 10**4, 0, 0
    is_shortened = digit != 0 and run[-2] not in "十零〇"
    return None if is_shortened else total + section + digit
