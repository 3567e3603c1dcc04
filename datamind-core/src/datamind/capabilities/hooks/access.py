"""Access: the third look at what the role may call, and a question when a call takes away what was not singled out."""

from __future__ import annotations

from datamind.core.context import RequestContext
from datamind.core.errors import AccessDenied
from datamind.core.hooks import Allow, AskUser, Decision, Deny, PendingCall
from datamind.core.outcome import ToolOutcome
from datamind.core.tools import assert_access
from datamind.core.types import ToolEffect


class AccessHook:
    """First of the chain; no setting removes it."""

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Decision:
        """Deny a role its tools do not belong to; ask when several things match, or what goes has no selector."""
        try:
            assert_access(call.spec, ctx.role)
        except AccessDenied as error:
            return Deny(error.message, error.code)
        matches = len(call.candidates.ids) if call.candidates else 0
        if matches > 1:
            # The person sees the candidates; the model is told only how many there are.
            return AskUser(f"{call.spec.name} matches {matches} things")
        if call.effect is ToolEffect.DESTRUCTIVE and (call.candidates is None or call.destroyed):
            details = call.destroyed.labels if call.destroyed else ()
            return AskUser(f"{call.spec.name} would take away what is stored", details)
        return Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        """Nothing to do."""
