"""The Oxigraph store beyond its contract: kills, locks, what is synced, broken files."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datamind.capabilities.graph.terms import make_literal
from datamind.core.errors import IntegrityError, StoreError
from datamind.core.protocols.repair import DAMAGED
from datamind.testing.graph_data import WORKS, all_statements, found, make_triple, make_unit, put, say
from datamind.testing.providers import ProviderTarget
from datamind_graph_rdflib import indexing, writing
from datamind_graph_rdflib.labels import LabelIndex
from datamind_graph_rdflib.marks import last_written

FACTORY = ("graph.store", "datamind_graph_rdflib.store:open_store", "datamind_graph_rdflib.options:RdflibGraphOptions")
TARGET = ProviderTarget(*FACTORY)
HASTY = ProviderTarget(*FACTORY, {"lock_wait_s": 0.2})

WRITER = """
import asyncio, sys
from pathlib import Path
from datamind.core.protocols.graph import Assertion
from datamind.testing.graph_data import make_triple, make_unit
from datamind.testing.providers import ProviderTarget
from datamind_graph_rdflib import indexing, writing

async def main():
    writing.ONE_COMMIT, writing.SLICE, writing._CONVERTED = 60, 20, 7  # every other write goes in slices
    store = await ProviderTarget.from_json(sys.argv[1]).open(Path(sys.argv[2]))
    for n in range(int(sys.argv[3]), 100_000):
        size = 40 + 60 * (n % 2)
        triples = [make_triple(f"w{n} item {k}", "in", f"w{n}") for k in range(size)]
        old = [f"rcpt_w{n - 4}.test"] if n >= 4 else []
        await store.upsert(make_unit(f"w{n}"), (Assertion(triple) for triple in triples), replaces=old)
        await store.sync()
        print(n, flush=True)

