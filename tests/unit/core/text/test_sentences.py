from __future__ import annotations

import pytest

from datamind.capabilities.text.sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith met Prof. J. R. Lee.", "They talked."],
        ["It weighs 3.5 kg.", "That is heavy!", "Is it?", "Yes."],
        ["The U.S. Senate met.", "See e.g. Fig. 3 and No. 5.", "No.", "It is not."],
        ["He lives in the U.S.", "The house is old."],
        ["Vitamin C.", "It helps."],
        ["Read https://example.org/a.b?c=d.e first.", "Then go on."],
        ['He said "Stop!" and left.', '"Go away."', "She went."],
        ["(He left.)", "Then we ate."],
        ["Wait... what happened?", "Nothing..."],
        ["It costs $1.50, etc. and more.", "Fine."],
        ["we met on Jan. 5 at 3 p.m. in town.", "it rained."],
        ["这是第一句。", "这是第二句！", "真的吗？", "价格是3.5元；", "还有1.2万。"],
        ["他说：“你好。”", "然后走了。"],
        ["他……走了。", "再见。"],
        ["「はい。」と答えた。", "次の文です。"],
        ["你好!", "我是小明."],
    ],
)
def test_sentences_end_where_a_reader_would_end_them(expected: list[str]) -> None:
    joiner = "" if expected[0][-1] in "。！" or "你" in expected[0] else " "
    assert sentences(joiner.join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. First item. More.\n2. Second item", ["1. First item.", "More.", "2. Second item"]),
        ("- one\n- two\n* three", ["- one", "- two", "* three"]),
        ("# Title\nBody of the section", ["# Title", "Body of the section"]),
        ("一、引言\n二、方法", ["一、引言", "二、方法"]),
        ("Name: Bob\r\nAge: 30\rCity: Oslo", ["Name: Bob", "Age: 30", "City: Oslo"]),
        ("first paragraph\n\nsecond paragraph", ["first paragraph", "second paragraph"]),
    ],
)
def test_lines_that_stand_for_themselves_end_a_sentence(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_wrapped_line_goes_on() -> None:
    text = (
        "The committee met on a cold morning and decided after a long\ndebate to postpone the vote. Everyone went home."
    )
    assert sentences(text) == [text[: text.index(" Everyone")], "Everyone went home."]


def test_a_blank_line_ends_a_sentence_that_a_wrapped_line_would_not() -> None:
    lines = ["The committee met on a cold morning and decided after a long", "debate to postpone the vote until spring"]
    assert sentences("\r\n".join(lines)) == ["\r\n".join(lines)]
    assert sentences("\r\n \r\n".join(lines)) == lines


def test_a_wrapped_chinese_line_goes_on() -> None:
    text = "委员会在一个寒冷的早晨开会经过漫长的讨论之后\n决定推迟投票。大家回家了。"
    assert sentences(text) == [text[:-6], "大家回家了。"]


def test_log_lines_stay_apart() -> None:
    lines = [
        "2026-01-01 12:00:00 INFO server started on port eighty",
        "2026-01-01 12:00:01 ERROR cannot open the file because it is missing on the disk",
    ]
    assert sentences("\n".join(lines)) == lines


def test_nothing_comes_of_nothing() -> None:
    assert sentences("") == sentences(" \n\t\u3000") == []
