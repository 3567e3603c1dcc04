"""Exact numbers: bounds, reading and writing them. Rational where possible, float where a function is irrational."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Final

from datamind.core.errors import InputInvalid, LimitExceeded

Number = Fraction | float
"""A ``Fraction`` is exact; a ``float`` came out of an irrational function."""

MAX_DIGITS: Final = 1000
"""Decimal digits that a numerator or a denominator may have, in every intermediate result."""

MAX_BITS: Final = math.ceil(MAX_DIGITS * math.log2(10))
_TOO_LARGE = 10**MAX_DIGITS
_MAX_FRACTION_CHARS = 100
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


@dataclass(frozen=True, slots=True)
class NumberText:
    """A number as text.

    Attributes:
        exact: Whether ``text`` is the value itself and not a rounding of it.
        fraction: ``p/q`` when an exact value has no short decimal form.
    """

    text: str
    exact: bool
    fraction: str | None = None


def shown(text: str, limit: int = 60) -> str:
    """``text`` for an error line: quoted, escaped and shortened."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def too_large(what: str) -> LimitExceeded:
    """The error of a result that would pass the bound."""
    return LimitExceeded(f"{what} needs more than {MAX_DIGITS} digits", hint="Use smaller numbers.")


def bounded(value: Number) -> Number:
    """``value``, or an error when it has too many digits or is not finite.

    Raises:
        LimitExceeded: Past ``MAX_DIGITS``, or past the range of a float.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise LimitExceeded("a result is past 1.8e308", hint="Use smaller numbers.")
    elif max(abs(value.numerator), value.denominator) >= _TOO_LARGE:
        raise too_large("a result")
    return value


def read_decimal(text: str) -> Fraction:
    """The exact value of an ASCII decimal such as ``-12.50`` or ``6.02e23``.

    Raises:
        InputInvalid: ``text`` is no decimal number.
        LimitExceeded: Past ``MAX_DIGITS``; judged before anything is computed.
    """
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise InputInvalid(f"{shown(text)} is not a decimal number", hint="Write it like 1234.5 or 6.02e23.")
    sign, whole, decimals, exponent = match[1], match[2], match[3] or "", match[4] or "0"
    digits = (whole + decimals).lstrip("0") or "0"
    if len(digits) > MAX_DIGITS or len(exponent.lstrip("+-0")) > len(str(MAX_DIGITS)):
        raise too_large(f"the number {shown(text, 30)}")
    power = int(exponent) - len(decimals)
    if digits != "0" and (len(digits) + power > MAX_DIGITS or power < -MAX_DIGITS):
        raise too_large(f"the number {shown(text, 30)}")
    value = Fraction(int(sign + digits))
    return value * Fraction(10) ** power


def write_number(value: Number, *, exact_digits: int = 50, rounded_digits: int = 30) -> NumberText:
    """Plain decimal text: exact up to ``exact_digits``, else rounded (to 15 digits for a float)."""
    if isinstance(value, float):
        return NumberText(f"{value + 0.0:.15g}", exact=False)
    if value.denominator == 1:
        return NumberText(str(value.numerator), exact=True)
    context = Context(prec=exact_digits)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not context.flags[Inexact]:
        return NumberText(f"{quotient:f}" if quotient.adjusted() > -exact_digits else str(quotient), exact=True)
    fraction = str(value)
    rounded = str(Context(prec=rounded_digits).plus(quotient))
    return NumberText(rounded, exact=False, fraction=fraction if len(fraction) <= _MAX_FRACTION_CHARS else None)
