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
    }
)
"""What only StoreAgent holds."""


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
