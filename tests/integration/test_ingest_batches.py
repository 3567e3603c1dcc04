"""Files of one folder share a commit; each has its own intent, its own receipt and its own fate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from datamind.capabilities.control.sources import SourceLog
from datamind.capabilities.ingest import batches
from datamind.capabilities.ingest.shelf import LoaderShelf
from datamind.capabilities.kb.providers.memory import MemoryReader, MemoryVectorStore
from datamind.capabilities.kb.writes import KBWrites
from datamind.core.context import RequestContext
from datamind.core.errors import InputInvalid, StoreError
from datamind.core.types import Role
from tests.support.documents import make_docx, paragraph
from tests.support.systems import contents, open_system, read

PLANTS = ("alder", "birch", "cedar", "dogwood", "elder", "fern", "gorse", "hazel")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in PLANTS:
        (folder / f"{name}.md").write_text(f"# About {name}\n\nThe {name} grows by the weir.\n")
    return folder


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each commit of the store held."""
    seen: list[int] = []
    put_documents = MemoryVectorStore.put_documents

    async def counted(self: MemoryVectorStore, documents: Sequence[Any]) -> None:
        seen.append(len(documents))
        await put_documents(self, documents)

    monkeypatch.setattr(MemoryVectorStore, "put_documents", counted)
    return seen


async def test_every_file_has_its_own_receipt_and_all_share_a_commit(
    tmp_path: Path, notes: Path, commits: list[int]
) -> None:
    told: list[tuple[int, str]] = []
    async with open_system(tmp_path) as system:
        result = await system.ingest(notes, progress=lambda done, label: told.append((done, label)))
        assert commits == [len(PLANTS)]
        assert told == [(number, f"{name}.md") for number, name in enumerate(PLANTS, 1)]
        assert [receipt.source.uri.rpartition("/")[2] for receipt in result.receipts] == [f"{n}.md" for n in PLANTS]
        assert {receipt.result.operation for receipt in result.receipts} == {"added"}
        for part in ("receipt_id", "idempotency_key"):
            assert len({receipt[part] for receipt in result.receipts}) == len(PLANTS)
        (found,) = (await read(system, "kb_search", query="gorse")).evidence
        own = next(receipt for receipt in result.receipts if receipt.source == found.source)
        assert found.receipt_ids == (own.receipt_id,) and own.read_back == "1 of 1 documents found"


async def test_a_large_folder_goes_in_several_commits(
    tmp_path: Path, notes: Path, commits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "UNITS", 3)
    async with open_system(tmp_path) as system:
        assert len((await system.ingest(notes)).receipts) == len(PLANTS)
        assert commits == [3, 3, 2]
        monkeypatch.setattr(batches, "BYTES", 60)
        for path in notes.iterdir():
            path.write_text(path.read_text() + "It is old.\n")
        assert {receipt.result.operation for receipt in (await system.ingest(notes)).receipts} == {"replaced"}
        assert commits[3:] == [1] * len(PLANTS) or max(commits[3:]) == 2


async def test_a_bad_file_fails_alone_with_a_code_of_its_own(tmp_path: Path, notes: Path) -> None:
    (notes / "birch.md").write_bytes(b"\x89PNG\r\n\x1a\n not what the name says")
    (notes / "cedar.md").write_text("  \n")
    async with open_system(tmp_path) as system:
        result = await system.ingest(notes)
        assert result.status == "partial"
        codes = {r.source.uri.rpartition("/")[2]: r.result.error.code for r in result.receipts if r.result.error}
        assert codes["cedar.md"] == "input_invalid.no_text" and codes["birch.md"].startswith("source_unreadable")
        assert sorted(receipt.status for receipt in result.receipts) == ["failed"] * 2 + ["stored"] * 6
        assert len(contents(await read(system, "kb_search", query="weir", top_k=20))) == 6


