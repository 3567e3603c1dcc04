"""Memories, filters and queries made in one line, with the tokens that the product gives them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.protocols.memory import (
    MemoryDraft,
    MemoryFilter,
    MemoryItem,
    MemoryKind,
    MemoryQuery,
    MemoryReader,
    MemoryScope,
)
from datamind.core.types import new_id

ALL_SCOPES: Final = tuple(MemoryScope)
_FIRST_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    """That many days after the first one."""
    return _FIRST_DAY + timedelta(days=number)


def make_memory(text: str, *, at: float = 0, **fields: Any) -> MemoryDraft:
    """A draft with a new id, true since ``day(at)``; further arguments are fields of MemoryDraft.

    Without others it is a fact of the profile. Tokens are those of text, subject, attribute and value.
    """
    words = (text, *(fields.get(name, "") for name in ("subject", "attribute", "value")))
    values: dict[str, Any] = {
        "memory_id": new_id("mem"),
        "scope": MemoryScope.PROFILE,
        "kind": MemoryKind.FACT,
        "text": text,
        "valid_from": day(at),
        "origin": "user",
        "receipt_id": new_id("rcpt"),
        "tokens": tuple(tokenize_for_index(" ".join(words))),
    }
    return MemoryDraft(**(values | fields))


def make_home(city: str, *, at: float = 0, **fields: Any) -> MemoryDraft:
    """A functional fact: where the user lives, since ``day(at)``."""
    fact = {"subject": "user", "attribute": "home", "value": city, "functional": True}
    return make_memory(f"I live in {city}.", at=at, **(fact | fields))


def make_filter(**conditions: Any) -> MemoryFilter:
    """A filter over the profile unless ``scopes`` says otherwise."""
    return MemoryFilter(**({"scopes": (MemoryScope.PROFILE,)} | conditions))


def make_memory_query(
    text: str, limit: int = 10, *, vector: bytes = b"", model_id: str = "", **where: Any
) -> MemoryQuery:
    """A query with the tokens of its text; further arguments are those of ``make_filter``."""
    tokens = tuple(tokenize(text))
    return MemoryQuery(tokens=tokens, where=make_filter(**where), limit=limit, vector=vector, model_id=model_id)


async def recalled(reader: MemoryReader, text: str, limit: int = 10, **where: Any) -> list[str]:
    """Texts of a recall, in order."""
    return [hit.item.text for hit in await reader.recall(make_memory_query(text, limit, **where))]


async def texts(reader: MemoryReader, **where: Any) -> list[str]:
    """Texts of all that a filter lets through, in order."""
    return [item.text for item in await reader.find(make_filter(**where), limit=1000)]


async def history(reader: MemoryReader, **where: Any) -> dict[str, MemoryItem]:
    """Id to item of all that a filter lets through, closed ones too."""
    items = await reader.find(make_filter(include_closed=True, **where), limit=1000)
    return {item.memory_id: item for item in items}
