"""The writing side of the knowledge base: one document, or many in one commit of the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import anyio.to_thread

from datamind.capabilities.control.sources import SourceLog, StoredSource
from datamind.capabilities.control.versions import Restoration, VersionLog
from datamind.capabilities.kb.indexing import ChunkSize, make_rows
from datamind.capabilities.kb.service import KBStores, Rows, present_in
from datamind.core.collector import collector_paused
from datamind.core.context import WriteUnit
from datamind.core.errors import DataMindError, InputInvalid
from datamind.core.protocols.ingest import FileLoader, LoadedDocument, LoadLimits, SupportsBlockingLoad
from datamind.core.protocols.kb import SupportsBatches, SupportsOptimize, VectorStore
from datamind.core.receipts import Detected, SurfaceWriteResult
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, derived_id

LoaderOf = Callable[[str], Awaitable[FileLoader]]
Outcome = SurfaceWriteResult | Exception


@dataclass(frozen=True)
class NewDocument:
    """A document about to be written.

    Attributes:
        document_id: Follows from the uri, so that a later version of the same source replaces this one.
    """

    source: SourceRef
    title: str
    metadata: Mapping[str, str | int | float | bool]
    document_id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "document_id", derived_id("doc", self.source.uri))


@dataclass(frozen=True)
class DocumentUnit(NewDocument):
    """A document whose bytes a unit holds.

    Attributes:
        title: Empty: the one it has, or else the one that its loader finds.
    """

    unit: WriteUnit

    @property
    def content(self) -> bytes:
        """The bytes."""
        assert self.unit.content is not None  # planned with content
        return self.unit.content


@dataclass(frozen=True, slots=True)
class WrittenCounts:
    """Documents that were written; ``replaced`` of them ended another version."""

    written: int
    replaced: int


@dataclass(frozen=True, slots=True)
class _Ready:
    """A document as the log and the store will have it."""

    new: DocumentUnit
    loaded: LoadedDocument
    stored: StoredSource
    rows: Rows


class KBWrites:
    """What the writing side may do."""

    def __init__(
        self, stores: KBStores, sources: SourceLog, versions: VersionLog, loader_of: LoaderOf, max_bytes: int
    ) -> None:
        self._stores = stores
        self._sources = sources
        self._versions = versions
        self._loader_of = loader_of
        self.max_bytes = max_bytes

    async def put(self, new: DocumentUnit) -> SurfaceWriteResult:
        """Add a document, or replace the version that its uri has now.

        Raises:
            SourceUnreadable: No loader takes this type, or the bytes are not what it says.
            InputInvalid: It holds no text.
            LimitExceeded: Too large.
        """
        (outcome,) = await self.put_many([new])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def put_many(self, documents: Sequence[DocumentUnit]) -> list[Outcome]:
        """``put`` for each of them, in one commit if the store can; what is there already is not read again."""
        store = await self._stores.store()
        current = await self._sources.currents(DataSurface.KB, [new.document_id for new in documents])
        likely = [new.document_id for new in documents if _is_same(current.get(new.document_id), new)]
        same = await present_in(store, likely)  # said only after looking at the store
        changed = [new for new in documents if new.document_id not in same]
        outcomes: dict[str, Outcome] = {
            new.unit.unit_id: _unchanged(new) for new in documents if new.document_id in same
        }
        outcomes |= await self._put_changed(store, current, changed)
        return [outcomes[new.unit.unit_id] for new in documents]

    async def _put_changed(
        self, store: VectorStore, current: Mapping[str, StoredSource], documents: Sequence[DocumentUnit]
    ) -> dict[str, Outcome]:
        made = await self._made(documents)
        ready = [one for one in made if isinstance(one, _Ready)]
        outcomes: dict[str, Outcome] = {
            new.unit.unit_id: one for new, one in zip(documents, made, strict=True) if isinstance(one, Exception)
        }
        stored = await self._commit(store, current, ready)
        return outcomes | {one.new.unit.unit_id: outcome for one, outcome in zip(ready, stored, strict=True)}

    async def put_all(self, given: Sequence[tuple[NewDocument, str]], unit: WriteUnit) -> WrittenCounts:
        """Add or replace many documents with their texts in one commit, as one write."""
        store = await self._stores.store()
        current = await self._sources.currents(DataSurface.KB, [new.document_id for new, _ in given])
        likely = [new.document_id for new, _ in given if _is_version(current.get(new.document_id), new, unit)]
        same = await present_in(store, likely)
        fresh = [(new, text) for new, text in given if new.document_id not in same]
        if not fresh:
            return WrittenCounts(0, 0)
        versions, rows = await anyio.to_thread.run_sync(_rows_of, fresh, unit, self._stores.cut)
        replaced = await self._write(store, current, rows, versions)
        return WrittenCounts(len(versions), len(replaced))

    async def are_quick(self, sources: Sequence[SourceRef]) -> list[bool]:
        """Whether each is done within milliseconds: read in this process, or stored already as the log has it."""
        names = [derived_id("doc", source.uri) for source in sources]
        current = await self._sources.currents(DataSurface.KB, names)
        held = {stored.source.source_id for stored in current.values()}
        return [source.source_id in held or await self._is_quickly_loaded(source.media_type) for source in sources]

    async def delete(self, document_ids: Sequence[str], unit: WriteUnit) -> SurfaceWriteResult:
        """Take documents off every read path; their text is kept for a revert."""
        store = await self._stores.store()
        held = await self._sources.currents(DataSurface.KB, document_ids)
        await store.delete_documents(document_ids)
        try:
            count = await self._sources.end(DataSurface.KB, document_ids, unit.receipt_id)
        except Exception:
            await self._put_back(store, held, document_ids)
            raise
        return SurfaceWriteResult(
            surface=DataSurface.KB,
            operation="deleted" if count else "none",
            status="stored" if count else "unchanged",
            items_written=count,
            ids=tuple(document_ids),
            revert="exact",
        )

    async def reverting(self, receipt_id: str) -> Restoration:
        """What taking a write back would do.

        Raises:
            Conflict: A later write changed one of its documents.
        """
        return await self._versions.reverting(DataSurface.KB, receipt_id)

    async def restore(self, change: Restoration, unit: WriteUnit) -> None:
        """Bring versions back and take documents away; their passages, words and vectors come and go with them."""
        store = await self._stores.store()
        current = await self._sources.currents(DataSurface.KB, change.document_ids)
        for stored in change.back:
            await self._stores.put_kept(store, stored)
        await store.delete_documents([one.document_id for one in change.gone])
        try:
            await self._versions.restore(DataSurface.KB, change, unit.receipt_id)
        except Exception:
            await self._put_back(store, current, change.document_ids)
            raise

    async def reindex(self) -> SurfaceWriteResult:
        """Build the index again from the stored texts."""
        count = await self._stores.rebuild()
        return SurfaceWriteResult(
            surface=DataSurface.KB, operation="reindexed", status="stored", items_written=count, revert="none"
        )

    async def optimize(self) -> bool:
        """Put the store's files in order; whether the store does such a thing."""
        store = await self._stores.store()
        if not isinstance(store, SupportsOptimize):
            return False
        await store.optimize()
        return True

    async def sync(self) -> None:
        """Make the writes so far survive a power loss."""
        await (await self._stores.store()).sync()

    async def _is_quickly_loaded(self, media_type: str) -> bool:
        try:
            return isinstance(await self._loader_of(media_type), SupportsBlockingLoad)
        except DataMindError:
            return True  # it is quickly refused

    async def _made(self, documents: Sequence[DocumentUnit]) -> list[_Ready | Exception]:
        limits = LoadLimits(max_bytes=self.max_bytes)
        loads: list[Callable[[], LoadedDocument]] = []
        for new in documents:
            loads.append(await self._loading(new, limits))
        return await anyio.to_thread.run_sync(_make_all, documents, loads, self._stores.cut)

    async def _loading(self, new: DocumentUnit, limits: LoadLimits) -> Callable[[], LoadedDocument]:
        content, media_type = new.content, new.source.media_type
        if new.source.kind == "text":
            return lambda: LoadedDocument(text=content.decode("utf-8"), media_type=media_type, encoding="utf-8")
        try:
            loader = await self._loader_of(media_type)
            if isinstance(loader, SupportsBlockingLoad):
                return lambda: loader.load_blocking(content, media_type=media_type, limits=limits)
            loaded = await loader.load(content, media_type=media_type, limits=limits)
        except Exception as error:
            return _raising(error)
        return lambda: loaded

    async def _commit(
        self, store: VectorStore, current: Mapping[str, StoredSource], ready: Sequence[_Ready]
    ) -> list[Outcome]:
        """Several at once only where all of them come or none; one that the store refuses does not keep the others."""
        if len(ready) < 2 or isinstance(store, SupportsBatches):
            try:
                return await self._committed(store, current, ready)
            except InputInvalid as error:
                if len(ready) < 2:
                    return [error]
            except Exception as error:
                return [error] * len(ready)
        return [outcome for one in ready for outcome in await self._commit(store, current, [one])]

    async def _committed(
        self, store: VectorStore, current: Mapping[str, StoredSource], ready: Sequence[_Ready]
    ) -> list[Outcome]:
        if not ready:
            return []
        versions = [(one.stored, one.loaded.text) for one in ready]
        replaced = await self._write(store, current, [one.rows for one in ready], versions)
        return [_stored(one, is_new=one.new.document_id not in replaced) for one in ready]

    async def _write(
        self,
        store: VectorStore,
        current: Mapping[str, StoredSource],
        rows: Sequence[Rows],
        versions: Sequence[tuple[StoredSource, str]],
    ) -> Set[str]:
        """Documents of which another version was ended."""
        with collector_paused():
            await self._stores.put_rows(store, rows)
            try:
                return await self._sources.put_all(DataSurface.KB, versions)
            except Exception:
                await self._put_back(store, current, [version.document_id for version, _ in versions])
                raise

    async def _put_back(
        self, store: VectorStore, current: Mapping[str, StoredSource], document_ids: Iterable[str]
    ) -> None:
        # What could not be registered must not be found, and what is still registered must be.
        names = list(document_ids)
        fresh = [name for name in names if name not in current]
        if fresh:
            await store.delete_documents(fresh)
        for name in names:
            if name in current:
                await self._stores.put_kept(store, current[name])


