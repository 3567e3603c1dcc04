"""The model client ``offline``: plans reads and writes by grammar and answers with what was found."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from datamind.core.messages import (
    Message,
    ModelDelta,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    ToolCall,
    Usage,
)
from datamind_model_offline.conversation import Conversation, call_id, read_request
from datamind_model_offline.planning import READ_TOOLS, WRITE_TOOLS, Plan

NAME: Final = "offline"
_FREE: Final = Usage(cost_usd=0.0)


class OfflineModelClient:
    """Deterministic: the same request always gets the same reply. No network, no clock, no state between requests."""

    name = NAME
    model = NAME
    extractive = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """The text at once, if there is any, then the reply."""
        reply = _reply(request)
        if reply.message.text:
            yield TextDelta(delta=reply.message.text)
        yield ReplyDone(reply=reply)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply that ``stream`` ends with."""
        return _reply(request)

    async def aclose(self) -> None:
        """Nothing is held."""


async def open_client(ctx: Any, options: Any) -> OfflineModelClient:
    """The provider ``offline``."""
    return OfflineModelClient()


def _reply(request: ModelRequest) -> ModelReply:
    conversation = read_request(request)
    plan = _plan(conversation)
    return ModelReply(
        message=Message.assistant(plan.text, _calls(plan, conversation.next_id)),
        stop_reason="tool_calls" if plan.calls else "end_turn",
        usage=_FREE,
        model=NAME,
    )


def _plan(conversation: Conversation) -> Plan:
    # Each role loads its own tables: `ask` starts sooner without those of `store`.
    if _stores(conversation):
        from datamind_model_offline.store_plan import plan_storing

        return plan_storing(conversation)
    from datamind_model_offline.read_plan import plan_reading

    return plan_reading(conversation)


def _stores(conversation: Conversation) -> bool:
    """Whether this is StoreAgent. A last turn without tools is told by the calls so far."""
    names = set(conversation.tools) or {step.name for step in conversation.steps}
    # One tool that reads is enough to be a reader: a registry filled wrongly must not turn a question into a write.
    return names.isdisjoint(READ_TOOLS) and not names.isdisjoint(WRITE_TOOLS)


def _calls(plan: Plan, first: int) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=call_id(first + i), name=call.name, arguments=json.dumps(dict(call.arguments), ensure_ascii=False))
        for i, call in enumerate(plan.calls)
    )
