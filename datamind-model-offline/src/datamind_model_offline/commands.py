"""What a message to StoreAgent asks for, by its first words; nothing but the user's own message is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from datamind.capabilities.text.sentences import split_sentences
from datamind.core.lazy_pattern import lazy_pattern


class CommandName(StrEnum):
    """What can be asked for."""

    REMEMBER = "remember"
    FORGET = "forget"
    CHANGE = "change"
    DELETE_DOCUMENT = "delete document"
    DELETE_SKILL = "delete skill"
    DROP_TABLE = "delete table"
    STORE_ROWS = "store rows"
    KEEP_TEXT = "keep text"


@dataclass(frozen=True, slots=True)
class CommandForm:
    """One row of the table: patterns by language with the named parts the plan needs, and an example of each."""

    name: CommandName
    does: str
    patterns: Mapping[str, str]
    examples: Mapping[str, str]

    def match(self, text: str, language: str) -> re.Match[str] | None:
        """Whether a whole text has this form."""
        return _compiled(self.patterns[language]).fullmatch(text)


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its parts."""

    name: CommandName
    parts: Mapping[str, str]


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    # On use: a command starts sooner without the forms of the other language.
    return lazy_pattern(pattern, re.IGNORECASE | re.DOTALL)


def _form(name: CommandName, does: str, en: str, zh: str, examples: tuple[str, str]) -> CommandForm:
    return CommandForm(name, does, {"en": en, "zh": zh}, dict(zip(("en", "zh"), examples, strict=True)))


_POLITE: Final = r"(?:please[,:]?\s+|can you\s+|could you\s+|i want you to\s+|hey,?\s+)*"
_ZH_POLITE: Final = r"(?:请|麻烦|帮我|你|务必|一定要|给我)*"

# What is named decides where something is removed: a document that is not there is no reason to forget a memory.
_REMOVE: Final = rf"{_POLITE}(?:delete|remove|drop|forget|erase|discard)\s+(?:about\s+)?(?:(?:all|the|both)\s+)*"
_ZH_DELETE: Final = rf"{_ZH_POLITE}(?:删除|删掉|删了|移除|去掉|清除)"
_ZH_REMOVE: Final = rf"(?:{_ZH_DELETE}|{_ZH_POLITE}(?:忘记|忘掉|忘了))\s*(?:那个|那[份篇张]|这个|这[份篇张])?\s*"
_CALLED: Final = r"(?:about|called|named|titled|on|for|with)\s+"
_QUOTE: Final = "[\"“”'`‘’《》「」]*"
_ZH_END: Final = r"(?:吧|了)*[。！!.]?"
_NO_NAME: Final = r"(?:i|that|is|are|was|were|on|in|at|my)\b"


_EN_ROWS: Final = r"(?:csv|json|new\s+)?\s*(?:rows?|records?|lines?|tables?|data|csv|json|entries)"
_ZH_ROWS: Final = r"(?:的)?(?:几)?[行条]?(?:新的?)?(?:数据|记录|行|表格|CSV|JSON)"
_ZH_STORE: Final = r"(?:保存|存储|存入|存|导入|添加|加入|录入|插入|写入|放入|放)"
_ZH_INTO: Final = (
    rf"(?:到|进|入|在)?(?:(?:数据表|表格|表)\s*)?{_QUOTE}(?P<table#>[\w.-]+?){_QUOTE}(?:数据表|表格|表)?[里中]?"
)


def _named(nouns: str, owner: str = "") -> str:
    """The noun in front of the name, or the name, a few words, in front of the noun."""
    return (
        rf"{_REMOVE}{owner}(?:{nouns})\b[\s:]*(?:{_CALLED})?{_QUOTE}(?P<target>.+?){_QUOTE}(?:\s+from\s+.+?)?[.!]?"
        rf"|{_REMOVE}{_QUOTE}(?P<target2>(?:(?!{_NO_NAME})[\w.-]+ ){{0,3}}(?!{_NO_NAME})[\w.-]+){_QUOTE}\s+(?:{nouns})[.!]?"
    )


def _zh_named(nouns: str, alone: str) -> str:
    """The same in Chinese; ``alone`` are nouns that are more than the end of another word."""
    return (
        rf"{_ZH_REMOVE}(?:{nouns})\s*[:：]?{_QUOTE}(?P<target>.+?){_QUOTE}{_ZH_END}"
        rf"|{_ZH_REMOVE}(?:关于|有关|叫|名为)?{_QUOTE}(?P<target2>.+?){_QUOTE}的(?:那[个份篇张])?(?:{alone}){_ZH_END}"
        rf"|(?:{_ZH_DELETE}|{_ZH_REMOVE}(?:关于|有关|[“\"《「]))\s*{_QUOTE}(?P<target22>.+?){_QUOTE}(?:{alone}){_ZH_END}"
    )


