"""What a sentence plainly does not answer, however many of the question's words it has."""

from __future__ import annotations

import re
from typing import Final

from datamind_model_offline.answer_types import AnswerType
from datamind_model_offline.passages import Unit
from datamind_model_offline.question import Question
from datamind_model_offline.text_index import index_of

_PERIODS: Final = {
    "hour": r"\b(?:an?|per|every|each) hour\b|\bhourly\b|每小时|每个小时|[/／]小时",
    "day": r"\b(?:an?|per|every|each) (?:day|night)\b|\b(?:daily|nightly)\b|每[天日晚]",
    "week": r"\b(?:an?|per|every|each) week\b|\bweekly\b|每(?:个?星期|周)",
    "month": r"\b(?:an?|per|every|each) month\b|\bmonthly\b|每个?月|月租|月费",
    "year": r"\b(?:an?|per|every|each) year\b|\b(?:yearly|annual(?:ly)?)\b|\bp\.a\.|每年|年费|一年",
}
_AMOUNT: Final = re.compile(
    r"\bhow (?:much|many|expensive)\b|\b(?:cost|price|fee|rent|salary|fare)\b|多少|几[元块]|[费价]", re.IGNORECASE
)
# What is measured has a name of its own: six metres answer "how deep" only where depth is spoken of.
_DIMENSIONS: Final = (
    (r"\bhow deep\b|多深|有多深", r"\bdeep|\bdepth|深"),
    (r"\bhow (?:tall|high)\b|多高", r"\btall|\bhigh|\bheight|\belevation|\baltitude|\bsummit|\brises?\b|高|海拔"),
    (r"\bhow (?:wide|broad)\b|多宽", r"\bwide|\bwidth|\bbroad|\bbreadth|宽"),
    (r"\bhow thick\b|多厚", r"\bthick|厚"),
    (r"\bhow (?:heavy)\b|多重", r"\bheavy|\bweigh|\d\s*(?:kg|g|t|lbs?|kilos?|tons?|tonnes?|pounds?)\b|重|[吨斤克]"),
    (r"有多大(?!年|岁)", r"面积|大小|平方|公顷|[亩顷]|直径|周长|容积|立方|尺寸|占地|[长宽]"),
    (r"\bhow old\b|几岁|多少岁|多大[年岁]", r"\bold\b|\bolder\b|\bage[ds]?\b|\bborn\b|\bbirth|\byears?\b|\bbuilt\b|\bsince\b|\bfounded\b|岁|龄|生于|出生|生日|年"),
)  # fmt: skip
_OLD: Final = re.compile(r"\bhow old (?:is|are|was|were) (?=[A-Z]|my |the )", re.IGNORECASE)
_HELD_SINCE: Final = re.compile(r"\b(?:held|worked|served|been|known|lived|had|run|led)\b.*\bsince\b", re.IGNORECASE)
_BORN: Final = re.compile(r"\bold\b|\bage[ds]?\b|\bborn\b|\bbirth|\bbuilt\b|\bfounded\b|\bdates? from\b", re.IGNORECASE)
_PHONE: Final = re.compile(r"\b(?:phone|telephone|mobile|hotline) number\b|\bphone of\b|电话|手机号", re.IGNORECASE)
_NO_PHONE: Final = re.compile(r"(?<!\d)(?:\d{1,3}(?:,\d{3})+|[12]\d{3}(?![\d-]))(?!\d)")
_DIGITS: Final = re.compile(r"\d{3}|\d[\s().-]\d{2}")
# "二楼有几间房": a place that has a number is that one and no other.
_NUMBERED: Final = re.compile(r"(?:[一二两三四五六七八九十\d]+)(?:号楼|单元|年级|楼|层|班|栋|幢|期)(?!多少|几)")
_REFUSED: Final = r"(?:against|not|never|n't|without|instead of|refus\w+ to|declin\w+ to|no longer)\s+(?:\w+\s+)?"
_WHO_DID: Final = re.compile(r"\bwho (?:has |had |have )?([a-z]{3,})\b", re.IGNORECASE)
_DID: Final = {
    "bought": "buy", "sold": "sell", "built": "build", "wrote": "writ", "won": "win", "gave": "giv", "made": "mak",
    "took": "tak", "paid": "pay", "led": "lead", "found": "find", "chose": "choos", "stole": "steal",
}  # fmt: skip
_PRICED: Final = re.compile(
    r"\b(?:what|how much) (?:do|does|did) (?:an? |the )?(?:[\w-]+ ){0,2}?([\w-]+) cost", re.IGNORECASE
)
_BY_WHOM: Final = re.compile(r"(?P<what>[\u4e00-\u9fff]{2,10}?)(?:是|将|要|会)?由(?:谁|哪位|什么人)")
_FRONT: Final = re.compile(r"\A(?:今年|明年|去年|这次|本次|公司|我们|咱们)?的?")


