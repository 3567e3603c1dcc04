"""From what a person types to a syntax tree whose only constants are indexes into a table of exact numbers.

Tokens are allow-listed before Python's parser sees anything: no quote, dot, colon or backslash gets through, so
there is no attribute, subscript, string, lambda or f-string to evaluate. What keywords can still build
(``1 if 2 else 3``) the evaluator refuses by node type.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind_skills.calculator_functions import FUNCTIONS
from datamind_skills.exact import read_decimal, shown

MAX_CHARS: Final = 1000
MAX_DEPTH: Final = 50
"""Brackets, signs in a row and powers of powers."""

_TYPED: Final[dict[int, str]] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    ord(typed): meant for typed, meant in zip("\u3000\u00a0×·⋅÷−–π", (" ", " ", *"***/--", " pi "), strict=True)
}
_SPACE = re.compile(r"[ \t\r\n]+")
_PLAIN = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]*)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r"\*\*|//|[-+*/%^(),\[\]]")
_INSTEAD = {"!": "Write factorial(n).", "√": "Write sqrt(x).", "²": "Write **2.", "³": "Write **3."}
_BINDS_TIGHTER = frozenset({"*", "/", "//", "**"})
_ENDS_VALUE = frozenset({")", "]"})


class Token(NamedTuple):
    """One piece of the source: a number's digits, a name, or an operator."""

    kind: Literal["number", "name", "operator"]
    text: str


@dataclass(slots=True)
class _Bracket:
    function: str | None
    """None for plain brackets, where a comma can only group thousands; empty for a list."""

    grouped: bool = False
    spaced: bool = False

    @property
    def separates(self) -> bool:
        return self.function is not None


@dataclass(slots=True)
class _Scanner:
    source: str
    position: int = 0
    tokens: list[Token] = field(default_factory=list)
    open: list[_Bracket] = field(default_factory=lambda: [_Bracket(None)])

    def scan(self) -> list[Token]:
        while self.position < len(self.source):
            if match := _SPACE.match(self.source, self.position):
                self.position = match.end()
            elif not (self._number() or self._name() or self._operator()):
                char = self.source[self.position]
                hint = _INSTEAD.get(char, "Use numbers, + - * / // % ** ( ) and the named functions.")
                raise InputInvalid(f"the calculator does not understand {char!r} in {shown(self.source)}", hint=hint)
        return self.tokens

    def _take(self, kind: Literal["number", "name", "operator"], text: str, length: int) -> bool:
        self.tokens.append(Token(kind, text))
        self.position += length
        return True

    def _number(self) -> bool:
        grouped = _GROUPED.match(self.source, self.position)
        innermost = self.open[-1]
        if grouped and not innermost.separates:
            return self._take("number", grouped[0].replace(",", ""), len(grouped[0]))
        plain = _PLAIN.match(self.source, self.position)
        if plain is None:
            return False
        if innermost.separates:
            innermost.grouped |= grouped is not None
            _refuse_unclear(innermost, plain[0])
        return self._take("number", plain[0], len(plain[0]))

    def _name(self) -> bool:
        match = _NAME.match(self.source, self.position)
        return match is not None and self._take("name", match[0], len(match[0]))

    def _operator(self) -> bool:
        match = _OPERATOR.match(self.source, self.position)
        if match is None:
            return False
        text = "**" if match[0] == "^" else match[0]
        if text in "([":
            self._open(text)
        elif text in ")]" and len(self.open) > 1:
            self.open.pop()
        elif text == ",":
            self._comma()
        return self._take("operator", text, len(match[0]))

    def _open(self, bracket: str) -> None:
        called = self.tokens[-1].text if self.tokens and self.tokens[-1].kind == "name" else None
        self.open.append(_Bracket("" if bracket == "[" else called))
        if len(self.open) > MAX_DEPTH:
            raise LimitExceeded(f"the expression nests deeper than {MAX_DEPTH}", hint="Compute it in steps.")

    def _comma(self) -> None:
        innermost = self.open[-1]
        if not innermost.separates:
            raise InputInvalid(
                f"a comma in {shown(self.source)} does not group thousands",
                hint="Write 1,234,567.8 or 1234567.8, with '.' before decimals.",
            )
        innermost.spaced |= self.source[self.position + 1 : self.position + 2].isspace()
        _refuse_unclear(innermost)


