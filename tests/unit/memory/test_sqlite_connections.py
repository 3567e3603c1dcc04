"""Locks, cancellation, full disks, and what the reading connection cannot do."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from datamind.core.errors import StoreError
from datamind.testing.memory_data import history, make_filter, make_home, make_memory, recalled, texts
from datamind.testing.memory_writer import start_writers
from datamind.testing.providers import ProviderTarget
from datamind_memory_sqlite import writing
from datamind_memory_sqlite.store import SqliteMemoryStore

TARGET = ProviderTarget(
    "memory.store", "datamind_memory_sqlite.store:open_store", "datamind_memory_sqlite.options:SqliteMemoryOptions"
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path):
    opened = SqliteMemoryStore(path, 20)
    await opened.save(make_memory("alpha"))
    yield opened
    await opened.aclose()


@pytest.fixture
def other_writer(path, store):
    """A connection of another process, in the middle of a transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE memories SET text = 'half done'")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM memories",
        "INSERT INTO words (rowid, tokens) VALUES (99, 'a')",
        "INSERT INTO words (words) VALUES ('rebuild')",
        "DROP TABLE memories",
        "CREATE TEMP TABLE t (a)",
        "ATTACH DATABASE 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA query_only = OFF",
        "PRAGMA user_version = 9",
        "PRAGMA journal_mode = DELETE",
    ],
)
async def test_g11_the_engine_refuses_what_is_no_read(store, tmp_path, monkeypatch, statement):
    monkeypatch.chdir(tmp_path)
    view = store.read_view()
    with pytest.raises(StoreError):
        await view._connection.run(lambda connection: connection.execute(statement).fetchall(), absent=[])
    assert await texts(view) == ["alpha"]
    assert not {"other.db", "copy.db"} & {entry.name for entry in tmp_path.iterdir()}


async def test_g11_without_the_authorizer_the_file_is_still_read_only(store):
    def attempt(connection):
        connection.set_authorizer(None)
        connection.execute("PRAGMA query_only = OFF")
        connection.execute("DELETE FROM memories")

    with pytest.raises(StoreError, match="readonly"):
        await store.read_view()._connection.run(attempt, absent=None)
    assert await texts(store) == ["alpha"]


async def test_reading_goes_on_while_another_process_writes(store, other_writer):
    view = store.read_view()
    assert await texts(view) == await recalled(view, "alpha") == ["alpha"]
    other_writer.execute("COMMIT")
    assert await texts(view) == ["half done"]


async def test_b23_a_write_that_waits_too_long_says_so_and_writes_nothing(path, store, other_writer):
    impatient = SqliteMemoryStore(path, 0.05)
    with pytest.raises(StoreError, match="try again") as caught:
        await impatient.save(make_memory("beta"))
    assert (caught.value.code, caught.value.retryable) == ("store_error.busy", True)
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    other_writer.execute("ROLLBACK")
    await impatient.save(make_memory("beta"))
    assert sorted(await texts(store)) == ["alpha", "beta"]
    await impatient.aclose()


async def test_b22_the_event_loop_runs_while_a_write_waits(store, other_writer):
    write = asyncio.ensure_future(store.save(make_memory("beta")))
    started, ticks = time.monotonic(), 0
    while time.monotonic() - started < 0.3:
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 5
    assert not write.done()
    other_writer.execute("ROLLBACK")
    assert (await write).status == "added"


async def test_a75_a_cancelled_write_leaves_a_store_that_works(store):
    beta = make_memory("beta")

    def save_slowly(connection):
        outcome = writing.save(connection, beta)
        time.sleep(0.3)
        return outcome

    write = asyncio.ensure_future(store._writer.run(save_slowly))
    await asyncio.sleep(0.1)
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    assert (await store.save(make_memory("gamma"))).status == "added"
    assert (await store.save(beta)).status == "added"
    assert sorted(await texts(store)) == ["alpha", "beta", "gamma"]


async def test_a_closed_store_says_that_it_is_closed(store):
    await store.aclose()
    await store.aclose()
    for call in (store.save(make_memory("beta")), store.read_view().count(make_filter()), store.sync()):
        with pytest.raises(StoreError, match="closed"):
            await call


