"""The folder of the store: who may write, what is on disk for certain, which table is the present one."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from anyio.to_thread import run_sync

from datamind.core.durable import sync_folder, write_synced
from datamind.core.errors import StoreError

_POLL_S: Final = 0.005


class WriteLock:
    """One writer at a time, in this process and among several; given up when its process dies."""

    def __init__(self, path: Path, wait_s: float) -> None:
        self._path = path
        self._wait_s = wait_s
        self._own = anyio.Lock()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Until the block ends.

        Raises:
            StoreError: Another process kept it for longer than the wait.
        """
        async with self._own:
            descriptor = await self._take()
            try:
                yield
            finally:
                os.close(descriptor)

    async def _take(self) -> int:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self._wait_s
        try:
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise StoreError(
                        "another process has been writing to the knowledge base for too long.",
                        code="store_error.in_use",
                        hint="Try again when it is done, or stop it.",
                    )
                await anyio.sleep(_POLL_S)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class FolderSync:
    """Syncs the files and folders that are new since the last time; the engine writes each file once and never syncs.

    The first time it syncs everything, for the process that wrote a file may have died before it synced it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: frozenset[str] = frozenset()
        self._lock = anyio.Lock()

    async def sync(self) -> None:
        """Make what is there survive a power loss.

        Raises:
            StoreError: A file could not be synced.
        """
        async with self._lock:
            try:
                self._synced = await run_sync(_sync_new, self._folder, self._synced)
            except OSError as error:
                raise StoreError(f"the knowledge base could not be synced: {error.strerror or error}") from error


def _sync_new(folder: Path, synced: frozenset[str]) -> frozenset[str]:
    if not folder.exists():
        return frozenset()
    seen = frozenset(_files_below(str(folder)))
    new = seen - synced
    for path in new:
        _sync_file(path)
    changed = {os.path.dirname(path) for path in new}  # noqa: PTH120
    for parent in {above for path in changed for above in _between(path, str(folder))}:
        if os.path.isdir(parent):  # noqa: PTH112
            sync_folder(Path(parent))
    return seen


def _sync_file(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # cleaned up meanwhile
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _between(path: str, top: str) -> Iterator[str]:
    while len(path) >= len(top):
        yield path
        path = os.path.dirname(path)  # noqa: PTH120
    yield path


def _files_below(folder: str) -> Iterator[str]:
    for path, _, names in os.walk(folder):
        yield from (f"{path}/{name}" for name in names)


def bytes_below(folder: Path) -> int:
    """Size of all files."""
    total = 0
    for path in _files_below(str(folder)):
        try:
            total += os.stat(path).st_size  # noqa: PTH116
        except FileNotFoundError:
            continue
    return total


class Pointer:
    """The file that names the present table of chunks; it changes when a table that was built aside takes over."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def stamp(self) -> tuple[int, int] | None:
        """Changes with every ``point``; None while there is no table."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def table(self) -> str | None:
        """Name of the present table; None if there is none, or the file is damaged."""
        try:
            name = json.loads(self._path.read_text(encoding="utf-8"))["table"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return name if isinstance(name, str) else None

    def point(self, table: str) -> None:
        """Make another table the present one; durable when this returns."""
        write_synced(self._path, json.dumps({"table": table}).encode())
        sync_folder(self._path.parent)

    def clear(self) -> None:
        """There is no table now."""
        self._path.unlink(missing_ok=True)