def is_beside_the_point(question: Question, unit: Unit) -> bool:
    """Whether a sentence, with what it stands under, cannot be what the question asks for."""
    near = f"{unit.text}\n{unit.lead if unit.points_back else ''}\n{unit.label}\n{unit.asked}"
    about = f"{near}\n{unit.heading}\n{unit.topic}"
    whole = f"{about}\n{unit.found.note}\n{unit.found.content}"
    checks = (_other_period(question, near), _other_dimension(question, near), _other_number(question, about))
    return (
        any(checks)
        or _other_ware(question, f"{near}\n{unit.heading}")
        or _not_a_phone(question, near)
        or _not_done(question, unit.text)
        or _another(question, whole)
    )


def _other_period(question: Question, near: str) -> bool:
    """ "3 euros a month" is no amount for a year."""
    if not _AMOUNT.search(question.text):
        return False
    asked = {name for name, form in _PERIODS.items() if re.search(form, question.text, re.IGNORECASE)}
    said = {name for name, form in _PERIODS.items() if re.search(form, near, re.IGNORECASE)}
    return len(asked) == 1 and bool(said) and not asked & said


def _other_dimension(question: Question, near: str) -> bool:
    if question.kind is AnswerType.MONEY:
        return False  # "how high is the fee"
    for asks, says in _DIMENSIONS:
        if re.search(asks, question.text, re.IGNORECASE):
            return re.search(says, near, re.IGNORECASE) is None or _is_tenure(question, near)
    return False


def _is_tenure(question: Question, near: str) -> bool:
    """Since when somebody does something says nothing of an age."""
    is_age = _OLD.search(question.text) is not None
    return is_age and _HELD_SINCE.search(near) is not None and _BORN.search(near) is None


def _other_number(question: Question, about: str) -> bool:
    return any(match[0] not in about for match in _NUMBERED.finditer(question.text))


def _other_ware(question: Question, about: str) -> bool:
    """Whether the price is asked of something that is named nowhere near."""
    asked = _PRICED.search(question.text)
    if asked is None:
        return False
    index = index_of(about)
    head = asked[1].casefold()
    return any(term.text.casefold() == head and index.level(term) == 0 for term in question.terms)


def _not_a_phone(question: Question, near: str) -> bool:
    return _PHONE.search(question.text) is not None and _DIGITS.search(_NO_PHONE.sub("", near)) is None


def _not_done(question: Question, text: str) -> bool:
    """Whether what "who did it" asks about was not done."""
    asked = _WHO_DID.search(question.text)
    if asked is None or re.search(r"\bnot\b|n't\b|never", question.text, re.IGNORECASE):
        return False
    verb = asked[1].lower()
    stem = _DID.get(verb, verb.removesuffix("ed").removesuffix("s"))
    return re.search(rf"{_REFUSED}{re.escape(stem)}", text, re.IGNORECASE) is not None


def _another(question: Question, about: str) -> bool:
    """Of "年会由谁主持": whether the sentence is about another meeting, whose name only shares a character."""
    asked = _BY_WHOM.search(question.text)
    if asked is None:
        return False
    what = _FRONT.sub("", asked["what"])
    return len(what) >= 2 and what[-2:] not in about and not _has_like(question, what[-2:], about)


def _has_like(question: Question, word: str, about: str) -> bool:
    terms = [term for term in question.terms if term.text in word]
    return any(other in about for term in terms for other in term.related)