async def test_b12_forgetting_leaves_no_word_and_no_vector_in_any_index(path, store):
    secret = make_memory("canary zeppelin")
    await store.save(secret)
    await store.put_vectors("m", [secret.memory_id], b"\0\0\x80\x3f")
    assert await store.forget([secret.memory_id], "r1") == 1
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'words', 'row')")
    terms = {bytes.fromhex(term).decode() for (term,) in connection.execute("SELECT term FROM temp.terms")}
    assert terms == {"alpha"}
    assert connection.execute("SELECT count(*) FROM words").fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (0,)
    connection.close()


FULL_DISK = """
import asyncio, resource, signal, sys
from pathlib import Path
from datamind.core.errors import StoreError
from datamind.testing.memory_data import make_memory, texts
from datamind_memory_sqlite.store import SqliteMemoryStore

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

async def main(folder):
    store = SqliteMemoryStore(folder / "memory.db", 5)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    failed, kept = set(), []
    for n in range(12):
        try:
            await store.save(make_memory(f"memory {n} " + "x" * 3000 * n))
            kept.append(n)
        except StoreError as error:
            failed.add(type(error.__cause__).__module__)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000 + 6_000 * n, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.save(make_memory("afterwards"))
    kept = [f"memory {n}" for n in kept] + ["afterwards"]
    found = [" ".join(text.split()[:2]) for text in await texts(store)]
    print(failed, sorted(found) == sorted(kept), 1 < len(kept) < 13)
    await store.aclose()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_full_disk_is_a_store_error_and_the_store_works_afterwards(tmp_path):
    pytest.importorskip("resource")
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.split("\n")[0] == "{'sqlite3'} True True", result.stderr


SAVES = """
import asyncio, os, sys
from pathlib import Path
from datamind.testing.memory_data import make_memory
from datamind_memory_sqlite.store import SqliteMemoryStore

async def main():
    store = SqliteMemoryStore(Path(sys.argv[1]), 5)
    for n in range(5):
        await store.save(make_memory(f"memory {n}"))
        await store.sync()
        os.fsync(2)  # a mark in the trace
    os._exit(0)

asyncio.run(main())
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="counts what reaches the disk with strace")
def test_g10_every_save_is_synced_before_it_returns(tmp_path):
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-o", str(trace)]
    command += [sys.executable, "-c", SAVES, str(tmp_path / "new" / "memory.db")]
    with (tmp_path / "marks").open("w") as marks:
        if subprocess.run(command, stderr=marks, check=False).returncode:
            pytest.skip("processes cannot be traced here")
    saves = trace.read_text().split("/marks>")[:-1]
    assert len(saves) == 5
    assert all("memory.db-wal>" in calls for calls in saves)
    assert f"{tmp_path / 'new'}>" in saves[0] and f"{tmp_path}>" in saves[0]


def test_memory_without_vectors_loads_no_numpy(tmp_path):
    script = """
import asyncio, sys
from pathlib import Path
from datamind.testing.memory_data import make_memory, recalled
from datamind_memory_sqlite.store import SqliteMemoryStore

async def main():
    store = SqliteMemoryStore(Path(sys.argv[1]), 5)
    await store.save(make_memory("alpha"))
    print(await recalled(store, "alpha"), "numpy" in sys.modules)
    await store.aclose()

asyncio.run(main())
"""
    command = [sys.executable, "-c", script, str(tmp_path / "memory.db")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['alpha'] False"


@pytest.mark.parametrize("after_lines", [1, 7, 40])
async def test_g10_a_killed_writer_loses_nothing_it_acknowledged(tmp_path, after_lines):
    (writer,) = await asyncio.to_thread(start_writers, TARGET, tmp_path, ["a"], 100_000)
    acknowledged = [writer.stdout.readline().strip() for _ in range(after_lines)]
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    lines = rest.split("\n")
    acknowledged += [line for line in lines[:-1] if line]
    store = await TARGET.open(tmp_path)
    items = await history(store)
    assert set(acknowledged) <= set(items)
    assert len(items) <= len(acknowledged) + 1
    assert len(await texts(store)) == 1
    assert (await store.save(make_home("Oslo"))).status == "added"
    await store.aclose()
