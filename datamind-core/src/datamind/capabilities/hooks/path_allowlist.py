"""The path allow-list: every declared path argument lies inside a granted root, or a person is asked."""

from __future__ import annotations

from datamind.capabilities.ingest.files import NotGranted, locate
from datamind.capabilities.ingest.paths import PathRules
from datamind.core.context import RequestContext
from datamind.core.errors import PathDenied
from datamind.core.hooks import Allow, AskUser, Decision, Deny, PendingCall
from datamind.core.outcome import ToolOutcome
from datamind.core.tools import paths_of


class PathAllowlistHook:
    """Acts on ``path_args`` of the tool, whatever it is called. Opening checks again, by descriptor."""

    def __init__(self, rules: PathRules) -> None:
        self._rules = rules

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Decision:
        """Deny what is no local path, ask for what is outside, allow the rest."""
        policy = self._rules.for_request(ctx)
        for raw in paths_of(call.args, call.spec.path_args):
            try:
                locate(raw, policy)
            except NotGranted as error:
                return AskUser(error.message)
            except PathDenied as error:
                return Deny(error.message, error.code)
        return Allow()

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        """Nothing to do."""
