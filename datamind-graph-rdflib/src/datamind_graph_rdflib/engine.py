"""The store on disk: opened on use, closed when the lease is given up, synced on demand."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import anyio
import pyoxigraph as ox
from anyio.to_thread import run_sync

from datamind.core.errors import StoreError
from datamind.core.lease import Lease
from datamind.core.protocols.repair import damaged
from datamind.core.set_aside import is_marked, mark, set_aside
from datamind.core.shielded import finish_despite_cancel
from datamind_graph_rdflib.labels import LabelIndex

T = TypeVar("T")

_READERS: Final = 4
_FLUSH_BYTES: Final = 1 << 20
_SYNCED_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Open:
    """What work is given: the graph and the index of its names."""

    graph: ox.Store
    labels: LabelIndex


class Engine:
    """The files of one graph; of several tasks that write one goes after the other."""

    def __init__(self, folder: Path, lease: Lease) -> None:
        self.folder = folder
        self._lease = lease
        self._open: Open | None = None
        self._users = 0
        self._unused = anyio.Event()
        self._unused.set()
        self._gate = anyio.Lock()
        self._write_turn = anyio.Lock()
        self._readers = anyio.CapacityLimiter(_READERS)
        self._synced: dict[Path, tuple[int, int, int]] = {}
        self._listed: set[Path] = set()
        self._is_closed = False
        lease.join(self._release)

    @property
    def graph_folder(self) -> Path:
        """Where Oxigraph keeps its files."""
        return self.folder / "oxigraph"

    async def read(self, work: Callable[[Open], T]) -> T:
        """Run ``work`` in a thread."""
        async with self._lease.use():
            return await finish_despite_cancel(self._run(work))

    async def write(self, work: Callable[[Open], T]) -> T:
        """Run ``work`` in a thread, no other write beside it."""
        async with self._lease.use(), self._write_turn:
            return await finish_despite_cancel(self._run(work))

    async def sync(self) -> None:
        """Make every write so far survive a power loss."""
        if self.graph_folder.exists():
            await self.write(self._sync)

    async def aclose(self) -> None:
        """Close once the work in progress is done; may be called twice."""
        async with self._gate:
            self._is_closed = True
        await self._lease.leave(self._release)

    async def _run(self, work: Callable[[Open], T]) -> T:
        await self._enter()
        try:
            return await run_sync(self._translated, work, limiter=self._readers)
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def _enter(self) -> None:
        async with self._gate:
            if self._is_closed:
                raise StoreError(f"the graph in {str(self.folder)!r} is closed", retryable=False)
            if self._open is None:
                await run_sync(self._make_folder)
                self._open = await run_sync(self._open_files)
            if not self._users:
                self._unused = anyio.Event()
            self._users += 1

    async def _release(self) -> None:
        await self._unused.wait()
        async with self._gate:
            await run_sync(self._close)

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{str(self.folder)!r} cannot be made ({error.strerror}).") from error

    def _open_files(self) -> Open:
        try:
            graph = ox.Store(str(self.graph_folder))
        except (OSError, RuntimeError) as error:
            raise self._failed("does not open", error) from error
        return Open(graph, LabelIndex(self.folder / "names.db"))

    def _close(self) -> None:
        if self._open is not None:
            self._open.labels.close()
            # The engine closes its files when nothing refers to it any more.
            self._open = None

    def _translated(self, work: Callable[[Open], T]) -> T:
        assert self._open is not None  # entered
        try:
            return work(self._open)
        except BaseException as error:
            _forget_frames(error)
            if isinstance(error, OSError | RuntimeError):
                raise self._failed("failed", error) from error
            raise

    def _failed(self, what: str, error: Exception) -> StoreError:
        # The engine says so in words only; without its manifest it misses a file.
        message = f"the graph in {str(self.folder)!r} {what} ({error})."
        if "Corruption" not in str(error) and not isinstance(error, FileNotFoundError):
            return StoreError(message)
        mark(self.graph_folder)
        return damaged(message)

    @property
    def is_doubtful(self) -> bool:
        """See SupportsRepair."""
        return is_marked(self.graph_folder)

    async def check(self) -> bool:
        """See SupportsRepair: one statement and one name are read."""
        if self.is_doubtful:
            raise damaged(f"the graph in {str(self.folder)!r} could not be read.")
        if not self.graph_folder.exists() or not any(self.graph_folder.iterdir()):
            return False
        await self.read(_look)
        return True

    async def set_aside(self) -> str:
        """See SupportsRepair."""
        async with self._lease.use():
            await self._release()
            names = ["names.db", "names.db-wal", "names.db-shm"]
            return await run_sync(set_aside, self.graph_folder, names)

    def _sync(self, opened: Open) -> None:
        logs = list(self.graph_folder.glob("*.log"))
        if sum(path.stat().st_size for path in logs) > _FLUSH_BYTES:
            # A reader in another process replays the log each time; a long one is written out first.
            opened.graph.flush()
        names = [self.folder / "names.db", self.folder / "names.db-wal"]
        files = [*names, *sorted(self.graph_folder.iterdir())]
        _at_once(self._sync_file, files)
        if self._listed != set(files):
            folders = (self.graph_folder, self.folder, self.folder.parent)
            _at_once(lambda folder: _fsync(folder, os.O_DIRECTORY), folders)
            self._listed = set(files)

    def _sync_file(self, path: Path) -> None:
        try:
            status = path.stat()
            state = status.st_ino, status.st_size, status.st_mtime_ns
            if self._synced.get(path) != state and not path.name.startswith(("LOG", "LOCK")):
                _fsync(path, 0)
                self._synced[path] = state
        except FileNotFoundError:
            # Compaction has replaced it; what replaced it is synced by the engine before it is named.
            self._synced.pop(path, None)


def _look(opened: Open) -> None:
    next(opened.graph.quads_for_pattern(None, None, None), None)
    opened.labels.candidates("a")


def _forget_frames(error: BaseException | None) -> None:
    # Their variables would keep the engine open after it was closed.
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _at_once(sync: Callable[[Path], None], paths: Iterable[Path]) -> None:
    # They share a commit of the file system then: measured, two files in 0.3 ms, and in 8 ms one after the other.
    with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
        list(pool.map(sync, paths))


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
