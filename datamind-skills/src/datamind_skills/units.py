"""Conversion of units by exact rational factors.

Pint supplies the units and their definitions. Its expression parser evaluates what it reads, so it never sees a
caller's text: unit expressions are read here, and only single names are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind_skills.exact import bounded, read_decimal, shown, write_number
from datamind_skills.unit_names import CHINESE, CURRENCIES, DEFINITIONS, SPELLINGS
from datamind_skills.unit_reader import FULL_WIDTH, Factors, read_unit

if TYPE_CHECKING:
    from pint import UnitRegistry

_TEMPERATURES = {"C": "degree_Celsius", "F": "degree_Fahrenheit", "K": "kelvin"}


Exponents = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class UnitConversion:
    """An amount in another unit.

    Attributes:
        value: What was given, as decimal text.
        result: Exact up to 20 digits, else rounded to 20.
        from_unit: The unit as understood, spelt out.
    """

    value: str
    from_unit: str
    result: str
    to_unit: str


def convert_units(value: int | float | str, from_unit: str, to_unit: str) -> UnitConversion:
    """``value`` of ``from_unit`` in ``to_unit``.

    Units are names, symbols or products of them with whole exponents (``km/h``, ``J/(kg*K)``, ``平方米``), in
    English or Chinese. Temperatures convert with their offsets. The first call loads the unit library.

    Raises:
        InputInvalid: Unknown unit, a currency, another dimension, or a text that is no unit.
        LimitExceeded: Unit text over 100 characters, 12 factors or exponent 12, or a number of too many digits.
    """
    amount = _amount(value)
    if {from_unit.strip(), to_unit.strip()} <= set(_TEMPERATURES):
        from_unit, to_unit = _TEMPERATURES[from_unit.strip()], _TEMPERATURES[to_unit.strip()]
    source, target = (read_unit(unit, _known, _unknown) for unit in (from_unit, to_unit))
    result = bounded(_converted(amount, source, target))
    return UnitConversion(
        value=write_number(amount).text,
        from_unit=_spelt(source),
        result=write_number(result, exact_digits=20, rounded_digits=20).text,
        to_unit=_spelt(target),
    )


def _amount(value: int | float | str) -> Fraction:
    if isinstance(value, str):
        return read_decimal(value.strip().translate(FULL_WIDTH))
    if isinstance(value, int):
        if value.bit_length() > 4096:
            raise LimitExceeded("the value has more than 1000 digits", hint="Use a smaller number.")
        return read_decimal(str(int(value)))
    return read_decimal(repr(value))


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[Any]:
    from pint import UnitRegistry

    registry: UnitRegistry[Any] = UnitRegistry(non_int_type=Fraction)
    for definition in DEFINITIONS:
        registry.define(definition)
    return registry


def _quantity(amount: Fraction | int, name: str) -> Any:
    # Given a string instead of a container, the library would parse it.
    registry = _registry()
    return registry.Quantity(Fraction(amount), registry.UnitsContainer({name: 1}))


@dataclass(frozen=True, slots=True)
class _Unit:
    scale: Fraction | None
    """Size in root units; None for a scale with an offset, such as degrees Celsius."""

    roots: Exponents
    dimension: Exponents


@lru_cache(maxsize=4096)
def _unit(name: str) -> _Unit:
    # The library keeps every combination it was ever asked about, so it is asked for one unit at a time.
    one = _quantity(1, name)
    try:
        zero = _quantity(0, name).to_root_units().magnitude
        rooted = one.to_root_units()
    except TypeError:
        raise InputInvalid(f"{name} is a logarithmic scale", hint="Use log10 in the calculator.") from None
    scale = Fraction(rooted.magnitude) if zero == 0 else None
    dimension = {key.strip("[]"): Fraction(power) for key, power in dict(one.dimensionality).items()}
    return _Unit(scale, {root: Fraction(power) for root, power in rooted.unit_items()}, dimension)


def _converted(amount: Fraction, source: Factors, target: Factors) -> Fraction:
    before, after = ([(_unit(name), power) for name, power in factors.items()] for factors in (source, target))
    dimensions = [_total((unit.dimension, power) for unit, power in side) for side in (before, after)]
    if dimensions[0] != dimensions[1]:
        first, second = map(_described, dimensions)
        raise InputInvalid(
            f"{_spelt(source)} ({first}) does not convert to {_spelt(target)} ({second})",
            hint="Both units must measure the same thing.",
        )
    if any(unit.scale is None for unit, _ in (*before, *after)):
        return _shifted(amount, source, target)
    # The library counts a turn as 2 pi and a hertz as 1, so that 60 rpm would come to 6.28 Hz.
    if _total((unit.roots, power) for unit, power in before) != _total((unit.roots, power) for unit, power in after):
        raise InputInvalid(
            f"{_spelt(source)} and {_spelt(target)} count different things",
            hint="Angles, cycles and plain numbers are kept apart; 1 hertz is 60 rpm or 2 pi radians a second.",
        )
    return amount * _size(before) / _size(after)


def _total(parts: Iterable[tuple[Exponents, int]]) -> Exponents:
    total: Exponents = {}
    for exponents, power in parts:
        for name, exponent in exponents.items():
            total[name] = total.get(name, Fraction(0)) + exponent * power
    return {name: exponent for name, exponent in sorted(total.items()) if exponent}


def _size(side: Iterable[tuple[_Unit, int]]) -> Fraction:
    return math.prod((Fraction(unit.scale or 0) ** power for unit, power in side), start=Fraction(1))


def _shifted(amount: Fraction, source: Factors, target: Factors) -> Fraction:
    if list(source.values()) != [1] or list(target.values()) != [1]:
        raise InputInvalid(
            f"{_spelt(source)} or {_spelt(target)} multiplies a scale that has no true zero",
            hint="Use kelvin, delta_degC or delta_degF inside a product.",
        )
    (before,), (after,) = source, target
    return Fraction(_quantity(amount, before).to(_quantity(1, after).units).magnitude)


def _described(dimension: Exponents) -> str:
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in dimension.items()) or "a plain number"


def _spelt(factors: Mapping[str, int]) -> str:
    above = [_powered(name, power) for name, power in factors.items() if power > 0]
    below = [_powered(name, -power) for name, power in factors.items() if power < 0]
    return "/".join(["*".join(above) or "1", *below])


def _powered(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


def _known(name: str) -> str | None:
    """The library's full name of a unit, or None. Case counts, except in words that have no other meaning."""
    name = CHINESE.get(name) or SPELLINGS.get(name) or name
    registry = _registry()
    candidates = registry.parse_unit_name(name)
    if not candidates and len(name) > 2:
        candidates = registry.parse_unit_name(name.lower())
    return candidates[0][0] + candidates[0][1] if candidates else None


def _unknown(name: str) -> InputInvalid:
    if name.casefold() in CURRENCIES:
        return InputInvalid(
            f"{shown(name)} is a currency, and exchange rates are not known here",
            hint="Use the calculator with a rate from a source.",
        )
    names = [*(known for known in _registry() if len(known) > 2), *CHINESE]
    near = get_close_matches(name, names, n=3, cutoff=0.6 if name.isascii() else 0.5)
    return InputInvalid(f"unit {shown(name)} is not known", hint=f"Near: {', '.join(near)}." if near else "")
