"""The dialect: two processes, one that owns the file and one that reads what is imported."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

from anyio.to_thread import run_sync

from datamind.core.errors import StoreError
from datamind.core.protocols.database import (
    DatabaseReader,
    ImportRemoval,
    NewTable,
    TableDescription,
    TableDrop,
    TableImport,
    TableInfo,
    TableOutcome,
    TableQuery,
    TableResult,
)
from datamind.core.protocols.repair import DAMAGED, damaged
from datamind.core.record import Record
from datamind.core.set_aside import is_marked, mark, set_aside
from datamind.engine_host import EngineHost, EngineLimits, EngineReply, EngineSpec

if TYPE_CHECKING:
    from datamind.core.lease import Lease
    from datamind.plugins import ProviderContext
    from datamind_db_duckdb.options import DuckDBOptions

_T = TypeVar("_T")
FILE_NAME: Final = "data.duckdb"
_CATALOGUE_S: Final = 30.0
_GRACE_S: Final = 1.0  # between the interrupt of a statement and the end of its process
_LARGE_BYTES: Final = 16 * 1024**2  # of a file whose import takes longer than starting a process
_MAX_STAGE_BYTES: Final = 16 * 1024**3
_LOCK_POLL_S: Final = 0.02
_LOCK_WAIT_S: Final = 5.0
_RELEASE_S: Final = 10.0
_IDLE_S: Final = 60.0  # of a process that has no file open


async def open_dialect(ctx: ProviderContext, options: DuckDBOptions) -> DuckDBDialect:
    """The tables of ``<storage_dir>/db/data.duckdb``. The file is made when it is first needed."""
    folder = ctx.storage_dir / "db"
    await run_sync(lambda: folder.mkdir(mode=0o700, parents=True, exist_ok=True))
    return DuckDBDialect(folder, options, ctx.lease)


class DuckDBReader:
    """Reads in read-only transactions of the process that owns the file."""

    def __init__(self, owner: _Owner, path: Path) -> None:
        self._owner = owner
        self._path = path

    async def tables(self) -> Sequence[TableInfo]:
        """Every table, by name. Nothing is started for a profile that never had one."""
        if not self._path.exists():
            return ()
        found = await self._owner.ask("tables", {}, deadline_s=_CATALOGUE_S, retry=True)
        return [TableInfo.model_validate(item) for item in found]

    async def describe(self, table: str, *, sample: int = 5) -> TableDescription:
        """One table with its profile and first rows."""
        asked = {"table": table, "sample": sample}
        found = await self._owner.ask("describe", asked, deadline_s=_CATALOGUE_S, retry=True)
        return TableDescription.model_validate(found)

    async def query(self, query: TableQuery) -> TableResult:
        """One page of the result of one statement. Past its time it is interrupted, then its process is ended."""
        asked = query.model_dump(mode="json")
        found = await self._owner.ask("query", asked, deadline_s=query.timeout_s + _GRACE_S, retry=True)
        return TableResult.model_validate(found)


class DuckDBDialect(DuckDBReader):
    """Tables in one file, open while the profile's lease is held."""

    volatile = False

    def __init__(self, folder: Path, options: DuckDBOptions, lease: Lease) -> None:
        self._folder = folder
        self._import_s = options.import_timeout_s
        self._listed: frozenset[int] = frozenset()
        super().__init__(_Owner(_owner_spec(folder, options), lease, folder / FILE_NAME), folder / FILE_NAME)
        self._files = EngineHost(_files_spec(folder, options))

    async def load(self, request: TableImport, file: BinaryIO) -> TableOutcome:
        """Import a file: parsed in one process, stored in another, in one transaction."""
        asked = request.model_dump(mode="json")
        is_large = os.fstat(file.fileno()).st_size > _LARGE_BYTES
        look = self._owner.ask("look", asked, deadline_s=self._import_s, retry=True)
        known = await (_beside(look, self._files.call("start", deadline_s=self._import_s)) if is_large else look)
        if known is None:
            stage = await run_sync(lambda: tempfile.TemporaryFile(dir=self._folder, buffering=0))  # noqa: SIM115
            try:
                known = await self._load(asked, file, stage, is_large=is_large)
            finally:
                stage.close()
        return TableOutcome.model_validate(known)

    async def _load(self, asked: dict[str, Any], file: BinaryIO, stage: BinaryIO, *, is_large: bool) -> Any:
        names = ("media_type", "key", "encoding", "delimiter", "header", "sheet")
        file.seek(0)
        parse = self._files.call(
            "parse",
            {name: asked[name] for name in names},
            fds=[file.fileno(), stage.fileno()],
            deadline_s=self._import_s,
        )
        prepare = self._owner.ask("prepare", {}, deadline_s=_CATALOGUE_S) if is_large else _nothing()
        parsed = await _beside(parse, prepare)
        if is_large:
            await self._files.pause()  # what parsing took is given back before storing takes its own
        os.lseek(stage.fileno(), 0, os.SEEK_SET)
        plan = bytes(parsed.payloads[0])
        return await self._owner.ask("load", asked, plan, fds=[stage.fileno()], deadline_s=self._import_s, write=True)

    async def create(self, request: NewTable) -> TableOutcome:
        """Make an empty table."""
        return await self._change("create", request)

    async def drop(self, request: TableDrop) -> TableOutcome:
        """Remove a table."""
        return await self._change("drop", request)

    async def remove_import(self, request: ImportRemoval) -> TableOutcome:
        """Remove what one import gave."""
        return await self._change("remove_import", request)

    async def _change(self, operation: str, request: Record) -> TableOutcome:
        asked = request.model_dump(mode="json")
        return TableOutcome.model_validate(await self._owner.ask(operation, asked, deadline_s=_CATALOGUE_S, write=True))

    @property
    def is_doubtful(self) -> bool:
        """See SupportsRepair."""
        return is_marked(self._path)

    async def check(self) -> bool:
        """See SupportsRepair: the catalogue is read, and the rows of each table are counted."""
        if self.is_doubtful:
            raise damaged("rows of a table could not be read")
        if not self._path.exists() or not self._path.stat().st_size:
            return False
        await self.tables()
        return True

    async def set_aside(self) -> str:
        """See SupportsRepair."""
        await self._owner.let_go()
        return await run_sync(set_aside, self._path, [f"{FILE_NAME}.wal"])

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """Copy what is there into a new file, which takes the place of the old one; see SupportsErase.

        Raises:
            StoreError: It failed; the old file is as it was.
        """
        if self._path.exists() and self._path.stat().st_size:
            await self._owner.ask("rewrite", {}, deadline_s=self._import_s, write=True)

    def read_view(self) -> DatabaseReader:
        """A reader whose every statement runs in a read-only transaction."""
        return DuckDBReader(self._owner, self._path)

    async def sync(self) -> None:
        """Make the file's entry in its folders survive a power loss; its commits do already."""
        # The engine removes its log when it closes the file, and makes a new one with the next write.
        listed = await run_sync(_inodes, self._folder)
        if listed != self._listed:
            await run_sync(_sync_folders, self._folder)
            self._listed = listed

    async def aclose(self) -> None:
        """End both processes; may be called twice."""
        await self._files.aclose()
        await self._owner.aclose()


