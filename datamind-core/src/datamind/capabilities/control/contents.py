"""Content kept with an intent: small in control.db, large beside it, found by hash."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from datamind.core.errors import IntegrityError
from datamind.core.types import content_hash

INLINE_BYTES = 256 * 1024


class ContentStore:
    """Content-addressed bytes of one profile."""

    def __init__(self, blobs: Path) -> None:
        self._blobs = blobs

    def prepare(self, content: bytes) -> str:
        """Put large content on disk, synced, before the intent that names it; returns the hash."""
        hashed = content_hash(content)
        if len(content) > INLINE_BYTES and not self._path(hashed).exists():
            _write_synced(self._path(hashed), content)
        return hashed

    def register(self, connection: sqlite3.Connection, hashed: str, content: bytes) -> None:
        """Record prepared content in the transaction of its intent."""
        body = content if len(content) <= INLINE_BYTES else None
        connection.execute(
            "INSERT INTO contents (content_hash, size, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (hashed, len(content), body),
        )

    def read(self, connection: sqlite3.Connection, hashed: str) -> bytes:
        """The bytes of ``hashed``.

        Raises:
            IntegrityError: They are missing or not what was acknowledged.
        """
        row = connection.execute("SELECT body FROM contents WHERE content_hash = ?", (hashed,)).fetchone()
        content = None if row is None else row["body"]
        if row is not None and content is None and self._path(hashed).is_file():
            content = self._path(hashed).read_bytes()
        if content is None or content_hash(content) != hashed:
            raise IntegrityError(f"stored content {hashed[:16]!r} is missing or damaged", hint="Run `datamind doctor`.")
        return bytes(content)

    def _path(self, hashed: str) -> Path:
        return self._blobs / hashed[:2] / hashed


def _write_synced(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    for folder in (path.parent, path.parent.parent):
        _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
