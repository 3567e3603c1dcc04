"""The tests of what a save, an update and a forget do."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from datamind.core.errors import Conflict, InputInvalid, NotFound
from datamind.core.protocols.memory import (
    MemoryItem,
    MemoryKind,
    MemoryReader,
    MemoryScope,
    MemoryStore,
    SaveOutcome,
)
from datamind.testing.conformance.memory_reader import MemoryReaderConformance
from datamind.testing.memory_data import day, history, make_home, make_memory, recalled, texts

OSLO, BERGEN = make_home("Oslo", at=1), make_home("Bergen", at=5)


def assert_one_value_at_a_time(items: dict[str, MemoryItem]) -> None:
    """Fail if two memories held at one instant; those that never held for a moment are left out."""
    held = [item for item in items.values() if item.valid_to != item.valid_from]
    held.sort(key=lambda item: item.valid_from)
    for item, following in pairwise(held):
        assert item.valid_to is not None and item.valid_to <= following.valid_from


class MemoryWritesConformance(MemoryReaderConformance):
    """Tests of the writes of a MemoryStore that one process can make.

    Troubleshooting: the instants of a test are days of January 2026: a store must not compare them with its own
    clock. A functional fact has one value at any instant, so a late arrival is history.
    """

    protocols: ClassVar[tuple[type, ...]] = (MemoryReader, MemoryStore)

    async def test_a_draft_that_no_reader_could_see_rightly_is_refused(self, tmp_path: Path) -> None:
        """A session outside its scope or missing in it, a functional fact of nothing, no id."""
        async with self.opened(tmp_path) as store:
            await store.save(make_memory("free text"))
            for fields in (
                {"scope": MemoryScope.SESSION},
                {"session": "s1"},
                {"functional": True},
                {"functional": True, "subject": "user", "attribute": " "},
                {"memory_id": ""},
            ):
                with pytest.raises(InputInvalid):
                    await store.save(make_memory("new", **fields))
            assert await texts(store, include_closed=True) == ["free text"]

    async def test_g6_an_equal_memory_is_unchanged(self, tmp_path: Path) -> None:
        """Whoever says it, whenever, and with whatever space around it."""
        first = make_memory("likes tea", subject="User", attribute="drink", value="tea", at=1)
        again = make_memory(" likes tea\n", subject="user", attribute="Drink", value="tea ", at=3, origin="file")
        async with self.opened(tmp_path) as store:
            assert await store.save(first) == SaveOutcome(status="added", memory_id=first.memory_id)
            unchanged = SaveOutcome(status="unchanged", memory_id=first.memory_id)
            assert await store.save(again) == unchanged
            (item,) = (await history(store)).values()
            assert (item.memory_id, item.valid_from, item.origin) == (first.memory_id, day(1), "user")

    @pytest.mark.parametrize(
        "change",
        [
            {"text": "likes Tea"},
            {"kind": MemoryKind.PREFERENCE},
            {"scope": MemoryScope.GLOBAL},
            {"scope": MemoryScope.SESSION, "session": "s1"},
            {"subject": "guest"},
            {"attribute": "food"},
            {"value": "Tea"},
        ],
        ids=lambda change: "-".join(change),
    )
    async def test_g6_a_memory_that_says_something_else_is_added(self, tmp_path: Path, change: dict[str, Any]) -> None:
        """Or says it to somebody else."""
        fields: dict[str, Any] = {"text": "likes tea", "subject": "user", "attribute": "drink", "value": "tea"}
        async with self.opened(tmp_path) as store:
            await store.save(make_memory(**fields))
            assert (await store.save(make_memory(**(fields | change)))).status == "added"

    async def test_g6_a66_a_forgotten_memory_is_saved_again(self, tmp_path: Path) -> None:
        """It is not "unchanged"."""
        first, again = make_memory("likes tea"), make_memory("likes tea")
        async with self.opened(tmp_path) as store:
            await store.save(first)
            await store.forget([first.memory_id], "r1")
            assert await store.save(again) == SaveOutcome(status="added", memory_id=again.memory_id)
            assert await texts(store, include_closed=True) == ["likes tea"]

    async def test_g6_a_closed_memory_is_saved_again(self, tmp_path: Path) -> None:
        """Back in Oslo: a new memory, and the old stay in the history."""
        back = make_home("Oslo", at=9)
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            expected = SaveOutcome(status="superseded", memory_id=back.memory_id, closed_ids=(BERGEN.memory_id,))
            assert await store.save(back) == expected
            assert await texts(store, include_closed=True) == [back.text, BERGEN.text, OSLO.text]

    async def test_g7_b10_a_new_value_closes_the_old(self, tmp_path: Path) -> None:
        """At the draft's valid_from; both stay in the history."""
        async with self.opened(tmp_path) as store:
            await store.save(OSLO)
            outcome = await store.save(BERGEN)
            closed = (OSLO.memory_id,)
            assert outcome == SaveOutcome(status="superseded", memory_id=BERGEN.memory_id, closed_ids=closed)
            assert await recalled(store, "live") == [BERGEN.text]
            assert (await history(store))[OSLO.memory_id].valid_to == day(5)

    async def test_g7_nothing_else_is_closed(self, tmp_path: Path) -> None:
        """Another subject, attribute, scope or session, and text without a fact."""
        others = [
            make_memory("free text"),
            make_home("Rome", subject="guest"),
            make_home("Rome", attribute="birthplace"),
            make_home("Rome", scope=MemoryScope.GLOBAL),
            make_home("Rome", scope=MemoryScope.SESSION, session="s1"),
        ]
        async with self.opened(tmp_path) as store:
            for draft in (*others, OSLO):
                await store.save(draft)
            outcome = await store.save(make_home("Bergen", at=5, subject="USER", attribute="Home"))
            assert outcome.closed_ids == (OSLO.memory_id,)
            items = await history(store, scopes=tuple(MemoryScope), session="s1")
            assert all(items[draft.memory_id].valid_to is None for draft in others)

    async def test_g7_every_other_value_is_closed(self, tmp_path: Path) -> None:
        """Those that are not functional or in other words too; a value that is not functional closes none."""
        tea, coffee = (
            make_memory(f"drinks {drink}", at=at, subject="user", attribute="drink", value=drink)
            for at, drink in ((1, "tea"), (2, "coffee"))
        )
        only = make_memory("only tea", at=3, subject="user", attribute="drink", value="tea", functional=True)
        async with self.opened(tmp_path) as store:
            assert (await store.save(tea)).status == (await store.save(coffee)).status == "added"
            outcome = await store.save(only)
            closed = (tea.memory_id, coffee.memory_id)
            assert outcome == SaveOutcome(status="superseded", memory_id=only.memory_id, closed_ids=closed)

    async def test_g7_of_two_values_of_one_instant_the_later_save_holds(self, tmp_path: Path) -> None:
        """The other never held for a moment."""
        async with self.opened(tmp_path) as store:
            first, second = make_home("Oslo", at=1), make_home("Bergen", at=1)
            await store.save(first)
            await store.save(second)
            assert await texts(store) == await texts(store, as_of=day(1)) == [second.text]
            assert (await history(store))[first.memory_id].valid_to == day(1)

    async def test_g7_a_value_that_never_held_bounds_nothing(self, tmp_path: Path) -> None:
        """What is said of an earlier day goes on."""
        first, second, early = make_home("Oslo", at=1), make_home("Bergen", at=1), make_home("Hamar", at=0)
        async with self.opened(tmp_path) as store:
            await store.save(first)
            await store.save(second)
            await store.forget([second.memory_id], "r1")
            assert await store.save(early) == SaveOutcome(status="added", memory_id=early.memory_id)
            assert await texts(store) == await texts(store, as_of=day(1)) == [early.text]

    async def test_g7_a_late_arrival_is_history(self, tmp_path: Path) -> None:
        """It ends where the next value begins, and shortens the one before it."""
        rome, late = make_home("Rome", at=0), make_home("Hamar", at=3)
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            assert await store.save(rome) == SaveOutcome(status="added", memory_id=rome.memory_id)
            closed = (OSLO.memory_id,)
            assert await store.save(late) == SaveOutcome(
                status="superseded", memory_id=late.memory_id, closed_ids=closed
            )
            assert await texts(store) == [BERGEN.text]
            items = await history(store)
            assert_one_value_at_a_time(items)
            ends = {
                memory_id: (item.valid_to, item.closed_by, item.close_receipt_id) for memory_id, item in items.items()
            }
            assert ends[rome.memory_id] == (day(1), OSLO.memory_id, rome.receipt_id)
            assert ends[OSLO.memory_id] == (day(3), late.memory_id, late.receipt_id)
            assert ends[late.memory_id] == (day(5), BERGEN.memory_id, late.receipt_id)

    async def test_g7_what_was_said_then_is_unchanged_when_said_again(self, tmp_path: Path) -> None:
        """The same conversation saved twice leaves one history."""
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            before = await history(store)
            for said in (make_home("Oslo", at=1), make_home("Oslo", at=3), make_home("Bergen", at=2)):
                assert (await store.save(said)).status == "unchanged"
            assert await history(store) == before

    async def test_g7_forgetting_the_new_value_does_not_bring_back_the_old(self, tmp_path: Path) -> None:
        """And it bounds nothing any more."""
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            await store.forget([BERGEN.memory_id], "r1")
            assert await texts(store) == []
            late = make_home("Hamar", at=3)
            assert (await store.save(late)).closed_ids == (OSLO.memory_id,)
            assert await texts(store) == [late.text]

    async def test_g8_saving_a_draft_again_gives_the_first_outcome(self, tmp_path: Path) -> None:
        """Of each status, after a forget too, and nothing changes."""
        equal, update = make_home("Bergen", at=7), make_home("Hamar", at=8)
        async with self.opened(tmp_path) as store:
            first = [await store.save(draft) for draft in (OSLO, BERGEN, equal)]
            first.append(await store.update(BERGEN.memory_id, update))
            assert [outcome.status for outcome in first] == ["added", "superseded", "unchanged", "superseded"]
            await store.forget([OSLO.memory_id], "r1")
            before = await history(store)
            changed = update.model_copy(update={"text": "other words", "receipt_id": "r9"})
            again = [await store.save(draft) for draft in (OSLO, BERGEN, equal, update)]
            assert again == first
            assert await store.update(BERGEN.memory_id, changed) == first[3]
            assert await history(store) == before

    async def test_g9_an_update_closes_one_memory_and_adds_the_draft(self, tmp_path: Path) -> None:
        """Only that one, though the text is of no fact."""
        old, other, new = make_memory("old", at=1), make_memory("other", at=1), make_memory("new", at=4)
        async with self.opened(tmp_path) as store:
            for draft in (old, other):
                await store.save(draft)
            outcome = await store.update(old.memory_id, new)
            assert outcome == SaveOutcome(status="superseded", memory_id=new.memory_id, closed_ids=(old.memory_id,))
            assert await texts(store) == ["new", "other"]
            item = (await history(store))[old.memory_id]
            assert (item.valid_to, item.closed_by, item.close_receipt_id) == (day(4), new.memory_id, new.receipt_id)

    async def test_g9_only_a_memory_that_holds_can_be_updated(self, tmp_path: Path) -> None:
        """Not an unknown, closed or forgotten one; the draft is not added."""
        gone = make_memory("gone")
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN, gone):
                await store.save(draft)
            await store.forget([gone.memory_id], "r1")
            for memory_id in ("mem_unknown", "\ud800", OSLO.memory_id, gone.memory_id):
                with pytest.raises(NotFound):
                    await store.update(memory_id, make_memory("new"))
            assert await texts(store) == [BERGEN.text]

    async def test_g9_an_update_to_what_holds_already_adds_nothing(self, tmp_path: Path) -> None:
        """To itself it is unchanged; to another memory it closes the one."""
        one, two = make_memory("one", at=1), make_memory("two", at=1)
        async with self.opened(tmp_path) as store:
            for draft in (one, two):
                await store.save(draft)
            same = await store.update(one.memory_id, make_memory("one ", at=3))
            assert same == SaveOutcome(status="unchanged", memory_id=one.memory_id)
            joined = await store.update(one.memory_id, make_memory("two", at=3))
            assert joined == SaveOutcome(status="superseded", memory_id=two.memory_id, closed_ids=(one.memory_id,))
            assert await texts(store) == ["two"]
            assert len(await history(store)) == 2

    async def test_g9_an_update_holds_from_its_valid_from_on(self, tmp_path: Path) -> None:
        """A correction that reaches back overrides what was said of that time."""
        right = make_home("Hamar", at=3)
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            outcome = await store.update(BERGEN.memory_id, right)
            assert outcome.closed_ids == (OSLO.memory_id, BERGEN.memory_id)
            for at, city in ((2, "Oslo"), (3, "Hamar"), (6, "Hamar")):
                assert await texts(store, as_of=day(at)) == [f"I live in {city}."]
            assert await texts(store) == [right.text]

    async def test_g9_c14_forget_counts_what_its_receipt_took(self, tmp_path: Path) -> None:
        """The same receipt gets the same number again; what another took, or nobody has, is not counted."""
        drafts = [make_memory(f"memory {n}") for n in range(4)]
        ids = [draft.memory_id for draft in drafts]
        async with self.opened(tmp_path) as store:
            for draft in drafts:
                await store.save(draft)
            assert await store.forget([], "r0") == 0
            asked = [ids[0], ids[1], ids[0], "mem_unknown", "' OR 1=1 --", "\ud800", ids[2] + "\x00"]
            assert await store.forget(asked, "r1") == 2
            assert await store.forget(ids[:3], "r2") == 1
            assert [await store.forget(asked, "r1"), await store.forget(ids[:3], "r2")] == [2, 1]
            assert await texts(store) == ["memory 3"]

    async def test_g9_a_closed_memory_can_be_forgotten(self, tmp_path: Path) -> None:
        """It leaves the history."""
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            assert await store.forget([OSLO.memory_id], "r1") == 1
            assert await texts(store, include_closed=True) == [BERGEN.text]

    async def test_g12_a_write_is_taken_back_and_done_again(self, tmp_path: Path) -> None:
        """What it closed holds again, found by its words; the same once more changes nothing; a revert is reverted."""
        async with self.opened(tmp_path) as store:
            for draft in (OSLO, BERGEN):
                await store.save(draft)
            before = await history(store)
            planned = await store.reverting(BERGEN.receipt_id)
            assert await history(store) == before
            done = [await store.revert(BERGEN.receipt_id, "r1") for _ in range(2)]
            assert {tuple(item.text for item in part) for one in done for part in (one.back, planned.back)} == {
                (OSLO.text,)
            }
            assert await texts(store, include_closed=True) == [OSLO.text]
            assert (await recalled(store, "Oslo"), await recalled(store, "Bergen")) == ([OSLO.text], [])
            await store.revert("r1", "r2")
            assert await history(store) == before
            assert await recalled(store, "Bergen") == [BERGEN.text]
            await store.forget([OSLO.memory_id, BERGEN.memory_id], "r3")
            await store.revert("r3", "r4")
            assert await history(store) == before

    async def test_g12_what_a_later_write_changed_is_left_alone(self, tmp_path: Path) -> None:
        """Neither a memory that was closed since, nor a fact that has another value by now."""
        async with self.opened(tmp_path) as store:
            rome = make_home("Rome", at=9)
            for draft in (OSLO, BERGEN, rome):
                await store.save(draft)
            with pytest.raises(Conflict, match=rome.receipt_id):
                await store.revert(BERGEN.receipt_id, "r1")
            await store.forget([rome.memory_id], "r2")
            other = make_home("Bonn", at=20)
            await store.save(other)
            before = await history(store)
            with pytest.raises(Conflict, match=other.receipt_id):
                await store.revert("r2", "r3")
            assert await history(store) == before
