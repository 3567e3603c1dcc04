"""The question grammar: which form a question has, and so what is read to answer it.

``docs/reference/offline-grammar.md`` is written from ``QUESTION_FORMS``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc


class FormName(StrEnum):
    """The forms that words alone decide; beside them stand tables and the graph, which their contents decide."""

    ARITHMETIC = "arithmetic"
    CONVERSION = "conversion"
    CLOCK = "clock"
    TEXT_ANALYSIS = "text analysis"
    COUNT = "count"
    LISTING = "listing"
    SUMMARY = "summary"
    HISTORY = "history"
    SKILL = "skill"
    FACTOID = "factoid"


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """One row of the grammar.

    Attributes:
        reads: What is called and how the answer is made, in words.
        patterns: One for each language; named groups are the parts the plan needs.
        examples: One for each language, checked by a test.
    """

    name: FormName
    reads: str
    patterns: Mapping[str, str]
    examples: Mapping[str, str]

    def match(self, text: str, language: str) -> re.Match[str] | None:
        """Whether a whole text has this form."""
        return _compiled(self.patterns[language]).fullmatch(text)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A question with its form and the parts the pattern named."""

    form: FormName
    parts: Mapping[str, str]


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    # On use: a command starts sooner without the forms of the other language.
    return re.compile(pattern, re.IGNORECASE)


def _form(name: FormName, reads: str, en: str, zh: str, examples: tuple[str, str]) -> QuestionForm:
    return QuestionForm(name, reads, {"en": en, "zh": zh}, dict(zip(("en", "zh"), examples, strict=True)))


_SUM: Final = (
    r"(?P<expression>(?!\d+(?:[-/.]\d+)+\s*[?？.]?\Z)(?=[^?？]*\d)(?=[^?？]*[-+*/×÷^%(√])(?:"
    r"[\d\s.,+\-*/×÷^%()√]|of(?= )|sqrt|round|mean|min|max|abs)+)"
)
_SUM_WORDS: Final = (
    r"(?P<words>-?[\d.,]+%?(?: (?:plus|minus|times|multiplied by|divided by|to the power of"
    r"|percent of) -?[\d.,]+%?)+|the square root of [\d.,]+)"
)
_ZH_WORDS: Final = (
    r"(?P<words>-?[\d.]+(?:加上?|减去?|乘以?|除以|的)-?[\d.]+(?:次方)?|[\d.]+的平方根|[\d.]+的(?:百分之)[\d.]+)"
)
_AMOUNT: Final = r"(?P<value>-?\d[\d.,]*(?:e-?\d+)?)"
_UNIT: Final = r"[a-zµ°℃℉][\w°/^²³ ]{0,30}?"
_ZH_UNIT: Final = r"(?:[一-鿿℃℉]{1,6}|[a-zA-Zµ°][\w°/^²³]{0,12})"
_STORED: Final = r"(?:documents?|files?|texts?|passages?|chunks?|memories|memory items|facts|skills?|things)"

