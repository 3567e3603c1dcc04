"""The functions and constants a calculation may name. Each is total over bounded numbers or raises; none is slow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from datamind.core.errors import InputInvalid
from datamind_skills.exact import MAX_BITS, MAX_DIGITS, Number, bounded, too_large

CONSTANTS: Final[dict[str, Number]] = {"pi": math.pi, "e": math.e, "tau": math.tau}

_FLOAT_BITS = 900  # ratios of smaller integers convert to a float with neither overflow nor underflow


@dataclass(frozen=True, slots=True)
class Function:
    """A named function and how many arguments it takes; ``most`` is None for any number."""

    compute: Callable[..., Number]
    least: int = 1
    most: int | None = 1

    @property
    def variadic(self) -> bool:
        """Whether it takes a list."""
        return self.most is None

    @property
    def arity(self) -> str:
        """In words, for an error line."""
        if self.most is None:
            return f"at least {self.least}"
        return str(self.least) if self.least == self.most else f"{self.least} or {self.most}"


def power(base: Number, exponent: Number) -> Number:
    """``base ** exponent``: exact for an integer exponent and the root of a square; sized before it is computed."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return _integer_power(base, exponent.numerator)
        if exponent.denominator == 2 and (root := _exact_root(base)) is not None:
            return _integer_power(root, exponent.numerator)
    return math.pow(base, exponent)


def _integer_power(base: Fraction, exponent: int) -> Fraction:
    size = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
    if size * abs(exponent) > MAX_BITS:
        raise too_large("a power")
    return Fraction(base**exponent)


def _exact_root(value: Fraction) -> Fraction | None:
    if value < 0:
        return None
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    exact = top * top == value.numerator and bottom * bottom == value.denominator
    return Fraction(top, bottom) if exact else None


def _sqrt(value: Number) -> Number:
    root = _exact_root(value) if isinstance(value, Fraction) else None
    return math.sqrt(value) if root is None else root


def _whole(value: Number, function: str) -> int:
    if isinstance(value, float) or value.denominator != 1:
        raise InputInvalid(f"{function} needs whole numbers", hint="Use round, floor or ceil first.")
    return value.numerator


def _factorial(value: Number) -> Number:
    n = _whole(value, "factorial")
    if n < 0:
        raise InputInvalid("factorial needs a number that is not negative")
    if n > MAX_DIGITS or math.lgamma(n + 1) > MAX_DIGITS * math.log(10):
        raise too_large("a factorial")
    return Fraction(math.factorial(n))


def _round(value: Number, places: Number = Fraction(0)) -> Number:
    n = _whole(places, "round")
    if abs(n) > MAX_DIGITS:
        raise too_large("round")
    exact = value if isinstance(value, Fraction) else Fraction(repr(value))
    scale = Fraction(10) ** n
    nearest = math.floor(abs(exact) * scale + Fraction(1, 2)) / scale
    return _like(-nearest if exact < 0 else nearest, value)


def _like(result: Fraction, argument: Number) -> Number:
    # A value that came from a float stays one, so that it is never reported as exact.
    return float(result) if isinstance(argument, float) else result


def _floor(value: Number) -> Number:
    return _like(Fraction(math.floor(value)), value)


def _ceil(value: Number) -> Number:
    return _like(Fraction(math.ceil(value)), value)


def _ln(value: Number) -> float:
    if isinstance(value, Fraction) and value > 0:
        top, bottom = value.numerator, value.denominator
        if max(top.bit_length(), bottom.bit_length()) > _FLOAT_BITS:
            return math.log(top) - math.log(bottom)
    return math.log(value)


def _log(value: Number, base: Number | None = None) -> Number:
    if base is None:
        return _ln(value)
    approximate = _ln(value) / _ln(base)
    nearest = round(approximate)
    exact = isinstance(value, Fraction) and isinstance(base, Fraction) and abs(nearest) <= MAX_BITS
    if exact and abs(approximate - nearest) < 1e-9 and power(base, Fraction(nearest)) == value:
        return Fraction(nearest)
    return approximate


def _log2(value: Number) -> Number:
    return _log(value, Fraction(2))


def _log10(value: Number) -> Number:
    return _log(value, Fraction(10))


def _sum(*values: Number) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = bounded(total + value)
    return total


def _mean(*values: Number) -> Number:
    return _sum(*values) / len(values)


def _median(*values: Number) -> Number:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(*ordered[middle - 1 : middle + 1])


def _gcd(*values: Number) -> Number:
    return Fraction(math.gcd(*(_whole(value, "gcd") for value in values)))


def _lcm(*values: Number) -> Number:
    result = Fraction(1)
    for value in values:
        result = Fraction(math.lcm(result.numerator, _whole(value, "lcm")))
        bounded(result)
    return result


def _percent_of(rate: Number, whole: Number) -> Number:
    return rate * whole / 100


def _percent_change(old: Number, new: Number) -> Number:
    return (new - old) / (-old if old < 0 else old) * 100


def _on_floats(function: Callable[[float], float]) -> Function:
    return Function(lambda value: function(float(value)))


FUNCTIONS: Final[dict[str, Function]] = {
    "abs": Function(abs),
    "round": Function(_round, most=2),
    "floor": Function(_floor),
    "ceil": Function(_ceil),
    "sqrt": Function(_sqrt),
    "min": Function(lambda *values: min(values), most=None),
    "max": Function(lambda *values: max(values), most=None),
    "sum": Function(_sum, most=None),
    "mean": Function(_mean, most=None),
    "median": Function(_median, most=None),
    "gcd": Function(_gcd, most=None),
    "lcm": Function(_lcm, most=None),
    "factorial": Function(_factorial),
    "log": Function(_log, most=2),
    "ln": Function(_ln),
    "log2": Function(_log2),
    "log10": Function(_log10),
    "percent_of": Function(_percent_of, least=2, most=2),
    "percent_change": Function(_percent_change, least=2, most=2),
    "exp": _on_floats(math.exp),
    "sin": _on_floats(math.sin),
    "cos": _on_floats(math.cos),
    "tan": _on_floats(math.tan),
    "asin": _on_floats(math.asin),
    "acos": _on_floats(math.acos),
    "atan": _on_floats(math.atan),
    "sinh": _on_floats(math.sinh),
    "cosh": _on_floats(math.cosh),
    "tanh": _on_floats(math.tanh),
    "degrees": _on_floats(math.degrees),
    "radians": _on_floats(math.radians),
}
