"""Questions about what is stored: how much, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind_model_offline.conversation import Conversation, Step
from datamind_model_offline.grammar import FormName, Parsed
from datamind_model_offline.passages import shown_text
from datamind_model_offline.planning import PlannedCall
from datamind_model_offline.replies import joined, say

_SHOWN: Final = 10
_SKILLS: Final = ("skill", "skills", "技能")
_DOCUMENTS: Final = frozenset(
    "document documents file files text texts passage passages chunk chunks 文档 文件 资料".split()  # noqa: SIM905
)
_SELF: Final = frozenset({"me", "myself", "us", "我", "我们", "我的"})


def calls(conversation: Conversation, parsed: Parsed) -> list[PlannedCall]:
    """The one read that tells."""
    what = parsed.parts.get("what", "")
    if what in _SKILLS:
        return [PlannedCall("skill_list", {})]
    if what in _DOCUMENTS:
        if parsed.form is FormName.COUNT:
            return [PlannedCall("kb_count", {})]
        return [PlannedCall("kb_list_documents", {"limit": 50})]
    topic = parsed.parts.get("topic", "")
    if topic and topic.casefold() not in _SELF:
        return [PlannedCall("memory_recall", {"query": topic, "top_k": _SHOWN})]
    return [PlannedCall("memory_list", {"limit": _SHOWN})]


def text(conversation: Conversation, parsed: Parsed, language: str) -> str:
    """What the reads told, or an empty string when they told nothing."""
    steps = [step for step in conversation.steps if not step.failed]
    if not steps:
        return ""
    last = steps[-1]
    what = parsed.parts.get("what", "")
    if parsed.form is FormName.COUNT:
        return _count(last, what, language)
    if last.name == "kb_list_documents":
        return _names(_rows(last.data, "documents"), ("title", "uri"), "documents", last, language)
    if last.name == "skill_list":
        return _names(_rows(last.data, "skills"), ("name",), "skills", last, language)
    return "\n".join(f"{shown_text(item.content)} [{item.cite}]" for item in last.found[:_SHOWN])


def document_named(conversation: Conversation, topic: str) -> str:
    """The uri of the one listed document whose title or name has every word of ``topic``, else an empty string."""
    wanted = set(tokenize(topic))
    rows = [
        row for step in conversation.steps if step.name == "kb_list_documents" for row in _rows(step.data, "documents")
    ]
    named = [
        row for row in rows if wanted and wanted <= set(tokenize_for_index(f"{row.get('title')} {row.get('uri')}"))
    ]
    return str(named[0].get("uri", "")) if len(named) == 1 else ""


def _rows(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = data.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _count(step: Step, what: str, language: str) -> str:
    if step.name == "skill_list":
        number: object = len(_rows(step.data, "skills"))
    elif step.name == "kb_count":
        key = "chunks" if what.startswith(("passage", "chunk")) else "documents"
        number = step.data.get(key)
    else:
        number = step.data.get("total", len(step.found))
    if not isinstance(number, int):
        return ""
    return say(language, "count", count=number, what=what) if number else say(language, "none_stored", what=what)


def _names(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], label: str, step: Step, language: str) -> str:
    if not rows:
        return ""
    names = [next((str(row[key]) for key in keys if row.get(key)), "") for row in rows[:_SHOWN]]
    total = step.data.get("total", len(rows))
    rest = int(total) - len(names) if isinstance(total, int) else 0
    shown = [shown_text(name) for name in names] + ([say(language, "more", count=rest)] if rest > 0 else [])
    return say(language, label, names=joined(language, shown))
