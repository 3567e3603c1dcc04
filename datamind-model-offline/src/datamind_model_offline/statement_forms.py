"""The statement grammar as a table: sentences whose subject, attribute and value can be told without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from datamind.core.lazy_pattern import lazy_pattern

USER: Final = "user"
"""The subject of what the user says of himself."""


@dataclass(frozen=True, slots=True)
class StatementForm:
    """One row of the grammar.

    Attributes:
        expression: Named groups ``value`` and, where the row leaves them open, ``subject`` and ``attribute``.
        subject: Fixed subject, or empty.
        attribute: Fixed attribute, or empty.
        example: A sentence of this form, shown in the documentation and checked by a test.
    """

    language: str
    expression: str
    example: str
    subject: str = ""
    attribute: str = ""
    functional: bool = True
    kind: str = "fact"

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a whole sentence of this form matches."""
        return _compiled(self.expression)


@lru_cache(maxsize=128)
def _compiled(expression: str) -> re.Pattern[str]:
    # On use: a command that reads no memory starts sooner.
    return lazy_pattern(expression)


_NOW = r"(?:(?:now|currently|just|recently|have|has|'ve)\s+)*"
_BE = r"(?:is|are|was|'s)"
_VALUE = r"(?P<value>.+?)"
_ATTRIBUTE = r"(?P<attribute>[a-z][\w'-]*(?:[ -][\w'-]+){0,3}?)"
_NAME = r"(?P<subject>[A-Z][\w&.-]*(?: [A-Z0-9][\w&.-]*){0,3}|[Tt]he [\w -]{2,40}?)"
_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|noon|midnight"
_PROPER = r"(?P<subject>[A-Z][\w&.-]*(?: [A-Z0-9][\w&.-]*){0,3})"
_TAIL = r"(?:,? (?:now|currently|at the moment|these days))?"


def _en(pattern: str) -> str:
    return rf"(?i:{pattern}[.!]?)"


def _named(pattern: str) -> str:
    # A name is told by its capital, so case counts here.
    return pattern + r"[.!]?"


def _zh(pattern: str) -> str:
    return pattern + r"(?:了|啦|。|！|!|\.)*"


_ZH_VALUE = r"(?P<value>[^，,。；;！!]+?)(?:[，,；;].*)?"
_ZH_NOW = r"(?:现在|目前|如今|已经|最近|刚刚?|又)*"

