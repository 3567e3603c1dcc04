"""What a sentence states: its subject, attribute and value, by the table of statement forms."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.core.lazy_pattern import lazy_pattern
from datamind_model_offline.changes import read_change
from datamind_model_offline.statement_forms import STATEMENT_FORMS, StatementForm


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact in a sentence.

    Attributes:
        value: Empty where a sentence only says what ended.
        functional: One value at a time, so that a later one ends this one.
        ends: A value that the sentence says no longer holds.
    """

    subject: str
    attribute: str
    value: str
    functional: bool
    kind: str = "fact"
    ends: str = ""


_NOT_ATTRIBUTES: Final = lazy_pattern(
    r"\b(?:idea|question|point|problem|guess|hope|plan|fault|understanding|opinion)\b|问题|意思|想法|希望"
)
# Of these a person may have several, so a new one ends nothing.
_SEVERAL: Final = lazy_pattern(
    r"(?:sister|brother|sibling|son|daughter|child|kid|friend|colleague|cousin|aunt|uncle|niece|nephew"
    r"|neighbou?r|pet|dog|cat|hobby"
    r"|allergy|skill|language|book|idea|rule|tip|note|[^su]s)\Z|姐|妹|兄|弟|儿子|女儿|孩子|朋友|同事|猫|狗"
    r"|宠物|爱好|叔|姨|舅|邻居|习惯"
)
# "My car is broken" says how it is, not which it is.
_STATE: Final = lazy_pattern(
    r"(?:not|very|too|so|still|quite|really|almost|being|getting|going|broken|sick|ill|late|old|slow|fine"
    r"|ok|okay|good|bad|great|nice"
    r"|dead|gone|full|empty|ready|done|closed|open|parked|in need|out of|under|up|down|better|worse|tired"
    r"|lost|\w+ing|\w+ed)\b",
    re.IGNORECASE,
)
_FURTHER: Final = lazy_pattern(
    r"(?:,|;| and (?:he|she|it|they|i|we|my|our)\b| because | but | which | who | since ).*|\s+(?:last"
    r"|this) (?:week|month|year)\Z| (?:yesterday|today|recently)\Z",
    re.IGNORECASE,
)
_AT: Final = lazy_pattern(r"(?:on|at|in|by)\s+(?=\S)", re.IGNORECASE)
_ARTICLE: Final = lazy_pattern(r"\Athe\s+", re.IGNORECASE)
_OLD: Final = lazy_pattern(r"\b(?:old|former|previous|last|first|original|current|new|present)\b\s*", re.IGNORECASE)
_SYNONYM: Final = {
    "home": "residence",
    "address": "residence",
    "city": "residence",
    "house": "residence",
    "home address": "residence",
    "company": "employer",
    "job": "employer",
    "workplace": "employer",
    "boss": "manager",
    "date of birth": "birthday",
    "住址": "residence",
    "地址": "residence",
    "家": "residence",
    "住处": "residence",
    "公司": "employer",
    "工作": "employer",
    "单位": "employer",
    "名字": "name",
    "年龄": "age",
    "老板": "经理",
    "上司": "经理",
    "主管": "经理",
}


_ADVERBIAL: Final = lazy_pattern(
    r"\A(?:(?:since|from|as of|in|after) (?:last |this )?[\w ]{2,20}?,? (?=i\b|we\b|my\b|our\b)|(?:now"
    r"|currently|recently|today|lately),? )"
    r"|\A(?:从|自)[^，,我]{1,12}(?:起|开始)?[，,]?(?=我)|\A(?:现在|目前|最近|今天|昨天|上个?月|上周|去年"
    r"|今年|前不久|\d+年(?:\d+月)?)[，,]?(?=我)",
    re.IGNORECASE,
)


# "I changed doctors: my doctor is Dr Amin."
_CLAUSE: Final = lazy_pattern(r"\A[^:：;；]{3,80}[:：;；]\s*(?=(?:my|our|i|we)\b|我)", re.IGNORECASE)
_ENDS: Final = lazy_pattern(
    r"\b(?:no longer|any ?more|any longer|(?:has|have|was|were) (?:just )?(?:been )?(?:changed|moved|switched)|changed from|switched from|moved from .+ to|instead of)\b|\bnot .+ but\b|不再|不是.+而是"
    r"|不.+了[，,；;。]?.*(?:现在|改)|[从由].+(?:改|换|变|调|搬|移|挪|升|降)",
    re.IGNORECASE,
)
# What was so before ends nothing that is so now.
_PAST: Final = lazy_pattern(r"\b(?:old|former|previous|last|first|original|ex)\b", re.IGNORECASE)
_ZH_PAST: Final = lazy_pattern(r"以前|之前|从前|曾经|过去|原来|当时|那时")
_MAX_CHARS: Final = 300


def parse_statement(sentence: str) -> Statement | None:
    """The fact a sentence states, if the grammar knows its form."""
    if len(sentence) > _MAX_CHARS:
        return None
    text = _ADVERBIAL.sub("", " ".join(normalize_nfkc(sentence).replace("’", "'").split()))
    if text.endswith(("?", "？")) or _ZH_PAST.search(text):
        return None
    if _ENDS.search(text):
        return _read_change(text) or _read(text)
    return _read(text) or _read(_CLAUSE.sub("", text)) or _read_change(text)


def _read_change(text: str) -> Statement | None:
    """What a sentence of change states, with the value that it ends; of another fact than the one that it states, not."""
    change = read_change(text)
    if change is None:
        return None
    new, held = _read(change.states), _read(change.held)
    if new is None:
        return replace(held, value="", functional=False, ends=held.value) if held is not None else None
    is_same = held is not None and (held.subject, held.attribute) == (new.subject, new.attribute)
    return replace(new, ends=held.value) if held is not None and is_same else new


def _read(text: str) -> Statement | None:
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
    subject = form.subject or subject_name(groups.get("subject") or "")
    past = _PAST.search(groups.get("attribute") or "")
    if past:
        attribute = f"former {attribute}"
    functional = form.functional and not (past or _SEVERAL.search(attribute) or _STATE.match(value))
    return Statement(subject, attribute, value, functional, form.kind)


def subject_name(words: str) -> str:
    """The one name of a subject: without its article."""
    return _ARTICLE.sub("", words.strip())


def attribute_name(words: str) -> str:
    """The one name of an attribute: lower case, without "old" or "new", synonyms joined."""
    name = _OLD.sub("", " ".join(words.casefold().split())).removeprefix("the ").strip()
    return _SYNONYM.get(name, name)
