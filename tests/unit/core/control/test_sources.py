"""The log of sources: which version of which document is active, and its text."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from datamind.capabilities.control.control import Control, open_control
from datamind.capabilities.control.sources import StoredSource
from datamind.core.errors import IntegrityError
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, derived_id

KB = DataSurface.KB
LARGE = "The tide turns twice a day.\n" * 20_000


@pytest.fixture
def control(tmp_path: Path) -> Control:
    return open_control("test", tmp_path / "storage", tmp_path / "keys")


def source_of(name: str, text: str) -> SourceRef:
    content = text.encode()
    return SourceRef.of_content("file", f"file:{name}", content, media_type="text/plain", profile="test", origin="file")


async def put(control: Control, name: str, text: str, receipt: str, *, title: str = "") -> str:
    source = source_of(name, text)
    document = derived_id("doc", source.uri)
    await control.sources.put(KB, document, source, text, receipt, title=title or name, metadata={"size": len(text)})
    return document


async def active(control: Control) -> dict[str, str]:
    return {
        stored.title: await control.sources.text(stored.content_hash) for stored in await control.sources.active(KB)
    }


async def current(control: Control, document: str) -> StoredSource:
    found = await control.sources.current(KB, document)
    assert found is not None
    return found


async def test_a_source_is_found_with_all_that_was_said_of_it(control: Control) -> None:
    document = await put(control, "a.txt", "high water", "rcpt_1")
    stored = await current(control, document)
    assert stored.source == source_of("a.txt", "high water")
    assert (stored.title, dict(stored.metadata), stored.receipt_ids) == ("a.txt", {"size": 10}, ("rcpt_1",))
    assert (stored.state, await control.sources.text(stored.content_hash)) == ("active", "high water")
    assert list(await control.sources.get(stored.source.source_id)) == [stored]
    assert control.sources.counts_now() == {"kb": 1}


async def test_a71_a_then_b_then_a_again(control: Control) -> None:
    document = await put(control, "a.txt", "high water", "rcpt_1")
    first = (await current(control, document)).source.source_id
    await put(control, "a.txt", "low water", "rcpt_2")
    assert await active(control) == {"a.txt": "low water"}
    (replaced,) = await control.sources.get(first)
    assert (replaced.state, await control.sources.text(replaced.content_hash)) == ("replaced", "high water")
    await put(control, "a.txt", "high water", "rcpt_3")
    assert await active(control) == {"a.txt": "high water"}
    assert (await current(control, document)).receipt_ids == ("rcpt_3",)


async def test_a_redo_of_a_put_says_what_the_first_try_did(control: Control) -> None:
    old, new = source_of("a.txt", "high water"), source_of("a.txt", "low water")
    told = [
        await control.sources.put(KB, "doc_1", source, "x", receipt, title="", metadata={})
        for source, receipt in ((old, "rcpt_1"), (old, "rcpt_1"), (new, "rcpt_2"), (new, "rcpt_2"), (new, "rcpt_3"))
    ]
    assert told == [False, False, True, True, True]  # the last changes whose it is


async def test_b18_the_same_text_under_another_name_is_a_second_source(control: Control) -> None:
    documents = {await put(control, name, "high water", f"rcpt_{name}") for name in ("a.txt", "b.txt")}
    assert len(documents) == 2
    assert await active(control) == {"a.txt": "high water", "b.txt": "high water"}


async def test_the_same_version_put_again_rests_on_both_receipts(control: Control) -> None:
    document = await put(control, "a.txt", "high water", "rcpt_1")
    await put(control, "a.txt", "high water", "rcpt_2", title="Tides")
    await put(control, "a.txt", "high water", "rcpt_2", title="Tides")
    stored = await current(control, document)
    assert (stored.title, stored.receipt_ids) == ("Tides", ("rcpt_1", "rcpt_2"))
    assert control.sources.counts_now() == {"kb": 1}


async def test_what_is_deleted_is_no_longer_active_and_its_text_is_kept(control: Control) -> None:
    document = await put(control, "a.txt", "high water", "rcpt_1")
    assert await control.sources.end(KB, [document, "doc_unknown"], "rcpt_2") == 1
    assert await control.sources.end(KB, [document], "rcpt_2") == 1, "a redo counts what the first try ended"
    assert await control.sources.end(KB, [document], "rcpt_3") == 0
    assert await active(control) == {}
    assert await control.sources.current(KB, document) is None
    (gone,) = await control.sources.get(source_of("a.txt", "high water").source_id)
    assert (gone.state, await control.sources.text(gone.content_hash)) == ("deleted", "high water")
    await put(control, "a.txt", "high water", "rcpt_4")
    assert await active(control) == {"a.txt": "high water"}


async def test_what_changed_since_a_revision(control: Control) -> None:
    a = await put(control, "a.txt", "a", "rcpt_1")
    since = await control.sources.revision(KB)
    await put(control, "b.txt", "b", "rcpt_2")
    await put(control, "a.txt", "a2", "rcpt_3")
    changed = await control.sources.active(KB, after_revision=since)
    assert [stored.title for stored in changed] == ["b.txt", "a.txt"]
    assert await control.sources.ended_documents(KB, after_revision=since) == [], "replaced is not gone"
    since = await control.sources.revision(KB)
    await control.sources.end(KB, [a], "rcpt_4")
    assert await control.sources.ended_documents(KB, after_revision=since) == [a]
    assert await control.sources.ended_documents(KB, after_revision=await control.sources.revision(KB)) == []


async def test_a73_no_revision_is_given_twice(control: Control, tmp_path: Path) -> None:
    other = open_control("test", tmp_path / "storage", tmp_path / "keys")
    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(put, (control, other)[number % 2], f"{number}.txt", str(number), f"rcpt_{number}")
    revisions = sorted(stored.revision for stored in await control.sources.active(KB))
    assert revisions == list(range(1, 41))
    assert await other.sources.revision(KB) == 40


async def test_surfaces_do_not_meet(control: Control) -> None:
    document = await put(control, "a.txt", "a", "rcpt_1")
    assert await control.sources.active(DataSurface.SKILLS) == []
    assert await control.sources.revision(DataSurface.SKILLS) == 0
    assert await control.sources.end(DataSurface.SKILLS, [document], "rcpt_2") == 0
    assert await active(control) == {"a.txt": "a"}


async def test_long_text_is_kept_beside_and_damage_is_found(control: Control, tmp_path: Path) -> None:
    document = await put(control, "long.txt", LARGE, "rcpt_1")
    stored = await current(control, document)
    assert await control.sources.text(stored.content_hash) == LARGE
    (blob,) = [path for path in (tmp_path / "storage" / "blobs").rglob("*") if path.is_file()]
    blob.write_bytes(blob.read_bytes()[:-1])
    with pytest.raises(IntegrityError):
        await control.sources.text(stored.content_hash)


async def test_text_of_any_characters_comes_back(control: Control) -> None:
    text = "\ufeffNUL \0, \u202e, 🦩, 云杉, e\u0301, \r\n\r"
    stored = await current(control, await put(control, "a.txt", text, "rcpt_1"))
    assert await control.sources.text(stored.content_hash) == text
