"""The store on disk: opened on use, closed when the lease is given up, synced on demand."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import anyio
import pyoxigraph as ox
from anyio.to_thread import run_sync

from datamind.core.errors import IntegrityError, StoreError
from datamind.core.lease import Lease
from datamind.core.protocols.repair import damaged
from datamind.core.set_aside import is_marked, mark, set_aside
from datamind.core.shielded import finish_despite_cancel
from datamind_graph_rdflib.indexing import open_labels
from datamind_graph_rdflib.labels import LabelIndex
from datamind_graph_rdflib.marks import is_written, last_written
from datamind_graph_rdflib.rewriting import write_anew

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
        self._is_closed = False
        self._last = ""
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
        try:
            if self._last and not is_written(graph, self._last):
                # The engine leaves out without a word what it cannot read of its log.
                raise self._lost(f"the graph in {str(self.folder)!r} lacks the write {self._last!r}, which it had.")
            return Open(graph, open_labels(self.folder / "names.db", graph))
        except BaseException as error:
            del graph
            _forget_frames(error)
            raise

    def _close(self) -> None:
        if self._open is not None:
            self._open.labels.close()
            self._last = last_written(self._open.graph)
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
        return self._lost(message)

    def _lost(self, message: str) -> IntegrityError:
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

    async def missing_writes(self, receipt_ids: Sequence[str]) -> Sequence[str]:
        """See SupportsWriteCheck."""
        return await self.read(lambda opened: [one for one in receipt_ids if not is_written(opened.graph, one)])

    async def set_aside(self) -> str:
        """See SupportsRepair."""
        async with self._lease.use():
            await self._release()
            self._last = ""
            names = ["names.db", "names.db-wal", "names.db-shm"]
            return await run_sync(set_aside, self.graph_folder, names)

    async def write_anew(self) -> None:
        """Copy every statement into a new store, which takes the place of the old one."""
        async with self._lease.use(), self._write_turn:
            while True:
                await self._unused.wait()
                async with self._gate:
                    if not self._users:
                        self._close()
                        await finish_despite_cancel(run_sync(self._rewrite))
                        return

    def _rewrite(self) -> None:
        try:
            write_anew(self.graph_folder)
        except (OSError, RuntimeError) as error:
            raise self._failed("could not be written anew", error) from error
        finally:
            self._synced = {}

    def _sync(self, opened: Open) -> None:
        found = self._files()
        if sum(state[1] for path, state in found.items() if path.suffix == ".log") > _FLUSH_BYTES:
            # A reader in another process replays the log each time; a long one is written out first.
            opened.graph.flush()
            found = self._files()
        changed = [path for path, state in found.items() if self._synced.get(path) != state]
        _at_once(_fsync_file, changed)
        if self._synced.keys() != found.keys():
            folders = (self.graph_folder, self.folder, self.folder.parent)
            _at_once(lambda folder: _fsync(folder, os.O_DIRECTORY), folders)
        self._synced = found

    def _files(self) -> dict[Path, tuple[int, int, int]]:
        """What the engine's files are like, but for those in which it talks about itself."""
        found = {}
        for entry in os.scandir(self.graph_folder):
            with suppress(FileNotFoundError):
                if not entry.name.startswith(("LOG", "LOCK")):
                    status = entry.stat()
                    found[Path(entry.path)] = status.st_ino, status.st_size, status.st_mtime_ns
        return found


def _look(opened: Open) -> None:
    next(opened.graph.quads_for_pattern(None, None, None), None)
    opened.labels.candidates("a")


def _forget_frames(error: BaseException | None) -> None:
    # Their variables would keep the engine open after it was closed.
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _at_once(sync: Callable[[Path], None], paths: Sequence[Path]) -> None:
    if len(paths) < 2:
        for path in paths:
            sync(path)
        return
    # They share a commit of the file system then: measured, two files in 0.3 ms, and in 8 ms one after the other.
    with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
        list(pool.map(sync, paths))


def _fsync_file(path: Path) -> None:
    # Compaction may have replaced it; what replaced it is synced by the engine before it is named.
    with suppress(FileNotFoundError):
        _fsync(path, 0)


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
