"""Unit conversion: exact factors, two languages, and a reader that evaluates nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

from datamind.core.errors import DataMindError, InputInvalid, LimitExceeded
from datamind_skills.unit_names import CHINESE, SPELLINGS
from datamind_skills.units import convert_units

EXACT = [
    (1, "inch", "cm", "2.54"),
    (5, "miles per hour", "km/h", "8.04672"),
    (1, "lb", "kg", "0.45359237"),
    (1, "kWh", "MJ", "3.6"),
    (1, "m2", "cm^2", "10000"),
    (1, "m²", "cm**2", "10000"),
    (1, "square foot", "m^2", "0.09290304"),
    (1, "sq ft", "m^2", "0.09290304"),
    (1, "meter cubed", "L", "1000"),
    (36, "m s⁻²", "km/h/s", "129.6"),
    (1, "J/(kg*K)", "kJ/(kg K)", "0.001"),
    (1, "1/s", "Hz", "1"),
    (1, "fluid ounce", "ml", "29.5735295625"),
    (1, "nautical miles", "km", "1.852"),
    (1, "GiB", "MB", "1073.741824"),
    (1, "KB", "B", "1000"),
    (1, "Kilometre", "Meters", "1000"),
    (90, "minutes", "hours", "1.5"),
    (1, "％", "ppm", "10000"),
    ("1.10", "kg", "g", "1100"),
    (0.1, "m", "cm", "10"),
    (3, "公里", "米", "3000"),
    (2, "斤", "公斤", "1"),
    (1, "两", "克", "50"),
    (3, "尺", "米", "1"),
    (3, "亩", "平方米", "2000"),
    (36, "千米每小时", "米/秒", "10"),
    (1, "立方米", "升", "1000"),
    (1, "平方公里", "公顷", "100"),
    (1, "ＫＭ", "m", "1000"),
]


@pytest.mark.parametrize(("value", "from_unit", "to_unit", "result"), EXACT)
def test_exact_conversions(value: int | float | str, from_unit: str, to_unit: str, result: str) -> None:
    assert convert_units(value, from_unit, to_unit).result == result


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "result"),
    [
        (25, "degC", "degF", "77"), (100, "F", "C", "37.777777777777777778"), (-40, "C", "F", "-40"),
        (0, "K", "℃", "-273.15"),
        (25, "摄氏度", "华氏度", "77"), (20, "°C", "°F", "68"), (9, "delta_degC", "delta_degF", "16.2"),
    ],
)  # fmt: skip
def test_temperatures_have_offsets(value: int, from_unit: str, to_unit: str, result: str) -> None:
    assert convert_units(value, from_unit, to_unit).result == result


def test_units_are_spelt_out() -> None:
    conversion = convert_units(1, "J/kg/K", "cal/(g*K)")
    assert (conversion.from_unit, conversion.to_unit) == ("joule/kilogram/kelvin", "calorie/gram/kelvin")
    assert conversion.value == "1"


@pytest.mark.parametrize(
    ("from_unit", "to_unit", "says"),
    [
        ("mile", "kg", "mile (length) does not convert to kilogram (mass)"),
        ("km/h", "kg", "length time^-1"),
        ("m/m", "m", "a plain number"),
        ("USD", "EUR", "currency"),
        ("km", "euros", "currency"),
        ("元", "美元", "currency"),
        ("$", "€", "currency"),
        ("￥", "元", "currency"),
        ("kilometr", "m", "kilometer"),
        ("公理", "米", "公里"),
        ("degC/m", "K/m", "no true zero"),
        ("dBm", "mW", "logarithmic"),
        ("mW", "dBm", "logarithmic"),
        ("rpm", "Hz", "count different things"),
        ("byte/s", "Hz", "count different things"),
        ("J/kg K", "J/(kg K)", "two ways"),
        ("5 km", "m", "amount goes in value"),
        ("", "m", "not a unit"),
        ("()", "m", "not a unit"),
        ("(m", "m", "not a unit"),
        ("m)", "m", "not a unit"),
        ("m/", "m", "not a unit"),
        ("/m", "m", "not a unit"),
        ("m^2.5", "m", "not a unit"),
        ("m^m", "m", "not a unit"),
        ("2", "m", "not a unit"),
        ("gauss", "tesla", "length^-1/2"),
    ],
)
def test_mistakes_are_named(from_unit: str, to_unit: str, says: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        convert_units(1, from_unit, to_unit)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("value", "error"),
    [(float("nan"), InputInvalid), (float("inf"), InputInvalid), ("1,000", InputInvalid), ("1 km", InputInvalid),
     ("", InputInvalid), (10**2000, LimitExceeded), ("1e5000", LimitExceeded), ("9" * 1001, LimitExceeded),
     ("1e999", LimitExceeded)],
)  # fmt: skip
def test_values_are_bounded(value: int | float | str, error: type[DataMindError]) -> None:
    with pytest.raises(error):
        convert_units(value, "km", "nm")


@pytest.mark.parametrize(
    "unit",
    ["m" * 101, "m*" * 49 + "m", "m^13", "m^-999", "m^12*m",
     "(" * 40 + "m" + ")" * 40, "*".join(f"{p}m" for p in "kMGTPEZYdcnpf")],
)  # fmt: skip
def test_unit_texts_are_bounded(unit: str) -> None:
    with pytest.raises(LimitExceeded):
        convert_units(1, unit, "m")


HOSTILE = [
    "9**9**9", "9**9**9 m", "m**9**9", "m^(9^9)", "m**(9**9**9)", "m*9**9", "1e999999999", "__class__", "m.__class__",
    "m;x",
    "__import__('os')", "lambda: 1", "'m'", '"m"', "f'{m}'", "m[0]", "m\x00", "m\\n", "m\n;", "{m}", "_registry",
    "define",
    "Quantity", "_cache", "m @ m", "m % m", "m // m", "m & m", "\ud800", "m\u202e", "𝐦", "m" + "⁹" * 50, "(((",
    "1" * 90,
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a7_units_evaluate_nothing(unit: str) -> None:
    for arguments in ((1, unit, "m"), (1, "m", unit)):
        with pytest.raises((InputInvalid, LimitExceeded)) as caught:
            convert_units(*arguments)
        assert "\n" not in str(caught.value)
        str(caught.value).encode("utf-8")


def test_a8_units_hand_no_text_to_the_parser_of_the_library() -> None:
    script = """
        import json, sys
        import pint.util, pint.pint_eval, tokenize
        from datamind.core.errors import DataMindError
        from datamind_skills.units import convert_units
        convert_units(1, "km/h", "m/s")
        convert_units(1, "degC", "degF")
        evaluated = []
        def refuse(*args, **kwargs):
            evaluated.append(args)
            raise AssertionError("an expression reached the parser of the library")
        tokenize.tokenize = tokenize.generate_tokens = refuse
        for name in ("tokenizer", "plain_tokenizer", "uncertainty_tokenizer", "build_eval_tree"):
            setattr(pint.pint_eval, name, refuse)
        seen = set()
        sys.addaudithook(lambda event, arguments: seen.add(event))
        for unit in json.load(sys.stdin):
            for arguments in ((1, unit, "m"), (1, "m", unit), (unit, "m", "km")):
                try:
                    convert_units(*arguments)
                except DataMindError:
                    pass
        assert not evaluated, evaluated
        print(sorted(event for event in seen if event.split(".")[0] in ("exec", "compile", "open", "os", "subprocess")))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        input=json.dumps(HOSTILE), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_every_extra_name_is_a_unit() -> None:
    for name, meant in {**CHINESE, **SPELLINGS}.items():
        assert convert_units(1, name, meant).from_unit == convert_units(1, meant, meant).from_unit


def test_distinct_expressions_do_not_pile_up_in_the_library() -> None:
    from datamind_skills.units import _registry

    convert_units(1, "m", "km")
    before = len(_registry()._cache.root_units)
    for power in range(1, 12):
        for other in range(1, 12):
            convert_units(1, f"m^{power}/s^{other}", f"km^{power}/h^{other}")
    assert len(_registry()._cache.root_units) - before < 20


def test_importing_the_module_loads_no_library() -> None:
    script = "import sys, datamind_skills.units as _; print([m for m in ('pint', 'numpy', 'yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
