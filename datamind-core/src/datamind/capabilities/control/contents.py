"""Content kept with an intent: small in control.db, large beside it, found by hash."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from datamind.core.durable import sync_folder, write_synced
from datamind.core.errors import IntegrityError, StoreError
from datamind.core.kept import KeptFile
from datamind.core.types import content_hash

INLINE_BYTES: Final = 256 * 1024
_ABANDONED_S: Final = 3600
Pieces = Callable[[], Iterable[bytes]]


class ContentStore:
    """Content-addressed bytes of one profile."""

    def __init__(self, blobs: Path) -> None:
        self._blobs = blobs

    def prepare(self, content: bytes) -> str:
        """Put large content on disk, synced, before the intent that names it; returns the hash.

        Raises:
            StoreError: It cannot be written; nothing is left of it.
        """
        hashed = content_hash(content)
        if len(content) > INLINE_BYTES:
            self._keep(hashed, len(content), lambda: (content,))
        return hashed

    def prepare_file(self, file: KeptFile) -> str:
        """The same for a file; it is put on disk whatever its size.

        Raises:
            StoreError: It cannot be written; nothing is left of it.
        """
        self._keep(file.content_hash, file.size, file.slices)
        return file.content_hash

    def _keep(self, hashed: str, size: int, pieces: Pieces) -> None:
        try:
            _put(self._path(hashed), size, pieces)
        except OSError as error:
            raise StoreError(
                f"{size} bytes cannot be kept in {str(self._blobs)!r} ({error.strerror or error}).",
                hint="Check the space and the permissions there.",
            ) from error

    def register(self, connection: sqlite3.Connection, hashed: str, content: bytes | KeptFile) -> None:
        """Record prepared content in the transaction of its intent."""
        self.register_all(connection, [(hashed, content)])

    def register_all(self, connection: sqlite3.Connection, prepared: Iterable[tuple[str, bytes | KeptFile]]) -> None:
        """Record many contents, each with its hash, in the transaction of their intent."""
        connection.executemany(
            "INSERT INTO contents (content_hash, size, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ((hashed, *_size_and_body(content)) for hashed, content in prepared),
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

    def read_if_there(self, connection: sqlite3.Connection, hashed: str) -> bytes:
        """The bytes of ``hashed``; empty if they are missing or damaged."""
        try:
            return self.read(connection, hashed)
        except IntegrityError:
            return b""

    def remove_unneeded(self, connection: sqlite3.Connection, hashes: Iterable[str]) -> None:
        """Remove those of these contents that no write and no source names any more, in the open transaction."""
        query = (
            "DELETE FROM contents WHERE content_hash = ?1"
            " AND NOT EXISTS (SELECT 1 FROM intents WHERE content_hash = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM sources WHERE content_hash = ?1)"
        )
        connection.executemany(query, [(hashed,) for hashed in hashes])

    def remove_strays(self, connection: sqlite3.Connection) -> None:
        """Remove the files of contents that are not on record, but for those that a write may be about to name."""
        for path in self._blobs.glob("??/*"):
            query = "SELECT 1 FROM contents WHERE content_hash = ?"
            if connection.execute(query, (path.name,)).fetchone() is None and not _is_fresh(path):
                path.unlink(missing_ok=True)

    def remove_files(self, connection: sqlite3.Connection, hashes: Iterable[str]) -> None:
        """Remove the files of those of these contents that are not on record any more."""
        for hashed in hashes:
            query = "SELECT 1 FROM contents WHERE content_hash = ?"
            if hashed and connection.execute(query, (hashed,)).fetchone() is None:
                self._path(hashed).unlink(missing_ok=True)

    def _path(self, hashed: str) -> Path:
        return self._blobs / hashed[:2] / hashed


def _size_and_body(content: bytes | KeptFile) -> tuple[int, bytes | None]:
    if not isinstance(content, bytes):
        return content.size, None
    return len(content), content if len(content) <= INLINE_BYTES else None


def _put(path: Path, size: int, pieces: Pieces) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    if not _holds(path, size, pieces):
        write_synced(path, pieces())
    # Also for a blob that is there: whoever wrote it may have died before this.
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        sync_folder(folder)


def _holds(path: Path, size: int, pieces: Pieces) -> bool:
    if not path.is_file() or path.stat().st_size != size:
        return False
    with path.open("rb") as file:
        return all(file.read(len(piece)) == piece for piece in pieces())


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < _ABANDONED_S
    except FileNotFoundError:
        return True


def _remove_abandoned(folder: Path) -> None:
    for draft in folder.glob(".*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _ABANDONED_S:
                draft.unlink()
