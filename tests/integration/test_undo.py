"""Taking additions back, on the engines of the default install."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from datamind.agent import DataMind
from datamind.core.errors import Conflict, NotFound
from datamind.core.receipts import IngestReceipt
from tests.support.systems import contents, open_system, read, write

ENGINES = {
    "kb": {"backend": "lancedb"},
    "db": {"dialect": "duckdb"},
    "graph": {"backend": "rdflib"},
    "memory": {"backend": "sqlite"},
    "llm": {"protocol": "offline"},
    "embedding": {"provider": "hashing"},
}
TURTLE = "@prefix : <https://example.org/> .\n:Anna :leads :Bakery .\n:Bakery :bakes :Rye .\n"


@pytest.fixture
async def system(tmp_path: Path) -> AsyncIterator[DataMind]:
    async with open_system(tmp_path / "home", **ENGINES) as opened:
        yield opened


def placed(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def only_receipt(system: DataMind, path: Path) -> IngestReceipt:
    (receipt,) = (await system.ingest(path)).receipts
    return receipt


async def test_a_memory_is_shown_forgotten_and_found_no_more(system: DataMind) -> None:
    await write(system, "memory_save", text="Tea is served at four.", kind="fact")
    plan = await system.plan_undo()
    assert [(step.tool, "Tea is served at four." in step.what) for step in plan.steps] == [("memory_forget", True)]
    assert contents(await read(system, "memory_recall", query="tea")) == ["Tea is served at four."]
    result = await system.undo(plan)
    assert (result.status, [receipt.result.operation for receipt in result.receipts]) == ("stored", ["forgotten"])
    assert result.receipts[0].read_back == "0 of 1 memories found"
    assert contents(await read(system, "memory_recall", query="tea")) == []


async def test_a_memory_of_a_conversation_goes_too(system: DataMind) -> None:
    await write(system, "memory_save", session="s1", text="Only here: the code is 4711.", kind="fact", scope="session")
    assert (await system.undo()).status == "stored"
    assert contents(await read(system, "memory_recall", session="s1", query="code")) == []


async def test_a_memory_of_all_profiles_goes_too(system: DataMind) -> None:
    saved = await write(system, "memory_save", text="Everywhere: use metric units.", kind="preference", scope="global")
    assert saved.receipts[0].profile != system.profile.name
    assert (await system.undo()).receipts[0].profile == saved.receipts[0].profile
    assert contents(await read(system, "memory_recall", query="metric units")) == []
    assert (await system.undo()).status == "unchanged"


async def test_c16_what_is_removed_in_bulk_is_removed_in_one_profile_alone(tmp_path: Path) -> None:
    sections = {"db": {"dialect": "duckdb"}, "graph": {"backend": "rdflib"}}
    place = placed(tmp_path / "in", "sales.csv", "city,amount\nRome,3\n").parent
    placed(place, "facts.ttl", TURTLE)
    placed(place, "a.md", "# Ovens\n\nThe oven is blue.\n")
    async with (
        open_system(tmp_path, profile="first", **sections) as first,
        open_system(tmp_path, profile="second", **sections) as second,
    ):
        for one in (first, second):
            await one.ingest(place)
        undone = await first.undo()
        assert {receipt.result.surface for receipt in undone.receipts} == {"kb", "db", "graph"}
        assert contents(await read(first, "kb_search", query="oven")) == []
        assert (await read(first, "db_list_tables")).data["tables"] == []
        assert contents(await read(second, "kb_search", query="oven")) != []
        assert list(await second.sql("SELECT amount FROM sales")) == [(3,)]
        assert (await read(second, "graph_stats")).data["statements"] == 2


async def test_all_files_of_one_command_go_together(system: DataMind, tmp_path: Path) -> None:
    await system.ingest(placed(tmp_path, "old.md", "# Old\n\nThe kiln is green.\n"))
    placed(tmp_path / "in", "a.md", "# Ovens\n\nThe oven is blue.\n")
    placed(tmp_path / "in", "b.md", "# Doors\n\nThe door is red.\n")
    placed(tmp_path / "in", "sales.csv", "city,amount\nRome,3\nOslo,4\n")
    placed(tmp_path / "in", "facts.ttl", TURTLE)
    stored = await system.ingest(tmp_path / "in")
    plan = await system.plan_undo()
    assert {step.receipt.receipt_id for step in plan.steps} == {receipt.receipt_id for receipt in stored.receipts}
    whats = {step.tool: step.what for step in plan.steps}
    assert whats["db_remove_import"] == "2 of 2 rows of sales"
    assert whats["graph_delete"] == "2 statements"
    assert (await system.undo()).status == "stored"
    assert contents(await read(system, "kb_search", query="oven door")) == []
    assert (await read(system, "db_list_tables")).data == {"tables": []}
    assert (await read(system, "graph_stats")).data["statements"] == 0
    # The undo itself is no write that an undo takes back: the next one goes a step further.
    assert [step.what.startswith("Old") for step in (await system.plan_undo()).steps] == [True]


async def test_rows_that_were_appended_go_and_the_others_stay(system: DataMind, tmp_path: Path) -> None:
    first = await only_receipt(system, placed(tmp_path, "a/sales.csv", "city,amount\nRome,3\n"))
    await only_receipt(system, placed(tmp_path, "b/sales.csv", "city,amount\nOslo,4\nBonn,5\n"))
    assert [step.what for step in (await system.plan_undo()).steps] == ["2 of 3 rows of sales"]
    result = await system.undo()
    assert result.receipts[0].read_back == "1 rows left, none of that import"
    assert list(await system.sql("SELECT city FROM sales")) == [("Rome",)]
    await system.undo(first.receipt_id)
    assert (await read(system, "db_list_tables")).data == {"tables": []}


async def test_rows_of_an_edited_file_stay_and_the_older_version_is_told(system: DataMind, tmp_path: Path) -> None:
    first = await only_receipt(system, placed(tmp_path, "sales.csv", "city,amount\nRome,3\n"))
    edited = await only_receipt(system, placed(tmp_path, "sales.csv", "city,amount\nOslo,4\n"))
    for asked in ("", edited.receipt_id):
        with pytest.raises(Conflict, match="replaced something on db"):
            await system.undo(asked)
    with pytest.raises(Conflict, match="nothing is kept"):
        await system.undo(first.receipt_id)
    assert list(await system.sql("SELECT city FROM sales")) == [("Oslo",)]
    other = await only_receipt(system, placed(tmp_path, "b/sales.csv", "city,amount\nBonn,5\n"))
    assert (await system.undo(other.receipt_id)).status == "stored"
    assert (await system.undo(other.receipt_id)).status == "unchanged"
    assert list(await system.sql("SELECT city FROM sales")) == [("Oslo",)]
    removed = await write(system, "db_remove_import", table="sales", receipt=edited.receipt_id)
    assert removed.receipts[0].status == "stored"
    assert (await read(system, "db_list_tables")).data == {"tables": []}


async def test_a_skill_goes_unless_it_was_edited_since(system: DataMind) -> None:
    draft = {"name": "close-month", "description": "How to close the books.", "body": "1. Lock.\n"}
    written = await write(system, "skill_upsert", **draft)
    file = system.profile.data_dir / "skills" / "close-month" / "SKILL.md"
    kept = file.read_text(encoding="utf-8")
    file.write_text(kept + "2. Tell everyone.\n", encoding="utf-8")
    with pytest.raises(Conflict, match="changed since"):
        await system.undo(written.receipts[0].receipt_id)
    file.write_text(kept, encoding="utf-8")
    assert (await system.undo()).status == "stored"
    assert not file.exists()


async def test_undone_twice_says_so(system: DataMind, tmp_path: Path) -> None:
    receipt = await only_receipt(system, placed(tmp_path, "a.md", "# Ovens\n\nThe oven is blue.\n"))
    undone = await system.undo(receipt.receipt_id)
    again = await system.undo(receipt.receipt_id)
    assert (again.status, again.receipts) == ("unchanged", ())
    assert again.answer == f"{receipt.receipt_id} was reverted by {undone.receipts[0].receipt_id}."
    assert (await system.undo()).answer == "There is nothing to undo."
    # Stored anew it is another addition, with a receipt and an undo of its own.
    await only_receipt(system, tmp_path / "a.md")
    assert (await system.undo()).status == "stored"
    assert contents(await read(system, "kb_search", query="oven")) == []


async def test_what_a_later_write_replaced_is_refused_and_stays(system: DataMind, tmp_path: Path) -> None:
    path = placed(tmp_path, "a.md", "# Ovens\n\nThe oven is blue.\n")
    first = await only_receipt(system, path)
    placed(tmp_path, "a.md", "# Ovens\n\nThe oven is white.\n")
    replaced = await only_receipt(system, path)
    with pytest.raises(Conflict, match=replaced.receipt_id) as refused:
        await system.undo(first.receipt_id)
    assert refused.value.code == "conflict.changed_since"
    assert "white" in contents(await read(system, "kb_search", query="oven"))[0]


async def test_in_a_mixed_request_additions_go_and_the_version_before_comes_back(
    system: DataMind, tmp_path: Path
) -> None:
    placed(tmp_path / "in", "a.md", "# Ovens\n\nThe oven is blue.\n")
    await system.ingest(tmp_path / "in")
    placed(tmp_path / "in", "a.md", "# Ovens\n\nThe oven is white.\n")
    placed(tmp_path / "in", "b.md", "# Doors\n\nThe door is red.\n")
    stored = await system.ingest(tmp_path / "in")
    plan = await system.plan_undo(stored.trace_id)
    assert {step.tool for step in plan.steps} == {"kb_restore", "kb_delete"}
    await system.undo(plan)
    assert "red" not in "".join(contents(await read(system, "kb_search", query="door")))
    assert "blue" in contents(await read(system, "kb_search", query="oven"))[0]


class Yes:
    """A person who agrees."""

    async def decide(self, request: object) -> bool:
        return True


async def test_a_write_of_more_documents_than_one_call_deletes_goes_whole(tmp_path: Path) -> None:
    chunks = [{"text": f"Buoy number {number} is green.", "id": f"b{number}"} for number in range(1_100)]
    async with open_system(tmp_path / "home", approver=Yes(), **ENGINES) as system:
        stored = await write(system, "kb_add_chunks", chunks=chunks)
        assert stored.receipts[0].result.items_written == 1_100
        plan = await system.plan_undo()
        assert [step.part for step in plan.steps] == [0, 1]
        assert "and 995 more" in plan.steps[0].what
        assert (await system.undo()).status == "stored"
        assert (await read(system, "kb_count")).data["documents"] == 0
        assert "was reverted by" in (await system.undo(stored.receipts[0].receipt_id)).answer


async def test_an_id_that_is_not_there_is_said(system: DataMind) -> None:
    with pytest.raises(NotFound):
        await system.undo("rcpt_nope.default")
    assert (await system.plan_undo()).steps == ()
