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


def graph_stage(conversation: Conversation, language: str) -> list[PlannedCall]:
    """The next reads of the graph."""
    if not conversation.holds("graph"):
        return []
    from datamind_model_offline.graph.plan import ask_graph, graph_calls

    asked = ask_graph(conversation, conversation.text, language)
    return graph_calls(asked) if asked is not None else []


def structured_answer(conversation: Conversation, language: str) -> str:
    """What cells and statements answer, with citations; empty when they do not."""
    return _from_tables(conversation, conversation.text, language) or _from_graph(
        conversation, conversation.text, language
    )


def _from_tables(conversation: Conversation, question: str, language: str) -> str:
    if not any(step.name == "db_query_sql" for step in conversation.steps):
        return ""
    from datamind_model_offline.tables.plan import ask_tables, table_answer

    asked = ask_tables(conversation, question, language)
    return table_answer(asked, language) if asked is not None else ""


def _from_graph(conversation: Conversation, question: str, language: str) -> str:
    if not any(step.name == "graph_neighbors" or step.name == "graph_path" for step in conversation.steps):
        return ""
    from datamind_model_offline.graph.plan import ask_graph, graph_answer

    asked = ask_graph(conversation, question, language)
    return graph_answer(asked, language) if asked is not None else ""
