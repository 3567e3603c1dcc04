"""What a planner decides: the next calls, or the final words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from datamind_model_offline.conversation import Conversation

WRITE_TOOLS: Final = frozenset(
    {
        *("memory_save", "memory_save_turns", "memory_update", "memory_forget"),
        *("kb_add_text", "kb_add_chunks", "kb_add_file", "kb_add_path", "kb_delete", "kb_reindex"),
        *("skill_upsert", "skill_delete"),
        *("db_import_csv", "db_import_path", "db_import_records", "db_create_table", "db_drop_table"),
        *("graph_upsert_triples", "graph_import_path", "graph_delete"),
    }
)
"""What only StoreAgent holds; others of its tools, such as a plugin's, need not be here."""
READ_TOOLS: Final = frozenset(
    {
        *("memory_recall", "memory_list", "memory_history", "memory_list_namespaces"),
        *("kb_search", "kb_get", "kb_list_documents", "kb_count", "skill_search", "skill_get", "skill_list"),
        *("db_list_tables", "db_describe_table", "db_query_sql", "db_sample"),
        *("graph_search_entities", "graph_neighbors", "graph_traverse", "graph_path", "graph_query", "graph_stats"),
        *("calculator", "unit_convert", "get_current_time", "analyze_text"),
    }
)
"""What only RetrieveAgent holds."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to ask for."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls, or, when there are none, the answer."""

    calls: tuple[PlannedCall, ...] = ()
    text: str = ""


def known_arguments(conversation: Conversation, call: PlannedCall) -> PlannedCall:
    """The call without empty arguments and without those its tool does not know."""
    schema = conversation.tools[call.name].input_schema
    known = schema.get("properties")
    arguments = {
        name: value
        for name, value in call.arguments.items()
        if value not in ("", None, False) and (not isinstance(known, dict) or name in known)
    }
    return PlannedCall(call.name, arguments)
