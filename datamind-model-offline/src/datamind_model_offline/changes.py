"""Sentences that say what no longer holds: the new value as a plain statement, and the value that it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Change:
    """What a sentence of change says.

    Attributes:
        states: The same as a sentence of the statement grammar; empty where only an end is told.
        held: What held before, as such a sentence; empty when it is not named.
    """

    states: str = ""
    held: str = ""


_BREAK: Final = r"\s*(?:[,;.—–]|\s-)\s*(?:(?:but|and|instead)\b,?\s*)?(?:(?:now|today|currently)\b,?\s*)?"
_STOPS: Final = r"(?:no longer|don't|do not|doesn't|does not|never)"
_ANY_MORE: Final = r"(?:,?\s+(?:any ?more|any longer))"
_BE: Final = r"(?:is|are|was|were)"
_NAME: Final = r"(?-i:[A-Z])[\w.-]*(?: (?-i:[A-Z0-9])[\w.-]*){0,3}"
_SUBJECT: Final = rf"(?P<subject>(?:i|we|my [\w' -]+?|our [\w' -]+?|the [\w' -]+?|{_NAME}))"
_OF: Final = r"(?P<subject>(?!(?:i|we)\b).{2,80}?)"

# Each with the new statement and the one that ends, made from the named parts.
_ENGLISH: Final = (
    # "My dentist is no longer Casper but Amin", "The host is not db-1 any more, it is db-2"
    (
        rf"{_OF} (?P<be>{_BE}) (?:no longer|not) (?P<old>.+?){_ANY_MORE}?(?:,? but (?:now )?|{_BREAK}(?:it|he|she|they"
        rf"|that)(?:'s| is| are)(?: now)? )(?P<new>.+)",
        "{subject} is {new}",
        "{subject} is {old}",
    ),
    (rf"{_OF} (?P<be>{_BE}) no longer (?P<old>.+)", "", "{subject} is {old}"),
    (rf"{_OF} (?P<be>{_BE})(?: not|n't) (?P<old>.+?){_ANY_MORE}", "", "{subject} is {old}"),
    # "I no longer live in Oslo; I live in Bergen now", "... , now in Bergen"
    (
        rf"{_SUBJECT} {_STOPS} (?P<verb>[a-z]+) (?P<how>in |at |on |for |with |to )?(?P<old>.+?){_ANY_MORE}?{_BREAK}"
        r"(?P<new>(?:i|we|he|she|it|they|my|our|(?-i:[A-Z])[\w.-]*)(?:'m|'ve)? .+)",
        "{new}",
        "{subject} {verb} {how}{old}",
    ),
    (
        rf"{_SUBJECT} {_STOPS} (?P<verb>[a-z]+) (?P<how>in |at |on |for |with |to )?(?P<old>.+?){_ANY_MORE}?(?:,? but"
        rf"(?: now)?|{_BREAK})\s*(?:now )?(?P=how)?(?P<new>.+)",
        "{subject} {verb} {how}{new}",
        "{subject} {verb} {how}{old}",
    ),
    (rf"{_SUBJECT} (?P<verb>{_STOPS} [a-z]+) (?P<old>.+?){_ANY_MORE}", "", "{subject} {bare} {old}"),
    (rf"{_SUBJECT} (?P<verb>no longer [a-z]+) (?P<old>.+)", "", "{subject} {bare} {old}"),
    # "The port of Heron changed from 7443 to 7555", "Our sync has been moved to Friday"
    (
        rf"{_OF} (?:(?:has|have|was|were|is|are|will be) )?(?:just |recently |now )*(?:been )?(?:changed|moved|switched|renamed"
        r"|updated|rescheduled|postponed|raised|lowered|increased|reduced|extended|relocated|went|goes|replaced"
        r"|become|became)(?: from (?P<old>.+?))? (?:to|by|with|into|until) (?P<new>.+)",
        "{subject} is {new}",
        "{subject} is {old}",
    ),
    (rf"{_OF} (?:has |have )?(?:become|became) (?P<new>.+)", "{subject} is {new}", ""),
    # "We switched from Slack to Zulip", "We use Zulip instead of Slack"
    (
        r"(?P<subject>i|we)(?:'ve| have)? (?:just |recently |now )*(?:switched|changed|migrated|moved over)(?: from (?P<old>.+?))?"
        r" to (?P<new>.+)",
        "{subject} use {new}",
        "{subject} use {old}",
    ),
    (
        r"(?P<subject>i|we) (?:now )?(?P<verb>[a-z]+) (?P<new>.+?) instead of (?P<old>.+)",
        "{subject} {verb} {new}",
        "{subject} {verb} {old}",
    ),
    # "From May on my gym is Kvadrat instead of Form"
    (rf"{_OF} (?P<be>is|are) (?:now )?(?P<new>.+?)(?:,? (?:instead of|no longer|not|rather than)) (?P<old>.+)",
     "{subject} is {new}", "{subject} is {old}"),
)  # fmt: skip

_ZH_VERB: Final = r"(?:是|叫|为|在|住在|住|用|喝|吃|喜欢|去|开|坐|练|学|使用|采用)"
_ZH_TURN: Final = (
    r"(?:改成|改为|改到|改在|改用|换成|换为|换到|变成|变为|变更为|调整为|调整到|调到|更新为|更改为|搬到|搬去|搬至|迁到|迁至|移到"
    r"|挪到|推迟到|延期到|延到|提前到|升级到|升级为|增加到|减少到|提高到|降到)"
)
_CHINESE: Final = (
    # 我的健身教练不再是高飞，而是罗静 / 我不再住在苏州，现在住在厦门
    (
        rf"(?P<subject>[^，,。；;]{{1,30}}?)(?:已经?)?不(?:再|是)(?P<verb>{_ZH_VERB})?(?P<old>[^，,；;。]+?)了?"
        rf"(?:[，,；;。]|(?=而是))\s*(?:而|但|已经?|如今|目前|现在|他|她|它|我|我们)*(?P<verb2>{_ZH_VERB}|{_ZH_TURN})了?(?P<new>.+)",
        "{subject}{verb2}{new}",
        "{subject}{verb}{old}",
    ),
    (
        rf"(?P<subject>我|我们|我家)不(?P<verb>住在?|用|喝|吃|在|去|坐)(?P<old>[^，,；;。]+?)了[，,；;。]?\s*(?:而|但|已经?|如今|目前|现在|我|我们)*"
        rf"(?P<verb2>{_ZH_VERB}|{_ZH_TURN}|搬到|搬去)了?(?P<new>.+)",
        "{subject}{verb2}{new}",
        "{subject}{verb}{old}",
    ),
    (
        rf"(?P<subject>[^，,。；;]{{1,30}}?)(?:已经?)?不再(?P<verb>{_ZH_VERB})(?P<old>[^，,；;。]+?)了?",
        "",
        "{subject}{verb}{old}",
    ),
    # 云杉的端口从8090改成了9001，周会改到周四
    (
        rf"(?P<subject>[^，,。；;]{{1,30}}?)(?:已经?|刚刚?|现在|最近|将|会)*(?:从|由)(?P<old>[^，,；;。]+?)(?:已经?|正式)?{_ZH_TURN}了?(?P<new>.+)",
        "{subject}是{new}",
        "{subject}是{old}",
    ),
    (
        rf"(?P<subject>[^，,。；;]{{2,30}}?(?<!我)(?<!我们)(?<!我家))(?:已经?|刚刚?|现在|最近|将|会)*{_ZH_TURN}了?(?P<new>.+)",
        "{subject}是{new}",
        "",
    ),
)  # fmt: skip

_PRONOUN: Final = re.compile(r"\A(?:he|she|it|they)\b(?=(?:'s)? )", re.IGNORECASE)
_TRAIL: Final = re.compile(
    r"(?:,? (?:now|instead|these days|at the moment|from now on))+\Z|(?:了|啦)+\Z", re.IGNORECASE
)


def read_change(text: str) -> Change | None:
    """What a sentence says of a change, if it has such a form.

    Args:
        text: One sentence, blanks already single, without its last mark or with it.
    """
    language = _CHINESE if re.search("[\u4e00-\u9fff]", text) else _ENGLISH
    body = text.rstrip(".!。！ ").removesuffix("了")
    for pattern, states, held in language:
        match = _compiled(pattern).fullmatch(body)
        if match is not None:
            return _change({name: value or "" for name, value in match.groupdict().items()}, states, held)
    return None


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _change(parts: dict[str, str], states: str, held: str) -> Change:
    parts["bare"] = re.sub(rf"\A{_STOPS} ", "", parts.get("verb", ""), flags=re.IGNORECASE)
    parts["new"] = _PRONOUN.sub(lambda match: parts["subject"], parts.get("new", ""), count=1)
    new = _TRAIL.sub("", states.format_map(parts)) if states else ""
    old = held.format_map(parts) if parts.get("old") else ""
    return Change(new, old)
