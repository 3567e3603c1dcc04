"""Where tables and the graph join the reader: their next calls, and the answer that they make."""

from __future__ import annotations

import re
from typing import Final

from datamind_model_offline.conversation import Conversation
from datamind_model_offline.passages import Found, shown_text
from datamind_model_offline.planning import PlannedCall

_MINE: Final = (
    re.compile(r"my (?P<what>[\w' -]{2,60}?) is (?:called )?(?:the )?(?P<value>[^.;,]{1,80}?)\.?", re.IGNORECASE),
    re.compile(
        r"我(?P<what>的|最?喜欢的[\u4e00-\u9fff]{1,12}?|的[\u4e00-\u9fff]{1,12}?)(?:是|叫)(?P<value>[^。，；]{1,60}?)。?"
    ),
)
_PART: Final = re.compile(
    r"[,，;；]?\s*\b(?:and|also)\s+(?=(?:how|what|which|who|whose|when|where)\b)"
    r"|[,，;；]\s*(?:以及|还有|并且)?(?=[^,，;；]*(?:多少|几|谁|哪|什么))|(?:以及|还有)(?=[^,，]*(?:多少|几|谁|哪|什么))",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(r"\b(?:how|what|which|who|whose|when|where)\b|多少|几|谁|哪|什么", re.IGNORECASE)
_POINTS: Final = re.compile(r"\b(?:it|its|they|them|their|he|him|his|she|her|there|that|those|this)\b|[他她它其]|那")
_FRONT: Final = re.compile(r"(?:the person who |the one who |whoever |the |an? )+\Z", re.IGNORECASE)


def parts_of(conversation: Conversation) -> list[str]:
    """The two questions that one asks where tables or a graph may answer one of them; else the one."""
    text = conversation.text
    if not (conversation.holds("db") or conversation.holds("graph")):
        return [text]
    parts = [part.strip() for part in _PART.split(text, maxsplit=1) if part.strip()]
    whole = len(parts) == 2 and all(_ASKS.search(part) for part in parts) and not _POINTS.search(parts[1].lower())
    return parts if whole else [text]


def table_stage(conversation: Conversation, language: str) -> list[PlannedCall]:
    """The next reads of tables."""
    if not conversation.holds("db"):
        return []
    from datamind_model_offline.tables.plan import ask_tables, table_calls

    asked = ask_tables(conversation, _resolved(conversation)[0], language)
    return table_calls(asked) if asked is not None else []


def graph_stage(conversation: Conversation, language: str) -> list[PlannedCall]:
    """The next reads of the graph."""
    if not conversation.holds("graph"):
        return []
    from datamind_model_offline.graph.asked import ask_graph
    from datamind_model_offline.graph.plan import graph_calls

    asked = ask_graph(conversation, _resolved(conversation)[0], language)
    return graph_calls(asked) if asked is not None else []


def bridge_stage(conversation: Conversation, language: str) -> list[PlannedCall]:
    """The next reads for a cell of someone whom the graph names: "the fee of the head of the ward"."""
    if not (conversation.holds("db") and conversation.holds("graph")):
        return []
    from datamind_model_offline.graph.asked import ask_graph
    from datamind_model_offline.graph.plan import graph_calls
    from datamind_model_offline.tables.plan import ask_tables, table_calls

    span = _described_span(conversation, language)
    if span is None:
        return []
    inner = ask_graph(conversation, span, language)
    bridged = _bridged(conversation, language)
    if bridged:
        asked = ask_tables(conversation, bridged, language)
        return table_calls(asked) if asked is not None else []
    return graph_calls(inner) if inner is not None else []


def structured_answer(conversation: Conversation, language: str) -> str:
    """What cells and statements answer, with citations; empty when they do not."""
    question, memory = _resolved(conversation)
    found = _from_tables(conversation, question, language) or _from_graph(conversation, question, language)
    if found:
        return f"{found}\n{shown_text(memory.content)} [{memory.cite}]" if memory is not None else found
    return _from_both(conversation, language)


def nearest_names(conversation: Conversation, language: str) -> tuple[str, str, list[str]] | None:
    """What no column of the table that is meant is called, that table, and what its columns are called."""
    if not any(step.name == "db_list_tables" and not step.failed for step in conversation.steps):
        return None
    from datamind_model_offline.tables.nearest import nearest_columns
    from datamind_model_offline.tables.plan import ask_tables

    asked = ask_tables(conversation, conversation.text, language)
    return nearest_columns(asked) if asked is not None else None


def _resolved(conversation: Conversation) -> tuple[str, Found | None]:
    """The question with "my favourite river" as the memory that was found calls it, and that memory."""
    text = conversation.text
    for step in conversation.steps:
        for item in step.found if step.name == "memory_recall" else ():
            for pattern in _MINE:
                match = pattern.fullmatch(item.content.strip())
                mine = "" if match is None else f"{'my ' if pattern is _MINE[0] else '我'}{match['what']}"
                at = text.lower().find(mine.lower()) if mine else -1
                if match is not None and at >= 0:
                    return f"{text[:at]}{match['value']}{text[at + len(mine) :]}", item
    return text, None


def _described_span(conversation: Conversation, language: str) -> str | None:
    from datamind_model_offline.graph.asked import ask_graph
    from datamind_model_offline.graph.plan import described

    asked = ask_graph(conversation, conversation.text, language)
    return described(asked) if asked is not None else None


def _bridged(conversation: Conversation, language: str) -> str:
    """The question with the one name that the graph gives in the place of the words that describe it."""
    from datamind_model_offline.graph.asked import ask_graph
    from datamind_model_offline.graph.plan import answer_names

    span = _described_span(conversation, language)
    inner = ask_graph(conversation, span, language) if span else None
    names = answer_names(inner) if inner is not None else []
    if span is None or len(names) != 1:
        return ""
    before, _, behind = conversation.text.partition(span)
    return f"{_FRONT.sub('', before)}{names[0].replace('_', ' ')}{behind}"


def _from_both(conversation: Conversation, language: str) -> str:
    names = {step.name for step in conversation.steps}
    if not {"db_query_sql", "graph_neighbors"} <= names:
        return ""
    from datamind_model_offline.graph.asked import ask_graph
    from datamind_model_offline.graph.plan import graph_answer

    bridged = _bridged(conversation, language)
    cell = _from_tables(conversation, bridged, language) if bridged else ""
    span = _described_span(conversation, language)
    inner = ask_graph(conversation, span, language) if cell and span else None
    return f"{cell}\n{graph_answer(inner, language)}" if inner is not None else ""


def _from_tables(conversation: Conversation, question: str, language: str) -> str:
    if not any(step.name == "db_query_sql" for step in conversation.steps):
        return ""
    from datamind_model_offline.tables.plan import ask_tables, table_answer

    asked = ask_tables(conversation, question, language)
    return table_answer(asked, language) if asked is not None else ""


def _from_graph(conversation: Conversation, question: str, language: str) -> str:
    if not any(step.name in ("graph_neighbors", "graph_path") for step in conversation.steps):
        return ""
    from datamind_model_offline.graph.asked import ask_graph
    from datamind_model_offline.graph.plan import graph_answer

    asked = ask_graph(conversation, question, language)
    return graph_answer(asked, language) if asked is not None else ""
