"""Where tables and the graph join the reader: their next calls, and the answer that they make."""

from __future__ import annotations

from datamind_model_offline.conversation import Conversation
from datamind_model_offline.planning import PlannedCall


def table_stage(conversation: Conversation, language: str) -> list[PlannedCall]:
    """The next reads of tables."""
    if not conversation.holds("db"):
        return []
    from datamind_model_offline.tables.plan import ask_tables, table_calls

    asked = ask_tables(conversation, conversation.text, language)
    return table_calls(asked) if asked is not None else []


def structured_answer(conversation: Conversation, language: str) -> str:
    """What cells and statements answer, with citations; empty when they do not."""
    from datamind_model_offline.tables.plan import ask_tables, table_answer

    if any(step.name == "db_query_sql" for step in conversation.steps):
        asked = ask_tables(conversation, conversation.text, language)
        return table_answer(asked, language) if asked is not None else ""
    return ""
