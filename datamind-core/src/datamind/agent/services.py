"""AgentServices: everything the surfaces need, with one side for reading and one for writing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from datamind.agent.vectors import make_access, make_embedding_service
from datamind.capabilities.control.control import Control, open_control
from datamind.capabilities.db.service import DatabaseReads, DatabaseWrites
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.service import EmbeddingService
from datamind.capabilities.graph.service import GraphReads
from datamind.capabilities.graph.writes import GraphWrites
from datamind.capabilities.hub import ProviderHub
from datamind.capabilities.ingest.paths import PathRules
from datamind.capabilities.ingest.repair import Repairs
from datamind.capabilities.ingest.shelf import LoaderShelf
from datamind.capabilities.kb.indexing import ChunkSize
from datamind.capabilities.kb.service import KBReads, KBStores
from datamind.capabilities.kb.vectors import restore_vectors
from datamind.capabilities.kb.writes import KBWrites
from datamind.capabilities.memory.service import MemoryReads, MemoryStores, MemoryWrites, visible
from datamind.capabilities.sides import ReadSide, WriteSide
from datamind.capabilities.skills.service import SkillReads, SkillWrites
from datamind.config.profile import Profile
from datamind.core.errors import DataMindError
from datamind.core.logging import redactor
from datamind.core.messages import SurfaceStatus
from datamind.core.protocols.kb import KBFilter
from datamind.core.types import SHARED_PROFILE, DataSurface
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.config.settings import Settings

T = TypeVar("T")
SURFACES = (DataSurface.MEMORY, DataSurface.KB, DataSurface.SKILLS, DataSurface.DB, DataSurface.GRAPH)


@dataclass(frozen=True)
class AgentServices:
    """What tools and plugins are built on.

    Attributes:
        off: Why each surface that is off is off; the others are on.
    """

    settings: Settings
    profile: Profile
    control: Control
    hub: ProviderHub
    shared_hub: ProviderHub
    shared_control: SharedControl
    read: ReadSide
    write: WriteSide
    off: Mapping[DataSurface, str]
    vectors: EmbeddingService
    repairs: Repairs
    shared_repairs: Repairs

    @property
    def on(self) -> tuple[DataSurface, ...]:
        """The surfaces that serve, in the order they are asked."""
        return tuple(surface for surface in SURFACES if surface not in self.off)

    def control_of(self, profile: str) -> Control:
        """The control.db of this profile or, for global memories, of ``_shared``."""
        return self.shared_control.get() if profile == SHARED_PROFILE else self.control

    def controls(self) -> tuple[Control, ...]:
        """This profile's control.db, and that of the global memories where there are any."""
        shared = self.shared_control.if_exists()
        return (self.control, shared) if shared else (self.control,)

    async def statuses(self, session: str) -> tuple[SurfaceStatus, ...]:
        """Which surfaces are on and how much they hold for this session."""
        return tuple([await self._status(surface, session) for surface in SURFACES])

    async def _status(self, surface: DataSurface, session: str) -> SurfaceStatus:
        if surface in self.off:
            return SurfaceStatus(surface=surface, available=False, note=self.off[surface])
        try:
            items = await self._items(surface, session)
        except DataMindError as error:
            # A store that does not open is set aside; the other surfaces serve.
            return SurfaceStatus(surface=surface, available=False, note=redactor.text(str(error)))
        repaired = self.repairs.done.get(surface)
        note = redactor.text(str(repaired)) if repaired else ""
        return SurfaceStatus(surface=surface, available=True, items=items, note=note)

    async def _items(self, surface: DataSurface, session: str) -> int:
        if surface is DataSurface.MEMORY:
            return await self.read.memory.count(visible(session, include_closed=True))
        if surface is DataSurface.SKILLS:
            return len(await self.read.skills.skills())
        if surface is DataSurface.DB:
            return len(await self.control.receipts.tables()) if self._keeps_tables else len(await self.read.db.tables())
        return self.control.sources.counts_now().get(surface, 0)

    @property
    def _keeps_tables(self) -> bool:
        """Whether every table was made by a write with a receipt, so that no engine need be started to count them."""
        return self.settings.db.dsn is None and self.settings.db.read_dsn is None

    async def warm(self) -> None:
        """Open every surface that is on, and load the model that embeds questions."""
        for surface in self.on:
            try:
                await self._touch(surface)
            except DataMindError as error:
                logging.getLogger(__name__).warning("%s does not open: %s", surface, redactor.text(str(error)))
        await self.vectors.warm()

    async def _touch(self, surface: DataSurface) -> None:
        if surface is DataSurface.KB:
            await self.read.kb.search("warm", KBFilter(), limit=1)
        elif surface is DataSurface.GRAPH:
            await self.read.graph.stats()
        elif surface is DataSurface.DB:
            await self.read.db.tables()
        else:
            await self._items(surface, "")

    async def aclose(self) -> None:
        """Close every provider, then the ledgers."""
        await self.hub.aclose()
        await self.shared_hub.aclose()
        self.shared_control.close()
        self.control.close()