STATEMENT_FORMS: Final = (
    StatementForm(
        "en",
        _en(rf"(?:i|we){_TAIL} {_NOW}(?:live|reside|am living|are living|'m living) (?:in|at|on) {_VALUE}{_TAIL}"),
        "I live in Oslo.",
        USER,
        "residence",
    ),
    StatementForm(
        "en",
        _en(rf"(?:i|we)(?:'ve)? {_NOW}(?:moved|relocated|move) (?:house )?(?:from .+? )?to {_VALUE}"),
        "I moved to Bergen.",
        USER,
        "residence",
    ),
    StatementForm(
        "en",
        _en(
            rf"(?:i|we) {_NOW}(?:work|am working|'m working|started working|started|start) (?:at"
            rf"|for) {_VALUE}(?: as .+)?{_TAIL}"
        ),
        "I work at Acme.",
        USER,
        "employer",
    ),
    StatementForm("en", _en(rf"i(?:'ve)? {_NOW}joined {_VALUE}(?: as .+)?"), "I joined Acme.", USER, "employer"),
    StatementForm("en", _en(rf"(?:my name is|i am called|i'm called) {_VALUE}"), "My name is Ada.", USER, "name"),
    StatementForm("en", _en(r"(?:i am|i'm) (?P<value>\d{1,3})(?: years old)?"), "I am 34 years old.", USER, "age"),
    StatementForm("en", _en(rf"i was born (?:on|in) {_VALUE}"), "I was born on 3 May 1990.", USER, "birthday"),
    StatementForm(
        "en",
        _en(
            rf"(?:my|our) (?:(?:new|current) )?{_ATTRIBUTE} (?:(?:is|are|'s) (?:(?:now|called|named) )*|(?:has "
            rf"|have )?changed to |became |(?:has |have )?moved to ){_VALUE}"
        ),
        "My locker number is 12.",
        USER,
    ),
    StatementForm(
        "en", _en(rf"{_VALUE} is (?:now )?(?:my|our) (?:(?:new|current) )?{_ATTRIBUTE}"), "Ada is my manager.", USER
    ),
    StatementForm(
        "en", _en(rf"(?:i am|i'm|we are) allergic to {_VALUE}"), "I am allergic to nuts.", USER, "allergy", False
    ),
    StatementForm(
        "en",
        _en(
            rf"(?:i|we) (?:really |always |usually |would |strongly |much )*(?:prefer|like|love|enjoy|hate|dislike"
            rf"|avoid|don't like|do not like|don't eat|do not eat|can't stand|favou?r) {_VALUE}"
        ),
        "I prefer window seats.",
        USER,
        "preference",
        False,
        "preference",
    ),
    StatementForm(
        "en",
        _en(rf"(?:i|we)(?:'ve)? (?:have )?(?:decided|agreed|chose|chosen|settled) (?:to |on |that |for )?{_VALUE}"),
        "We decided to use Rust.",
        USER,
        "decision",
        False,
        "decision",
    ),
    StatementForm(
        "en",
        _en(rf"(?:i|we) (?:use|drive|own|play|speak|drink|take|study|wear) {_VALUE}"),
        "I use Vim.",
        USER,
        "use",
        False,
    ),
    StatementForm("en", _named(rf"{_NAME}'s? {_ATTRIBUTE} (?:is|are) (?:now )?{_VALUE}"), "Heron's port is 7443."),
    StatementForm(
        "en",
        _named(
            rf"(?:[Tt]he )(?:(?:new|current) )?{_ATTRIBUTE} (?:of|for) (?P<subject>.+?) (?:is"
            rf"|are) (?:now )?{_VALUE}"
        ),
        "The port of Heron is 7443.",
    ),
    StatementForm(
        "en",
        _named(rf"{_VALUE} is (?:now )?(?:the )?(?:(?:new|current) )?{_ATTRIBUTE} of (?P<subject>[^,.]+?)"),
        "Ada is the owner of Heron.",
    ),
    StatementForm(
        "en",
        _named(rf"{_PROPER} (?:now )?(?:lives in|moved to|has moved to) {_VALUE}"),
        "Marit lives in Hamar.",
        "",
        "residence",
    ),
    StatementForm(
        "en",
        _named(rf"{_NAME} (?:now )?(?:works (?:at|for)|joined) {_VALUE}(?: as .+)?"),
        "Marit works at Acme.",
        "",
        "employer",
    ),
    StatementForm(
        "en", _named(rf"{_NAME} (?:uses|runs on|prefers|likes) {_VALUE}"), "Heron uses Rust.", "", "use", False
    ),
    StatementForm(
        "en",
        _named(
            rf"(?:[Tt]he|[Oo]ur) (?:(?:new|current) )?(?P<subject>(?:(?!of\b|for\b|is\b|are\b)[\w'-]+ ?){{1,4}}?) (?:is|are) (?:now )?"
            rf"(?=(?:at |on |in |from )?(?:[A-Z\d]|\S*\d|(?:{_DAYS})\b)){_VALUE}{_TAIL}"
        ),
        "The door code is 4471.",
        "",
        "value",
    ),
    StatementForm(
        "zh", _zh(rf"(?:我|我们|我家){_ZH_NOW}(?:住|居住|定居)(?:在|到)?{_ZH_VALUE}"), "我住在苏州。", USER, "residence"
    ),
    StatementForm(
        "zh",
        _zh(rf"(?:我|我们|我家){_ZH_NOW}(?:搬家?|迁)(?:到|去|至|来)了?{_ZH_VALUE}"),
        "我搬到厦门了。",
        USER,
        "residence",
    ),
    StatementForm(
        "zh",
        _zh(
            rf"我(?:换工作了[，,])?{_ZH_NOW}在(?P<value>[^，,。；;]+?)(?:工作|上班|任职|就职|供职|做[^，,。]+"
            rf"|当[^，,。]+)(?:[，,].*)?"
        ),
        "我在青禾上班。",
        USER,
        "employer",
    ),
    StatementForm(
        "zh", _zh(rf"我{_ZH_NOW}(?:加入|入职|跳槽到|跳槽去)了?{_ZH_VALUE}"), "我入职了青禾。", USER, "employer"
    ),
    StatementForm("zh", _zh(rf"我(?:的名字)?(?:叫|名叫){_ZH_VALUE}"), "我叫小宁。", USER, "name"),
    StatementForm("zh", _zh(r"我(?:今年)?(?P<value>[\d一二三四五六七八九十百]+)岁"), "我今年34岁。", USER, "age"),
    StatementForm(
        "zh", _zh(rf"(?:我|我们){_ZH_NOW}(?:改?用|使用|采用|改?喝|开){_ZH_VALUE}"), "我用Vim。", USER, "use", False
    ),
    StatementForm("zh", _zh(rf"我对{_ZH_VALUE}过敏"), "我对花生过敏。", USER, "allergy", False),
    StatementForm(
        "zh",
        _zh(rf"(?:我|我们)(?:最|很|非常|比较|不|一直|更)*(?:喜欢|偏好|爱|讨厌|习惯|不吃|不喝){_ZH_VALUE}"),
        "我喜欢喝茶。",
        USER,
        "preference",
        False,
        "preference",
    ),
    StatementForm(
        "zh",
        _zh(rf"(?:我|我们)(?:已经|最后|最终)?(?:决定|选定|确定|商定|选择){_ZH_VALUE}"),
        "我们决定用Rust。",
        USER,
        "decision",
        False,
        "decision",
    ),
    StatementForm(
        "zh",
        _zh(
            rf"(?:我|我们|我家)(?:里|的)*(?P<attribute>[^是叫在的，,。]{{1,10}}?){_ZH_NOW}(?:是|叫|为|在|搬到|搬去"
            rf"|换成|改成|改为|变成|变为|改到)了?{_ZH_VALUE}"
        ),
        "我的车牌号是A123。",
        USER,
    ),
    StatementForm(
        "zh",
        _zh(
            rf"(?P<subject>[^我你他她它，,。的]{{1,16}})的(?P<attribute>[^是叫在的，,。]{{1,10}}?){_ZH_NOW}(?:是|叫"
            rf"|为|在|搬到|搬去|换成|改成|改为|变成|变为|改到)了?{_ZH_VALUE}"
        ),
        "云杉的端口是8090。",
    ),
    StatementForm(
        "zh",
        _zh(rf"(?P<subject>[^我你他她它，,。的]{{1,12}}?)(?:使用|采用|用){_ZH_VALUE}"),
        "云杉使用Kafka。",
        "",
        "use",
        False,
    ),
    StatementForm(
        "zh",
        _zh(
            rf"(?P<subject>[^我你他她它，,。的是在有谁什哪这那]{{2,12}}?){_ZH_NOW}(?:是|为|在)"
            rf"(?=[^，,。；;]*(?:\d|[A-Za-z]|周[一二三四五六日]|星期|[一二三四五六七八九十]+[点楼号月日层]|[上下]午)){_ZH_VALUE}"
        ),
        "周会在周二上午。",
        "",
        "value",
    ),
)
"""Tried from the top; the first that fits the whole sentence counts."""