def _is_same(current: StoredSource | None, new: DocumentUnit) -> bool:
    known = new if new.title or current is None else replace(new, title=current.title)
    return _is_version(current, known, new.unit)


def _is_version(current: StoredSource | None, new: NewDocument, unit: WriteUnit) -> bool:
    # This unit's own version means a redo after a crash.
    return (
        current is not None
        and current.source.source_id == new.source.source_id
        and current.title == new.title
        and dict(current.metadata) == dict(new.metadata)
        and unit.receipt_id not in current.receipt_ids
    )


def _version(new: NewDocument, title: str, unit: WriteUnit) -> StoredSource:
    return StoredSource(new.document_id, new.source, "", title, new.metadata, (unit.receipt_id,), "active", now(), 0)


def _rows_of(
    documents: Sequence[tuple[NewDocument, str]], unit: WriteUnit, cut: ChunkSize
) -> tuple[list[tuple[StoredSource, str]], list[Rows]]:
    versions = [(_version(new, new.title, unit), text) for new, text in documents]
    return versions, [make_rows(stored, text, cut) for stored, text in versions]


@collector_paused()
def _make_all(
    documents: Sequence[DocumentUnit], loads: Sequence[Callable[[], LoadedDocument]], cut: ChunkSize
) -> list[_Ready | Exception]:
    made: list[_Ready | Exception] = []
    for new, load in zip(documents, loads, strict=True):
        try:
            made.append(_make(new, load(), cut))
        except Exception as error:
            made.append(error)
    return made


