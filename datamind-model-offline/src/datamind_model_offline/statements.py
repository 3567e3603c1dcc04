"""The statement grammar: sentences whose subject, attribute and value can be told without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc

USER: Final = "user"


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact in a sentence.

    Attributes:
        functional: One value at a time, so that a later one ends this one.
    """

    subject: str
    attribute: str
    value: str
    functional: bool
    kind: str = "fact"


@dataclass(frozen=True, slots=True)
class StatementForm:
    """One row of the grammar.

    Attributes:
        pattern: Named groups ``value`` and, where the row leaves them open, ``subject`` and ``attribute``.
        subject: Fixed subject, or empty.
        attribute: Fixed attribute, or empty.
        example: A sentence of this form, shown in the documentation and checked by a test.
    """

    language: str
    pattern: re.Pattern[str]
    example: str
    subject: str = ""
    attribute: str = ""
    functional: bool = True
    kind: str = "fact"


_NOW = r"(?:(?:now|currently|just|recently|have|has|'ve)\s+)*"
_BE = r"(?:is|are|was|'s)"
_VALUE = r"(?P<value>.+?)"
_ATTRIBUTE = r"(?P<attribute>[a-z][\w'-]*(?:[ -][\w'-]+){0,3}?)"
_NAME = r"(?P<subject>[A-Z][\w&.-]*(?: [A-Z0-9][\w&.-]*){0,3}|[Tt]he [\w -]{2,40}?)"
_TAIL = r"(?:,? (?:now|currently|at the moment|these days))?"


def _en(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + r"[.!]?", re.IGNORECASE)


def _named(pattern: str) -> re.Pattern[str]:
    # A name is told by its capital, so case counts here.
    return re.compile(pattern + r"[.!]?")


def _zh(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + r"(?:了|啦|。|！|!|\.)*")


_ZH_VALUE = r"(?P<value>[^，,。；;！!]+?)(?:[，,；;].*)?"
_ZH_NOW = r"(?:现在|目前|如今|已经|最近|刚刚?|又)*"

