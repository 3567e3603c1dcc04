"""The two sides of the services: what a handler is given, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from datamind.capabilities.db.service import DatabaseReads, DatabaseWrites
from datamind.capabilities.graph.service import GraphReads
from datamind.capabilities.graph.writes import GraphWrites
from datamind.capabilities.ingest.files import PathPolicy
from datamind.capabilities.ingest.paths import PathRules
from datamind.capabilities.kb.service import KBReads
from datamind.capabilities.kb.writes import KBWrites
from datamind.capabilities.memory.service import MemoryReads, MemoryWrites
from datamind.capabilities.skills.service import SkillReads, SkillWrites
from datamind.core.context import ToolContext
from datamind.core.errors import SurfaceUnavailable
from datamind.core.types import SHARED_PROFILE, DataSurface


@dataclass(frozen=True)
class ReadSide:
    """What READ tools reach. A surface that is off raises SurfaceUnavailable with the reason.

    Attributes:
        off: Why each surface that is off is off.
    """

    kb_or_none: KBReads | None = None
    memory_or_none: MemoryReads | None = None
    skills_or_none: SkillReads | None = None
    off: Mapping[DataSurface, str] = field(default_factory=dict)
    graph_or_none: GraphReads | None = None
    db_or_none: DatabaseReads | None = None

    @property
    def kb(self) -> KBReads:
        """The knowledge base."""
        return self.kb_or_none or _off(self.off, DataSurface.KB)

    @property
    def memory(self) -> MemoryReads:
        """The memory."""
        return self.memory_or_none or _off(self.off, DataSurface.MEMORY)

    @property
    def skills(self) -> SkillReads:
        """The skill book."""
        return self.skills_or_none or _off(self.off, DataSurface.SKILLS)

    @property
    def graph(self) -> GraphReads:
        """The graph."""
        return self.graph_or_none or _off(self.off, DataSurface.GRAPH)

    @property
    def db(self) -> DatabaseReads:
        """The tables."""
        return self.db_or_none or _off(self.off, DataSurface.DB)


@dataclass(frozen=True)
class WriteSide:
    """What WRITE tools reach; selectors read through it too.

    Attributes:
        paths: Which files a request may read.
    """

    read: ReadSide
    paths: PathRules
    kb_or_none: KBWrites | None = None
    memory_or_none: MemoryWrites | None = None
    skills_or_none: SkillWrites | None = None
    graph_or_none: GraphWrites | None = None
    db_or_none: DatabaseWrites | None = None

    @property
    def kb(self) -> KBWrites:
        """The knowledge base."""
        return self.kb_or_none or _off(self.read.off, DataSurface.KB)

    @property
    def memory(self) -> MemoryWrites:
        """The memory."""
        return self.memory_or_none or _off(self.read.off, DataSurface.MEMORY)

    @property
    def skills(self) -> SkillWrites:
        """The skill book."""
        return self.skills_or_none or _off(self.read.off, DataSurface.SKILLS)

    @property
    def graph(self) -> GraphWrites:
        """The graph."""
        return self.graph_or_none or _off(self.read.off, DataSurface.GRAPH)

    @property
    def db(self) -> DatabaseWrites:
        """The tables."""
        return self.db_or_none or _off(self.read.off, DataSurface.DB)

    async def sync(self, surface: DataSurface, ledger_profile: str) -> None:
        """Make the writes of one surface survive a power loss."""
        if surface is DataSurface.MEMORY:
            await self.memory.sync(shared=ledger_profile == SHARED_PROFILE)
        elif surface is DataSurface.KB:
            await self.kb.sync()
        elif surface is DataSurface.SKILLS:
            await self.skills.sync()
        elif surface is DataSurface.GRAPH:
            await self.graph.sync()
        elif surface is DataSurface.DB:
            await self.db.sync()


def _off(reasons: Mapping[DataSurface, str], surface: DataSurface) -> NoReturn:
    reason = reasons.get(surface, "it was not enabled")
    raise SurfaceUnavailable(f"the {surface} surface is off: {reason}")


def path_policy(ctx: ToolContext) -> PathPolicy:
    """Which files the request of a write may read."""
    side: WriteSide = ctx.side
    return side.paths.for_request(ctx.request)
