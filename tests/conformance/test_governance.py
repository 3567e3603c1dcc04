"""The hooks of core, and the person at a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from datamind.capabilities.hooks.access import AccessHook
from datamind.capabilities.hooks.path_allowlist import PathAllowlistHook
from datamind.capabilities.ingest.paths import PathRules
from datamind.core.hooks import Allow, AskUser, Candidates, Deny
from datamind.core.types import Role, ToolEffect
from datamind.testing.conformance.governance import ApproverConformance, HookCase, HookConformance
from datamind.testing.gates import make_tool
from datamind_cli import approve
from datamind_cli.state import State


class TestAccessHook(HookConformance):
    async def open_hook(self, folder: Path) -> AccessHook:
        return AccessHook()

    def cases(self, folder: Path) -> list[HookCase]:
        look, save = make_tool("look"), make_tool("save", effect=ToolEffect.WRITE)
        erase = make_tool("erase", effect=ToolEffect.DESTRUCTIVE)
        return [
            HookCase(save, Allow),
            HookCase(look, Deny),
            HookCase(look, Allow, role=Role.RETRIEVE),
            HookCase(save, Deny, role=Role.RETRIEVE),
            HookCase(make_tool("add", effect=ToolEffect.PURE), Deny),
            HookCase(erase, Allow, candidates=Candidates(("a",), ("A",))),
            HookCase(erase, AskUser, candidates=Candidates(("a", "b"), ("A", "B"))),
            HookCase(erase, AskUser),
            HookCase(save, AskUser, destroyed=Candidates(("a",), ("A",))),
            HookCase(save, Allow, destroyed=Candidates((), ())),
            HookCase(erase, AskUser, candidates=Candidates(("a",), ("A",)), destroyed=Candidates(("b",), ("B",))),
        ]


class TestPathAllowlistHook(HookConformance):
    async def open_hook(self, folder: Path) -> PathAllowlistHook:
        return PathAllowlistHook(PathRules(folder / "data", forbidden=(folder / "storage",)))

    def cases(self, folder: Path) -> list[HookCase]:
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / "inside.md").write_text("text")
        (folder / "outside.md").write_text("text")
        add = make_tool("add", effect=ToolEffect.WRITE, path_args=("path",))
        return [
            HookCase(add, Allow, {"path": str(folder / "data" / "inside.md")}),
            HookCase(add, Allow, {"text": str(folder / "outside.md")}),
            HookCase(add, AskUser, {"path": str(folder / "outside.md")}),
            HookCase(make_tool("add", effect=ToolEffect.WRITE), Allow, {"path": str(folder / "outside.md")}),
        ]


class TestTerminalApprover(ApproverConformance):
    @pytest.fixture(autouse=True)
    def terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(approve, "is_terminal", lambda stream: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO())

    async def open_approver(self, folder: Path, answer: bool | str) -> approve.TerminalApprover:
        text = answer if isinstance(answer, str) else "y" if answer else "n"
        sys.stdin.write(f"{text}\n")
        sys.stdin.seek(sys.stdin.tell() - len(text) - 1)
        return approve.TerminalApprover(State())
