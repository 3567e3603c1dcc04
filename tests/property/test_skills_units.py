"""There and back is where we were, and any text is a conversion or a typed error."""

from __future__ import annotations

from fractions import Fraction

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind_skills.units import convert_units
from hypothesis import given
from hypothesis import strategies as st

_ALIKE = st.sampled_from(
    [("km", "mile"), ("kg", "lb"), ("m/s", "knot"), ("acre", "亩"), ("J", "cal"), ("L", "gallon"), ("degC", "degF"),
     ("psi", "kPa"), ("斤", "oz"), ("m^3", "cubic inch")]
)  # fmt: skip


@given(_ALIKE, st.decimals(-(10**6), 10**6, places=4))
def test_there_and_back(pair: tuple[str, str], value: object) -> None:
    there = convert_units(str(value), *pair).result
    back = Fraction(convert_units(there, pair[1], pair[0]).result)
    assert abs(back - Fraction(str(value))) <= Fraction(1, 10**12)


@given(_ALIKE, st.integers(-1000, 1000), st.integers(1, 4))
def test_a_power_of_a_unit_scales_by_the_power(pair: tuple[str, str], value: int, power: int) -> None:
    if pair[0] == "degC":
        pair = ("delta_degC", "delta_degF")
    once = Fraction(convert_units(10**6, *pair).result) / 10**6
    raised = Fraction(convert_units(value, f"({pair[0]})^{power}", f"({pair[1]})^{power}").result)
    assert abs(raised - value * once**power) <= abs(value * once**power) / 10**12


_PIECES = st.sampled_from(
    [
        *"mskgJ°%^*/()-+123.²⁻ ",
        "km",
        "per ",
        "square ",
        "米",
        "平方",
        "每",
        "**",
        "\x00",
        "\ud800",
        "__",
        "9**9",
        "degC",
        "元",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join), st.lists(_PIECES, max_size=10).map("".join))
def test_any_text_is_a_conversion_or_a_typed_error(from_unit: str, to_unit: str) -> None:
    try:
        convert_units(1, from_unit, to_unit)
    except (InputInvalid, LimitExceeded) as error:
        str(error).encode("utf-8")
