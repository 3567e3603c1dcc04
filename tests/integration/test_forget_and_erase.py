"""Forgetting and erasing on the engines of the default install, proved by a search through the profile's files."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import duckdb
import lancedb
import pyoxigraph as ox
import pytest

from datamind.agent import DataMind
from datamind.core.errors import DataMindError, InputInvalid, NotFound
from datamind_db_duckdb.rewriting import write_anew as duckdb_anew
from datamind_graph_rdflib.rewriting import write_anew as graph_anew
from tests.support.erase_jobs import CANARY, ENGINES, OTHER, check_the_rest, fill, make_canary, placed, places
from tests.support.forks import Forks
from tests.support.systems import contents, open_system, read, write

JOBS = "tests.support.erase_jobs"
KILLS = 1_000 if "DATAMIND_TEST_KILLS" in os.environ else 8


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def system(home: Path) -> AsyncIterator[DataMind]:
    async with open_system(home, **ENGINES) as opened:
        yield opened


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
    await check_lance(home / "storage/default/kb/lance")


async def check_lance(folder: Path) -> None:
    """What a search byte for byte cannot see, for the pages are compressed: no row but those that are read."""
    connection = await lancedb.connect_async(str(folder))
    names = [path.stem for path in folder.glob("*.lance")]
    assert sorted(name.partition("_")[0] for name in names) == ["chunks", "vectors"]
    for name in names:
        table = await connection.open_table(name)
        (version,) = await table.list_versions()
        held = version["metadata"]
        assert held["total_data_file_rows"] == held["total_rows"] == str(await table.count_rows())
        assert held["total_deletion_files"] == "0"
        stored = {path.name for path in (folder / f"{name}.lance" / "data").iterdir()}
        assert len(stored) == int(held["total_data_files"])
        ids = (await table.query().to_arrow())["id"].to_pylist()
        assert len(ids) == 1


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
    other = await system.ingest(placed(tmp_path, "b/a.csv", f"city,amount\n{OTHER},5\n"))
    assert [receipt.result.ids for receipt in other.receipts] == [("a",)]
    before = sorted(await system.sql("SELECT city FROM a"))
    result = await system.forget(await system.plan_forget(source=uri), erase=True)
    assert result.status == "stored" and places(home, CANARY) == []
    assert len(before) == 3 and list(await system.sql("SELECT city, amount FROM a")) == [(OTHER, 5)]


async def test_names_of_columns_are_erased_too(system: DataMind, home: Path, tmp_path: Path) -> None:
    uri = await uri_of(system, placed(tmp_path, "a.csv", f"city,{CANARY}\nRome,3\n"))
    await system.ingest(placed(tmp_path, "b.csv", f"city,{OTHER}\nOslo,4\n"))
    await system.forget(await system.plan_forget(source=uri), erase=True)
    assert places(home, CANARY) == []
    assert list(await system.sql(f"SELECT {OTHER} FROM b")) == [(4,)]


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


async def test_stores_that_are_filled_again_after_an_erase_do_not_bring_it_back(home: Path, tmp_path: Path) -> None:
    async with open_system(home, **ENGINES) as system:
        receipts = await fill(system, tmp_path)
        result = await system.forget(await system.plan_forget(receipts=receipts), erase=True)
        assert result.status == "stored" and len(result.receipts) == 10
        assert places(home, CANARY) == []
        await check_the_rest(system)
    for name in ("kb", "db", "graph"):
        shutil.rmtree(home / "storage/default" / name)
    (home / "storage/default/memory.db").unlink()
    async with open_system(home, **ENGINES) as system:
        await check_the_rest(system)
        assert {len(repair.missing) for repair in await system.services.control.repairs.all()} == {0}
    assert places(home, CANARY) == []


async def test_damaged_files_that_were_set_aside_go_with_an_erase(home: Path, tmp_path: Path) -> None:
    async with open_system(home, **ENGINES) as system:
        receipts = await fill(system, tmp_path)
    with (home / "storage/default/db/data.duckdb").open("r+b") as file:
        file.write(b"\0" * 64)
    async with open_system(home, **ENGINES) as system:
        await system.sql("SELECT amount FROM b")
        assert list((home / "storage/default/db").glob("damaged-*"))
        result = await system.forget(await system.plan_forget(receipts=receipts), erase=True)
        assert "erase.removed" in {notice.code for notice in result.notices}
        await check_the_rest(system)
    assert places(home, CANARY) == []


async def test_the_audit_holds_no_text_before_an_erase_and_says_that_there_was_one(
    system: DataMind, home: Path, tmp_path: Path
) -> None:
    receipts = await fill(system, tmp_path)
    await write(system, "memory_forget", query="Tea Coffee")
    await system.query(f"What is {CANARY}?")
    before = await audit_bodies(system)
    assert len(before) > 15 and CANARY not in "".join(before)
    await system.forget(await system.plan_forget(receipts=receipts), erase=True)
    after = await audit_bodies(system)
    assert after[: len(before)] == before and '"kind":"erased"' in "".join(after)


async def audit_bodies(system: DataMind) -> list[str]:
    query = "SELECT body FROM audit ORDER BY seq"
    return await system.services.control.db.read(lambda db: [row["body"] for row in db.execute(query)])


@pytest.mark.slow
async def test_an_erase_that_is_killed_is_finished_by_the_next_start(tmp_path: Path) -> None:
    start = tmp_path / "start"
    with Forks(tmp_path / "forks", JOBS) as forks:
        receipts = forks.run(f"{JOBS}:prepare", home=str(start), folder=str(tmp_path))
        moments = tmp_path / "moments"
        forks.run(f"{JOBS}:erase", home=str(copied(start, 0)), receipts=receipts, at=0, log=str(moments))
        total = len(moments.read_text(encoding="utf-8").splitlines())
        assert total > 30
        for at in range(2, total + 1, max(1, total // KILLS)):
            home = copied(start, at)
            child = forks.start(f"{JOBS}:erase", home=str(home), receipts=receipts, at=at, log="")
            assert child.wait() in (-9, 0)
            await check_finished(home, at)


def copied(start: Path, at: int) -> Path:
    home = start.with_name(f"at{at}")
    shutil.copytree(start, home)
    return home


async def check_finished(home: Path, at: int) -> None:
    async with open_system(home, **ENGINES) as system:
        states = await system.services.control.db.read(
            lambda db: [row["state"] for row in db.execute("SELECT state FROM erasures")]
        )
        assert states == ["done"] or (states == [] and at < 8), at
        if states:
            await check_the_rest(system)
    assert not states or places(home, CANARY) == [], at


async def test_what_a_write_that_failed_has_kept_is_erased_by_its_source(
    system: DataMind, home: Path, tmp_path: Path
) -> None:
    result = await system.ingest(placed(tmp_path, "bad.ttl", f"<https://example.org/{CANARY}> is {CANARY} ."))
    (failed,) = result.receipts
    assert failed.status == "failed" and failed.source is not None
    assert places(home, CANARY)
    plan = await system.plan_forget(source=failed.source.uri)
    assert plan.steps == () and not plan.is_empty
    await system.forget(plan, erase=True)
    assert places(home, CANARY) == []


async def test_an_erased_source_can_be_stored_again_and_is_found(system: DataMind, home: Path, tmp_path: Path) -> None:
    path = placed(tmp_path, "a.md", f"# Ovens\n\nThe oven is called {CANARY}.\n")
    uri = await uri_of(system, path)
    await system.forget(await system.plan_forget(source=uri), erase=True)
    (again,) = (await system.ingest(path)).receipts
    assert (again.status, again.result.operation) == ("stored", "added")
    assert CANARY in contents(await read(system, "kb_search", query="oven"))[0]
    assert (await system.plan_forget(source=uri)).counts == {"kb": 1}


async def test_the_file_of_large_content_is_removed_and_kept_while_another_source_needs_it(
    system: DataMind, home: Path, tmp_path: Path
) -> None:
    text = f"# Ovens\n\nThe oven is called {CANARY}.\n" + "It is blue and warm.\n\n" * 20_000
    first = await uri_of(system, placed(tmp_path, "a.md", text))
    second = await uri_of(system, placed(tmp_path, "b.md", text))
    assert [path for path in places(home, CANARY) if "/blobs/" in path]
    kept = await system.forget(await system.plan_forget(source=first), erase=True)
    assert [path for path in places(home, CANARY) if "/blobs/" in path] and kept.status == "stored"
    await system.forget(await system.plan_forget(source=second), erase=True)
    assert places(home, CANARY) == []


def test_the_duckdb_file_written_anew_holds_no_freed_block(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    words = [make_canary(seed) for seed in range(500)]
    with closing(duckdb.connect(str(path))) as connection:
        # Uncompressed, or a search byte for byte would see nothing before either.
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute("CREATE TABLE t (number INTEGER, word VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(words)))
        connection.execute("INSERT INTO t SELECT 1000 + i, 'x' || i FROM range(100000) AS s (i)")
        connection.execute("CHECKPOINT")
        connection.execute("DELETE FROM t WHERE number < 1000")
        for statement in ("FORCE CHECKPOINT", "VACUUM", "FORCE CHECKPOINT"):
            connection.execute(statement)
    held = path.read_bytes()
    assert sum(word.encode() in held for word in words) > 0  # what the engine offers is not enough
    duckdb_anew(str(path))
    held = path.read_bytes()
    assert [word for word in words if word.encode() in held] == []
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        assert connection.execute("SELECT count(*), min(number) FROM t").fetchall() == [(100_000, 1_000)]
    assert sorted(tmp_path.iterdir()) == [path]


def test_the_graph_written_anew_holds_no_text_that_no_statement_says(tmp_path: Path) -> None:
    folder = tmp_path / "oxigraph"
    words = [make_canary(seed) for seed in range(500)]
    relation = ox.NamedNode("https://example.org/says")
    graph = ox.Store(str(folder))
    quads = [ox.Quad(ox.BlankNode(f"b{number}"), relation, ox.Literal(word)) for number, word in enumerate(words)]
    graph.extend(quads)
    for quad in quads[:-1]:
        graph.remove(quad)
    graph.flush()
    graph.optimize()
    del graph
    assert hits(folder, words) == 500  # the engine keeps every text it was ever given
    graph_anew(folder)
    assert hits(folder, words) == 1
    assert list(ox.Store(str(folder))) == quads[-1:]


def hits(folder: Path, words: list[str]) -> int:
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return sum(word.encode() in held for word in words)


async def test_titles_and_metadata_of_versions_that_could_come_back_are_erased(system: DataMind, home: Path) -> None:
    for text in ("The oven is blue.", "The oven is green."):
        done = await write(system, "kb_add_text", text=text, title=f"About {CANARY}", metadata={"by": CANARY})
        assert not done.is_error, done.message
    plan = await system.plan_forget(source=f"About {CANARY}")
    assert len(plan.receipts) == 2 and places(home, CANARY)
    result = await system.forget(plan, erase=True)
    assert result.status == "stored" and places(home, CANARY) == []
    with pytest.raises(DataMindError):
        await system.revert(result.receipts[0].receipt_id)
