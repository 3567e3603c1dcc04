"""Forgetting and erasing on the engines of the default install, proved by a search through the profile's files."""

from __future__ import annotations

import json
import random
import string
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from datamind.agent import DataMind
from datamind.core.errors import InputInvalid, NotFound
from datamind.core.types import Role
from tests.support.systems import contents, open_system, read, write

ENGINES = {
    "kb": {"backend": "lancedb"},
    "db": {"dialect": "duckdb"},
    "graph": {"backend": "rdflib"},
    "memory": {"backend": "sqlite"},
    "llm": {"protocol": "offline"},
    "embedding": {"provider": "hashing"},
}


def make_canary(seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_lowercase, k=24))


CANARY = make_canary(1)
OTHER = make_canary(2)


def forms(word: str) -> Iterator[bytes]:
    """As the files could hold it; the index of memories' words writes each word as hexadecimal digits."""
    yield from (word.encode(), word.encode("utf-16-le"), word.encode().hex().encode(), json.dumps(word)[1:-1].encode())


def places(home: Path, word: str) -> list[str]:
    """Every file below the folders of all profiles, ``_shared`` among them, that holds a word."""
    return [
        str(path.relative_to(home))
        for path in sorted((home / "storage").rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in forms(word))
    ]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def system(home: Path) -> AsyncIterator[DataMind]:
    async with open_system(home, **ENGINES) as opened:
        yield opened