class SharedControl:
    """The control.db of global memories, opened when one is first written or traced."""

    def __init__(self, profile: Profile, settings: Settings) -> None:
        self._profile = profile
        self._settings = settings
        self._control: Control | None = None

    def get(self) -> Control:
        """Open it if need be."""
        if self._control is None:
            self._control = open_profile_control(self._profile, self._settings)
        return self._control

    def if_exists(self) -> Control | None:
        """It, unless no global memory was ever written."""
        exists = self._control is not None or (self._profile.storage_dir / "control.db").exists()
        return self.get() if exists else None

    def close(self) -> None:
        """Close it if it is open."""
        if self._control is not None:
            self._control.close()


def open_profile_control(profile: Profile, settings: Settings) -> Control:
    """The control.db of a profile; its audit key lies where Settings say, else beside it."""
    key_folder = settings.hooks.audit_key or profile.storage_dir / "keys"
    return open_control(profile.name, profile.storage_dir, key_folder)


def make_services(
    settings: Settings,
    profile: Profile,
    hub: ProviderHub,
    shared_hub: ProviderHub,
    off: Mapping[DataSurface, str],
    *,
    extractive: bool,
) -> AgentServices:
    """Services over providers that open on first use; opens control.db alone."""
    control = open_profile_control(profile, settings)
    shared = SharedControl(shared_hub.profile, settings)
    rules = PathRules(
        home=profile.data_dir.resolve(),
        extra=tuple(path.resolve() for path in settings.hooks.path_allowlist_extra),
        forbidden=((profile.base_dir / "storage").resolve(),),
    )
    repairs, shared_repairs = Repairs(lambda: control, hub.lease), Repairs(shared.get, shared_hub.lease)
    memory = MemoryStores(
        own=repairs.watched(DataSurface.MEMORY, lambda: hub.open(ProviderKind.MEMORY_STORE)),
        shared=shared_repairs.watched(DataSurface.MEMORY, lambda: shared_hub.open(ProviderKind.MEMORY_STORE)),
    )
    cut = ChunkSize(settings.retrieval.chunk_size, settings.retrieval.chunk_overlap)
    access = make_access(hub)
    kb = KBStores(
        lambda: hub.open(ProviderKind.KB_STORE),
        control.sources,
        cut,
        lambda store: restore_vectors(store, access, control.vectors),
    )
    memory_reads = MemoryReads(memory, profile.name, access, extractive=extractive)
    read, write = _make_sides(settings, profile, hub, control, off, rules, kb, access, memory, memory_reads, repairs)
    vectors = make_embedding_service(settings, access, control, kb, memory, lambda: shared.if_exists() is not None, off)
    return AgentServices(
        settings, profile, control, hub, shared_hub, shared, read, write, off, vectors, repairs, shared_repairs
    )


def _make_sides(
    settings: Settings,
    profile: Profile,
    hub: ProviderHub,
    control: Control,
    off: Mapping[DataSurface, str],
    rules: PathRules,
    kb: KBStores,
    access: EmbeddingAccess,
    memory: MemoryStores,
    memory_reads: MemoryReads,
    repairs: Repairs,
) -> tuple[ReadSide, WriteSide]:
    reranker = (lambda: hub.open(ProviderKind.KB_RERANKER)) if settings.retrieval.rerank else None
    kb_reads = KBReads(
        kb, control.sources, lambda: hub.open(ProviderKind.KB_RETRIEVER), reranker, settings.retrieval.top_k, access
    )
    max_bytes = min(settings.ingest.kb_max_bytes, settings.ingest.max_bytes)
    loader_of = LoaderShelf(hub, settings.ingest.options).loader_of
    kb_writes = KBWrites(kb, control.sources, control.versions, loader_of, int(max_bytes))

    def open_skills() -> Any:
        return hub.open(ProviderKind.SKILLS_SOURCE)

    open_graph = repairs.watched(DataSurface.GRAPH, lambda: hub.open(ProviderKind.GRAPH_STORE))
    open_db = repairs.watched(DataSurface.DB, lambda: hub.open(ProviderKind.DB_DIALECT))
    graph_reads = GraphReads(open_graph, profile.name)
    graph_writes = GraphWrites(
        open_graph, control.sources, int(settings.ingest.max_bytes), profile.storage_dir / "blobs"
    )

    db_reads = DatabaseReads(
        open_db, profile.name, row_limit=settings.db.row_limit, timeout_s=settings.db.query_timeout_s
    )

    def on(surface: DataSurface, service: T) -> T | None:
        return None if surface in off else service

    read = ReadSide(
        on(DataSurface.KB, kb_reads),
        on(DataSurface.MEMORY, memory_reads),
        on(DataSurface.SKILLS, SkillReads(open_skills, profile.name, control.sources)),
        off,
        on(DataSurface.GRAPH, graph_reads),
        on(DataSurface.DB, db_reads),
    )
    write = WriteSide(
        read,
        rules,
        on(DataSurface.KB, kb_writes),
        on(DataSurface.MEMORY, MemoryWrites(memory)),
        on(DataSurface.SKILLS, SkillWrites(open_skills, profile.name, control.sources, control.versions)),
        on(DataSurface.GRAPH, graph_writes),
        on(DataSurface.DB, DatabaseWrites(open_db, int(settings.ingest.max_bytes), profile.storage_dir / "blobs")),
    )
    return read, write
