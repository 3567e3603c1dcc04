"""Taking writes back and bringing back what was there before, on the engines of the default install."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from datamind.agent import DataMind
from datamind.core.errors import Conflict, NotFound
from datamind.core.receipts import IngestReceipt, StoreResult
from tests.support.systems import contents, open_system, read, write

ENGINES = {
    "kb": {"backend": "lancedb"},
    "db": {"dialect": "duckdb"},
    "graph": {"backend": "rdflib"},
    "memory": {"backend": "sqlite"},
    "llm": {"protocol": "offline"},
    "embedding": {"provider": "hashing"},
}
SMALL = {"kb": {"backend": "memory"}, "graph": {"backend": "memory"}, "memory": {"backend": "memory"}}


@pytest.fixture(params=["engines", "reference"])
async def system(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[DataMind]:
    sections = ENGINES if request.param == "engines" else {**ENGINES, **SMALL}
    async with open_system(tmp_path / "home", **sections) as opened:
        yield opened


async def note(system: DataMind, folder: Path, text: str) -> IngestReceipt:
    path = folder / "note.md"
    path.write_text(text, encoding="utf-8")
    (receipt,) = (await system.ingest(path)).receipts
    return receipt


async def found(system: DataMind, words: str) -> list[str]:
    return contents(await read(system, "kb_search", query=words))


def only(result: StoreResult) -> IngestReceipt:
    (receipt,) = result.receipts
    assert result.status == "stored"
    return receipt


async def test_the_version_before_comes_back_with_its_words_and_vectors(system: DataMind, tmp_path: Path) -> None:
    first = await note(system, tmp_path, "# Oven\n\nThe oven is blue.\n")
    await system.drain()
    before = (await read(system, "kb_count")).data
    second = await note(system, tmp_path, "# Oven\n\nThe oven is scarlet.\n\n## Door\n\nIt has a hatch.\n")
    assert second.result.revert == "restores_previous"
    plan = await system.plan_revert(second.receipt_id)
    assert [(step.tool, "Oven" in step.what) for step in plan.steps] == [("kb_restore", True)]
    reverted = only(await system.revert(second.receipt_id))
    assert (reverted.result.operation, reverted.read_back) == ("restored", "1 of 1 documents found")
    assert "scarlet" not in "".join(await found(system, "scarlet hatch"))
    (passage,) = (await read(system, "kb_search", query="blue oven")).evidence
    assert passage.receipt_ids == (first.receipt_id,)
    await system.drain()
    assert (await read(system, "kb_count")).data == before
    assert (await system.revert(second.receipt_id)).status == "unchanged"
    assert reverted.receipt_id in (await system.revert(second.receipt_id)).answer
    only(await system.revert(reverted.receipt_id))
    assert "blue" not in "".join(await found(system, "blue"))
    assert "scarlet" in "".join(await found(system, "scarlet"))
    with pytest.raises(Conflict, match=second.receipt_id):
        await system.revert(first.receipt_id)
    for receipt in (second, first):
        only(await system.revert(receipt.receipt_id))
    assert (await read(system, "kb_count")).data["documents"] == 0


async def test_a_deleted_document_comes_back_and_goes_again(system: DataMind, tmp_path: Path) -> None:
    first = await note(system, tmp_path, "# Oven\n\nThe oven is blue.\n")
    (deleted,) = (await write(system, "kb_delete", document_ids=list(first.result.ids))).receipts
    back = only(await system.revert(deleted.receipt_id))
    assert len(await found(system, "blue")) == 1
    only(await system.revert(back.receipt_id))
    assert await found(system, "blue") == []
    only(await system.revert(deleted.receipt_id))  # a second time, under a key of its own
    assert len(await found(system, "blue")) == 1


async def test_a_title_that_was_changed_is_as_it_was(system: DataMind) -> None:
    await write(system, "kb_add_text", text="The kiln is green.", title="Kiln")
    (renamed,) = (await write(system, "kb_add_text", text="The kiln is green.", title="Furnace")).receipts
    assert (renamed.result.operation, renamed.result.revert) == ("replaced", "restores_previous")
    only(await system.revert(renamed.receipt_id))
    (row,) = (await read(system, "kb_list_documents")).data["documents"]
    assert row["title"] == "Kiln"


async def test_chunks_that_were_replaced_come_back_and_new_ones_go(system: DataMind) -> None:
    await write(system, "kb_add_chunks", chunks=[{"id": "a", "text": "one apple"}])
    chunks = [{"id": "a", "text": "one pear"}, {"id": "b", "text": "two plums"}]
    (second,) = (await write(system, "kb_add_chunks", chunks=chunks)).receipts
    assert second.result.operation == "replaced"
    only(await system.revert(second.receipt_id))
    assert (await found(system, "apple"), await found(system, "pear plums")) == (["one apple"], [])


async def save_home(system: DataMind, city: str) -> IngestReceipt:
    fact = {"subject": "Ada", "attribute": "home", "value": city, "functional": True}
    outcome = await write(system, "memory_save", text=f"Ada lives in {city}.", kind="fact", **fact)
    (receipt,) = outcome.receipts
    return receipt


async def homes(system: DataMind) -> list[str]:
    return contents(await read(system, "memory_recall", query="Ada lives"))


async def test_a_fact_that_was_superseded_holds_again(system: DataMind) -> None:
    await save_home(system, "Oslo")
    moved = await save_home(system, "Bergen")
    assert (moved.result.operation, moved.result.revert) == ("superseded", "restores_previous")
    reverted = only(await system.revert(moved.receipt_id))
    assert reverted.read_back == "1 of 1 memories found, 0 of 1 that went found"
    assert await homes(system) == ["Ada lives in Oslo."]
    only(await system.revert(reverted.receipt_id))
    assert await homes(system) == ["Ada lives in Bergen."]
    later = await save_home(system, "Rome")
    with pytest.raises(Conflict, match=later.receipt_id):
        await system.revert(moved.receipt_id)
    only(await system.revert(later.receipt_id))
    only(await system.revert(moved.receipt_id))
    assert await homes(system) == ["Ada lives in Oslo."]


async def test_a_memory_that_was_forgotten_or_updated_comes_back(system: DataMind) -> None:
    saved = await write(system, "memory_save", text="Tea is served at four.", kind="fact")
    memory_id = saved.receipts[0].result.ids[0]
    (updated,) = (
        await write(system, "memory_update", memory_id=memory_id, text="Tea is at five.", kind="fact")
    ).receipts
    only(await system.revert(updated.receipt_id))
    assert contents(await read(system, "memory_recall", query="tea")) == ["Tea is served at four."]
    (forgotten,) = (await write(system, "memory_forget", memory_ids=[memory_id])).receipts
    only(await system.revert(forgotten.receipt_id))
    assert contents(await read(system, "memory_recall", query="tea")) == ["Tea is served at four."]
    drained = await system.drain()
    assert drained is not None


async def test_what_was_forgotten_does_not_come_back_beside_a_later_value(system: DataMind) -> None:
    first = await save_home(system, "Oslo")
    (forgotten,) = (await write(system, "memory_forget", memory_ids=list(first.result.ids))).receipts
    later = await save_home(system, "Rome")
    with pytest.raises(Conflict, match=later.receipt_id):
        await system.revert(forgotten.receipt_id)
    assert await homes(system) == ["Ada lives in Rome."]


async def test_a_skill_is_as_it_was(system: DataMind) -> None:
    draft = {"name": "close-month", "description": "How to close the books.", "keywords": ["ledger"]}
    (first,) = (await write(system, "skill_upsert", body="1. Lock.\n", **draft)).receipts
    file = system.profile.data_dir / "skills" / "close-month" / "SKILL.md"
    original = file.read_bytes()
    (second,) = (
        await write(system, "skill_upsert", body="1. Open.\n", name=draft["name"], description="Other.")
    ).receipts
    reverted = only(await system.revert(second.receipt_id))
    assert file.read_bytes() == original
    only(await system.revert(reverted.receipt_id))
    assert "1. Open." in file.read_text(encoding="utf-8")
    with pytest.raises(Conflict, match=second.receipt_id):
        await system.revert(first.receipt_id)
    (deleted,) = (await write(system, "skill_delete", name="close-month")).receipts
    only(await system.revert(deleted.receipt_id))
    for receipt in (second, first):
        only(await system.revert(receipt.receipt_id))
    assert not file.exists()


async def test_an_edit_by_hand_comes_back_too(system: DataMind) -> None:
    draft = {"name": "close-month", "description": "How to close the books."}
    await write(system, "skill_upsert", body="1. Lock.\n", **draft)
    file = system.profile.data_dir / "skills" / "close-month" / "SKILL.md"
    edited = file.read_text(encoding="utf-8") + "2. Tell everyone.\n"
    file.write_text(edited, encoding="utf-8")
    (second,) = (await write(system, "skill_upsert", body="1. Open.\n", **draft)).receipts
    only(await system.revert(second.receipt_id))
    assert file.read_text(encoding="utf-8") == edited
    file.write_text(edited + "3. Rest.\n", encoding="utf-8")
    with pytest.raises(Conflict, match="changed since"):
        await system.revert((await system.plan_revert(second.receipt_id)).undone_by[second.receipt_id].receipt_id)


class Yes:
    """A person who agrees."""

    async def decide(self, request: object) -> bool:
        return True


async def test_what_a_receipt_promises_is_done_for_every_tool_that_writes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_system(home, approver=Yes(), **ENGINES) as system:
        files = system.profile.data_dir / "in"
        files.mkdir(parents=True)
        for name, text in {
            "a.md": "# A\n\nAlpha.\n",
            "t.csv": "k,v\n1,2\n",
            "g.nt": "<urn:a> <urn:b> <urn:c> .\n",
        }.items():
            (files / name).write_text(text, encoding="utf-8")
        seen = set()
        for tool, arguments in [
            ("kb_add_text", {"text": "Beta.", "title": "B"}),
            ("kb_add_file", {"path": str(files / "a.md")}),
            ("kb_delete", {"source": "a.md"}),
            ("kb_add_path", {"path": str(files / "a.md")}),
            ("kb_add_chunks", {"chunks": [{"text": "gamma", "id": "c"}]}),
            ("kb_reindex", {}),
            ("memory_save", {"text": "Delta holds.", "kind": "fact"}),
            ("memory_update", {"query": "Delta", "text": "Delta held.", "kind": "fact"}),
            ("memory_forget", {"query": "Delta"}),
            ("skill_upsert", {"name": "s", "description": "Does it.", "body": "1."}),
            ("skill_delete", {"name": "s"}),
            ("graph_upsert_triples", {"triples": [{"subject": "x", "predicate": "y", "object": "z"}]}),
            ("graph_import_path", {"path": str(files / "g.nt")}),
            ("graph_delete", {"subject": "x"}),
            ("db_create_table", {"table": "made", "columns": [{"name": "n", "type": "integer"}]}),
            ("db_import_csv", {"path": str(files / "t.csv"), "table": "one"}),
            ("db_import_path", {"path": str(files / "t.csv"), "table": "two"}),
            ("db_import_records", {"records": [{"n": 1}], "table": "three"}),
            ("db_drop_table", {"table": "three"}),
            ("db_remove_import", {"table": "two"}),
        ]:
            given = dict(arguments)
            if tool == "graph_delete":
                await write(system, "graph_upsert_triples", triples=[{"subject": "x", "predicate": "y", "object": "w"}])
            if tool in ("db_drop_table", "db_remove_import"):
                rows = await write(system, "db_import_records", records=[{"n": 2}], table=given["table"])
                given |= {"receipt": rows.receipts[0].receipt_id} if tool == "db_remove_import" else {}
            outcome = await write(system, tool, **given)
            assert outcome.receipts, (tool, outcome)
            (receipt,) = outcome.receipts
            assert receipt.status == "stored", (tool, receipt)
            seen.add(tool)
            if receipt.result.revert == "none":
                with pytest.raises(Conflict):
                    await system.revert(receipt.receipt_id)
                continue
            reverted = only(await system.revert(receipt.receipt_id))
            assert (await system.revert(receipt.receipt_id)).status == "unchanged"
            if reverted.result.revert != "none":  # so that the next one finds what it needs
                only(await system.revert(reverted.receipt_id))
        writing = {spec.name for spec in system.catalogue if spec.writes and not spec.name.endswith("_restore")}
        assert writing == seen


async def test_undo_goes_back_step_by_step(system: DataMind, tmp_path: Path) -> None:
    await note(system, tmp_path, "# Oven\n\nThe oven is blue.\n")
    await note(system, tmp_path, "# Oven\n\nThe oven is scarlet.\n")
    await system.undo()
    assert len(await found(system, "blue")) == 1
    await system.undo()
    assert (await read(system, "kb_count")).data["documents"] == 0
    assert (await system.undo()).status == "unchanged"


async def test_an_unknown_receipt_is_told(system: DataMind) -> None:
    with pytest.raises(NotFound, match="no receipt 'rcpt_none'"):
        await system.revert("rcpt_none")
