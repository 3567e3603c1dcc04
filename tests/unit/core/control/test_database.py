"""control.db as a file: opened, migrated once, refused when it is newer, foreign or damaged."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from datamind.capabilities.control import database, schema
from datamind.capabilities.control.control import open_control
from datamind.capabilities.control.database import ControlDB
from datamind.core.errors import Conflict, IntegrityError, StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.db"


def made(path: Path) -> ControlDB:
    db = ControlDB(path)
    db.create()
    return db


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def meta(db: ControlDB) -> dict[str, str]:
    return db.read_now(lambda connection: dict(connection.execute("SELECT key, value FROM meta").fetchall()))


def put(db: ControlDB, key: str, value: str = "x", *, durable: bool = True) -> None:
    db.write_now(lambda connection: connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value)), durable)


def test_a_commit_is_seen_by_other_connections_at_once(path: Path) -> None:
    one, two = made(path), made(path)
    put(one, "a")
    assert meta(two) == {"a": "x"}
    put(two, "b", durable=False)
    assert meta(one) == {"a": "x", "b": "x"}


def test_a_transaction_that_raises_changes_nothing_and_the_next_one_works(path: Path) -> None:
    db = made(path)

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('a', 'x')")
        raise Conflict("no")

    with pytest.raises(Conflict):
        db.write_now(work)
    assert meta(db) == {}
    put(db, "b")
    assert meta(db) == {"b": "x"}


def test_the_reading_connection_cannot_write(path: Path) -> None:
    db = made(path)
    with pytest.raises(StoreError, match="readonly"):
        db.read_now(lambda connection: connection.execute("INSERT INTO meta VALUES ('a', 'x')"))
    assert meta(db) == {}


@pytest.mark.parametrize("durable", [True, False])
def test_durable_writes_sync_the_log_and_soft_ones_do_not(path: Path, durable: bool) -> None:
    db = made(path)
    seen = db.write_now(lambda connection: connection.execute("PRAGMA synchronous").fetchone()[0], durable)
    assert seen == (2 if durable else 1)
    put(db, "a")
    assert db.write_now(lambda connection: connection.execute("PRAGMA synchronous").fetchone()[0]) == 2


def test_it_is_in_wal_mode_and_only_its_owner_reads_the_folder(tmp_path: Path) -> None:
    control = open_control("test", tmp_path / "storage", tmp_path / "keys")
    assert control.db.read_now(lambda db: db.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"
    assert (tmp_path / "storage").stat().st_mode & 0o777 == 0o700


def test_closing_twice_is_fine(path: Path) -> None:
    db = made(path)
    db.close()
    db.close()
    assert not path.with_name("control.db-wal").exists()


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_newer_file_is_refused_and_left_byte_for_byte(tmp_path: Path, path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE later (x)")
        connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
        connection.commit()
    before = tree(tmp_path)
    with pytest.raises(StoreError, match="Upgrade datamind-core") as caught:
        ControlDB(path).create()
    assert (caught.value.code, caught.value.retryable) == ("store_error.newer", False)
    assert tree(tmp_path)["control.db"] == before["control.db"]


def test_a_newer_file_that_another_process_has_open_keeps_its_log(tmp_path: Path, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("PRAGMA journal_mode = WAL")
        newer.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
        newer.execute("CREATE TABLE later (x)")
        before = tree(tmp_path)
        with pytest.raises(StoreError, match="Upgrade"):
            ControlDB(path).create()
        after = tree(tmp_path)
    assert (after["control.db"], after["control.db-wal"]) == (before["control.db"], before["control.db-wal"])


def test_a_newer_file_with_a_log_that_was_left_keeps_both(tmp_path: Path, path: Path) -> None:
    (tmp_path / "made").mkdir()
    with closing(sqlite3.connect(tmp_path / "made" / "control.db", isolation_level=None)) as newer:
        newer.execute("PRAGMA journal_mode = WAL")
        newer.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
        newer.execute("CREATE TABLE later (x)")
        for name in ("control.db", "control.db-wal"):
            shutil.copy(tmp_path / "made" / name, tmp_path / name)
    before = tree(tmp_path)
    with pytest.raises(StoreError, match="Upgrade"):
        ControlDB(path).create()
    after = tree(tmp_path)
    assert (after["control.db"], after["control.db-wal"]) == (before["control.db"], before["control.db-wal"])


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE invoices (x)")
        connection.commit()
    before = tree(tmp_path)
    with pytest.raises(StoreError, match="something else") as caught:
        ControlDB(path).create()
    assert (caught.value.code, caught.value.retryable) == ("store_error.foreign_file", False)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("content", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_refused_and_not_overwritten(tmp_path: Path, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match=r"control\.db") as caught:
        open_control("test", tmp_path, tmp_path / "keys")
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert not caught.value.retryable
    assert path.read_bytes() == content


def test_damage_inside_is_said_and_not_made_worse(tmp_path: Path, path: Path) -> None:
    db = made(path)
    for number in range(2_000):
        put(db, f"key {number}", "x" * 200, durable=False)
    db.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    again = ControlDB(path)
    with pytest.raises(IntegrityError):
        meta(again)
    assert path.read_bytes() == bytes(content)


def test_a_folder_where_the_file_should_be_is_one_clear_line(tmp_path: Path, path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreError, match=r"control\.db") as caught:
        open_control("test", tmp_path, tmp_path / "keys")
    assert "\n" not in str(caught.value)


def test_an_empty_file_is_a_new_one(path: Path) -> None:
    path.touch()
    assert meta(made(path)) == {}


def test_a_storage_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "storage").write_text("a file")
    with pytest.raises(StoreError, match="cannot be made") as caught:
        open_control("test", tmp_path / "storage" / "default", tmp_path / "keys")
    assert "data.base_dir" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_older_file_becomes_a_newer_one_with_what_it_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = made(path)
    put(old, "a")
    old.close()
    script = "CREATE TABLE later (x INTEGER); -- a remark\nINSERT INTO later VALUES (7)"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, script))
    new = made(path)
    assert meta(new) == {"a": "x"}
    assert new.read_now(lambda db: db.execute("SELECT x FROM later").fetchall()[0][0]) == 7
    assert new.read_now(lambda db: db.execute("PRAGMA user_version").fetchone()[0]) == len(schema.MIGRATIONS)


def test_a_migration_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(path).close()
    broken = "CREATE TABLE later (x); INSERT INTO nowhere VALUES (1)"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
        with pytest.raises(StoreError, match="nowhere"):
            ControlDB(path).create()
    again = made(path)
    tables = again.read_now(lambda db: [row[0] for row in db.execute("SELECT name FROM sqlite_master")])
    assert "later" not in tables
    assert "intents" in tables


def test_writes_wait_for_one_another_instead_of_failing(path: Path) -> None:
    one, two = made(path), made(path)
    in_transaction, go_on = threading.Event(), threading.Event()

    def hold(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('a', 'x')")
        in_transaction.set()
        assert go_on.wait(30)

    holder = threading.Thread(target=one.write_now, args=(hold,))
    holder.start()
    assert in_transaction.wait(30)
    waiter = threading.Thread(target=put, args=(two, "b"))
    waiter.start()
    assert meta(two) == {}, "a reader does not wait for a writer"
    go_on.set()
    holder.join()
    waiter.join()
    assert meta(one) == {"a": "x", "b": "x"}


def test_a_writer_that_waits_too_long_is_told_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.01)
    one, two = made(path), made(path)

    def hold(_: sqlite3.Connection) -> None:
        put(two, "b")

    with pytest.raises(StoreError, match="locked") as caught:
        one.write_now(hold)
    assert (caught.value.code, caught.value.retryable) == ("store_error.busy", True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_there_is_one_message_whatever_says_that_there_is_no_room(path: Path, number: int) -> None:
    def full(_: sqlite3.Connection) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(StoreError, match="Free some space") as caught:
        made(path).write_now(full)
    assert (caught.value.code, caught.value.retryable) == ("store_error.disk_full", True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere; a child of another user covers it")
def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        open_control("test", tmp_path / "storage", tmp_path / "keys")
