"""Content beside intents: found by hash, whole or not at all."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from datamind.capabilities.control.contents import INLINE_BYTES, ContentStore
from datamind.capabilities.control.database import ControlDB
from datamind.core.errors import IntegrityError, StoreError
from datamind.core.types import content_hash

LARGE = b"tide " * (INLINE_BYTES // 4)


@pytest.fixture
def db(tmp_path: Path) -> ControlDB:
    control_db = ControlDB(tmp_path / "control.db")
    control_db.create()
    return control_db


@pytest.fixture
def contents(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "blobs")


def keep(db: ControlDB, contents: ContentStore, content: bytes) -> str:
    hashed = contents.prepare(content)
    db.write_now(lambda connection: contents.register(connection, hashed, content))
    return hashed


def blobs(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, 3 * INLINE_BYTES])
def test_content_is_read_back_as_it_was(db: ControlDB, contents: ContentStore, tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    hashed = keep(db, contents, content)
    assert hashed == content_hash(content)
    assert db.read_now(lambda connection: contents.read(connection, hashed)) == content
    assert len(blobs(tmp_path)) == (size > INLINE_BYTES)


def test_large_content_lies_under_its_hash_and_only_once(db: ControlDB, contents: ContentStore, tmp_path: Path) -> None:
    hashed = keep(db, contents, LARGE)
    keep(db, contents, LARGE)
    assert blobs(tmp_path) == [tmp_path / "blobs" / hashed[:2] / hashed]


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damaged_content_is_never_given_out(db: ControlDB, contents: ContentStore, tmp_path: Path, damage: str) -> None:
    hashed = keep(db, contents, LARGE)
    (blob,) = blobs(tmp_path)
    if damage == "gone":
        blob.unlink()
    else:
        blob.write_bytes(LARGE[:-1] if damage == "cut" else b"T" + LARGE[1:])
    with pytest.raises(IntegrityError, match=hashed[:16]):
        db.read_now(lambda connection: contents.read(connection, hashed))


def test_damaged_small_content_is_never_given_out(db: ControlDB, contents: ContentStore) -> None:
    hashed = keep(db, contents, b"high water")
    db.write_now(lambda connection: connection.execute("UPDATE contents SET body = 'low water'"))
    with pytest.raises(IntegrityError):
        db.read_now(lambda connection: contents.read(connection, hashed))


@pytest.mark.parametrize("damage", [b"", LARGE[:-1], b"T" + LARGE[1:]])
def test_content_that_comes_again_mends_a_damaged_blob(
    db: ControlDB, contents: ContentStore, tmp_path: Path, damage: bytes
) -> None:
    hashed = keep(db, contents, LARGE)
    blobs(tmp_path)[0].write_bytes(damage)
    keep(db, contents, LARGE)
    assert db.read_now(lambda connection: contents.read(connection, hashed)) == LARGE


def test_a_write_that_fails_leaves_nothing(
    contents: ContentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device") as caught:
        contents.prepare(LARGE)
    assert "\n" not in str(caught.value)
    assert blobs(tmp_path) == []


def test_many_threads_may_bring_the_same_content(contents: ContentStore, tmp_path: Path) -> None:
    barrier, faults = threading.Barrier(8), list[BaseException]()

    def prepare() -> None:
        barrier.wait()
        try:
            assert contents.prepare(LARGE) == content_hash(LARGE)
        except BaseException as error:
            faults.append(error)

    for _ in range(10):
        threads = [threading.Thread(target=prepare) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        (blob,) = blobs(tmp_path)
        assert blob.read_bytes() == LARGE
        blob.unlink()


def test_blobs_are_synced_with_their_folders_before_the_hash_is_returned(
    contents: ContentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Any] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    hashed = contents.prepare(LARGE)
    shard = tmp_path / "blobs" / hashed[:2]
    assert synced[0].parent == shard
    assert set(synced[1:]) >= {shard, tmp_path / "blobs", tmp_path}


def test_what_killed_processes_left_half_written_is_taken_away(contents: ContentStore, tmp_path: Path) -> None:
    hashed = content_hash(LARGE)
    shard = tmp_path / "blobs" / hashed[:2]
    shard.mkdir(parents=True)
    old, fresh = shard / f".{hashed}.old", shard / f".{hashed}.fresh"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    contents.prepare(LARGE)
    assert not old.exists()
    assert fresh.exists(), "another process may be writing it"
