"""Histories that every provider accepts: each call has exactly one result, right after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamind.core.messages import Message, ToolCall, ToolResultBlock

INTERRUPTED = '{"error": {"code": "interrupted", "message": "The call was interrupted; it may have completed."}}'


def repair(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The same conversation, valid: missing results are filled in, stray ones and empty messages dropped.

    A history that is valid comes back equal, so repairing twice changes nothing.
    """
    repaired: list[Message] = []
    pending: tuple[ToolCall, ...] = ()
    for message in messages:
        if message.role == "tool":
            if pending:
                repaired.append(_answer(pending, message.results))
                pending = ()
            continue
        if pending:
            repaired.append(_answer(pending, ()))
            pending = ()
        if not message.blocks:
            continue
        repaired.append(message)
        pending = message.calls if message.role == "assistant" else ()
    if pending:
        repaired.append(_answer(pending, ()))
    return tuple(_from_first_user(repaired))


def interrupted_result(call: ToolCall, content: str = INTERRUPTED) -> ToolResultBlock:
    """The result of a call nobody saw the end of."""
    return ToolResultBlock(call_id=call.id, name=call.name, content=content, is_error=True)


def _answer(calls: Sequence[ToolCall], results: Sequence[ToolResultBlock]) -> Message:
    found: dict[str, ToolResultBlock] = {}
    for result in results:
        found.setdefault(result.call_id, result)
    blocks = tuple(found.get(call.id) or interrupted_result(call) for call in calls)
    return Message(role="tool", blocks=blocks)


def _from_first_user(messages: list[Message]) -> list[Message]:
    # A window cut out of a longer conversation may begin in the middle of a turn.
    first = next((i for i, message in enumerate(messages) if message.role == "user"), len(messages))
    return messages[first:]
