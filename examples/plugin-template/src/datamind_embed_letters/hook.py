"""A hook: it sees every call before it runs, and what came of it."""

from __future__ import annotations

from typing import Any

from datamind.core.context import RequestContext
from datamind.core.hooks import Allow, Decision, Deny, PendingCall
from datamind.core.outcome import ToolOutcome


class NoShoutingHook:
    """Refuses memories in capital letters."""

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Decision:
        """Decide on what the tool declares and on its arguments; a hook that raises denies the call."""
        text = call.args.get("text")
        if call.spec.writes and isinstance(text, str) and text.isupper():
            return Deny("texts in capital letters are not stored here", "access_denied.no_shouting")
        return Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        """Nothing to do afterwards."""


def make_hook(settings: Any, services: Any) -> NoShoutingHook:
    """What DataMind calls when it builds the chain."""
    return NoShoutingHook()