QUESTION_FORMS: Final = (
    _form(
        FormName.ARITHMETIC,
        "`calculator` with the expression; the answer is its result.",
        rf"(?:(?:what(?:'s| is)|how much is|calculate|compute|work out|evaluate)\s+)?(?:{_SUM}"
        rf"|{_SUM_WORDS})\s*(?:=\s*)?[?.]?",
        rf"(?:请?(?:计算|算一?下?|求)[:：]?\s*)?(?:{_SUM}|{_ZH_WORDS})\s*(?:=|等于|是)?\s*(?:多少|几)?[?？。]?",
        ("What is 12 * (3 + 4)?", "计算 12 * (3 + 4)"),
    ),
    _form(
        FormName.CONVERSION,
        "`unit_convert` with amount and units; the answer is its result.",
        rf"(?:(?:what(?:'s| is)|how much is|convert|change)\s+)?{_AMOUNT}\s*(?P<from>{_UNIT})\s+(?:in|to"
        rf"|into|as)\s+(?P<to>{_UNIT})[?.]?"
        rf"|how (?:many|much)\s+(?P<to2>{_UNIT})\s+(?:are|is|make|makes"
        rf"|equals?)(?: there)?(?: in)?\s+(?P<value2>-?\d[\d.,]*|an?|one)\s*(?P<from2>{_UNIT})[?.]?",
        rf"(?:把|将|请把)?\s*{_AMOUNT}\s*(?P<from>{_ZH_UNIT}?)\s*(?:等于|是|合|换算成|换算为|转换成|转换为"
        rf"|换成|转成)\s*(?:多少|几)?(?:个)?\s*(?P<to>{_ZH_UNIT})[?？。]?",
        ("How many kilometers are in 26 miles?", "26英里等于多少公里？"),
    ),
    _form(
        FormName.CLOCK,
        "`get_current_time`, for the place if one is named; the answer is its result.",
        r"(?:what(?:'s| is)(?: the)?|tell me the|do you know the)\s+(?:current |local )?(?:time|date"
        r"|day)(?:\s+(?:is it|it is))?(?:\s+(?:now|today"
        r"|right now))?(?:\s+in\s+(?P<zone>[\w /+-]{2,40}?))?(?:\s+(?:now|today|right now))?[?.]?"
        r"|what (?:time|day|date) is (?:it|today)(?:\s+(?:now|today"
        r"|right now))?(?:\s+in\s+(?P<zone2>[\w /+-]{2,40}?))?(?:\s+(?:now|today|right now))?[?.]?",
        r"(?:请问)?(?P<zone>[一-鿿]{0,6}?)(?:现在|当前|目前|今天)(?:的)?(?:是)?(?:几点钟?|什么时间|时间"
        r"|几月几号|几号|日期|星期几|周几)(?:了|是多少|是几号)?[?？。]?",
        ("What time is it in Tokyo?", "东京现在几点？"),
    ),
    _form(
        FormName.TEXT_ANALYSIS,
        "`analyze_text` with the text behind the colon or in quotes; the answer is its result.",
        r"(?:how many (?:words|characters|sentences|lines)|count the (?:words|characters|sentences|lines)"
        r"|analy[sz]e)\b[^:“\"]{0,40}?(?::\s*(?P<text>.+)|[“\"](?P<text2>.+)[”\"][?.]?)",
        r"(?:统计|分析|数一?数)[^:：“\"]{0,20}?(?:字数|词数|文本|这段话|文字"
        r"|句数)?[^:：“\"]{0,6}(?:[:：]\s*(?P<text>.+)|[“\"](?P<text2>.+)[”\"])",
        ("How many words are in: the quick brown fox?", "统计字数：今天天气很好"),
    ),
    _form(
        FormName.COUNT,
        "`kb_count`, `memory_list` or `skill_list`; the answer is how much is stored.",
        rf"how many (?P<what>{_STORED})(?: and \w+)?\s+(?:do (?:you|we|i) (?:have|hold|know|store|remember)"
        rf"|are (?:there|stored|saved|indexed|in (?:the|your) (?:knowledge base|memory))|have (?:you|we"
        rf"|i) (?:stored|saved|added))\b[^?]{{0,40}}[?.]?",
        r"(?:你|知识库|系统|这里|记忆)?(?:里|中)?(?:一共|总共|目前|现在)?(?:有|存了|保存了|记住了"
        r"|记了)(?:多少|几)[个条篇份]?(?P<what>文档|文件|资料|记忆|技能|事情|事)[?？。]?",
        ("How many documents do you have?", "知识库里有多少文档？"),
    ),
    _form(
        FormName.LISTING,
        "`memory_recall` or `memory_list`, `kb_list_documents` or `skill_list`; up to ten entries, each cited.",
        rf"what (?:do|can) you (?:remember|recall|know) (?:about|of) (?P<topic>.+?)[?.]?|what (?:do"
        rf"|can) you remember[?.]?"
        rf"|(?:which|what) (?P<what>{_STORED}) (?:do (?:you|we|i) have|are (?:there|stored|saved|available"
        rf"|indexed))\b[^?]{{0,40}}[?.]?|(?:list|show)(?: me)?(?: all| the| my"
        rf"| your)* (?P<what2>{_STORED})\b[^?]{{0,30}}[?.]?",
        r"(?:关于|对)?(?P<topic>[^，。？?]{0,20}?)(?:你)(?:还)?(?:记得|记住了?|知道|了解)(?:些)?(?:什么"
        r"|哪些)(?:事|事情|内容)?[?？。]?|(?:你)?(?:记得|记住了?"
        r"|知道)(?:关于)?(?P<topic2>[^，。？?]{1,20}?)的?(?:什么|哪些)(?:事|事情|内容)?[?？。]?"
        r"|(?:知识库|系统|这里)?(?:里|中)?(?:都)?有(?:哪些|什么)(?P<what>文档|文件|资料|记忆|技能)[?？。]?"
        r"|列出(?:所有|全部|我的)*的?(?P<what2>文档|文件|资料|记忆|技能)[?？。]?",
        ("What do you remember about Marit?", "知识库里有哪些文档？"),
    ),
    _form(
        FormName.SUMMARY,
        "`kb_search`, then the first sentences of the passages that fit best, each cited.",
        r"(?:please )?(?:can you |could you )?(?:summari[sz]e|sum up|give (?:me )?(?:a"
        r"|an) (?:short )?(?:summary|overview) of|what is the gist of)\s+(?P<topic>.+?)[?.]?",
        r"(?:请)?(?:总结|概括|概述|归纳|简述)(?:一下|下)?(?P<topic>.+?)(?:的(?:内容|要点|主要内容))?[?？。]?",
        ("Summarise the handbook.", "总结一下员工手册"),
    ),
    _form(
        FormName.HISTORY,
        "`memory_history` of the fact asked for and `memory_recall`, as of the time if one is named; values"
        " that held before.",
        r".*\b(?:before|previously|formerly|used to|earlier|in the past|originally|as of|back in"
        r"|at that time|former|previous|old)\b.*|(?=.*\b(?:was|were|did|had)\b).*\b(?:in|until|by|during"
        r"|on|before) (?:[\w,]+ ){0,3}(?:19|20|21)\d\d\b.*",
        r".*(?:以前|之前|曾经|原来|过去|从前|当时|上一[个任家份]|前任|旧的?).*|.*(?:19|20"
        r"|21)\d\d年.*(?:我|我们).*|.*(?:我|我们).*(?:19|20|21)\d\d年.*",
        ("Where did I live before?", "我以前住在哪里？"),
    ),
    _form(
        FormName.SKILL,
        "`skill_search` and `skill_get` beside the other reads; the steps that fit, cited.",
        r"(?:which|what) skills?\b.*|how (?:do|can|should|would) (?:i|we|you|one)\b.*|how to\b.*"
        r"|what (?:are|is) the (?:steps|procedure|process|workflow|instructions)\b.*|(?:show|tell"
        r"|explain)(?: me)? how\b.*",
        r".*(?:怎么|怎样|如何|步骤|流程|操作方法|哪个技能|哪些技能|什么技能).*",
        ("How do I make a release?", "怎么发布新版本？"),
    ),
    _form(
        FormName.FACTOID,
        "Memory, where of several values the one that holds now counts, then KB, then skills, each only if those before do"
        ' not answer; a sentence or two, cited. To "is it so" it is the sentence that says whether, never a bare yes.',
        r".*",
        r".*",
        ("Who approves flights?", "报销单由谁审核？"),
    ),
)
"""Tried from the top; the first whose pattern fits the whole question counts."""


_MAX_CHARS: Final = 2_000


def parse_question(text: str, language: str) -> Parsed:
    """The form of a question; every question has one."""
    question = " ".join(normalize_nfkc(text[:_MAX_CHARS]).replace("’", "'").split())
    for form in QUESTION_FORMS:
        match = form.match(question, language)
        if match is not None:
            named = {name.rstrip("2"): value.strip() for name, value in match.groupdict().items() if value}
            return Parsed(form.name, named)
    return Parsed(FormName.FACTOID, {})
