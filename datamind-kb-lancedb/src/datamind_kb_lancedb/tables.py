"""The tables of a profile, opened on first use and again when another one takes over."""

from __future__ import annotations

import hashlib
import logging
import secrets
import shutil
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import lancedb
import pyarrow as pa
from anyio.to_thread import run_sync
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import FTS, BTree

from datamind.core.errors import StoreError
from datamind_kb_lancedb import schema
from datamind_kb_lancedb.engine import ENGINE_ERRORS, translated
from datamind_kb_lancedb.files import Pointer

log = logging.getLogger(__name__)

_WORDS: Final = FTS(
    base_tokenizer="whitespace",
    # The words come cut, folded and stemmed; what the engine would do to them on top makes two words one.
    lower_case=False,
    stem=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=None,
)
WORDS_INDEX: Final = "tokens_idx"
_VECTORS: Final = "vectors_"
_CHUNKS: Final = "chunks_"


class Tables:
    """One present table of chunks and one table of vectors for each model.

    Attributes:
        folder: ``<storage_dir>/kb``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "lance"
        self.pointer = Pointer(folder / "current.json")
        self._connection: AsyncConnection | None = None
        self._chunks: tuple[tuple[int, int], AsyncTable] | None = None
        self._vectors: dict[str, tuple[tuple[int, int], AsyncTable]] = {}

    async def chunks(self) -> AsyncTable | None:
        """The present table; None while there is none."""
        stamp = self.pointer.stamp()
        if stamp is None:
            return None
        if self._chunks is None or self._chunks[0] != stamp:
            name = self.pointer.table()
            if name is None:
                raise StoreError("the knowledge base has lost its table", hint="Run `datamind kb reindex`.")
            with translated("opened"):
                self._chunks = (stamp, await (await self._connected()).open_table(name))
        return self._chunks[1]

    async def make_chunks(self) -> AsyncTable:
        """A new empty table, which ``show`` makes the present one."""
        name = f"{_CHUNKS}{secrets.token_hex(6)}"
        with translated("written"):
            table = await (await self._connected()).create_table(name, schema=schema.CHUNKS)
            # Without it, upserts of one new id at the same moment make it twice.
            await table.set_unenforced_primary_key("id")
            await table.create_index("tokens", config=_WORDS, name=WORDS_INDEX)
            for column in ("id", "document_id"):
                await table.create_index(column, config=BTree())
        return table

    async def show(self, table: AsyncTable) -> None:
        """Let a table take over. It must be on disk for certain."""
        await run_sync(self.pointer.point, table.name)

    async def vectors(self, model_id: str) -> AsyncTable | None:
        """The table of a model's vectors; None while there is none."""
        return await self._open_vectors(_vectors_name(model_id))

    async def make_vectors(self, model_id: str, dimension: int) -> AsyncTable:
        """The table of a model that has none yet."""
        name = _vectors_name(model_id)
        # One that was half made when its process died is no table.
        await run_sync(partial(shutil.rmtree, self.root / f"{name}.lance", ignore_errors=True))
        with translated("written"):
            table = await (await self._connected()).create_table(
                name, schema=schema.vectors_schema(model_id, dimension)
            )
            await table.set_unenforced_primary_key("id")
        return table

    async def drop_vectors(self, model_id: str) -> None:
        """Remove the table of a model's vectors."""
        name = _vectors_name(model_id)
        self._vectors.pop(name, None)
        await self.drop(name)

    async def all_vectors(self) -> Sequence[AsyncTable]:
        """The tables of every model."""
        found = [await self._open_vectors(path.stem) for path in sorted(self.root.glob(f"{_VECTORS}*.lance"))]
        return [table for table in found if table is not None]

    async def drop(self, name: str) -> None:
        """Remove a table with its files."""
        with translated("changed"):
            await (await self._connected()).drop_table(name, ignore_missing=True)

    async def drop_aside(self) -> None:
        """Remove tables of chunks that never took over, or were taken over from."""
        present = self.pointer.table()
        for path in self.root.glob(f"{_CHUNKS}*.lance"):
            if path.stem != present:
                await self.drop(path.stem)

    def set_aside(self, name: str) -> Path:
        """Move a damaged table out of the way; its files are kept for whoever wants to look at them."""
        damaged = self.folder / "damaged"
        damaged.mkdir(parents=True, exist_ok=True)
        target = damaged / f"{name}.{time.strftime('%Y%m%d-%H%M%S')}.{secrets.token_hex(2)}"
        path = self.root / f"{name}.lance"
        if path.exists():
            path.rename(target)
        return target

    def drop_damaged(self) -> None:
        """Remove what was set aside."""
        shutil.rmtree(self.folder / "damaged", ignore_errors=True)

    def close(self) -> None:
        """Let go of every table."""
        if self._connection is not None:
            self._connection.close()  # type: ignore[no-untyped-call]
        self._connection, self._chunks, self._vectors = None, None, {}

    async def _connected(self) -> AsyncConnection:
        if self._connection is None:
            self.root.mkdir(parents=True, exist_ok=True)
            # A handle reads the newest version only if it is told to look for one.
            self._connection = await lancedb.connect_async(str(self.root), read_consistency_interval=timedelta(0))
        return self._connection

    async def _open_vectors(self, name: str) -> AsyncTable | None:
        path = self.root / f"{name}.lance"
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        # The number of a folder that was removed is soon given to another one.
        stamp = found.st_ino, found.st_ctime_ns
        known = self._vectors.get(name)
        if known is None or known[0] != stamp:
            if not any((path / "_versions").glob("*")):
                return None
            with translated("opened"):
                known = self._vectors[name] = (stamp, await (await self._connected()).open_table(name))
        return known[1]


async def check_tables(tables: Tables) -> bool:
    """Read through what there is; set aside what is damaged. Whether the chunks are there."""
    for path in sorted(tables.root.glob(f"{_VECTORS}*.lance")):
        if not await _is_whole(tables, path.stem):
            log.warning("a table of vectors is damaged and was moved to %s", tables.set_aside(path.stem))
    if tables.pointer.stamp() is None:
        return False
    name = tables.pointer.table()
    if name is not None and await _is_whole(tables, name):
        return True
    if name is not None:
        log.warning("the knowledge base is damaged and was moved to %s", tables.set_aside(name))
    tables.pointer.clear()
    return False


async def _is_whole(tables: Tables, name: str) -> bool:
    try:
        table = await (await tables._connected()).open_table(name)
        await table.query().select(["id", "digest"]).to_arrow()
        await table.query().limit(1).to_arrow()
    except ENGINE_ERRORS as error:
        log.warning("table %s cannot be read: %s", name, error)
        return False
    return True


def is_of_vectors(name: str) -> bool:
    """Whether a table of this name holds the vectors of a model."""
    return name.startswith(_VECTORS)


def model_of(table_schema: pa.Schema) -> str:
    """Id of the model that a table of vectors belongs to."""
    metadata = table_schema.metadata or {}
    return bytes(metadata.get(b"model_id", b"")).decode("utf-8", "surrogatepass")


def dimension_of(table_schema: pa.Schema) -> int:
    """Length of the vectors of a table."""
    return int(table_schema.field("vector").type.list_size)


def _vectors_name(model_id: str) -> str:
    return _VECTORS + hashlib.sha256(model_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