class _Owner:
    """The process that has the file open while the lease is held."""

    def __init__(self, spec: EngineSpec, lease: Lease, path: Path) -> None:
        self._path = path
        self._host = EngineHost(spec)
        self._lease = lease
        self._is_open = self._is_closed = False
        lease.join(self._release)

    async def ask(
        self,
        operation: str,
        args: Any,
        *payloads: bytes,
        deadline_s: float,
        fds: Sequence[int] = (),
        retry: bool = False,
        write: bool = False,
    ) -> Any:
        """The answer as JSON; what is asked goes as a payload, for it may be long."""
        sent = (json.dumps(args).encode(), *payloads)
        async with self._lease.use():
            ends = asyncio.get_running_loop().time() + _LOCK_WAIT_S
            self._is_open = True
            while True:
                try:
                    reply: EngineReply = await self._host.call(
                        operation, payloads=sent, fds=fds, deadline_s=deadline_s, retry=retry, interruptible=not write
                    )
                except StoreError as error:
                    if error.code == DAMAGED:
                        await run_sync(mark, self._path)
                    # The process of one that was killed with the lease may take a moment to end.
                    if error.code != "store_error.locked" or asyncio.get_running_loop().time() > ends:
                        raise
                    await asyncio.sleep(_LOCK_POLL_S)
                else:
                    return await _decoded(reply)

    async def let_go(self) -> None:
        """Close the file; the next use opens it again."""
        async with self._lease.use():
            await self._release()

    async def _release(self) -> None:
        if self._is_open and not self._is_closed:
            self._is_open = False
            await self._host.call("release", deadline_s=_RELEASE_S)

    async def aclose(self) -> None:
        """End the process."""
        self._is_closed = True
        await self._host.aclose()
        await self._lease.leave(self._release)


async def _beside(work: Awaitable[_T], other: Awaitable[object]) -> _T:
    """The result of ``work``, once both have ended; neither goes on when one fails."""
    tasks = (asyncio.ensure_future(work), asyncio.ensure_future(other))
    try:
        return (await asyncio.gather(*tasks))[0]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _nothing() -> None:
    return None


async def _decoded(reply: EngineReply) -> Any:
    raw = bytes(reply.payloads[0])
    # A long answer is decoded beside the event loop.
    return json.loads(raw) if len(raw) < 64 * 1024 else await run_sync(json.loads, raw)


def _owner_spec(folder: Path, options: DuckDBOptions) -> EngineSpec:
    config = {
        "threads": options.threads,
        "memory_limit": f"{options.memory_limit // 1024**2}MiB",
        "temp_directory": str(folder / "spill"),
        "max_temp_directory_size": "8GiB",
    }
    return EngineSpec(
        name="duckdb",
        factory="datamind_db_duckdb.children:open_engine",
        options={"path": str(folder / FILE_NAME), "config": config},
        limits=EngineLimits(address_space_bytes=options.address_space),
        environment={"MALLOC_ARENA_MAX": "2"},
        idle_s=_IDLE_S,
    )


def _files_spec(folder: Path, options: DuckDBOptions) -> EngineSpec:
    return EngineSpec(
        name="table files",
        factory="datamind_db_duckdb.children:open_files",
        options={"folder": str(folder), "max_bytes": _MAX_STAGE_BYTES},
        limits=EngineLimits(address_space_bytes=options.address_space),
        environment={"MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"},
        idle_s=_IDLE_S,
    )


def _inodes(folder: Path) -> frozenset[int]:
    return frozenset(entry.inode() for entry in os.scandir(folder) if entry.is_file())


def _sync_folders(folder: Path) -> None:
    for path in (folder, folder.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