COMMAND_FORMS: Final = (
    _form(
        CommandName.DELETE_SKILL,
        "`skill_delete`, by name",
        _named("skills?", "(?:my |our )?"),
        _zh_named("技能", "技能"),
        ("Delete the skill release-notes.", "删除技能 release-notes"),
    ),
    _form(
        CommandName.DROP_TABLE,
        "`db_drop_table`, by name",
        _named("tables?"),
        _zh_named("数据表|表格|表", "数据表|表格"),
        ("Delete the table sales.", "删除表 sales"),
    ),
    _form(
        CommandName.DELETE_DOCUMENT,
        "`kb_delete`, by file name or by words; a person decides if several fit",
        _named("documents?|files?|texts?|pages?|pdfs?|articles?", "(?:my |our )?"),
        _zh_named("文档|文件|资料|文章", "文档|文件|资料|文章"),
        ("Delete the document old-plan.md.", "删除文档 old-plan.md"),
    ),
    _form(
        CommandName.FORGET,
        "`memory_forget` by words; a person decides if several fit",
        rf"{_POLITE}(?:forget|(?:delete|remove|erase) (?=(?:the |my )?(?:memor(?:y|ies)|notes?)\b|everything\b"
        r"|what (?:i|you)\b|that (?:i|my|we|our)\b))"
        r"\s*(?:(?:the |my )?(?:memor(?:y|ies)|notes?)\s+|everything\s+|what i said\s+|what you know\s+)?"
        r"(?:that\s+|about\s+|of\s+)?(?P<target>.+?)[.!]?",
        rf"{_ZH_POLITE}(?:忘记|忘掉|忘了(?=我|关于|有关))\s*(?:关于|有关)?(?P<target>.+?)(?:这件事|的?记忆|的事|的?笔记)?[。！吧]*"
        rf"|{_ZH_POLITE}(?:删除|删掉|移除)\s*(?:关于|有关)?(?P<target2>.+?)(?:这件事|的?记忆|的?笔记)[。！吧]*",
        ("Forget that I like tea.", "忘记我喜欢喝茶"),
    ),
    _form(
        CommandName.CHANGE,
        "`memory_save` of a value that replaces the one before; of other words `memory_update`",
        rf"{_POLITE}(?:update|change|set|correct|replace)\s+(?P<what>(?:my|our)\b.+?|the .+? of .+?|\S+'s .+?)\s+"
        r"(?:to|with|as)\s+(?P<value>.+?)[.!]?",
        rf"{_ZH_POLITE}(?:把|将)(?P<what>(?:我|我们).+?|.+?的.+?)(?:改成|改为|更新为|更新成|换成|设为|设成)(?P<value>.+?)[。！]?"
        rf"|{_ZH_POLITE}(?:更新|修改|更改)(?P<what2>(?:我|我们).+?|.+?的.+?)(?:为|成|到)(?P<value2>.+?)[。！]?",
        ("Change my locker number to 31.", "把我的车牌号改成A123"),
    ),
    _form(
        CommandName.REMEMBER,
        "`memory_save`, one for each sentence",
        rf"{_POLITE}(?:remember|memori[sz]e|note that|note down|take note|make a note|keep in mind|bear in mind"
        rf"|don't forget|do not forget|save to memory|for the record)\b[\s,:]*(?:this"
        rf"|the following)?[\s,:]*(?:that\b|:)?\s*(?P<text>.+)",
        rf"{_ZH_POLITE}(?:记住|记下来?|记一下|牢记|别忘了?|不要忘记?了?|备忘|记录一?下)[，,：:\s]*(?P<text>.+)",
        ("Remember that I like tea.", "记住：我喜欢喝茶"),
    ),
    _form(
        CommandName.STORE_ROWS,
        "`db_import_records` of JSON (an array, an object, an object a line) or CSV with a line of names, typed as an"
        " import types them; of other text `kb_add_text`",
        rf"{_POLITE}(?:store|save|keep|add|import|insert|put|record|load)\s+(?:(?:this|these|the|following|\d+)\s+)*"
        rf"{_EN_ROWS}(?:\s+(?:in|into|to|as)\s+(?:(?:the|my|a)\s+)?(?:table\s+)?"
        rf"{_QUOTE}(?P<table>[\w.-]+(?: [\w.-]+){{0,3}}?){_QUOTE}(?:\s+table)?)?\s*[:：]\s*(?P<text>.+)",
        rf"{_ZH_POLITE}[把将]?(?:以下|这些|下面|这几|这){_ZH_ROWS}(?:{_ZH_STORE}(?:{_ZH_INTO.replace('#', '')})?)?"
        r"\s*[：:]\s*(?P<text>.+)"
        rf"|{_ZH_POLITE}{_ZH_STORE}(?:以下|这些|下面|这几|这)?{_ZH_ROWS}(?:{_ZH_INTO.replace('#', '2')})?"
        r"\s*[：:]\s*(?P<text2>.+)",
        (
            'Store these rows in the table sales: [{"city": "Rome", "amount": 3}]',
            '把以下数据存入表 sales：[{"city": "罗马", "amount": 3}]',
        ),
    ),
    _form(
        CommandName.KEEP_TEXT,
        "`kb_add_text`",
        rf"{_POLITE}(?:store|save|keep|add|ingest|index)\s+(?:this"
        rf"|the following)(?:\s+\w+){{0,3}}?(?:\s+(?:in|to|into)\s+(?:the|my)\s+(?:knowledge base"
        rf"|kb))?\s*:\s*(?P<text>.+)",
        rf"{_ZH_POLITE}(?:保存|存储|存入|收录|添加)(?:以下|这段|下面|这些)?(?:文本|内容|资料"
        rf"|文字)?(?:到知识库)?\s*[：:]\s*(?P<text>.+)",
        ("Store this text: The pump is checked every May.", "保存以下内容：水泵每年五月检查"),
    ),
)
"""Tried from the top; the first whose pattern fits the whole message counts."""