def _make(new: DocumentUnit, loaded: LoadedDocument, cut: ChunkSize) -> _Ready:
    if not loaded.text.strip():
        raise InputInvalid(f"{new.source.uri!r} holds no text", code="input_invalid.no_text")
    title = new.title or loaded.title or new.source.uri.rpartition("/")[2].removeprefix("file:")
    stored = _version(new, title, new.unit)
    return _Ready(new, loaded, stored, make_rows(stored, loaded.text, cut))


def _raising(error: Exception) -> Callable[[], LoadedDocument]:
    def fail() -> LoadedDocument:
        raise error

    return fail


def _stored(one: _Ready, *, is_new: bool) -> SurfaceWriteResult:
    return SurfaceWriteResult(
        surface=DataSurface.KB,
        operation="added" if is_new else "replaced",
        status="stored",
        items_written=1,
        ids=(one.new.document_id,),
        detected=Detected(encoding=one.loaded.encoding, media_type=one.loaded.media_type),
        revert="exact" if is_new else "restores_previous",
    )


def _unchanged(new: DocumentUnit) -> SurfaceWriteResult:
    return SurfaceWriteResult(
        surface=DataSurface.KB,
        operation="none",
        status="unchanged",
        ids=(new.document_id,),
        detected=Detected(media_type=new.source.media_type),
        revert="exact",
    )
