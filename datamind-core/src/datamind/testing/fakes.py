"""Stand-ins for what a test cannot have: a person, a clock, a ledger's record. Need core alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from datamind.core.context import RequestContext
from datamind.core.hooks import Allow, Decision, PendingCall
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.protocols.agent import ApprovalRequest


class ManualClock:
    """Time that moves only when it is told to."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._passed_s = 0.0

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return self._start + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds!r}")
        self._passed_s += seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.advance(seconds)


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision of the gate as it was recorded."""

    kind: str
    call: ToolCall
    ctx: RequestContext
    code: str
    detail: str


class DecisionLog:
    """A DecisionRecorder that keeps everything in a list.

    Attributes:
        records: In the order they were made.
    """

    def __init__(self) -> None:
        self.records: list[DecisionRecord] = []

    @property
    def kinds(self) -> list[str]:
        """Kinds of the decisions, in order."""
        return [record.kind for record in self.records]

    async def record_decision(
        self, kind: str, call: ToolCall, ctx: RequestContext, *, code: str = "", detail: str = ""
    ) -> None:
        """Keep it."""
        self.records.append(DecisionRecord(kind, call, ctx, code, detail))


class ScriptedApprover:
    """A person who decides as told, and refuses when nothing was told.

    Attributes:
        requests: What the person was shown, in order.
    """

    def __init__(self, answers: Iterable[bool] = ()) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answers = list(answers)

    async def decide(self, request: ApprovalRequest) -> bool:
        """The next answer, else False."""
        self.requests.append(request)
        return self._answers.pop(0) if self._answers else False


class RecordingHook:
    """A ToolHook that allows, or decides as told, and remembers what it saw.

    Attributes:
        before: Calls it was asked about; the same call twice when the chain began again.
        after: Calls it saw the end of, with the outcome.
    """

    def __init__(self, decision: Decision | None = None) -> None:
        self.before: list[PendingCall] = []
        self.after: list[tuple[PendingCall, ToolOutcome]] = []
        self._decision = decision or Allow()

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Decision:
        """The decision it was made with."""
        self.before.append(call)
        return self._decision

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        """Remember."""
        self.after.append((call, outcome))
