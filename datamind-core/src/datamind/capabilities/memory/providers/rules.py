"""What every memory store decides alike: which drafts it takes, and what counts as the same."""

from __future__ import annotations

from datamind.core.errors import InputInvalid
from datamind.core.protocols.memory import MemoryDraft, MemoryFilter, MemoryItem, MemoryScope


def name_key(name: str) -> str:
    """By which two subjects, or two attributes, are compared."""
    return name.strip().casefold()


def content_key(memory: MemoryDraft | MemoryItem) -> tuple[str, ...]:
    """By which two memories are equal: all that they say and to whom, not who wrote them or when."""
    return (
        memory.scope,
        memory.session,
        memory.kind,
        memory.text.strip(),
        name_key(memory.subject),
        name_key(memory.attribute),
        memory.value.strip(),
    )


def check_draft(draft: MemoryDraft) -> None:
    """Refuse a draft that no reader could see rightly.

    Raises:
        InputInvalid: No id; a session outside the scope ``session`` or none inside it; a functional fact without
            subject or attribute, which would close every memory that has none.
    """
    if not draft.memory_id:
        raise InputInvalid("a memory draft needs a memory_id")
    if (draft.scope is MemoryScope.SESSION) != bool(draft.session):
        raise InputInvalid(
            f"scope {draft.scope.value!r} does not go with session {draft.session[:60]!r}",
            hint="Give a session exactly when the scope is `session`.",
        )
    if draft.functional and not (name_key(draft.subject) and name_key(draft.attribute)):
        raise InputInvalid(
            f"functional memory {draft.memory_id[:60]!r} lacks a subject or an attribute",
            hint="Give both, or save it as not functional.",
        )


def check_page(where: MemoryFilter, limit: int, offset: int = 0) -> None:
    """Refuse a read that has no answer.

    Raises:
        InputInvalid: ``limit`` below 1, ``offset`` below 0, or an ``as_of`` without a zone.
    """
    if limit < 1 or offset < 0:
        raise InputInvalid(f"limit {limit!r} must be at least 1 and offset {offset!r} at least 0")
    if where.as_of is not None and where.as_of.tzinfo is None:
        raise InputInvalid(f"as_of {where.as_of.isoformat()} needs a zone")
