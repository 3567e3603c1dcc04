"""Everything the client says in words of its own, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from datamind.capabilities.text.language import detect_language

_TEXTS: Final = {
    "en": {
        "nothing": "I found nothing about “{question}” in {surfaces}.",
        "no_column": "Nothing in the table {table} is called “{word}”; its columns are {columns}.",
        "nowhere": "Nothing is stored that I could search.",
        "failed_read": "{surface} could not be searched: {message}",
        "no_question": "There is no question to answer.",
        "read_only": "I can only look things up here. What should be remembered goes to StoreAgent.",
        "count": "There are {count} {what}.",
        "none_stored": "There are no {what}.",
        "documents": "Documents: {names}",
        "skills": "Skills: {names}",
        "more": "{count} more",
        "saved": "Saved to {surface}: {label}",
        "superseded": "Saved to {surface}, in place of what held before: {label}",
        "replaced": "Replaced in {surface}: {label}",
        "removed": "Removed from {surface}: {label}",
        "unchanged": "Unchanged in {surface}: {label}",
        "partial": "Only partly saved to {surface}: {label}",
        "failed": "Not saved to {surface}: {label}. {message}",
        "not_removed": "Nothing was removed from {surface}: {label}. {message}",
        "nothing_to_do": "There is nothing to save.",
        "no_surface": "Nothing was saved: no surface here takes {what}.",
        "ask_elsewhere": "Nothing was saved. This is a question; RetrieveAgent answers it.",
        "what_text": "a text",
        "what_skill": "skills",
        "what_path": "files",
        "what_table": "tables",
        "memory_off": "Memory is off here, so I do not know what you told me.",
        "none_to_remove": "Nothing was removed: {what} are off here.",
        "what_forget_memory": "memories",
        "what_forget_document": "documents",
        "what_forget_skill": "skills",
        "what_forget_table": "tables",
        "receipts": "(receipt {ids})",
        "and": " and ",
        "comma": ", ",
        "memory": "memory",
        "kb": "the knowledge base",
        "skills_surface": "the skills",
        "db": "the tables",
        "graph": "the graph",
        "utility": "the utilities",
    },
    "zh": {
        "nothing": "在{surfaces}中没有找到关于“{question}”的内容。",
        "no_column": "表 {table} 中没有叫“{word}”的内容；它的列有{columns}。",
        "nowhere": "目前没有可供查找的内容。",
        "failed_read": "无法查找{surface}：{message}",
        "no_question": "没有要回答的问题。",
        "read_only": "这里只能查询；需要记住的内容请交给 StoreAgent。",
        "count": "共有 {count} 个{what}。",
        "none_stored": "没有{what}。",
        "documents": "文档：{names}",
        "skills": "技能：{names}",
        "more": "另有 {count} 个",
        "saved": "已保存到{surface}：{label}",
        "superseded": "已保存到{surface}，取代了之前的内容：{label}",
        "replaced": "已在{surface}中更新：{label}",
        "removed": "已从{surface}中删除：{label}",
        "unchanged": "{surface}中没有变化：{label}",
        "partial": "只有一部分保存到{surface}：{label}",
        "failed": "未能保存到{surface}：{label}。{message}",
        "not_removed": "没有从{surface}中删除任何内容：{label}。{message}",
        "nothing_to_do": "没有需要保存的内容。",
        "no_surface": "没有保存：这里没有可以存放{what}的地方。",
        "ask_elsewhere": "没有保存。这是一个问题，请向 RetrieveAgent 提问。",
        "what_text": "文本",
        "what_skill": "技能",
        "what_path": "文件",
        "what_table": "表格",
        "memory_off": "这里没有启用记忆，所以不知道您说过什么。",
        "none_to_remove": "没有删除任何内容：这里没有启用{what}。",
        "what_forget_memory": "记忆",
        "what_forget_document": "文档",
        "what_forget_skill": "技能",
        "what_forget_table": "表格",
        "receipts": "（回执 {ids}）",
        "and": "和",
        "comma": "、",
        "memory": "记忆",
        "kb": "知识库",
        "skills_surface": "技能库",
        "db": "数据表",
        "graph": "图谱",
        "utility": "工具",
    },
}


def language_of(text: str) -> str:
    """``zh`` for Chinese words, else ``en``: the languages the client speaks."""
    return "zh" if detect_language(text) == "zh" else "en"


def say(language: str, key: str, **values: object) -> str:
    """A sentence of the catalogue; braces in ``values`` are left alone."""
    return _TEXTS[language][key].format(**values)


def surface_name(language: str, surface: str) -> str:
    """A surface in a sentence."""
    texts = _TEXTS[language]
    return texts.get("skills_surface" if surface == "skills" else surface, surface)


def joined(language: str, words: Iterable[str]) -> str:
    """A list in a sentence."""
    items = list(words)
    texts = _TEXTS[language]
    if len(items) < 2:
        return "".join(items)
    return texts["comma"].join(items[:-1]) + texts["and"] + items[-1]
