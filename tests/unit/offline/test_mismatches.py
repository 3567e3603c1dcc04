"""Sentences with many of the question's words that do not answer it: silence is right, a claim is not."""

from __future__ import annotations

import pytest

from datamind_model_offline.extract import choose
from datamind_model_offline.passages import Found
from datamind_model_offline.question import analyse

DOCUMENT = """# Ferry harbour

Lockers are rented for 3 euros a month. Membership costs 140 euros a year.

The pilot boat is steered by Oona Barrow, who has held the licence since 2019. Pell Santiago was born in 1984.

The committee decides against buying a drone. Ivo Kerr bought the crane.

The basin is 240 metres long. The channel is 11 metres deep.

Present: Pell Santiago. The launch is sold for 2,300 euros.
"""
ZH_DOCUMENT = """# 青荷湖手册

湖心有一座小岛，名叫栖鹭岛。湖面面积约三平方公里。云台湖最深处为十八米。

客栈共有十一间客房。三楼有六间客房。

春节晚会由许岩主持，地点在茶室。
"""


def answer(question: str, text: str) -> str:
    found = choose(analyse(question), [Found(1, text, "kb", "file:harbour.md", "Ferry harbour")])
    return "" if found is None else " ".join(quote.text for quote in found.quotes)


@pytest.mark.parametrize(
    "question",
    [
        "What does a locker cost a year?",
        "How old is Oona Barrow?",
        "Who bought the drone?",
        "How deep is the basin?",
        "What is the phone number of Pell Santiago?",
    ],
)
def test_what_is_beside_the_point_is_not_claimed(question: str) -> None:
    assert answer(question, DOCUMENT) == ""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What does a locker cost a month?", "3 euros a month"),
        ("How old is Pell Santiago?", "1984"),
        ("Who bought the crane?", "Ivo Kerr"),
        ("How deep is the channel?", "11 metres"),
    ],
)
def test_what_is_to_the_point_is_said(question: str, said: str) -> None:
    assert said in answer(question, DOCUMENT)


@pytest.mark.parametrize("question", ["栖鹭岛有多大？", "二楼有几间客房？", "年会由谁主持？", "栖鹭岛有多深？"])
def test_what_is_beside_the_point_is_not_claimed_in_chinese(question: str) -> None:
    assert answer(question, ZH_DOCUMENT) == ""


@pytest.mark.parametrize(
    ("question", "said"),
    [("三楼有几间客房？", "六间"), ("春节晚会由谁主持？", "许岩"), ("云台湖有多深？", "十八米")],
)
def test_what_is_to_the_point_is_said_in_chinese(question: str, said: str) -> None:
    assert said in answer(question, ZH_DOCUMENT)
