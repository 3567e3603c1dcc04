"""What kind of thing a question asks for, and how that kind looks in text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import Final


class AnswerType(StrEnum):
    """The kind of thing asked for."""

    NUMBER = "number"
    MONEY = "money"
    TIME = "time"
    DURATION = "duration"
    FREQUENCY = "frequency"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    METHOD = "method"
    PHONE = "phone"
    EMAIL = "email"
    LINK = "link"
    COLOR = "color"
    NAME = "name"
    AGE = "age"
    YEAR = "year"
    CLOCK = "clock"
    WEIGHT = "weight"
    LENGTH = "extent"
    ANY = "any"


FIRM: Final = frozenset(
    {
        AnswerType.NUMBER,
        AnswerType.MONEY,
        AnswerType.TIME,
        AnswerType.DURATION,
        AnswerType.FREQUENCY,
        AnswerType.PHONE,
        AnswerType.EMAIL,
        AnswerType.LINK,
        AnswerType.COLOR,
        AnswerType.PERSON,
        AnswerType.PLACE,
        AnswerType.NAME,
        AnswerType.AGE,
        AnswerType.YEAR,
        AnswerType.CLOCK,
        AnswerType.WEIGHT,
        AnswerType.LENGTH,
    }
)
"""Kinds that can be told by their form: text without one does not answer."""

_SECTION: Final = re.compile(r"\[([a-z ]+)\]")
_REFERENCE: Final = re.compile(r"<([a-z][a-z ]+)>")
_NEVER: Final = re.compile(r"(?!)")


@lru_cache(maxsize=64)
def form_of(kind: AnswerType) -> re.Pattern[str]:
    """How things of this kind look in text."""
    return _compiled(kind.value) or _NEVER


@lru_cache(maxsize=64)
def cue_of(kind: AnswerType) -> re.Pattern[str]:
    """Words that announce a thing of this kind."""
    return _compiled(f"{kind.value} cue") or _NEVER


@lru_cache(maxsize=2048)
def is_clear(kind: AnswerType, match: str) -> bool:
    """Whether what was found cannot be anything else, as a date is and "ten days" is not."""
    clear = _compiled(f"{kind.value} clear")
    return clear is None or clear.search(match) is not None


@lru_cache(maxsize=64)
def _compiled(name: str) -> re.Pattern[str] | None:
    return re.compile(_expression(name), re.IGNORECASE) if name in _sections() else None


def _expression(name: str) -> str:
    """The alternatives of a section, with the sections they name put in."""
    alternatives = "|".join(_alternative(line) for line in _sections()[name])
    return _REFERENCE.sub(lambda match: f"(?:{_expression(match[1])})", alternatives)


def _alternative(line: str) -> str:
    words = line.removeprefix("words ")
    return line if words == line else rf"\b(?:{'|'.join(words.split())})\b"


@lru_cache(maxsize=1)
def _sections() -> Mapping[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("answer_forms.txt").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        section = _SECTION.fullmatch(line)
        if section is not None:
            lines = sections.setdefault(section[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return {name: tuple(alternatives) for name, alternatives in sections.items()}