async def test_what_the_store_refuses_keeps_none_of_the_others_out(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_documents = MemoryVectorStore.put_documents

    async def picky(self: MemoryVectorStore, documents: Sequence[Any]) -> None:
        if any("dogwood" in document.title for document, _ in documents):
            raise InputInvalid("a chunk cannot be stored")
        await put_documents(self, documents)

    monkeypatch.setattr(MemoryVectorStore, "put_documents", picky)
    async with open_system(tmp_path) as system:
        result = await system.ingest(notes)
        (bad,) = (receipt for receipt in result.receipts if receipt.status == "failed")
        assert bad.source.uri.endswith("dogwood.md") and bad.result.error.code == "input_invalid"
        assert len(contents(await read(system, "kb_search", query="weir", top_k=20))) == len(PLANTS) - 1


async def test_unchanged_files_are_neither_parsed_nor_asked_for_one_by_one(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "letter.docx").write_bytes(make_docx(paragraph("The moss buoy is green.")))
    async with open_system(tmp_path) as system:
        first = await system.ingest(notes)
        assert {receipt.status for receipt in first.receipts} == {"stored"}
        asked: list[str] = []
        loads: list[str] = []
        loader_of, document = LoaderShelf.loader_of, MemoryReader.document

        async def watched_loader(self: LoaderShelf, media_type: str) -> Any:
            loads.append(media_type)
            return await loader_of(self, media_type)

        async def watched_document(self: MemoryReader, document_id: str) -> Any:
            asked.append(document_id)
            return await document(self, document_id)

        monkeypatch.setattr(LoaderShelf, "loader_of", watched_loader)
        monkeypatch.setattr(MemoryReader, "document", watched_document)
        again = await system.ingest(notes)
        assert {receipt.status for receipt in again.receipts} == {"unchanged"} and again.status == "unchanged"
        assert (loads, asked) == ([], [])
        (notes / "letter.docx").write_bytes(make_docx(paragraph("The moss buoy is red.")))
        changed = await system.ingest(notes)
        assert sorted(r.result.operation for r in changed.receipts) == ["none"] * len(PLANTS) + ["replaced"]
        assert contents(await read(system, "kb_search", query="moss buoy")) == ["The moss buoy is red."]


async def test_unchanged_is_said_only_of_what_the_store_has(tmp_path: Path, notes: Path) -> None:
    async with open_system(tmp_path) as system:
        await system.ingest(notes)
        store = await system.services.write.kb._stores.store()
        (gone,) = (await read(system, "kb_search", query="hazel")).evidence
        page = await store.documents()
        await store.delete_documents([row.document_id for row in page.documents if row.source == gone.source])
        again = await system.ingest(notes)
        assert [r.source for r in again.receipts if r.status == "stored"] == [gone.source]
        assert contents(await read(system, "kb_search", query="hazel"))


async def test_a_title_that_was_given_stays_with_an_unchanged_file(tmp_path: Path, notes: Path) -> None:
    async with open_system(tmp_path) as system:
        arguments = {"path": str(notes / "fern.md"), "title": "Green"}
        ctx = RequestContext("default", Role.STORE, by_application=True, granted_paths=(notes,))
        titled = await system.call("kb_add_file", arguments, role=Role.STORE, ctx=ctx)
        assert [receipt.status for receipt in titled.receipts] == ["stored"]
        again = await system.ingest(notes)
        assert sorted(receipt.status for receipt in again.receipts) == ["stored"] * 7 + ["unchanged"]
        rows = (await read(system, "kb_list_documents")).data["documents"]
        assert [row["title"] for row in rows if row["uri"].endswith("fern.md")] == ["Green"]


async def test_a_failed_registration_leaves_every_file_as_it_was(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_system(tmp_path) as system:
        await system.ingest(notes)
        (notes / "alder.md").write_text("The alder was felled.\n")
        (notes / "iris.md").write_text("The iris blooms.\n")

        async def full(*args: Any) -> None:
            raise StoreError("no room on the disk", code="store_error.disk_full")

        with monkeypatch.context() as patch:
            patch.setattr(SourceLog, "put_all", full)
            result = await system.ingest(notes)
        failed = {r.source.uri.rpartition("/")[2]: r.result.error.code for r in result.receipts if r.result.error}
        assert failed == {"alder.md": "store_error.disk_full", "iris.md": "store_error.disk_full"}
        assert contents(await read(system, "kb_search", query="iris felled")) == []
        assert len(contents(await read(system, "kb_search", query="alder"))) == 1
        assert (await system.ingest(notes)).status == "stored"
        assert len(contents(await read(system, "kb_search", query="iris felled"))) == 2


async def test_who_cancels_in_the_middle_leaves_receipts(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "UNITS", 3)
    entered, go_on = asyncio.Event(), asyncio.Event()
    put_many = KBWrites.put_many

    async def slow(self: KBWrites, documents: Sequence[Any]) -> Any:
        entered.set()
        await go_on.wait()
        return await put_many(self, documents)

    monkeypatch.setattr(KBWrites, "put_many", slow)
    async with open_system(tmp_path) as system:
        task = asyncio.create_task(system.ingest(notes))
        await asyncio.wait_for(entered.wait(), 30)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 30)
        assert await system.services.control.receipts.count() == 3
        assert not system.services.control.intents.has_open_intents()
        assert len(contents(await read(system, "kb_search", query="weir", top_k=20))) == 3
        again = await system.ingest(notes)
        assert sorted(receipt.status for receipt in again.receipts) == ["stored"] * 5 + ["unchanged"] * 3


async def test_what_could_not_be_synced_has_its_receipts_at_the_next_start(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(self: KBWrites) -> None:
        raise StoreError("the disk does not answer", code="store_error.busy", retryable=True)

    async with open_system(tmp_path) as system:
        with monkeypatch.context() as patch:
            patch.setattr(KBWrites, "sync", failing)
            with pytest.raises(StoreError, match="could not be confirmed"):
                await system.ingest(notes)
        assert await system.services.control.receipts.count() == 0
        system.services.control.intents._owner.release()  # as if the process had died
    async with open_system(tmp_path) as system:
        receipts = await system.services.control.receipts.latest(limit=50)
        assert [receipt.status for receipt in receipts] == ["stored"] * len(PLANTS)
        assert len(contents(await read(system, "kb_search", query="weir", top_k=20))) == len(PLANTS)


@pytest.mark.parametrize("together", [True, False])
async def test_what_a_dead_process_left_is_finished_in_one_commit_or_one_by_one(
    tmp_path: Path, notes: Path, commits: list[int], monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    async def refusing(*args: Any) -> None:
        raise StoreError("the disk does not answer", code="store_error.busy", retryable=True)

    async with open_system(tmp_path) as system:
        with monkeypatch.context() as patch:
            patch.setattr(batches, "_ends", refusing)
            with pytest.raises(StoreError):
                await system.ingest(notes)
        assert (await system.services.control.receipts.count(), commits) == (0, [])
        system.services.control.intents._owner.release()  # as if the process had died
    if not together:
        monkeypatch.setattr(batches, "_confirm", refusing)  # a fault that one of them meets
    async with open_system(tmp_path) as system:
        receipts = await system.receipts.latest(limit=50)
        assert [receipt.status for receipt in receipts] == ["stored"] * len(PLANTS)
        assert len(contents(await read(system, "kb_search", query="weir", top_k=20))) == len(PLANTS)
        assert commits == [len(PLANTS)] + ([] if together else [1] * len(PLANTS))


async def test_under_a_key_each_file_is_a_write_of_its_own(tmp_path: Path, notes: Path, commits: list[int]) -> None:
    async with open_system(tmp_path) as system:
        first = await system.ingest(notes, idempotency_key="autumn")
        assert commits == [1] * len(PLANTS)
        assert [receipt.idempotency_key for receipt in first.receipts] == [f"autumn#{n}" for n in range(len(PLANTS))]
        assert (await system.ingest(notes, idempotency_key="autumn")).receipts == first.receipts
