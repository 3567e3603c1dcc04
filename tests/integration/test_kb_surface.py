"""The knowledge base through the gate: files in, passages with spans and receipts out."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from datamind.core.errors import DataMindError, NotFound
from tests.support.systems import contents, open_system, read, status, write

HANDBOOK = "# Handbook\n\n## Hours\n\nThe workshop opens at 8:30.\n\n## Pets\n\nDogs may come on Tuesdays.\n"


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    path = tmp_path / "docs" / "handbook.md"
    path.parent.mkdir()
    path.write_text(HANDBOOK, encoding="utf-8")
    return path


async def test_a_passage_is_a_span_of_the_stored_text(tmp_path: Path, handbook: Path) -> None:
    async with open_system(tmp_path) as system:
        stored = await system.ingest(handbook)
        evidence = (await read(system, "kb_search", query="when does the workshop open")).evidence[0]
        assert HANDBOOK[evidence.locator.start : evidence.locator.end] == evidence.content
        assert "The workshop opens at 8:30." in evidence.content
        assert evidence.receipt_ids == (stored.receipts[0].receipt_id,)
        assert evidence.source.uri.endswith("docs/handbook.md")


async def test_a33_a_changed_file_replaces_its_earlier_version(tmp_path: Path, handbook: Path) -> None:
    async with open_system(tmp_path) as system:
        assert (await system.ingest(handbook)).status == "stored"
        assert (await system.ingest(handbook)).status == "unchanged"
        handbook.write_text(HANDBOOK.replace("8:30", "9:15"), encoding="utf-8")
        changed = await system.ingest(handbook)
        assert changed.receipts[0].result.operation == "replaced"
        found = contents(await read(system, "kb_search", query="workshop opens"))
        assert "9:15" in found[0]
        assert not any("8:30" in text for text in found)


async def test_a71_a_version_that_was_replaced_is_stored_again(tmp_path: Path, handbook: Path) -> None:
    other = HANDBOOK.replace("Dogs", "Cats")
    async with open_system(tmp_path) as system:
        for text, expected in ((HANDBOOK, "added"), (other, "replaced"), (HANDBOOK, "replaced")):
            handbook.write_text(text, encoding="utf-8")
            stored = await system.ingest(handbook)
            assert (stored.status, stored.receipts[0].result.operation) == ("stored", expected)
        assert "Dogs" in contents(await read(system, "kb_search", query="Tuesdays"))[0]


async def test_b18_the_same_bytes_under_two_names_are_two_sources(tmp_path: Path, handbook: Path) -> None:
    copy = handbook.with_name("copy.md")
    copy.write_text(HANDBOOK, encoding="utf-8")
    async with open_system(tmp_path) as system:
        for _ in range(3):
            await system.ingest(handbook.parent)
        listed = await read(system, "kb_list_documents")
        assert sorted(row["uri"].rpartition("/")[2] for row in listed.data["documents"]) == ["copy.md", "handbook.md"]


async def test_b19_a_deleted_document_is_gone_at_once_and_after_a_restart(tmp_path: Path, handbook: Path) -> None:
    async with open_system(tmp_path) as system:
        await system.ingest(handbook)
        gone = await write(system, "kb_delete", source="handbook.md")
        assert gone.receipts[0].read_back == "0 of 1 documents found"
        assert contents(await read(system, "kb_search", query="workshop")) == []
    async with open_system(tmp_path) as system:
        assert contents(await read(system, "kb_search", query="workshop")) == []
        assert (await system.ingest(handbook)).status == "stored"


async def test_the_reference_store_is_rebuilt_from_what_control_db_keeps(tmp_path: Path, handbook: Path) -> None:
    async with open_system(tmp_path) as system:
        await system.ingest(handbook)
    handbook.unlink()
    async with open_system(tmp_path) as system:
        assert "Dogs may come on Tuesdays." in contents(await read(system, "kb_search", query="dogs"))[0]
        whole = await read(system, "kb_get", document="handbook.md")
        assert contents(whole) == [HANDBOOK]


async def test_a_second_process_sees_what_the_first_wrote(tmp_path: Path, handbook: Path) -> None:
    async with open_system(tmp_path) as first, open_system(tmp_path) as second:
        assert contents(await read(second, "kb_search", query="workshop")) == []
        await system_ingest(first, handbook)
        assert len(contents(await read(second, "kb_search", query="workshop"))) == 1
        await write(first, "kb_delete", source="handbook.md")
        assert contents(await read(second, "kb_search", query="workshop")) == []


async def system_ingest(system, path: Path) -> None:
    assert (await system.ingest(path)).status == "stored"


async def test_a_folder_gives_each_file_its_own_receipt_and_names_what_it_cannot_read(
    tmp_path: Path, handbook: Path
) -> None:
    folder = handbook.parent
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (folder / "data.bin").write_bytes(bytes(range(256)))
    (folder / ".hidden.md").write_text("secret", encoding="utf-8")
    (folder / "link.md").symlink_to("/etc/hostname")
    async with open_system(tmp_path) as system:
        stored = await system.ingest(folder)
        assert stored.status == "partial"
        assert sorted((receipt.status, receipt.result.error is None) for receipt in stored.receipts) == [
            ("failed", False),
            ("stored", True),
        ]
        skipped = {item.path: item.code for item in stored.skipped}
        expected = {"picture.png": "no_loader", ".hidden.md": "hidden", "link.md": "link"}
        assert skipped == {path: f"skipped.{reason}" for path, reason in expected.items()}
        assert contents(await read(system, "kb_search", query="secret")) == []


@pytest.mark.parametrize("kind", ["missing", "fifo", "symlink", "empty", "binary"])
async def test_a_path_that_is_no_text_file_is_one_clear_line_and_nothing_is_stored(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "input.md"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "symlink":
        path.symlink_to("/etc/passwd")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "binary":
        path.write_bytes(bytes(range(256)))
    async with open_system(tmp_path) as system:
        try:
            result = await system.ingest(path)
        except DataMindError as error:
            assert "\n" not in str(error)
            assert isinstance(error, NotFound) == (kind == "missing")
        else:
            assert (result.status, kind in ("empty", "binary")) == ("failed", True)
            assert "\n" not in result.receipts[0].result.error.message
        assert (await read(system, "kb_count")).data["documents"] == 0


async def test_a36_a_filter_by_source_holds(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        for name in ("f1.md", "f2.md"):
            path = tmp_path / name
            path.write_text(f"Maple syrup from {name}.", encoding="utf-8")
            await system.ingest(path)
        found = await read(system, "kb_search", query="maple syrup", filters={"source": "f1.md"})
        assert contents(found) == ["Maple syrup from f1.md."]


async def test_text_is_kept_as_it_was_given(tmp_path: Path) -> None:
    text = "  Crème brûlée: 6 yolks.\r\n\r\n第二步：加糖。"
    async with open_system(tmp_path) as system:
        added = await write(system, "kb_add_text", text=text, title="Dessert")
        assert status(added) == "stored"
        assert contents(await read(system, "kb_get", document=added.receipts[0].result.ids[0])) == [text]
        assert "加糖" in contents(await read(system, "kb_search", query="加糖"))[0]


async def test_a_kb_that_is_blocked_is_off_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "kb-lancedb")
    async with open_system(tmp_path, kb={}) as system:
        assert any(notice.code == "surface_off.kb" and "kb-lancedb" in notice.message for notice in system.notices)
        path = tmp_path / "a.md"
        path.write_text("x", encoding="utf-8")
        with pytest.raises(DataMindError, match="kb is off"):
            await system.ingest(path)


async def test_a69_the_configured_top_k_is_how_many_passages_come_back(tmp_path: Path) -> None:
    async with open_system(tmp_path, retrieval={"top_k": 2}) as system:
        for number in range(4):
            await write(system, "kb_add_text", text=f"Larch tree number {number}.")
        assert len(contents(await read(system, "kb_search", query="larch"))) == 2
        assert len(contents(await read(system, "kb_search", query="larch", top_k=3))) == 3


async def test_the_stores_and_settings_in_a_folder_are_no_documents(tmp_path: Path, handbook: Path) -> None:
    async with open_system(tmp_path) as system:
        (system.profile.data_dir / "datamind.toml").write_text("[kb]\nbackend = 'memory'\n", encoding="utf-8")
        stored = await system.ingest(tmp_path)
        assert [receipt.source.uri.rpartition("/")[2] for receipt in stored.receipts] == ["handbook.md"]


async def test_a_knowledge_base_that_was_damaged_by_hand_is_built_again(tmp_path: Path) -> None:
    async with open_system(tmp_path, kb={"backend": "lancedb"}) as system:
        await write(system, "kb_add_text", text="The osprey nests on the mast.")
        folder = system.profile.storage_dir / "kb"
    for path in (folder / "lance").rglob("data/*"):
        path.write_bytes(b"x")
    async with open_system(tmp_path, kb={"backend": "lancedb"}) as system:
        assert contents(await read(system, "kb_search", query="osprey")) == ["The osprey nests on the mast."]
    assert list((folder / "damaged").iterdir())


async def test_a_folder_of_the_knowledge_base_that_was_removed_comes_back(tmp_path: Path) -> None:
    async with open_system(tmp_path, kb={"backend": "lancedb"}) as system:
        await write(system, "kb_add_text", text="The osprey nests on the mast.")
        folder = system.profile.storage_dir / "kb"
    shutil.rmtree(folder)
    async with open_system(tmp_path, kb={"backend": "lancedb"}) as system:
        assert contents(await read(system, "kb_search", query="osprey")) == ["The osprey nests on the mast."]
        reindexed = await write(system, "kb_reindex")
        assert reindexed.receipts[0].result.items_written == 1


@pytest.mark.parametrize("backend", ["memory", "lancedb"])
async def test_b21_a_long_document_is_read_in_pages_that_join_to_its_text(tmp_path: Path, backend: str) -> None:
    text = "".join(f"Line {number} of the log of buoy 4.\n" for number in range(1_500))
    async with open_system(tmp_path, kb={"backend": backend}) as system:
        written = await write(system, "kb_add_text", text=text)
        name = written.receipts[0].result.ids[0]
        parts, offset = [], 0
        while offset is not None:
            page = await read(system, "kb_get", document=name, offset=offset)
            (part,) = contents(page)
            assert len(part) <= 8_000
            assert page.data["characters"] == len(text)
            parts.append(part)
            offset = page.truncated.get("next_offset")
        assert "".join(parts) == text
        assert len(parts) == 6


@pytest.mark.parametrize("backend", ["memory", "lancedb"])
async def test_b21_a_search_with_large_passages_is_cut_for_the_model_and_says_so(tmp_path: Path, backend: str) -> None:
    rows = [{"id": str(n), "text": f"Heron {n}. " + "The heron waits in the reeds. " * 400} for n in range(6)]
    async with open_system(tmp_path, kb={"backend": backend}) as system:
        await write(system, "kb_add_chunks", chunks=rows)
        found = await read(system, "kb_search", query="heron", top_k=6)
        assert found.truncated == {"shown": 1, "total": 6}
        shown = json.loads(found.to_text())
        assert shown["truncated"] == {"shown": 1, "total": 6}
        # What is shown names what can be read on in.
        page = await read(system, "kb_get", document=shown["results"][0]["source"], offset=8_000)
        assert contents(page)[0] == contents(found)[0][8_000:]


async def test_b21_a_passage_that_is_too_large_keeps_its_ends_and_can_be_read_in_pages(tmp_path: Path) -> None:
    text = f"The first heron. {'It waits in the reeds. ' * 3_000}The last heron."
    async with open_system(tmp_path) as system:
        await write(system, "kb_add_chunks", chunks=[{"id": "1", "text": text}])
        found = await read(system, "kb_search", query="heron")
        (row,) = json.loads(found.to_text())["results"]
        assert len(row["content"]) < 21_000
        assert row["content"].startswith("The first heron.")
        assert row["content"].endswith("The last heron.")
        assert f"of {len(text)} characters left out" in row["content"]
        page = await read(system, "kb_get", document=row["source"])
        assert (page.data["characters"], page.truncated["next_offset"]) == (len(text), 8_000)