STATEMENT_FORMS: Final = (
    StatementForm("en", _en(rf"(?:i|we){_TAIL} {_NOW}(?:live|reside|am living|are living|'m living) (?:in|at|on) {_VALUE}{_TAIL}"), "I live in Oslo.", USER, "residence"),
    StatementForm("en", _en(rf"(?:i|we)(?:'ve)? {_NOW}(?:moved|relocated|move) (?:house )?(?:from .+? )?to {_VALUE}"), "I moved to Bergen.", USER, "residence"),
    StatementForm("en", _en(rf"(?:i|we) {_NOW}(?:work|am working|'m working|started working|started|start) (?:at|for) {_VALUE}(?: as .+)?{_TAIL}"), "I work at Acme.", USER, "employer"),
    StatementForm("en", _en(rf"i(?:'ve)? {_NOW}joined {_VALUE}(?: as .+)?"), "I joined Acme.", USER, "employer"),
    StatementForm("en", _en(rf"(?:my name is|i am called|i'm called) {_VALUE}"), "My name is Ada.", USER, "name"),
    StatementForm("en", _en(r"(?:i am|i'm) (?P<value>\d{1,3})(?: years old)?"), "I am 34 years old.", USER, "age"),
    StatementForm("en", _en(rf"i was born (?:on|in) {_VALUE}"), "I was born on 3 May 1990.", USER, "birthday"),
    StatementForm("en", _en(rf"(?:my|our) (?:(?:new|current) )?{_ATTRIBUTE} (?:(?:is|are|'s) (?:(?:now|called|named) )*|(?:has |have )?changed to |became |(?:has |have )?moved to ){_VALUE}"), "My locker number is 12.", USER),
    StatementForm("en", _en(rf"{_VALUE} is (?:now )?(?:my|our) (?:(?:new|current) )?{_ATTRIBUTE}"), "Ada is my manager.", USER),
    StatementForm("en", _en(rf"(?:i am|i'm|we are) allergic to {_VALUE}"), "I am allergic to nuts.", USER, "allergy", False),
    StatementForm("en", _en(rf"(?:i|we) (?:really |always |usually |would |strongly |much )*(?:prefer|like|love|enjoy|hate|dislike|avoid|don't like|do not like|don't eat|do not eat|can't stand|favou?r) {_VALUE}"), "I prefer window seats.", USER, "preference", False, "preference"),
    StatementForm("en", _en(rf"(?:i|we)(?:'ve)? (?:have )?(?:decided|agreed|chose|chosen|settled) (?:to |on |that |for )?{_VALUE}"), "We decided to use Rust.", USER, "decision", False, "decision"),
    StatementForm("en", _en(rf"(?:i|we) (?:use|drive|own|play|speak|drink|take|study|wear) {_VALUE}"), "I use Vim.", USER, "use", False),
    StatementForm("en", _named(rf"{_NAME}'s? {_ATTRIBUTE} (?:is|are) (?:now )?{_VALUE}"), "Heron's port is 7443."),
    StatementForm("en", _named(rf"(?:[Tt]he )(?:(?:new|current) )?{_ATTRIBUTE} (?:of|for) (?P<subject>.+?) (?:is|are) (?:now )?{_VALUE}"), "The port of Heron is 7443."),
    StatementForm("en", _named(rf"{_VALUE} is (?:now )?(?:the )?(?:(?:new|current) )?{_ATTRIBUTE} of (?P<subject>[^,.]+?)"), "Ada is the owner of Heron."),
    StatementForm("en", _named(rf"{_NAME} (?:now )?(?:lives in|moved to|has moved to) {_VALUE}"), "Marit lives in Hamar.", "", "residence"),
    StatementForm("en", _named(rf"{_NAME} (?:now )?(?:works (?:at|for)|joined) {_VALUE}(?: as .+)?"), "Marit works at Acme.", "", "employer"),
    StatementForm("en", _named(rf"{_NAME} (?:uses|runs on|prefers|likes) {_VALUE}"), "Heron uses Rust.", "", "use", False),
    StatementForm("zh", _zh(rf"(?:我|我们|我家){_ZH_NOW}(?:住|居住|定居)(?:在|到)?{_ZH_VALUE}"), "我住在苏州。", USER, "residence"),
    StatementForm("zh", _zh(rf"(?:我|我们|我家){_ZH_NOW}(?:搬家?|迁)(?:到|去|至|来)了?{_ZH_VALUE}"), "我搬到厦门了。", USER, "residence"),
    StatementForm("zh", _zh(rf"我(?:换工作了[，,])?{_ZH_NOW}在(?P<value>[^，,。；;]+?)(?:工作|上班|任职|就职|供职|做[^，,。]+|当[^，,。]+)(?:[，,].*)?"), "我在青禾上班。", USER, "employer"),
    StatementForm("zh", _zh(rf"我{_ZH_NOW}(?:加入|入职|跳槽到|跳槽去)了?{_ZH_VALUE}"), "我入职了青禾。", USER, "employer"),
    StatementForm("zh", _zh(rf"我(?:的名字)?(?:叫|名叫){_ZH_VALUE}"), "我叫小宁。", USER, "name"),
    StatementForm("zh", _zh(r"我(?:今年)?(?P<value>[\d一二三四五六七八九十百]+)岁"), "我今年34岁。", USER, "age"),
    StatementForm("zh", _zh(rf"我对{_ZH_VALUE}过敏"), "我对花生过敏。", USER, "allergy", False),
    StatementForm("zh", _zh(rf"(?:我|我们)(?:最|很|非常|比较|不|一直|更)*(?:喜欢|偏好|爱|讨厌|习惯|不吃|不喝){_ZH_VALUE}"), "我喜欢喝茶。", USER, "preference", False, "preference"),
    StatementForm("zh", _zh(rf"(?:我|我们)(?:已经|最后|最终)?(?:决定|选定|确定|商定|选择){_ZH_VALUE}"), "我们决定用Rust。", USER, "decision", False, "decision"),
    StatementForm("zh", _zh(rf"(?:我|我们|我家)(?:里|的)*(?P<attribute>[^是叫在的，,。]{{1,10}}?){_ZH_NOW}(?:是|叫|为|在|搬到|搬去|换成|改成|改为|变成|变为|改到)了?{_ZH_VALUE}"), "我的车牌号是A123。", USER),
    StatementForm("zh", _zh(rf"(?P<subject>[^我你他她它，,。的]{{1,16}})的(?P<attribute>[^是叫在的，,。]{{1,10}}?){_ZH_NOW}(?:是|叫|为|在|搬到|搬去|换成|改成|改为|变成|变为|改到)了?{_ZH_VALUE}"), "云杉的端口是8090。"),
    StatementForm("zh", _zh(rf"(?P<subject>[^我你他她它，,。的]{{1,12}}?)(?:使用|采用|用){_ZH_VALUE}"), "云杉使用Kafka。", "", "use", False),
)  # fmt: skip
"""Tried from the top; the first that fits the whole sentence counts."""

