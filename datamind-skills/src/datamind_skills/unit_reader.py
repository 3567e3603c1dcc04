"""Reading unit expressions such as ``km/h``, ``J/(kg*K)``, ``square feet`` or ``立方米``, name by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind_skills.exact import shown

MAX_CHARS: Final = 100
MAX_FACTORS: Final = 12
MAX_EXPONENT: Final = 12

FULL_WIDTH: Final = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_TYPED = FULL_WIDTH | {
    ord(typed): meant for typed, meant in zip("\u3000\u00a0·⋅×∙÷每￥", (" ", " ", *"****", "/", "/", "¥"), strict=True)
}
_RAISED = re.compile("⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SIGNS = "°℃℉%$€£¥₹₩_"
_WORD = re.compile(rf"\s*(\*\*|[\^*/()]|[+-]?[0-9]+(?![.\w])|(?:[^\W\d]|[{_SIGNS}])[\w°%]*)")
_NUMBER_TAIL = re.compile(r"(\D+)([0-9]{1,2})")
_WHOLE = re.compile(r"[+-]?[0-9]{1,3}")
_PREFIX_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_SUFFIX_POWERS = {"squared": 2, "cubed": 3}
_CHINESE_POWERS = {"平方": 2, "立方": 3}

Factors = dict[str, int]
"""Exponents by full unit name."""


def read_unit(text: str, known: Callable[[str], str | None], unknown: Callable[[str], InputInvalid]) -> Factors:
    """The factors of a unit expression, in the order they are written.

    Args:
        known: The full name of a unit, or None.
        unknown: The error for a name that is no unit.

    Raises:
        InputInvalid: Not a product of units with whole exponents, or readable in two ways.
        LimitExceeded: Past one of the bounds of this module.
    """
    if len(text) > MAX_CHARS:
        raise LimitExceeded(f"the unit {shown(text, 30)} has more than {MAX_CHARS} characters")
    reader = _Reader(text, known, unknown, _words(text))
    factors = reader.product()
    if reader.words:
        raise _no_unit(text)
    if len(factors) > MAX_FACTORS or any(abs(power) > MAX_EXPONENT for power in factors.values()):
        raise LimitExceeded(f"the unit {shown(text)} has too many factors or too large an exponent")
    return {name: power for name, power in factors.items() if power}


def _no_unit(text: str) -> InputInvalid:
    return InputInvalid(
        f"{shown(text)} is not a unit", hint="Write a unit such as km/h or J/(kg*K); the amount goes in value."
    )


def _words(text: str) -> list[str]:
    typed = _RAISED.sub(lambda match: "^" + match[0].translate(_LOWERED), text.translate(_TYPED)).rstrip()
    words: list[str] = []
    position = 0
    while position < len(typed):
        match = _WORD.match(typed, position)
        if match is None:
            raise _no_unit(text)
        words.append(match[1])
        position = match.end()
    return words


@dataclass(slots=True)
class _Reader:
    text: str
    known: Callable[[str], str | None]
    unknown: Callable[[str], InputInvalid]
    words: list[str] = field(default_factory=list)
    depth: int = 0

    def peek(self) -> str:
        return self.words[0] if self.words else ""

    def take(self) -> str:
        return self.words.pop(0) if self.words else ""

    def product(self) -> Counter[str]:
        factors: Counter[str] = Counter()
        sign = 1
        while True:
            for name, power in self.power().items():
                factors[name] += sign * power
            follows = self.peek()
            if follows in {"", ")"}:
                return factors
            if follows in {"*", "/", "per"}:
                sign = 1 if self.take() == "*" else -1
            elif sign < 0:
                raise InputInvalid(f"{shown(self.text)} can be read in two ways", hint="Put brackets after the slash.")

    def power(self) -> Counter[str]:
        word = self.take()
        if word in _PREFIX_POWERS and self.peek():
            return _raised(self.power(), _PREFIX_POWERS[word])
        if word == "1" and self.peek() in {"/", "per"}:
            return Counter()
        base = self.bracket() if word == "(" else self.named(word)
        return _raised(base, self.exponent())

    def bracket(self) -> Counter[str]:
        self.depth += 1
        if self.depth > MAX_FACTORS:
            raise LimitExceeded(f"the unit {shown(self.text)} nests too deeply")
        inner = self.product()
        if self.take() != ")":
            raise _no_unit(self.text)
        return inner

    def named(self, word: str) -> Counter[str]:
        if not word or not (word[0].isalpha() or word[0] in _SIGNS):
            raise _no_unit(self.text)
        if self.words and (joined := self.known(f"{word}_{self.words[0]}")):
            self.take()
            return Counter({joined: 1})
        return self.looked_up(word)

    def looked_up(self, word: str) -> Counter[str]:
        if name := self.known(word):
            return Counter({name: 1})
        for prefix, power in _CHINESE_POWERS.items():
            if word.startswith(prefix) and (name := self.known(word.removeprefix(prefix))):
                return Counter({name: power})
        tail = _NUMBER_TAIL.fullmatch(word)
        if tail and (name := self.known(tail[1])):
            return Counter({name: int(tail[2])})
        raise self.unknown(word)

    def exponent(self) -> int:
        word = self.peek()
        if word in _SUFFIX_POWERS:
            return _SUFFIX_POWERS[self.take()]
        if word in {"^", "**"}:
            self.take()
        elif not word.startswith(("-", "+")):
            return 1
        whole = self.take()
        if _WHOLE.fullmatch(whole) is None:
            raise _no_unit(self.text)
        return int(whole)


def _raised(factors: Counter[str], exponent: int) -> Counter[str]:
    return Counter({name: power * exponent for name, power in factors.items()})
