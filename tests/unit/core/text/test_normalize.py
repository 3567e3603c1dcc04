from __future__ import annotations

import pytest

from datamind.capabilities.text.normalize import contains_normalized, normalize_for_match


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("１,２００　ＫＭ", "1200km"),
        ("5 km", "5km"),
        ("50 percent", "50%"),
        ("百分之50", "50 %"),
        ("$ 5", "$5"),
        ("1\u202f200 km", "1200 km"),
        ("It’s “fine” – really", 'it\'s "fine" - really'),
        ("北京 大学\n图书馆", "北京大学图书馆"),
        ("API 网关", "API网关"),
        ("STRASSE", "straße"),
        ("a  b\t c", "a b c"),
        ("12,345,678", "12345678"),
    ],
)
def test_equal_things_have_one_form(left: str, right: str) -> None:
    assert normalize_for_match(left) == normalize_for_match(right)


@pytest.mark.parametrize(
    ("left", "right"), [("1,2", "12"), ("1,20", "120"), ("3.5", "35"), ("a b", "ab"), ("1,2345", "12345")]
)
def test_different_things_stay_different(left: str, right: str) -> None:
    assert normalize_for_match(left) != normalize_for_match(right)


@pytest.mark.parametrize(
    ("haystack", "needle"),
    [
        ("It has 9 legs.", "9"),
        ("1,200 km away", "1200km"),
        ("between 2010-2015", "2015"),
        ("The end is 3.", "3"),
        ("第3章", "3"),
        ("5km", "5"),
        ("up 5%", "5%"),
        ("fell to -5 degrees", "-5"),
        ("写于北京大学。", "北京 大学"),
        ("A Cat.", "cat"),
        ("written in C++ today", "C++"),
        ("category, cat", "cat"),
    ],
)
def test_a_needle_is_found(haystack: str, needle: str) -> None:
    assert contains_normalized(haystack, needle)


@pytest.mark.parametrize(
    ("haystack", "needle"),
    [
        ("It has 19 legs.", "9"),
        ("3.5", "3"),
        ("3.5", "5"),
        ("1,200", "200"),
        ("fell to -5", "5"),
        ("category", "cat"),
        ("foo_bar", "foo"),
        ("anything", ""),
        ("", "x"),
    ],
)
def test_part_of_a_word_or_number_is_not_it(haystack: str, needle: str) -> None:
    assert not contains_normalized(haystack, needle)
