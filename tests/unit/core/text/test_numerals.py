from __future__ import annotations

from decimal import Decimal

import pytest

from datamind.capabilities.text.numerals import find_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,200 and -3.5", ["1200", "-3.5"]),
        ("$1.2 million or €3 billion", ["1200000", "3000000000"]),
        ("3万人，1.2亿，2 万亿", ["30000", "120000000", "2000000000000"]),
        ("三十五 二〇二四年 一百零五 三万五千 一亿二千万 十五", ["35", "2024", "105", "35000", "120000000", "15"]),
        ("１２３．５", ["123.5"]),
        ("2010-2015, AB-1234, COVID-19", ["2010", "2015", "1234", "19"]),
        ("v1.2.3", ["1", "2", "3"]),
        ("1e6 and 5e", ["1000000", "5"]),
        ("(−7)", ["-7"]),
        ("1,2,3", ["1", "2", "3"]),
        ("5千克", ["5"]),
        ("万一 千万不要 一百五 统一 十分 二三十人", []),
        ("no numbers", []),
    ],
)
def test_values(text: str, values: list[str]) -> None:
    assert [number.value for number in find_numbers(text)] == [Decimal(value) for value in values]


def test_percentages_are_marked() -> None:
    numbers = find_numbers("50 percent, 20％, 百分之五十, 百分之30, 7")
    assert [(int(number.value), number.is_percent) for number in numbers] == [
        (50, True), (20, True), (50, True), (30, True), (7, False),
    ]  # fmt: skip


def test_spans_point_into_the_text_as_given() -> None:
    text = "共③ 项，约１，２００元"
    assert [text[number.start : number.end] for number in find_numbers(text)] == ["③", "１，２００"]
