"""Histories that every provider accepts: each call has exactly one result, right after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from datamind.core.messages import (
    Block,
    MediaBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
)

INTERRUPTED: Final = '{"error": {"code": "interrupted", "message": "The call was interrupted; it may have completed."}}'

_MEDIA_BYTES: Final = 6_000
_BLOCKS_OF: Final = {
    "user": (TextBlock, MediaBlock),
    "assistant": (TextBlock, ThinkingBlock, ToolCallBlock),
    "tool": (ToolResultBlock,),
}


def repair(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The same conversation, valid, with nothing invented.

    Missing results are filled in; stray ones, empty messages and blocks that are not their party's are dropped; ids
    are unique and text is such that UTF-8 can hold it. A valid history comes back equal, so repairing twice changes
    nothing.
    """
    repaired: list[Message] = []
    taken: set[str] = set()
    pending: list[tuple[str, ToolCall]] = []
    results: list[ToolResultBlock] = []
    for message in messages:
        known = _known_blocks(message)
        if known.role == "tool":
            results += known.results
            continue
        _close(repaired, pending, results)
        own = with_own_ids(known, taken)
        if own.blocks:
            repaired.append(own)
            pending += [(before.id, after) for before, after in zip(known.calls, own.calls, strict=True)]
    _close(repaired, pending, results)
    return tuple(_from_first_user(repaired))


def compacted(messages: Sequence[Message], max_tokens: int) -> tuple[Message, ...]:
    """The last whole turns that fit, by an estimate of a token for three bytes; valid when ``messages`` is."""
    kept = len(messages)
    left = 3 * max_tokens
    for start in range(len(messages) - 1, -1, -1):
        left -= sum(map(_size, messages[start].blocks))
        if left < 0:
            break
        if messages[start].role == "user":
            kept = start
    return tuple(messages[kept:])


def with_own_ids(message: Message, taken: set[str]) -> Message:
    """The message with call ids that are neither empty nor in ``taken``, which then holds them too."""
    blocks = tuple(
        _with_own_id(block, taken) if isinstance(block, ToolCallBlock) else block for block in message.blocks
    )
    return message if blocks == message.blocks else message.model_copy(update={"blocks": blocks})


def wellformed(message: Message) -> Message:
    """The message with a question mark for each half of a surrogate pair, which no wire and no store can hold."""
    blocks = tuple(_wellformed_block(block) for block in message.blocks)
    return message if blocks == message.blocks else message.model_copy(update={"blocks": blocks})


def interrupted_result(call: ToolCall) -> ToolResultBlock:
    """The result of a call nobody saw the end of."""
    return ToolResultBlock(call_id=call.id, name=call.name, content=INTERRUPTED, is_error=True)


def _known_blocks(message: Message) -> Message:
    kinds = _BLOCKS_OF[message.role]
    blocks = tuple(
        block
        for block in wellformed(message).blocks
        if isinstance(block, kinds) and not (isinstance(block, TextBlock) and not block.text)
    )
    return message if blocks == message.blocks else message.model_copy(update={"blocks": blocks})


def _close(repaired: list[Message], pending: list[tuple[str, ToolCall]], results: list[ToolResultBlock]) -> None:
    """Answer the calls of the last assistant message; empties both lists."""
    if pending:
        repaired.append(_answer(pending, results))
    pending.clear()
    results.clear()


def _answer(calls: Sequence[tuple[str, ToolCall]], results: Sequence[ToolResultBlock]) -> Message:
    # By id as it was, in order: two calls of one id have their own results.
    left = list(results)
    blocks: list[Block] = []
    for before, call in calls:
        found = next((result for result in left if result.call_id == before), None)
        if found is None:
            blocks.append(interrupted_result(call))
        else:
            left.remove(found)
            blocks.append(found if found.call_id == call.id else found.model_copy(update={"call_id": call.id}))
    return Message(role="tool", blocks=tuple(blocks))


def _size(block: Block) -> int:
    # The bytes of a picture say little about what it costs.
    return _MEDIA_BYTES if isinstance(block, MediaBlock) else len(block.model_dump_json().encode("utf-8"))


def _with_own_id(block: ToolCallBlock, taken: set[str]) -> ToolCallBlock:
    wanted = own = block.call.id
    number = 1
    while not own or own in taken:
        number += 1
        own = f"{wanted or 'call'}_{number}"
    taken.add(own)
    if own == wanted:
        return block
    return block.model_copy(update={"call": block.call.model_copy(update={"id": own})})


def _wellformed_block(block: Block) -> Block:
    match block:
        case TextBlock(text=text):
            update = {"text": _wellformed_text(text)}
        case ToolResultBlock():
            update = {field: _wellformed_text(getattr(block, field)) for field in ("call_id", "name", "content")}
        case ToolCallBlock(call=call):
            fields = {field: _wellformed_text(getattr(call, field)) for field in ("id", "name", "arguments")}
            return block.model_copy(update={"call": call.model_copy(update=fields)})
        case _:
            return block
    return block.model_copy(update=update)


def _wellformed_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _from_first_user(messages: list[Message]) -> list[Message]:
    # A window cut out of a longer conversation may begin in the middle of a turn.
    first = next((i for i, message in enumerate(messages) if message.role == "user"), len(messages))
    return messages[first:]