def placed(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def uri_of(system: DataMind, path: Path) -> str:
    (receipt,) = (await system.ingest(path)).receipts
    assert receipt.source is not None
    return receipt.source.uri


async def test_a_document_is_erased_with_its_versions_answers_vectors_and_the_other_stays(
    system: DataMind, home: Path, tmp_path: Path
) -> None:
    path = placed(tmp_path, "a.md", f"# Ovens\n\nThe first oven is called {CANARY}.\n")
    uri = await uri_of(system, path)
    placed(tmp_path, "a.md", f"# Ovens\n\nThe second oven is called {CANARY}, and it is blue.\n")
    await system.ingest(path)
    await system.ingest(placed(tmp_path, "b.md", f"# Kilns\n\nThe kiln is called {OTHER}.\n"))
    await system.drain()
    answer = await system.query("What is the second oven called?", session="talk")
    assert CANARY in answer.answer and places(home, CANARY)
    plan = await system.plan_forget(source=uri)
    assert dict(plan.counts) == {"kb": 1} and len(plan.receipts) == 2
    assert plan.stays == (f"the file {uri.removeprefix('file:')} itself is yours",)
    result = await system.forget(plan, erase=True)
    assert result.status == "stored"
    assert [notice.code for notice in result.notices if notice.code.startswith("erase")] == []
    assert {receipt.result.revert for receipt in result.receipts} == {"none"}
    assert [receipt.result.operation for receipt in result.receipts] == ["deleted", "erased"]
    assert not any("oven" in text for text in contents(await read(system, "kb_search", query="second oven")))
    assert OTHER in contents(await read(system, "kb_search", query="kiln called"))[0]
    assert await system.answers.latest() == [] and await system.conversations.sessions() == []
    assert places(home, CANARY) == [] and places(home, OTHER)
    await system.aclose()
    assert places(home, CANARY) == []


async def test_forgetting_alone_takes_it_off_the_read_paths_and_leaves_the_stored_text(
    system: DataMind, home: Path, tmp_path: Path
) -> None:
    uri = await uri_of(system, placed(tmp_path, "a.md", f"# Ovens\n\nThe oven is called {CANARY}.\n"))
    result = await system.forget(await system.plan_forget(source=uri))
    assert [receipt.result.operation for receipt in result.receipts] == ["deleted"]
    assert contents(await read(system, "kb_search", query="oven")) == []
    assert places(home, CANARY)


async def test_rows_of_a_table_are_erased_and_those_of_another_file_stay(
    system: DataMind, home: Path, tmp_path: Path
) -> None:
    uri = await uri_of(system, placed(tmp_path, "a.csv", f"city,amount\n{CANARY},3\nRome,4\n"))
    other = placed(tmp_path, "b.csv", f"city,amount\n{OTHER},5\n")
    done = await write(system, "db_import_path", path=str(other), table="a", if_exists="append")
    if done.is_error:
        done = await system.call(
            "db_import_path", {"path": str(other), "table": "a", "if_exists": "append"}, role=Role.STORE
        )
    result = await system.forget(await system.plan_forget(source=uri), erase=True)
    assert result.status == "stored" and places(home, CANARY) == []
    assert (await read(system, "db_list_tables")).data["tables"] is not None


async def test_statements_of_a_file_are_erased_with_their_names(system: DataMind, home: Path, tmp_path: Path) -> None:
    text = f'@prefix : <https://example.org/> .\n:Anna :leads :{CANARY} .\n:{CANARY} :says "the word {CANARY}" .\n'
    uri = await uri_of(system, placed(tmp_path, "facts.ttl", text))
    await system.ingest(placed(tmp_path, "more.ttl", f"@prefix : <https://example.org/> .\n:Anna :bakes :{OTHER} .\n"))
    before = (await read(system, "graph_stats")).data["statements"]
    result = await system.forget(await system.plan_forget(source=uri), erase=True)
    assert result.status == "stored" and places(home, CANARY) == []
    assert before == 3 and (await read(system, "graph_stats")).data["statements"] == 1
    assert (await read(system, "graph_search_entities", query="Anna")).data["entities"]


async def test_memories_of_an_entity_are_erased_of_every_scope(system: DataMind, home: Path) -> None:
    for scope, session in (("profile", ""), ("session", "talk"), ("global", "")):
        text = f"Anna Berg likes {CANARY} ({scope})."
        await write(system, "memory_save", session=session, text=text, kind="fact", scope=scope, subject="Anna Berg")
    await write(system, "memory_save", text=f"Ben likes {OTHER}.", kind="fact", subject="Ben")
    assert len({place.split("/")[1] for place in places(home, CANARY)}) == 2
    plan = await system.plan_forget(entity="Anna Berg")
    assert dict(plan.counts) == {"memory": 3}
    result = await system.forget(plan, erase=True)
    assert result.status == "stored" and places(home, CANARY) == []
    assert len(contents(await read(system, "memory_recall", query="likes"))) == 1


async def test_a_memory_that_was_forgotten_before_is_erased_by_its_receipt(system: DataMind, home: Path) -> None:
    saved = await write(system, "memory_save", text=f"Tea is called {CANARY}.", kind="fact")
    await write(system, "memory_forget", query=CANARY)
    assert places(home, CANARY)
    plan = await system.plan_forget(receipts=[saved.receipts[0].receipt_id])
    assert plan.steps == () and not plan.is_empty
    assert (await system.forget(plan, erase=True)).status == "stored"
    assert places(home, CANARY) == []


async def test_a_skill_is_erased_with_the_texts_before_its_changes(system: DataMind, home: Path) -> None:
    for word in (CANARY, "nothing"):
        await write(system, "skill_upsert", name="bake", description="How to bake", body=f"Say {word} first.")
    plan = await system.plan_forget(query="bake")
    assert dict(plan.counts) == {"skills": 1}
    assert (await system.forget(plan, erase=True)).status == "stored"
    assert places(home, CANARY) == []


async def test_of_two_sources_with_the_same_bytes_the_other_stays(system: DataMind, home: Path, tmp_path: Path) -> None:
    text = f"# Ovens\n\nThe oven is called {CANARY}.\n"
    uri = await uri_of(system, placed(tmp_path, "a.md", text))
    await system.ingest(placed(tmp_path, "b.md", text))
    result = await system.forget(await system.plan_forget(source=uri), erase=True)
    assert result.status == "stored"
    (found,) = contents(await read(system, "kb_search", query="oven called"))
    assert CANARY in found
    await write(system, "kb_reindex")
    assert len(contents(await read(system, "kb_search", query="oven called"))) == 1


async def test_statements_of_an_entity_go_and_a_write_of_which_a_part_stays_is_named(
    system: DataMind, home: Path
) -> None:
    triples = [
        {"subject": "Anna Berg", "predicate": "leads", "object": "Bakery"},
        {"subject": "Ben", "predicate": "bakes", "object": "Rye"},
    ]
    await write(system, "graph_upsert_triples", triples=triples[:1])
    await write(system, "graph_upsert_triples", triples=triples)
    plan = await system.plan_forget(entity="Anna Berg")
    assert plan.is_partial and len(plan.receipts) == 1 and "says other things too" in plan.stays[0]
    assert (await system.forget(plan, erase=True)).status == "stored"
    assert (await read(system, "graph_stats")).data["statements"] == 1


async def test_what_is_not_stored_gives_an_empty_plan_and_what_is_not_said_is_refused(system: DataMind) -> None:
    plan = await system.plan_forget(source="nowhere.md")
    assert plan.is_empty and (await system.forget(plan, erase=True)).status == "unchanged"
    with pytest.raises(InputInvalid):
        await system.plan_forget()
    with pytest.raises(NotFound):
        await system.plan_forget(receipts=["rcpt_none.default"])
