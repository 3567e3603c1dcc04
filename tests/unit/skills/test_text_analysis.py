"""Counts over a text, in spaced and unspaced scripts."""

from __future__ import annotations

import pytest

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind_skills.text_analysis import MAX_CHARS, analyze_text

ENGLISH = "The red boats sail. A red boat doesn't sink!\r\nIt's a well-made boat.\r\n\r\nBoats, boats, v2.5 boats.\r\n"


def test_english() -> None:
    counted = analyze_text(ENGLISH, max_terms=3)
    assert counted.characters == len(ENGLISH)
    assert counted.characters_without_spaces == len("".join(ENGLISH.split()))
    assert (counted.words, counted.cjk_characters) == (17, 0)
    assert (counted.sentences, counted.paragraphs, counted.lines) == (4, 2, 4)
    assert counted.language == "en"
    assert counted.terms == (("boats", 4), ("boat", 2), ("red", 2))


def test_chinese() -> None:
    counted = analyze_text("今天我们去图书馆。图书馆很大!图书馆里有很多书。", max_terms=2)
    assert (counted.words, counted.cjk_characters, counted.sentences) == (0, 21, 3)
    assert counted.language == "zh"
    assert counted.terms == (("书馆", 3), ("图书", 3))


def test_mixed_scripts_are_counted_once_each() -> None:
    counted = analyze_text("用Python写的HTTP服务 and 2 clients")
    assert (counted.words, counted.cjk_characters) == (5, 5)


def test_reading_time_adds_words_and_characters() -> None:
    assert analyze_text("word " * 238).reading_time_s == 60
    assert analyze_text("字" * 260).reading_time_s == 60
    assert analyze_text("word " * 238 + "字" * 260).reading_time_s == 120


@pytest.mark.parametrize(
    ("text", "lines", "paragraphs"),
    [("", 0, 0), ("a", 1, 1), ("a\n", 1, 1), ("a\nb", 2, 1), ("a\n\nb", 3, 2), ("\n", 1, 0), ("\n\n", 2, 0),
     ("a\r\rb", 3, 2), ("a\n \t\n\nb\n", 4, 2), ("  ", 1, 0)],
)  # fmt: skip
def test_lines_and_paragraphs(text: str, lines: int, paragraphs: int) -> None:
    counted = analyze_text(text)
    assert (counted.lines, counted.paragraphs) == (lines, paragraphs)


def test_terms_leave_out_function_words_and_numbers() -> None:
    assert analyze_text("It's the end of it, and it’s 2026. 2026!").terms == (("end", 1),)


def test_the_input_is_bounded() -> None:
    assert analyze_text("x" * MAX_CHARS).words == 1
    with pytest.raises(LimitExceeded):
        analyze_text("x" * (MAX_CHARS + 1))
    for wrong in (-1, 51):
        with pytest.raises(InputInvalid):
            analyze_text("x", max_terms=wrong)


@pytest.mark.parametrize("text", ["\ud800", "\x00", "e\u0301" * 10, "👩‍👩‍👧‍👦", "-" * 1000, "a-" * 1000, "'" * 1000])
def test_odd_characters_are_only_counted(text: str) -> None:
    assert analyze_text(text).characters == len(text)