_NOT_ATTRIBUTES: Final = re.compile(
    r"\b(?:idea|question|point|problem|guess|hope|plan|fault|understanding|opinion)\b|问题|意思|想法|希望"
)
# Of these a person may have several, so a new one ends nothing.
_SEVERAL: Final = re.compile(
    r"(?:sister|brother|sibling|son|daughter|child|kid|friend|colleague|cousin|aunt|uncle|niece|nephew|neighbou?r|pet|dog|cat|hobby"
    r"|allergy|skill|language|book|idea|rule|tip|note|[^su]s)\Z|姐|妹|兄|弟|儿子|女儿|孩子|朋友|同事|猫|狗|宠物|爱好|叔|姨|舅|邻居|习惯"
)
# "My car is broken" says how it is, not which it is.
_STATE: Final = re.compile(
    r"(?:not|very|too|so|still|quite|really|almost|being|getting|going|broken|sick|ill|late|old|slow|fine|ok|okay|good|bad|great|nice"
    r"|dead|gone|full|empty|ready|done|closed|open|parked|in need|out of|under|up|down|better|worse|tired|lost|\w+ing|\w+ed)\b",
    re.IGNORECASE,
)
_FURTHER: Final = re.compile(r"(?:,|;| and (?:he|she|it|they|i|we|my|our)\b| because | but | which | who | since ).*|\s+(?:last|this) (?:week|month|year)\Z| (?:yesterday|today|recently)\Z", re.IGNORECASE)  # fmt: skip
_AT: Final = re.compile(r"(?:on|at|in|by)\s+(?=\S)", re.IGNORECASE)
_OLD: Final = re.compile(r"\b(?:old|former|previous|last|first|original|current|new|present)\b\s*", re.IGNORECASE)
_SYNONYM: Final = {
    "home": "residence", "address": "residence", "city": "residence", "house": "residence", "home address": "residence",
    "company": "employer", "job": "employer", "workplace": "employer", "boss": "manager", "date of birth": "birthday",
    "住址": "residence", "地址": "residence", "家": "residence", "住处": "residence", "公司": "employer", "工作": "employer",
    "单位": "employer", "名字": "name", "年龄": "age", "老板": "经理", "上司": "经理", "主管": "经理",
}  # fmt: skip


_ADVERBIAL: Final = re.compile(
    r"\A(?:(?:since|from|as of|in|after) (?:last |this )?[\w ]{2,20}?,? (?=i\b|we\b|my\b|our\b)|(?:now|currently|recently|today|lately),? )"
    r"|\A(?:从|自)[^，,我]{1,12}(?:起|开始)?[，,]?(?=我)|\A(?:现在|目前|最近|今天|昨天|上个?月|上周|去年|今年|前不久|\d+年(?:\d+月)?)[，,]?(?=我)",
    re.IGNORECASE,
)


