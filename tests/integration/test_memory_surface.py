"""The memory surface through the gate: scopes, facts over time, selectors, receipts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.ledger_jobs import Agreeing
from tests.support.systems import contents, open_system, read, status, write


@pytest.fixture(params=["sqlite", "memory"])
def memory(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"memory": {"backend": request.param}}


async def test_a41_recall_of_global_memories_returns_only_those(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        await write(system, "memory_save", text="Invoices are sent on Fridays.", scope="global")
        await write(system, "memory_save", text="Invoices of this team carry a red stamp.", scope="profile")
        found = await read(system, "memory_recall", query="invoices", scope_filter=["global"], top_k=20)
        assert contents(found) == ["Invoices are sent on Fridays."]


async def test_a42_recall_gives_top_k_none_for_the_unrelated_and_finds_chinese(
    tmp_path: Path, memory: dict[str, Any]
) -> None:
    async with open_system(tmp_path, **memory) as system:
        for number in range(30):
            await write(system, "memory_save", text=f"Shelf {number} holds lanterns.")
        await write(system, "memory_save", text="周报用中文写，周五发出。")
        assert len(contents(await read(system, "memory_recall", query="lanterns", top_k=20))) == 20
        assert contents(await read(system, "memory_recall", query="submarine volcano")) == []
        assert contents(await read(system, "memory_recall", query="周报什么时候发出")) == ["周报用中文写，周五发出。"]


async def test_a43_a_global_memory_is_visible_in_another_profile(tmp_path: Path) -> None:
    async with open_system(tmp_path, profile="first") as first:
        saved = await write(first, "memory_save", text="The company holiday is on 3 May.", scope="global")
        await write(first, "memory_save", text="The first team's holiday is on 9 June.", scope="profile")
        assert saved.receipts[0].profile == "_shared"
    async with open_system(tmp_path, profile="second") as second:
        assert contents(await read(second, "memory_recall", query="holiday")) == ["The company holiday is on 3 May."]
        trace = await second.trace(saved.receipts[0].receipt_id)
        assert [entry.kind for entry in trace.audit] == ["intent", "outcome"]


async def test_a52_two_calls_of_one_request_stay_in_its_profile(tmp_path: Path) -> None:
    async with (
        open_system(tmp_path, profile="customer_a") as ours,
        open_system(tmp_path, profile="customer_b") as other,
    ):
        await write(other, "memory_save", text="The vault code is 7-7-1.")
        for _ in range(2):
            assert contents(await read(ours, "memory_recall", query="vault code")) == []
        refused = await read(ours, "memory_recall", query="vault code", profile="customer_b")
        assert refused.is_error
        assert refused.code.startswith("arguments_invalid")


async def test_a66_a_forgotten_memory_is_stored_again(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        text = "The spare key lies in the blue drawer."
        assert status(await write(system, "memory_save", text=text)) == "stored"
        assert status(await write(system, "memory_save", text=text)) == "unchanged"
        assert status(await write(system, "memory_forget", query="spare key")) == "stored"
        assert contents(await read(system, "memory_recall", query="spare key")) == []
        assert status(await write(system, "memory_save", text=text)) == "stored"
        assert contents(await read(system, "memory_recall", query="spare key")) == [text]


async def test_b10_the_later_residence_holds_and_both_are_in_the_history(
    tmp_path: Path, memory: dict[str, Any]
) -> None:
    fact = {"subject": "user", "attribute": "residence", "functional": True}
    async with open_system(tmp_path, **memory) as system:
        await write(
            system, "memory_save", text="I live in Oslo.", value="Oslo", valid_from="2026-01-01T00:00:00Z", **fact
        )
        moved = await write(
            system, "memory_save", text="I moved to Bergen.", value="Bergen", valid_from="2026-05-01T00:00:00Z", **fact
        )
        assert moved.receipts[0].result.operation == "superseded"
        assert contents(await read(system, "memory_recall", query="live Oslo Bergen moved")) == ["I moved to Bergen."]
        history = await read(system, "memory_history", subject="user", attribute="residence")
        assert contents(history) == ["I moved to Bergen.", "I live in Oslo."]
        assert "until 2026-05-01" in history.evidence[1].note
        before = await read(system, "memory_recall", query="live", as_of="2026-03-01T00:00:00Z")
        assert contents(before) == ["I live in Oslo."]


async def test_session_memories_are_seen_in_their_session_alone(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        text = "Call me Captain today."
        await write(system, "memory_save", session="s1", text=text, scope="session")
        assert contents(await read(system, "memory_recall", session="s1", query="captain")) == [text]
        assert contents(await read(system, "memory_recall", session="s2", query="captain")) == []
        assert contents(await read(system, "memory_recall", query="captain")) == []
        outside = await write(system, "memory_save", text="No session here.", scope="session")
        assert outside.is_error
        assert outside.receipts[0].status == "failed"


async def test_b33_another_sessions_memory_cannot_be_forgotten_by_id(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        saved = await write(system, "memory_save", session="s1", text="My seat is 14C.", scope="session")
        memory_id = saved.receipts[0].result.ids[0]
        tried = await write(system, "memory_forget", session="s2", memory_ids=[memory_id])
        assert tried.data == {"matched": 0}
        assert tried.receipts == ()
        assert contents(await read(system, "memory_recall", session="s1", query="seat")) == ["My seat is 14C."]


async def test_a_selector_that_means_several_memories_needs_a_person(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        await write(system, "memory_save", text="The garage opens at seven.")
        await write(system, "memory_save", text="The garage closes at nine.")
        asked = await write(system, "memory_forget", query="garage")
        assert (asked.code, asked.denied) == ("approval_required", True)
        assert "2" in asked.message
        assert "seven" not in asked.to_text()
        assert len(contents(await read(system, "memory_recall", query="garage"))) == 2


async def test_an_update_keeps_the_old_text_in_the_history(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        place = {"subject": "printer", "attribute": "place", "functional": True}
        await write(system, "memory_save", text="The printer is in room 4.", **place)
        changed = await write(system, "memory_update", query="printer room", text="The printer is in room 6.")
        assert changed.receipts[0].result.operation == "updated"
        assert contents(await read(system, "memory_recall", query="printer")) == ["The printer is in room 6."]
        history = await read(system, "memory_history", subject="printer")
        assert contents(history) == ["The printer is in room 6.", "The printer is in room 4."]


async def test_evidence_of_a_memory_names_its_receipt(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        saved = await write(system, "memory_save", text="Lunch is at noon.", kind="workflow")
        (evidence,) = (await read(system, "memory_recall", query="lunch")).evidence
        assert evidence.receipt_ids == (saved.receipts[0].receipt_id,)
        assert evidence.source.origin == "user"
        assert evidence.note.startswith("workflow; profile; since ")


async def test_what_no_longer_holds_can_be_forgotten_too(tmp_path: Path, memory: dict[str, Any]) -> None:
    fact = {"subject": "user", "attribute": "residence", "functional": True}
    async with open_system(tmp_path, **memory) as system:
        old = await write(system, "memory_save", text="I live in Oslo.", value="Oslo", **fact)
        await write(system, "memory_save", text="I moved to Bergen.", value="Bergen", **fact)
        gone = await write(system, "memory_forget", memory_ids=list(old.receipts[0].result.ids))
        assert gone.receipts[0].result.operation == "forgotten"
        assert contents(await read(system, "memory_history", subject="user")) == ["I moved to Bergen."]


async def test_c14_forgetting_everything_of_a_user_leaves_the_memories_of_another(
    tmp_path: Path, memory: dict[str, Any]
) -> None:
    fact = {"subject": "user", "attribute": "residence", "functional": True}
    async with (
        open_system(tmp_path, profile="ann", approver=Agreeing(), **memory) as ann,
        open_system(tmp_path, profile="bob", **memory) as bob,
    ):
        for system, city in ((ann, "Oslo"), (bob, "Rome")):
            await write(system, "memory_save", text=f"I live in {city}.", value=city, **fact)
            await write(system, "memory_save", text=f"I like {city}.", subject="user", attribute="likes", value=city)
        named = [item.locator.memory_id for item in (await read(bob, "memory_list")).evidence]
        assert (await write(ann, "memory_forget", memory_ids=named)).receipts == ()
        assert (await write(ann, "memory_forget", subject="user")).receipts[0].result.items_written == 2
        assert contents(await read(ann, "memory_list")) == []
        assert len(contents(await read(bob, "memory_list"))) == 2


async def test_forgetting_a_subject_takes_all_of_it(tmp_path: Path, memory: dict[str, Any]) -> None:
    asked: list[int] = []

    class Approver:
        async def decide(self, request: Any) -> bool:
            asked.append(len(request.candidates))
            return True

    async with open_system(tmp_path, approver=Approver(), **memory) as system:
        for number in range(30):
            await write(system, "memory_save", text=f"Drawer {number} is oak.", subject="drawers")
        gone = await write(system, "memory_forget", subject="drawers")
        assert asked == [30]
        assert gone.receipts[0].result.items_written == 30
        assert contents(await read(system, "memory_recall", query="oak")) == []


async def test_an_update_that_fits_several_memories_changes_none(tmp_path: Path, memory: dict[str, Any]) -> None:
    async with open_system(tmp_path, **memory) as system:
        await write(system, "memory_save", text="The garage opens at seven.")
        await write(system, "memory_save", text="The garage closes at nine.")
        refused = await write(system, "memory_update", query="garage", text="The garage is gone.")
        assert (refused.code, refused.receipts) == ("input_invalid.ambiguous", ())
