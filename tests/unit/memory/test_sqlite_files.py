"""What memory.db may be, how it comes into being, and what is left alone."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from datamind.core.errors import ConfigError, IntegrityError, StoreError
from datamind.plugins import ProviderKind, load_attribute, make_options, open_provider
from datamind.testing.memory_data import make_filter, make_home, make_memory, recalled, texts
from datamind.testing.providers import make_provider_context
from datamind_memory_sqlite import files, plugin, schema
from datamind_memory_sqlite.options import SqliteMemoryOptions
from datamind_memory_sqlite.store import SqliteMemoryStore, open_store

(SPEC,) = plugin.datamind_register_providers()


@pytest.fixture
def context(tmp_path):
    return make_provider_context(tmp_path)


@pytest.fixture
def path(context):
    return context.storage_dir / "memory.db"


@pytest.fixture
async def store(context):
    opened = await open_provider(SPEC, context, {})
    yield opened
    await opened.aclose()


def write_database(path: Path, *statements: str) -> bytes:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path.read_bytes()


def test_the_plugin_registers_the_store():
    assert (SPEC.kind, SPEC.name) == (ProviderKind.MEMORY_STORE, "sqlite")
    assert load_attribute(SPEC.factory) is open_store


@pytest.mark.parametrize("options", [{"busy_timeout_s": 0}, {"busy_timeout_s": "soon"}, {"dsn": "postgresql://x"}])
def test_a61_a_wrong_option_is_refused(options):
    with pytest.raises(ConfigError):
        make_options(SPEC, options)


async def test_reading_makes_no_file(path, store):
    view = store.read_view()
    assert await texts(view) == await recalled(view, "alpha") == []
    assert await view.count(make_filter()) == 0
    assert await store.memories_without_vector("m", 5) == []
    await store.sync()
    assert not list(path.parent.glob("memory*"))


async def test_the_first_write_makes_the_file_and_its_folder(tmp_path):
    store = SqliteMemoryStore(tmp_path / "a" / "b" / "memory.db", 5)
    view = store.read_view()
    assert await texts(view) == []
    await store.save(make_memory("alpha"))
    assert await texts(view) == ["alpha"]
    await store.aclose()
    assert [entry.name for entry in (tmp_path / "a" / "b").iterdir()] == ["memory.db"]


async def test_an_empty_file_is_a_store_without_memories(path, store):
    path.touch()
    assert await texts(store.read_view()) == []
    assert path.read_bytes() == b""
    await store.save(make_memory("alpha"))
    assert await texts(store.read_view()) == ["alpha"]


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 4080])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(context, path, content):
    path.write_bytes(content)
    store = await open_store(context, SqliteMemoryOptions())
    with pytest.raises(StoreError, match=r"memory\.db") as caught:
        await store.save(make_memory("alpha"))
    assert caught.value.code == "integrity_error.damaged"
    assert store.is_doubtful
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert not caught.value.retryable
    assert path.read_bytes() == content


async def test_a_file_that_became_no_database_is_not_overwritten(path, store):
    path.write_bytes(b"not a database")
    for call in (store.save(make_memory("alpha")), store.read_view().count(make_filter())):
        with pytest.raises(StoreError):
            await call
    assert path.read_bytes() == b"not a database"


@pytest.mark.parametrize("statements", [["CREATE TABLE notes (a)"], ["PRAGMA user_version = 3"]], ids=str)
async def test_a_database_of_something_else_is_refused_and_left_alone(context, path, statements):
    content = write_database(path, *statements)
    with pytest.raises(StoreError, match="something else") as caught:
        await open_store(context, SqliteMemoryOptions())
    assert caught.value.code == "store_error.foreign_file"
    assert path.read_bytes() == content


async def test_a_newer_schema_is_refused_and_left_alone(context, path, store):
    await store.save(make_memory("alpha"))
    await store.aclose()
    content = write_database(path, f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}", "CREATE TABLE extra (a)")
    with pytest.raises(StoreError, match="Upgrade datamind-memory-sqlite") as caught:
        await open_store(context, SqliteMemoryOptions())
    assert (caught.value.code, caught.value.retryable) == ("store_error.newer_schema", False)
    for call in (SqliteMemoryStore(path, 5).save(make_memory("beta")), SqliteMemoryStore(path, 5).count(make_filter())):
        with pytest.raises(StoreError, match="Upgrade"):
            await call
    assert path.read_bytes() == content


async def test_an_older_schema_is_migrated_when_the_store_is_opened(context, path, store, monkeypatch):
    await store.save(make_memory("alpha"))
    await store.aclose()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, ("CREATE TABLE extra (a)",)))
    reopened = await open_store(context, SqliteMemoryOptions())
    assert await texts(reopened) == ["alpha"]
    await reopened.aclose()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
        assert connection.execute("SELECT count(*) FROM extra").fetchone() == (0,)
    connection.close()


async def test_a_migration_that_fails_leaves_the_file_as_it_was(context, path, store, monkeypatch):
    await store.save(make_memory("alpha"))
    await store.aclose()
    broken = ("CREATE TABLE extra (a)", "CREATE TABLE extra (a)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
    with pytest.raises(StoreError):
        await open_store(context, SqliteMemoryOptions())
    monkeypatch.undo()
    reopened = await open_store(context, SqliteMemoryOptions())
    assert await texts(reopened) == ["alpha"]
    await reopened.aclose()
    with sqlite3.connect(path) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'extra'").fetchone()
    connection.close()


async def test_a_store_that_cannot_be_finished_is_never_seen(context, path, store, monkeypatch):
    monkeypatch.setattr(schema, "MIGRATIONS", (("CREATE TABLE memories (a)", "CREATE nonsense"),))
    with pytest.raises(StoreError):
        await store.save(make_memory("alpha"))
    assert not path.exists()
    monkeypatch.undo()
    await store.save(make_memory("alpha"))
    assert await texts(store) == ["alpha"]
    assert not [entry for entry in context.storage_dir.iterdir() if ".new" in entry.name]


async def test_the_file_is_made_in_place_where_there_are_no_links(store, monkeypatch):
    def refuse(*_):
        raise PermissionError("no links on this file system")

    monkeypatch.setattr(os, "link", refuse)
    await store.save(make_memory("alpha"))
    assert await texts(store.read_view()) == ["alpha"]


async def test_damage_is_an_integrity_error(context, path, store):
    for n in range(300):
        await store.save(make_memory(f"alpha number{n} " + "filler " * 20))
    await store.aclose()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(IntegrityError):
        await texts(await open_store(context, SqliteMemoryOptions()))


async def test_a_folder_that_is_a_file_is_a_store_error(tmp_path):
    (tmp_path / "file").touch()
    store = SqliteMemoryStore(tmp_path / "file" / "memory.db", 5)
    with pytest.raises(StoreError, match=r"memory\.db") as caught:
        await store.save(make_memory("alpha"))
    assert isinstance(caught.value.__cause__, OSError)


READ_ONLY = """
import asyncio, os, sys
from pathlib import Path
from datamind.core.errors import StoreError
from datamind.testing.memory_data import make_memory, texts
from datamind_memory_sqlite.store import SqliteMemoryStore

