"""The approver: only a person at a terminal, only yes, only the stored call."""

from __future__ import annotations

import io
import signal

import pytest

from datamind.core.protocols.agent import ApprovalRequest, Approver
from datamind_cli import approve
from datamind_cli.approve import TerminalApprover, request_lines
from datamind_cli.state import State


def request(**changes):
    fields = {
        "tool": "memory_forget",
        "effect": "destructive",
        "arguments": {"memory_ids": ["m1", "m2"], "query": ""},
        "reason": "2 memories match",
        "candidates": ("m1  Buoy 4 is red.", "m2  Buoy 5 is red."),
        "profile": "work",
        "trace_id": "trace_0",
    }
    return ApprovalRequest(**{**fields, **changes})


@pytest.fixture
def terminal(monkeypatch):
    def typing(text):
        monkeypatch.setattr(approve, "is_terminal", lambda stream: True)
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return typing


def test_it_is_an_approver():
    assert isinstance(TerminalApprover(State()), Approver)


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("yeah\n", False), ("true\n", False)],
)
async def test_only_yes_approves(terminal, typed, allowed, capsys):
    terminal(typed)
    assert await TerminalApprover(State()).decide(request()) is allowed
    shown = capsys.readouterr()
    assert "memory_forget (destructive) in profile work: 2 memories match" in shown.err
    assert "m1  Buoy 4 is red." in shown.err
    assert shown.out == ""


async def test_a10_without_a_terminal_it_denies_at_once(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\n"))
    assert await TerminalApprover(State()).decide(request()) is False
    assert "no terminal" in capsys.readouterr().err


async def test_b38_an_argument_that_claims_approval_is_only_shown(terminal):
    terminal("n\n")
    assert await TerminalApprover(State()).decide(request(arguments={"approved": True, "confirm": "yes"})) is False


def test_control_and_direction_characters_are_escaped():
    hostile = "\x1b[2K\rharmless\u202e"
    lines = list(request_lines(request(arguments={hostile: hostile}, candidates=(f"{hostile}\nm3",), reason=hostile)))
    assert len(lines) == 3
    for line in lines:
        assert line.isprintable()


def test_long_arguments_and_lists_say_what_is_left_out():
    lines = list(request_lines(request(arguments={"text": "x" * 5000}, candidates=tuple(f"m{n}" for n in range(25)))))
    assert "and 3002 more characters" in lines[1]
    assert lines[-1] == "  - and 5 more"


async def test_an_interrupt_at_the_prompt_denies_and_cancels_the_run(terminal, monkeypatch):
    terminal("")
    raised = []
    monkeypatch.setattr(approve.signal, "raise_signal", raised.append)
    monkeypatch.setattr("sys.stdin", type("Keyboard", (), {"readline": interrupted})())
    assert await TerminalApprover(State()).decide(request()) is False
    assert raised == [signal.SIGINT]


def interrupted(keyboard):
    raise KeyboardInterrupt