def _refuse_unclear(call: _Bracket, number: str = "") -> None:
    # max(1,200) is two numbers, sum(1,200, 3,400) is anyone's guess, and round(1,200) must not quietly give 1.
    function = FUNCTIONS.get(call.function or "")
    either = function is not None and function.least == 1 and not function.variadic
    leading_zero = len(number) > 1 and number[0] == "0" and number[1] != "."
    if (call.grouped and (call.spaced or either)) or leading_zero:
        raise InputInvalid(
            f"the commas of {call.function or 'the list'} could separate arguments or group thousands",
            hint="Write numbers without separators and a space after each comma.",
        )


def read_expression(source: str) -> tuple[ast.expr, list[Fraction]]:
    """The tree of ``source`` and the numbers that its integer constants index.

    Full-width characters, ``× ÷ − π ^`` and thousands separators are understood; ``15%`` is a percentage where
    no value follows, and a percentage after plus or minus is refused, because people mean two things by it.

    Raises:
        InputInvalid: Not an expression of allowed tokens.
        LimitExceeded: Longer than ``MAX_CHARS``, nested deeper than ``MAX_DEPTH``, or a number of too many digits.
    """
    if len(source) > MAX_CHARS:
        raise LimitExceeded(f"the expression has more than {MAX_CHARS} characters", hint="Compute it in steps.")
    if not source.strip():
        raise InputInvalid("the expression is empty", hint="Write something like 2 * (3 + 4).")
    numbers: list[Fraction] = []
    pieces = _pieces(_Scanner(source.translate(_TYPED)).scan(), numbers)
    try:
        return ast.parse(" ".join(pieces), mode="eval").body, numbers
    except SyntaxError:
        raise InputInvalid(
            f"{shown(source)} is not a complete arithmetic expression",
            hint="Check brackets and operators; write * to multiply.",
        ) from None
    except (RecursionError, MemoryError):
        raise LimitExceeded("the expression nests too deeply", hint="Compute it in steps.") from None


def _pieces(tokens: list[Token], numbers: list[Fraction]) -> list[str]:
    def constant(value: Fraction) -> str:
        numbers.append(value)
        return str(len(numbers) - 1)

    pieces: list[str] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind != "number":
            pieces.append(token.text)
        elif (follows := _percent(tokens, index)) is not None:
            pieces.append(constant(read_decimal(token.text) / 100))
            pieces.extend(["*"] if follows == "of" else [])
            index += 2 if follows == "of" else 1
        else:
            pieces.append(constant(read_decimal(token.text)))
        index += 1
    return pieces


def _percent(tokens: list[Token], index: int) -> str | None:
    """What follows the percentage that starts at ``index`` (empty at the end), or None if there is no percentage."""
    if _text(tokens, index + 1) != "%":
        return None
    follows = _text(tokens, index + 2)
    ends = follows in {"", ")", "]", ","}
    if follows in {"+", "-"} or (ends and _is_added(tokens, index)):
        raise InputInvalid(
            f"'{tokens[index].text}%' beside plus or minus can mean two things",
            hint="Write 200 * 1.10 to add ten percent, (10%) - x for a share, or 10 % (-3) for a remainder.",
        )
    return follows if ends or follows == "of" or follows in _BINDS_TIGHTER else None


def _text(tokens: list[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _is_added(tokens: list[Token], index: int) -> bool:
    if _text(tokens, index - 1) not in {"+", "-"} or index < 2:
        return False
    before = tokens[index - 2]
    return before.kind != "operator" or before.text in _ENDS_VALUE
