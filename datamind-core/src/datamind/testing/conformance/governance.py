"""The tests of a hook and of an approver."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from datamind.core.context import RequestContext
from datamind.core.dispatch import dispatch
from datamind.core.hooks import Allow, AskUser, Candidates, Decision, Deny, PendingCall, Rewrite, ToolHook
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.protocols.agent import ApprovalRequest, Approver
from datamind.core.tools import ToolSpec
from datamind.core.types import Role
from datamind.testing.conformance.base import Conformance
from datamind.testing.gates import make_gate, make_request

_PATIENCE_S: Final = 5.0


@dataclass(frozen=True)
class HookCase:
    """One call and what the hook should say to it.

    Attributes:
        tool: Its declarations are what the hook decides on.
        decision: The class of the decision.
    """

    tool: ToolSpec
    decision: type[Allow] | type[Deny] | type[AskUser] | type[Rewrite]
    args: Mapping[str, Any] = field(default_factory=dict)
    role: Role = Role.STORE
    candidates: Candidates | None = None
    destroyed: Candidates | None = None


class HookConformance(Conformance):
    """Tests of ToolHook.

    Troubleshooting: give at least one call the hook allows and one it does not; G1 asks about the same
    declarations under another name, so a hook with a list of tool names fails there.
    """

    protocols = (ToolHook,)

    async def open_hook(self, folder: Path) -> ToolHook:
        """The hook under test, for a profile under ``folder``."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_hook")

    def cases(self, folder: Path) -> Sequence[HookCase]:
        """Calls with the decisions that are right."""
        raise NotImplementedError(f"{type(self).__name__} needs cases")

    async def test_it_decides_each_case(self, tmp_path: Path) -> None:
        """Both allowed and refused ones are among them."""
        hook = await self.open_hook(tmp_path)
        assert isinstance(hook, ToolHook)
        cases = self.cases(tmp_path)
        assert len({case.decision is Allow for case in cases}) == 2, "give cases of both kinds"
        for case in cases:
            assert type(await _decide(hook, case, case.tool)) is case.decision, case

    async def test_g1_it_decides_on_declarations_and_not_on_names(self, tmp_path: Path) -> None:
        """The same tool under another name."""
        hook = await self.open_hook(tmp_path)
        for case in self.cases(tmp_path):
            other = replace(case.tool, name="a_tool_nobody_has_heard_of")
            assert type(await _decide(hook, case, other)) is case.decision, case

    async def test_g2_asking_again_changes_nothing(self, tmp_path: Path) -> None:
        """The same decision, the same arguments, and no file made."""
        hook = await self.open_hook(tmp_path)
        for case in self.cases(tmp_path):
            first = await _decide(hook, case, case.tool)
            files = _files(tmp_path)
            given = _pending(case, case.tool)
            before = dict(given.args)
            assert [await hook.pre(given, make_request(case.role)) for _ in range(3)] == [first] * 3, case
            assert dict(given.args) == before
            assert _files(tmp_path) == files

    async def test_g3_post_runs_once_for_every_call(self, tmp_path: Path) -> None:
        """Allowed, denied or asked about, and it does not raise for any of them."""
        hook = await self.open_hook(tmp_path)
        for case in self.cases(tmp_path):
            if case.tool.access not in case.role.access:
                continue  # the gate refuses it before any hook is asked
            counting = _Counting(hook)
            gate = make_gate(case.tool, role=case.role, hooks=[counting])
            outcome = await dispatch(ToolCall.of(case.tool.name, case.args), make_request(case.role), gate)
            assert counting.ended == 1, case
            assert outcome.code != "access_denied.hook_failed", outcome


class _Counting:
    def __init__(self, hook: ToolHook) -> None:
        self._hook = hook
        self.ended = 0

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Decision:
        return await self._hook.pre(call, ctx)

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        self.ended += 1
        await self._hook.post(call, outcome, ctx)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def _pending(case: HookCase, tool: ToolSpec) -> PendingCall:
    return PendingCall("call_under_test", tool, dict(case.args), case.candidates, destroyed=case.destroyed)


async def _decide(hook: ToolHook, case: HookCase, tool: ToolSpec) -> Decision:
    return await hook.pre(_pending(case, tool), make_request(case.role))


class ApproverConformance(Conformance):
    """Tests of Approver.

    Troubleshooting: ``open_approver`` stands for the person: True presses yes, False presses no, and a string is
    whatever else a person may type or send.
    """

    protocols = (Approver,)

    async def open_approver(self, folder: Path, answer: bool | str) -> Approver:
        """An approver whose person answers so."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_approver")

    async def test_g1_only_true_approves(self, tmp_path: Path) -> None:
        """Yes is True and nothing else is."""
        approver = await self.open_approver(tmp_path, True)
        assert isinstance(approver, Approver)
        assert await decision_of(approver) is True
        for answer in (False, "", "maybe", "yes, but only tomorrow", "1"):
            assert await decision_of(await self.open_approver(tmp_path, answer)) is not True, answer


async def decision_of(approver: Approver) -> object:
    """What the approver says to a sample request; the error or the silence is a denial too."""
    request = ApprovalRequest(
        tool="kb_delete",
        effect="destructive",
        arguments={"document_ids": ["doc_1"]},
        reason="this deletes a document",
        candidates=("budget.md",),
        profile="test",
        trace_id="trace_1",
    )
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await approver.decide(request)
    except Exception as error:
        return error
