"""Any expression tree comes to what ``Fraction`` says; any text at all comes to a result or a typed error."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from datamind.core.errors import DataMindError, InputInvalid, LimitExceeded
from datamind_skills.calculator import calculate
from datamind_skills.exact import MAX_DIGITS, read_decimal, write_number

Tree = tuple[str, Fraction | None]


def _decimal(value: Fraction) -> str:
    return write_number(value).text


_LEAVES = st.decimals(-10_000, 10_000, places=3).map(lambda d: (f"({d:f})", Fraction(d)))


def _combine(operator: str, left: Tree, right: Tree) -> Tree:
    text = f"({left[0]} {operator} {right[0]})"
    if left[1] is None or right[1] is None:
        return text, None
    try:
        value = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": lambda a, b: a / b,
            "//": lambda a, b: Fraction(a // b),
            "%": lambda a, b: a % b,
        }[operator](left[1], right[1])
    except ZeroDivisionError:
        return text, None
    return text, value


def _powered(tree: Tree, exponent: int) -> Tree:
    text, value = tree
    try:
        return f"({text} ** {exponent})", None if value is None else Fraction(value**exponent)
    except ZeroDivisionError:
        return f"({text} ** {exponent})", None


_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(_combine, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.builds(_powered, inner, st.integers(-3, 3)),
        inner.map(lambda tree: (f"(-{tree[0]})", None if tree[1] is None else -tree[1])),
        inner.map(lambda tree: (f"abs({tree[0]})", None if tree[1] is None else abs(tree[1]))),
    ),
    max_leaves=12,
)


@given(_TREES)
def test_agrees_with_fractions(tree: Tree) -> None:
    text, expected = tree
    try:
        result = calculate(text)
    except LimitExceeded:
        assert len(text) > 1000 or expected is None or max(abs(expected.numerator), expected.denominator) > 10**50
        return
    except InputInvalid:
        assert expected is None
        return
    assert expected is not None
    assert result.value == _decimal(expected)
    if result.exact:
        assert Fraction(result.value) == expected
    elif result.fraction:
        assert Fraction(result.fraction) == expected


@given(st.fractions(), st.integers(0, 6))
def test_round_is_nearest_and_halves_go_away_from_zero(value: Fraction, places: int) -> None:
    rounded = Fraction(calculate(f"round({value.numerator} / {value.denominator}, {places})").value)
    half = Fraction(1, 2 * 10**places)
    assert abs(rounded - value) <= half
    if abs(rounded - value) == half:
        assert abs(rounded) > abs(value)


@given(st.integers(-(10**200), 10**200), st.integers(0, 400))
def test_a_written_decimal_is_read_back(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    written = write_number(value)
    if written.exact:
        assert read_decimal(written.text) == value
    else:
        assert abs(read_decimal(written.text) - value) <= abs(value) / 10**29


@given(st.integers(0, 10**12))
def test_grouped_thousands_are_the_plain_number(number: int) -> None:
    assert calculate(f"{number:,}").value == calculate(str(number)).value == str(number)


_PIECES = st.sampled_from(
    [*"0123456789.,+-*/%^()[]eE ×÷²√π!'\"\\:;_", "**", "//", "sqrt(", "max(", "factorial(", "pi", "of", "lambda ", "__",
     " if ", " else ", " for ", " in ", "1e9", "99999", "９", "\u00a0", "\x00", "\ud800", "await ", "True", "log(",
     "round("]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=60).map("".join))
def test_any_text_is_a_bounded_result_or_a_typed_error(text: str) -> None:
    try:
        result = calculate(text)
    except DataMindError as error:
        assert isinstance(error, InputInvalid | LimitExceeded)
        assert len(str(error)) < 500
        str(error).encode("utf-8")
    else:
        assert len(result.value) <= MAX_DIGITS + 1


@given(st.text(max_size=1200))
def test_any_unicode_is_a_result_or_a_typed_error(text: str) -> None:
    try:
        calculate(text)
    except DataMindError as error:
        assert isinstance(error, InputInvalid | LimitExceeded)