# "Remove the seeds. Fry the rest." is a recipe: a command to change or remove is one short sentence.
_MAX_CHARS: Final = 300
_OF_ANY_LENGTH: Final = frozenset({CommandName.REMEMBER, CommandName.STORE_ROWS, CommandName.KEEP_TEXT})


def parse_command(text: str, language: str) -> Command | None:
    """The command a message begins with, if it is one."""
    body = text.strip()
    for form in COMMAND_FORMS:
        if form.name not in _OF_ANY_LENGTH and (len(body) > _MAX_CHARS or len(split_sentences(body)) > 1):
            continue
        match = form.match(body, language)
        if match is not None:
            parts = {name.rstrip("2"): value.strip() for name, value in match.groupdict().items() if value}
            return Command(form.name, parts)
    return None


_SCOPES: Final = (
    (
        "session",
        lazy_pattern(
            r"[\s,，;；(（]*(?:\b(?:just |only )?(?:for|in|during) (?:this|the current) (?:session|conversation"
            r"|chat)\b(?: only)?|(?:仅|只)?(?:在)?(?:本次|这次|当前)(?:会话|对话|聊天)(?:中|里|内"
            r"|有效)*)[,，:：)）]*\s*",
            re.IGNORECASE,
        ),
    ),
    (
        "global",
        lazy_pattern(
            r"[\s,，;；(（]*(?:\b(?:everywhere|globally|across all (?:profiles|projects)|(?:for|in) (?:all"
            r"|every) (?:my )?(?:profiles?|projects?))\b|(?:在|对)?(?:所有|全部|每个)(?:的)?(?:项目|档案|配置"
            r"|工作区)(?:中|里|都|通用)*|全局(?:地|都)?)[,，:：)）]*\s*",
            re.IGNORECASE,
        ),
    ),
)


def take_scope(text: str) -> tuple[str, str]:
    """The scope that words such as "for this session" name, and the text without them; empty when none does."""
    for scope, pattern in _SCOPES:
        if pattern.search(text):
            rest = pattern.sub(" ", text, count=1).strip()
            return scope, re.sub(r"\s+(?=[.!?。！？,，])", "", rest)
    return "", text


_SAID: Final = lazy_pattern(
    r"\A\s*[(（\[]\s*(?:said|noted|written|记于|说于)\s*(?:on|at)?\s*"
    r"(?P<day>\d{4}-\d{2}-\d{2})(?P<time>T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(?P<zone>Z|[+-]\d{2}:\d{2})?\s*[)）\]]\s*[:：,，]?\s*",
    re.IGNORECASE,
)


def take_said(text: str) -> tuple[str, str]:
    """When words such as "(said on 2031-05-01)" in front say that it was said, and the text without them."""
    match = _SAID.match(text)
    if match is None:
        return "", text
    return f"{match['day']}{match['time'] or 'T00:00:00'}{match['zone'] or 'Z'}", text[match.end() :]


_KINDS: Final = (
    (
        "decision",
        lazy_pattern(
            r"\b(?:decided|decision|agreed|chose|chosen|settled on|opted|will go with|going with)\b|决定|选定|敲定"
            r"|商定|定下|选择了|确定用",
            re.IGNORECASE,
        ),
    ),
    (
        "workflow",
        lazy_pattern(
            r"\b(?:every (?:time|day|week|month|morning|evening|monday|tuesday|wednesday|thursday|friday)|whenever"
            r"|(?:always|first) .*\b(?:before|after|then)\b|before (?:each|every)|after (?:each|every)|steps?:"
            r"|workflow|procedure|process is)\b|每次|每当|每天|每周|每月|每个月|流程|步骤|先.+再|之前先|都要先",
            re.IGNORECASE,
        ),
    ),
    (
        "preference",
        lazy_pattern(
            r"\b(?:prefer|prefers|preferred|like|likes|love|enjoy|hate|dislike|favou?rite|rather|please (?:always"
            r"|never)|always (?:answer|use|write|call|reply)|never (?:answer|use|write|call|reply)|i want (?:you"
            r"|answers|replies)|don't like)\b|喜欢|偏好|讨厌|不喜欢|习惯|希望|最爱|不吃|不喝|请(?:总是|始终|一律"
            r"|不要|别)",
            re.IGNORECASE,
        ),
    ),
)


def kind_of(text: str) -> str:
    """What sort of memory a sentence is, by its words; ``fact`` when nothing tells."""
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), "fact")