asyncio.run(main())
"""


def start_writer(folder: Path, first: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, TARGET.to_json(), str(folder), str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def test_killed_at_any_moment_no_acknowledged_write_is_lost_and_none_is_half_there(tmp_path):
    rng, first = random.Random(7), 0
    for _ in range(5):
        writer = start_writer(tmp_path, first)
        assert writer.stdout.readline()
        time.sleep(rng.random() * 0.6)
        writer.send_signal(signal.SIGKILL)
        acknowledged = [first, *map(int, writer.communicate()[0].split())][-1]
        store = await TARGET.open(tmp_path)
        try:
            await check_whole(store, acknowledged)
        finally:
            await store.aclose()
        first = acknowledged + 1  # the interrupted one is done again, as recovery does


async def check_whole(store, acknowledged):
    units = {int(unit.receipt_id[6:-5]) for unit in await store.units()}
    assert set(range(max(0, acknowledged - 3), acknowledged + 1)) <= units | {acknowledged - 3}
    assert units <= set(range(max(0, acknowledged - 3), acknowledged + 2))
    counts: dict[int, int] = {}
    for triple in await all_statements(store):
        number = int(triple.object.value.rpartition("w")[2])
        counts[number] = counts.get(number, 0) + 1
    for number in units:
        assert counts[number] == 40 + 60 * (number % 2)
    # Only a write in slices may be seen before it is whole: the one after the last acknowledged.
    assert set(counts) - units <= {acknowledged + 1}
    assert await found(store, f"w{acknowledged} item 7", 1) == [f"w{acknowledged} item 7"]


async def test_an_interrupted_load_is_finished_by_the_redo(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "ONE_COMMIT", 50)
    monkeypatch.setattr(writing, "SLICE", 10)
    triples = [make_triple(f"item {n}", "number", make_literal(n)) for n in range(80)]
    store = await TARGET.open(tmp_path)
    try:
        old = await put(store, "old", WORKS)
        # As a process leaves it that dies after some slices.
        await store._engine.write(lambda opened: load_some(opened, triples[:30]))
        assert len(await all_statements(store)) == 31
        assert [unit.receipt_id for unit in await store.units()] == [old]
        assert await store.upsert(make_unit("new"), say(*triples), replaces=[old]) == 80
        assert await all_statements(store) == sorted(triples)
    finally:
        await store.aclose()


def load_some(opened, triples):
    writer = writing.Writer(opened, make_unit("new"))
    writer.add(say(*triples))
    writer.load()
    writer._loader.wait()


async def test_a_failed_call_leaves_the_files_free(tmp_path):
    store = await TARGET.open(tmp_path)

    def fail(opened):
        rows = opened.graph.query("SELECT * { ?s ?p ?o }")
        raise ZeroDivisionError(str(rows))

    with pytest.raises(ZeroDivisionError):
        await store._engine.read(fail)
    other = await TARGET.open(tmp_path)
    assert (await other.stats()).statements == 0
    await other.aclose()
    assert (await store.stats()).statements == 0
    await store.aclose()


async def test_sync_reaches_every_new_file_and_the_folders(tmp_path, monkeypatch):
    synced: set[str] = set()
    fsync = os.fsync

    def seen(descriptor):
        synced.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    store = await TARGET.open(tmp_path)
    monkeypatch.setattr(os, "fsync", seen)
    await put(store, "a", WORKS)
    assert synced == set()
    await store.sync()
    graph = next(tmp_path.rglob("oxigraph"))
    logs = [str(path) for path in graph.glob("*.log")]
    assert logs
    assert {*logs, str(graph), str(graph.parent)} <= synced
    synced.clear()
    await put(store, "b", WORKS)
    await store.sync()
    assert set(logs) & synced
    await store.aclose()


async def test_names_that_were_lost_or_are_behind_are_made_anew(tmp_path):
    store = await TARGET.open(tmp_path)
    await put(store, "a", WORKS)
    await store.aclose()
    (names,) = tmp_path.rglob("names.db")
    behind = names.read_bytes()
    store = await TARGET.open(tmp_path)
    await put(store, "b", make_triple("张三", "就职于", "星河科技"))
    await store.aclose()
    for before in (behind, None):
        names.unlink()
        if before is not None:
            names.write_bytes(before)
        store = await TARGET.open(tmp_path)
        assert [hit.match for hit in await store.search_entities("Ada Lovelace", 5)] == ["exact"]
        assert [hit.match for hit in await store.search_entities("张三", 5)] == ["exact"]
        assert [hit.entity.name for hit in await store.search_predicates("就职于", 5)] == ["就职于"]
        await store.aclose()


async def test_names_are_not_made_anew_after_a_write_that_died_before_its_commit(tmp_path, monkeypatch):
    store = await TARGET.open(tmp_path)
    await put(store, "a", WORKS)

    def die(opened):
        opened.labels.complete((), (), receipt_id="rcpt_b.test", before=last_written(opened.graph))

    await store._engine.write(die)
    await store.aclose()
    monkeypatch.setattr(indexing, "_fill", None)
    store = await TARGET.open(tmp_path)
    assert [hit.match for hit in await store.search_entities("Ada Lovelace", 5)] == ["exact"]
    await store.aclose()


async def test_a_log_damaged_while_the_files_were_closed_is_met_at_the_next_use(tmp_path):
    store = await TARGET.open(tmp_path)
    await put(store, "a", WORKS)
    await put(store, "b", make_triple("Bo", "knows", "Cy"))
    await store._engine._release()
    for log in tmp_path.rglob("oxigraph/*.log"):
        os.truncate(log, log.stat().st_size // 2)
    with pytest.raises(IntegrityError) as met:
        await store.stats()
    assert met.value.code == DAMAGED
    assert "rcpt_b.test" in met.value.message
    assert store.is_doubtful
    await store.aclose()


async def test_a_file_where_the_graph_should_be_is_an_error_of_one_line(tmp_path):
    folder = tmp_path / "storage/test/graph"
    folder.mkdir(parents=True)
    (folder / "oxigraph").write_text("not a graph")
    store = await TARGET.open(tmp_path)
    with pytest.raises(StoreError) as refused:
        await store.stats()
    assert "\n" not in str(refused.value)
    await store.aclose()


def test_names_are_found_whatever_they_hold(tmp_path):
    index = LabelIndex(tmp_path / "names.db")
    names = ['quotes " OR *', "NEAR(a b)", "o'neill", "😀 only", "星河", "ÉCOLE", "x" * 5_000, ""]
    index.add((f"urn:{n}", name) for n, name in enumerate(names))
    index.add((f"urn:{n}", name) for n, name in enumerate(names))
    assert index.candidates("quotes or")[0] == "urn:0"
    assert index.candidates("O'Neill")[0] == "urn:2"
    assert index.candidates("école")[0] == "urn:5"
    assert index.candidates("星") == ["urn:4"]
    assert index.candidates('" * ^') == []
    index.close()