def parse_statement(sentence: str) -> Statement | None:
    """The fact a sentence states, if the grammar knows its form."""
    text = _ADVERBIAL.sub("", " ".join(normalize_nfkc(sentence).replace("’", "'").split()))
    if text.endswith(("?", "？")):
        return None
    for form in STATEMENT_FORMS:
        match = form.pattern.fullmatch(text)
        if match is not None:
            return _statement(form, match)
    return None


def _statement(form: StatementForm, match: re.Match[str]) -> Statement | None:
    groups = match.groupdict()
    value = _AT.sub("", _FURTHER.sub("", groups["value"]), count=1).strip(" \"'“”「」")
    attribute = form.attribute or attribute_name(groups.get("attribute") or "")
    if not value or not attribute or _NOT_ATTRIBUTES.search(attribute):
        return None
    subject = form.subject or (groups.get("subject") or "").strip()
    functional = form.functional and not (_SEVERAL.search(attribute) or _STATE.match(value))
    return Statement(subject, attribute, value, functional, form.kind)


def attribute_name(words: str) -> str:
    """The one name of an attribute: lower case, without "old" or "new", synonyms joined."""
    name = _OLD.sub("", " ".join(words.casefold().split())).removeprefix("the ").strip()
    return _SYNONYM.get(name, name)


_ASKED: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), subject, attribute)
    for pattern, subject, attribute in (
        (r"\bwhere\b.*\b(?:i|we)\b.*\b(?:live|lived|living|reside|home|stay)\b|我.*住(?!院)|我.*家在哪|我家.*在哪", USER, "residence"),
        (r"\b(?:where|who|which company)\b.*\b(?:i|we)\b.*\b(?:work|worked|working|employed)\b|我.*(?:在哪.*(?:工作|上班|任职)|(?:工作|上班)的?公司)", USER, "employer"),
        (r"\bhow old (?:am|was) i\b|我.*(?:多大|几岁)", USER, "age"),
        (r"\b(?:what|who|which|when|how) (?:is|was|are|were)(?: the)? (?:my|our) (?P<attribute>[\w' -]+?)(?: (?:before|previously|until|in|as of|back|at|called|now)\b.*)?[?.]*\Z", USER, ""),
        (r"\bwhat (?P<attribute>[\w' -]+?) (?:do|did) (?:i|we) (?:have|use|prefer)\b", USER, ""),
        (r"\b(?:what|who|which|when|where) (?:is|was|are|were) (?P<subject>[\w. -]+?)'s? (?P<attribute>[\w' -]+?)(?: (?:before|previously|until|in|as of)\b.*)?[?.]*\Z", "", ""),
        (r"\b(?:what|who|which|when|where) (?:is|was|are|were) the (?P<attribute>[\w' -]+?) (?:of|for) (?:the )?(?P<subject>[\w. -]+?)(?: (?:before|previously|until|in|as of)\b.*)?[?.]*\Z", "", ""),
        (r"我(?:们|家)?(?:以前|之前|原来|曾经|过去|当时|现在|目前)*的?(?:旧|老|前|上一个)?(?P<attribute>[^\s是叫在的？?，,]{1,8}?)(?:以前|之前|原来|现在)*(?:是|叫|为|在)(?:什么|谁|多少|哪|几)", USER, ""),
        (r"(?P<subject>[^我\s的？?，,]{1,16})(?:以前|之前|原来|现在)*的(?:旧|老|前)?(?P<attribute>[^\s是叫在的？?，,]{1,8}?)(?:以前|之前|原来|现在)*(?:是|叫|为|在)(?:什么|谁|多少|哪|几)", "", ""),
    )
)  # fmt: skip


def asked_fact(question: str) -> tuple[str, str] | None:
    """Subject and attribute a question asks for, by the names the statement grammar gives them."""
    text = " ".join(normalize_nfkc(question).replace("’", "'").split())
    for pattern, subject, attribute in _ASKED:
        match = pattern.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        named = attribute or attribute_name(groups.get("attribute") or "")
        if named:
            return subject or (groups.get("subject") or "").strip(), named
    return None
