"""Loops, and the person who decides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from datamind.core.context import RequestContext
from datamind.core.messages import Message, SurfaceStatus
from datamind.core.record import Record

if TYPE_CHECKING:
    from datamind.core.events import AgentEvent
    from datamind.core.evidence import InferenceResult
    from datamind.core.hooks import AskUser, PendingCall
    from datamind.core.receipts import StoreResult


class ApprovalRequest(Record):
    """What a person is shown: the stored call, never the model's words about it.

    Attributes:
        candidates: One line for each thing the selector found, or that the call would take away.
    """

    tool: str
    effect: str
    arguments: Mapping[str, Any]
    reason: str
    candidates: tuple[str, ...] = ()
    profile: str
    session: str = ""
    trace_id: str

    @classmethod
    def of(cls, call: PendingCall, ctx: RequestContext, ask: AskUser) -> ApprovalRequest:
        """The request for a call that a hook wants a person to see."""
        return cls(
            tool=call.spec.name,
            effect=call.effect.value,
            arguments=dict(call.args),
            reason=ask.reason,
            candidates=call.candidates.labels if call.candidates else ask.details,
            profile=ctx.profile,
            session=ctx.session,
            trace_id=ctx.trace_id,
        )


@runtime_checkable
class Approver(Protocol):
    """Lets a person decide, outside every model.

    G1 Only ``True`` approves; anything else, an exception or no answer is a denial.
    """

    async def decide(self, request: ApprovalRequest) -> bool:
        """Whether the person allows exactly this call."""
        ...


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """One turn of an agent: the request and what came before.

    Attributes:
        history: Valid or not: the loop repairs it before it is sent.
        surfaces: Which surfaces are on and hold anything.
        transcript: Filled by the loop with the messages of this turn as they come to be, so that a turn that is
            cancelled can still be kept.
    """

    ctx: RequestContext
    message: Message
    history: tuple[Message, ...] = ()
    surfaces: tuple[SurfaceStatus, ...] = ()
    transcript: list[Message] = field(default_factory=list)


@runtime_checkable
class AgentLoopProtocol(Protocol):
    """A loop between a model and the gate.

    G1 The stream ends in exactly one ``done`` or ``error`` event.
    G2 Every tool call goes through ``dispatch``; reads of one reply at once, writes one after another in call order.
    G3 Results go back in call order, one for each call.
    G4 Every limit ends in an answer with a typed stop reason.
    G5 After cancellation no further model call or tool starts, and the history handed out last is valid.
    """

    def stream_turn(self, turn: LoopTurn) -> AsyncIterator[AgentEvent]:
        """Events in order; see G1."""
        ...

    async def run_turn(self, turn: LoopTurn) -> InferenceResult | StoreResult:
        """The result that ``stream_turn`` would have ended with; its error is raised instead."""
        ...