async def main(folder):
    if os.geteuid() == 0:  # whom permissions do not stop; what is imported later would stop the other
        loaded = SqliteMemoryStore(folder.parent / "memory.db", 5)
        await loaded.save(make_memory("alpha"))
        await texts(loaded)
        os.seteuid(65534)
    store = SqliteMemoryStore(folder / "memory.db", 5)
    folder.chmod(0o555)
    try:
        await store.save(make_memory("alpha"))
    except StoreError as error:
        print(type(error.__cause__).__module__, error.code)
    folder.chmod(0o755)
    await store.save(make_memory("alpha"))
    print(await texts(store))
    await store.aclose()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permission there")
def test_a_read_only_folder_is_a_store_error_and_the_store_works_afterwards():
    with tempfile.TemporaryDirectory() as outer:
        Path(outer).chmod(0o755)
        folder = Path(outer, "storage")
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        command = [sys.executable, "-c", READ_ONLY, str(folder)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.splitlines() == ["sqlite3 store_error.cannot_open", "['alpha']"], result.stderr


async def test_sync_reaches_the_folders_that_are_new(tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def recording(descriptor):
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(files.os, "fsync", recording)
    store = SqliteMemoryStore(tmp_path / "a" / "b" / "memory.db", 5)
    await store.sync()
    assert synced == []
    await store.save(make_home("Oslo"))
    await store.sync()
    assert sorted(synced) == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    await store.save(make_home("Bergen", at=1))
    await store.sync()
    assert len(synced) == 3
    await store.aclose()
