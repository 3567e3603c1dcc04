"""Clock, person, hook and gate of the testing package."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from datamind.core.dispatch import dispatch
from datamind.core.hooks import AskUser, Deny
from datamind.core.messages import ToolCall
from datamind.core.types import Role, ToolEffect
from datamind.testing.fakes import DecisionLog, ManualClock, RecordingHook, ScriptedApprover
from datamind.testing.gates import make_gate, make_request, make_tool


async def test_the_clock_moves_only_when_it_is_told_to():
    clock = ManualClock()
    assert clock.now() == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    clock.advance(90)
    await clock.sleep(30)
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 1, 1, 0, 2, tzinfo=UTC), 120)
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


@pytest.mark.parametrize(
    ("answers", "kinds", "is_error"),
    [([True], ["asked", "approved"], False), ([False], ["asked", "denied"], True), ([], ["asked", "denied"], True)],
)
async def test_a_person_decides_and_the_record_shows_it(answers, kinds, is_error):
    recorder, person, hook = DecisionLog(), ScriptedApprover(answers), RecordingHook(AskUser("really?"))
    erase = make_tool("erase", effect=ToolEffect.DESTRUCTIVE)
    gate = make_gate(erase, role=Role.STORE, hooks=[hook], recorder=recorder, approver=person)
    outcome = await dispatch(ToolCall.of("erase", {"id": 1}), make_request(Role.STORE), gate)
    assert (recorder.kinds, outcome.is_error) == (kinds, is_error)
    assert [asked.reason for asked in person.requests] == ["really?"]
    assert (hook.before[0].args, len(hook.after)) == ({"id": 1}, 1)


async def test_a_gate_holds_only_what_its_role_may():
    recorder = DecisionLog()
    gate = make_gate(make_tool("look"), make_tool("save", effect=ToolEffect.WRITE), recorder=recorder)
    assert list(gate.registry) == ["look"]
    outcome = await dispatch(ToolCall.of("save", {}), make_request(), gate)
    assert (outcome.denied, recorder.records[0].code) == (True, "access_denied.unknown_tool")


async def test_a_tool_echoes_and_a_write_has_a_receipt():
    store = make_gate(make_tool("save", effect=ToolEffect.WRITE), role=Role.STORE)
    outcome = await dispatch(ToolCall.of("save", {"text": "网关"}), make_request(Role.STORE), store)
    assert outcome.data == {"echo": {"text": "网关"}}
    assert [receipt.status for receipt in outcome.receipts] == ["stored"]
    assert outcome.receipts[0].profile == "test"


async def test_a_hook_that_denies_is_seen_before_and_after():
    hook = RecordingHook(Deny("not today"))
    outcome = await dispatch(ToolCall.of("look", {}), make_request(), make_gate(make_tool("look"), hooks=[hook]))
    assert outcome.denied
    assert hook.after[0][1].code == "access_denied.hook"
