"""Who embeds, and what: the one embedding of a profile over the backlogs of its surfaces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from datamind.capabilities.control.control import Control
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.backlog import VectorBacklog
from datamind.capabilities.embedding.service import EmbeddingService
from datamind.capabilities.hub import ProviderHub
from datamind.capabilities.kb.service import KBStores
from datamind.capabilities.kb.vectors import PassageBacklog
from datamind.capabilities.memory.service import MemoryStores
from datamind.capabilities.memory.vectors import MemoryBacklog
from datamind.core.types import DataSurface
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.config.settings import Settings

_BY_WORDS = "lexical"


def make_access(hub: ProviderHub) -> EmbeddingAccess:
    """The embedding of a profile; the store of global memories shares it."""
    return EmbeddingAccess(lambda: hub.open(ProviderKind.EMBEDDING))


def make_embedding_service(
    settings: Settings,
    access: EmbeddingAccess,
    control: Control,
    kb: KBStores,
    memory: MemoryStores,
    has_shared: Callable[[], bool],
    off: Collection[DataSurface],
) -> EmbeddingService:
    """The service over every surface that is on and holds something."""

    async def backlogs() -> Sequence[VectorBacklog]:
        found: list[VectorBacklog] = []
        if DataSurface.MEMORY not in off:
            found.append(MemoryBacklog(memory.own))
            if has_shared():
                found.append(MemoryBacklog(memory.shared))
        # An engine is not opened to learn that it is empty.
        searched = DataSurface.KB not in off and settings.retrieval.strategy != _BY_WORDS
        if searched and control.sources.counts_now().get(DataSurface.KB, 0):
            found.append(PassageBacklog(kb.store))
        return found

    return EmbeddingService(access, backlogs, control.vectors, settings.embedding.batch_size)
