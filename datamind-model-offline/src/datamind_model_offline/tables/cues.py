"""The words of a question that say what to do with rows: count, add up, order, group, compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from datamind_model_offline.asking import ASKING_WORDS, LOOSE_VERBS

_N: Final = r"(?P<n>\d+|two|three|four|five|six|seven|eight|nine|ten)"
_ZN: Final = r"(?P<n>\d+|[两二三四五六七八九十])"
_NUM: Final = r"[$€£¥]?\s*(?P<x>-?\d[\d,]*(?:\.\d+)?)(?!\s*(?:st|nd|rd|th)\b)"
_ADJECTIVES_UP: Final = (
    "highest|largest|biggest|greatest|maximum|max|most|top|longest|tallest|heaviest|latest|newest|fastest|youngest"
    "|best|most recent|last|deepest|widest|hottest|warmest|strongest"
)
_ADJECTIVES_DOWN: Final = "lowest|smallest|minimum|min|least|fewest|shortest|lightest|earliest|oldest|slowest|cheapest|worst|first|coldest|lowest"

_COMPARED_UP: Final = (
    "older|heavier|taller|longer|bigger|larger|higher|greater|faster|later|newer|warmer|hotter|deeper|wider|better"
    "|more expensive|more|bigger"
)
_COMPARED_DOWN: Final = (
    "younger|lighter|shorter|smaller|lower|slower|cheaper|earlier|colder|less expensive|less|fewer|worse"
)
_IS_COMPARED: Final = r"(?=.*\b(?:or|than)\b)(?: than\b)?"

# Tried in order; each takes words that no cue before it took.
EN: Final = (
    ("top", rf"\btop {_N}\b|\b{_N} (?=(?:most|least|best|worst|highest|lowest|largest|smallest|cheapest|biggest|longest"
            r"|shortest|newest|oldest|latest|earliest|heaviest|lightest|youngest)\b)|\b(?:first|best) (?P<n2>\d+)\b"),
    ("between", rf"\b(?:between|from) {_NUM} (?:and|to) [$€£¥]?\s*(?P<y>-?\d[\d,]*(?:\.\d+)?)"),
    ("at_least", rf"\b(?:at least|no less than|not less than|minimum of) {_NUM}|(?<![\d-]){_NUM}(?:\s*[a-z€$]+)? or (?:more|above|higher)\b"),
    ("at_most", rf"\b(?:at most|no more than|not more than|up to|maximum of) {_NUM}|(?<![\d-]){_NUM}(?:\s*[a-z€$]+)? or (?:less|below|lower|fewer)\b"),
    ("above", rf"\b(?:more|greater|higher|larger|bigger|longer|older|heavier|taller|better) than {_NUM}|\b(?:over|above|exceed(?:s|ed|ing)?) {_NUM}"),
    ("below", rf"\b(?:less|fewer|lower|smaller|cheaper|shorter|younger|lighter|worse) than {_NUM}|\b(?:under|below) {_NUM}"),
    ("missing", r"\b(?:without|lacks?|lacking|with no|ha(?:s|ve) no|no recorded)\b(?: (?:an?|any|recorded))*(?= [a-z])"),
    ("not", r"\bnot(?: yet)?\b|\b(?:has|have|had|do|does|did|is|are|was|were)n't\b|\bexcept\b|\bexcluding\b|\bother than\b|\bnever\b|\bneither\b"),
    ("average", r"\b(?:averaged?|mean|avg)\b(?: of\b)?|\bon average\b"),
    ("count", r"\bhow many\b|\b(?:total )?(?:number|count) of\b|\bhow often\b"),
    ("sum", r"\b(?:in )?total\b|\bsum\b(?: of\b)?|\baltogether\b|\bin all\b|\bcombined\b|\boverall\b|\badd(?:s|ed)? up\b|\bhow much .*\bin total\b"),
    ("price_up", r"\bmost expensive\b|\bcosts? the most\b|\bpriciest\b|\bdearest\b"),
    ("price_down", r"\bleast expensive\b|\bcheapest\b|\bcosts? the least\b"),
    ("late", r"\b(?:most recent(?:ly)?|latest|newest|last)\b"),
    ("early", r"\b(?:earliest|first)\b"),
    ("old", r"\boldest\b"),
    ("young", r"\byoungest\b"),
    ("up", rf"\b(?:{_ADJECTIVES_UP})\b"),
    ("down", rf"\b(?:{_ADJECTIVES_DOWN})\b"),
    ("group", r"\b(?:for each|per|by each|in each|of each|grouped by|broken down by|by)(?= [a-z_]+(?:\s[a-z_]+)?\s*(?:\?|\.|,|\Z|in\b|for\b|from\b|during\b|since\b|was\b|were\b|is\b|are\b|has\b))|\beach(?= [a-z])|\bevery(?= [a-z])"),
    ("distinct", r"\b(?:different|distinct|unique|various)\b"),
    ("list", r"\b(?:list|show|name|give)(?: me| us)?(?: all| every)?\b|\b(?:what|which) (?:are|were) (?:all )?(?:the)?\b|\bwhich\b"),
    ("when", r"\bwhen\b|\b(?:what|which) (?:date|day)\b"),
    ("where", r"\bwhere\b"),
    ("who", r"\bwho(?:se|m)?\b"),
    ("price", r"\bhow much\b(?: money)?"),
    ("howold", r"\bhow old\b"),
    ("howlong", r"\bhow long\b"),
    ("howbig", r"\bhow (?:big|large)\b"),
    ("howtall", r"\bhow (?:tall|high)\b"),
    ("howheavy", r"\bhow heavy\b"),
    ("howfar", r"\bhow far\b"),
    ("more", rf"\b(?:{_COMPARED_UP})\b{_IS_COMPARED}"),
    ("fewer", rf"\b(?:{_COMPARED_DOWN})\b{_IS_COMPARED}"),
    ("yes_no", r"\A(?:is|are|was|were|do|does|did|has|have|had|can|will|should|could|may)\b(?! you\b)"),
)  # fmt: skip
_ZNUM: Final = r"(?P<x>-?\d[\d,]*(?:\.\d+)?)\s*(?P<scale>[万亿千]?)\s*(?:元|人民币|美元|公斤|千克|岁|人|天|个|件|分|小时|公里|米|台|本|名|次|套|吨|平方米)?"
ZH: Final = (
    ("top", rf"前{_ZN}(?:名|个|位|大|条|种|家|本|款|项)?|(?:最[高多大低少小贵早晚长短重便宜]{{1,2}}的){_ZN}[名个位条种家本款项]"),
    ("between", r"(?:在|介于)?(?P<x>-?\d[\d,.]*)(?P<scale>[万亿千]?)元?(?:到|至|和|与|-|~)(?P<y>-?\d[\d,.]*)[万亿千]?(?:元|岁|人|公斤)?之?间?(?!年|月|日)"),
    ("at_least", rf"(?:不少于|不低于|至少|大于等于)(?:有)?{_ZNUM}|{_ZNUM}(?:及以上|以上|或以上)"),
    ("at_most", rf"(?:不超过|不多于|不高于|至多|最多(?=\d)|小于等于){_ZNUM}|{_ZNUM}(?:及以下|以下|以内)"),
    ("above", rf"(?:超过|大于|高于|多于|超出|高出|长于|贵于){_ZNUM}"),
    ("below", rf"(?:低于|小于|少于|不足|不到|短于){_ZNUM}"),
    ("missing", r"没有(?:填写|登记|记录)?(?=[\u4e00-\u9fff])(?!没有)|缺少|未填写?|未登记"),
    ("not", r"不是|除了|以外|之外|并非|不在|不属于"),
    ("average", r"平均(?:值|数|每[个名位])?"),
    ("count", r"(?:一共|总共|共)?(?:有)?(?:多少|几)(?:个|名|位|条|件|家|种|本|台|人|次|只|辆|张|间|项|笔|款|门|场|座|棵|头|匹|株|艘|户|栋|套|部|单|份)(?:不同的?)?|(?:总)?(?:笔数|件数|人数|次数|单数|条数)(?=是|有|为)|(?:总)?数量(?=是多少|有多少)|有多少|总数|个数"),
    ("sum", r"总[和计]|合计|总共|一共|总额|共计|加起来|总(?=[\u4e00-\u9fff])"),
    ("price_up", r"最贵|最高价"),
    ("price_down", r"最便宜|最低价"),
    ("late", r"最(?:晚|新|近|后)(?:的一?[次个])?"),
    ("early", r"最(?:早|先)(?:的一?[次个])?"),
    ("old", r"年龄最大|最年长|年纪最大"),
    ("young", r"年龄最小|最年轻|年纪最小"),
    ("up", r"最高分|最(?:高|大|多|长|重|好|快|热|深|宽|远|强)|(?:最大|最高)值"),
    ("down", r"最低分|最(?:低|小|少|短|轻|差|慢|冷|浅|窄)|(?:最小|最低)值"),
    ("group", r"按(?=[\u4e00-\u9fff])|各个?(?=[\u4e00-\u9fff])|每一?(?:个|家|种|名|位|类|座|条|门|天|款|本)?(?=[\u4e00-\u9fff])"),
    ("distinct", r"(?:几|多少|哪几|哪些)种|不同的?"),
    ("list", r"列出(?:所有|全部)?|(?:都)?有哪些|哪些|哪几[个位名种家本款条]|哪(?:一)?(?:个|位|名|种|家|本|款|条|座|门|台|辆|天|间|次|笔|只|部|单|份|批)|所有|分别"),
    ("when", r"什么时候|何时|哪一?天|几号|什么时间|哪一?年"),
    ("where", r"(?:在)?(?:哪里|哪儿|什么地方|何处|哪个地方)"),
    ("who", r"(?:是)?谁|哪位|什么人|哪一?个人"),
    ("price", r"多少钱|多少元|什么价(?:格|钱)?"),
    ("howold", r"多大(?:年纪|岁数)?|几岁|多少岁"),
    ("howlong", r"多[长久](?:时间)?"),
    ("howtall", r"多高"),
    ("howheavy", r"多重"),
    ("howfar", r"多远"),
    ("more", r"(?:更|还要)(?:年长|大|高|多|贵|重|长|晚|新|快)|(?<!多)(?:大|高|多|贵|重|长|晚|新|快)(?:一些|一点)?(?=吗|还是|[?？。]|\Z)"),
    ("fewer", r"(?:更|还要)(?:年轻|小|低|少|便宜|轻|短|早|旧|慢)|(?<!多)(?:小|低|少|便宜|轻|短|早|旧|慢)(?:一些|一点)?(?=吗|还是|[?？。]|\Z)"),
    ("yes_no", r"吗|是否|是不是|有没有|能不能|可不可以"),
)  # fmt: skip

_LIGHT_EN: Final = frozenset(
    """
    a an the of in on at for to from with and or is are was were be been do does did has have had that which what who
    how much many there their its it his her they them this these those all any me us i you we can could please tell
    show give list name value values row rows record records entry entries table data database recorded listed
    registered according as per each by than more less did then just only currently current now right today so my our
    sort sorted order ordered descending ascending respectively one ones item items thing things overall exactly whose
    km kg cm mm eur euro euros usd dollars minutes hours days percent years tonnes tons metres meters kilometres
    kilometers litres liters mw kwh placed made taken given happened done where when year month quarter during within between before after since until until' s 's having got belong belongs
    brought bring brings carried carry carries received receive receives gets got
    people person column field figure figures cell amounting number total
    """.split()  # noqa: SIM905
)
_LIGHT_HAN: Final = re.compile(
    r"请问|单子|比|还是|号单?|位于|住在|来自|属于|当中|年份?|月份?|告诉我|是多少|多少|什么|怎么样|一共|总共|现在|目前|当前|记录|数据|表格|表中|表里|里面|分别|其中|以及|所有|全部|"
    r"查询|查一下|帮我|显示|拥有|具有|工作|对应|各自|是|的|了|在|有|为|和|与|或|从|到|对|"
    r"存放在?|放在|安排在?|担任|进行|使用|是否|请|共|您|你|我|们|吗|呢|啊|吧|"
    r"这|那|其|之|于|被|由|叫|并|且|都|也|又|就|那么|几|些|谁|哪|季度|时候|时间|可以|每|各|按"
)


@dataclass(frozen=True, slots=True)
class Cue:
    """One such word in a question; the numbers that belong to it are within its span."""

    name: str
    start: int
    end: int
    first: str = ""
    second: str = ""


_SMALL: Final = (
    dict(zip(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], range(2, 11), strict=True))
    | dict(zip("二三四五六七八九十", range(2, 11), strict=True))
    | {"两": 2}
)


@lru_cache(maxsize=2)
def _compiled(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(_numbered(pattern))) for name, pattern in (ZH if language == "zh" else EN))


def _numbered(pattern: str) -> str:
    """The pattern with a number behind the name of each group, so that alternatives may share names."""
    count = iter(range(1_000))
    return re.sub(r"\(\?P<([a-z]+)2?>", lambda match: f"(?P<{match[1]}{next(count)}>", pattern)


def find_cues(text: str, language: str) -> Iterator[Cue]:
    """The cues of a question in lower case, those that take the most words first; none overlap."""
    taken: list[tuple[int, int]] = []
    for name, pattern in _compiled(language):
        for match in pattern.finditer(text):
            start, end = match.span()
            if start == end or any(start < stop and begin < end for begin, stop in taken):
                continue
            taken.append((start, end))
            parts = {key.rstrip("0123456789"): value for key, value in match.groupdict().items() if value}
            scale = parts.get("scale", "")
            first = _plain(parts.get("x") or parts.get("n", ""), scale)
            yield Cue(name, start, end, first, _plain(parts.get("y", ""), scale))


def _plain(number: str, scale: str) -> str:
    if number in _SMALL:
        return str(_SMALL[number])
    number = number.replace(",", "").rstrip(".")
    factor = {"万": 10_000, "亿": 100_000_000, "千": 1_000}.get(scale, 1)
    if not number or factor == 1:
        return number
    return format(float(number) * factor, ".15g")


def is_light(word: str) -> bool:
    """Whether a Latin word, in lower case, says nothing about rows by itself."""
    return word in _LIGHT_EN or word in ASKING_WORDS or word in LOOSE_VERBS


def without_light_han(run: str) -> str:
    """What is left of a run of Chinese without the characters that say nothing by themselves."""
    return _LIGHT_HAN.sub("", run)
