"""Memories and their vectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from datamind.capabilities.embedding.backlog import WaitingText
from datamind.core.protocols.memory import MemoryStore, SupportsMemoryVectors

_MOST = 100_000


class MemoryBacklog:
    """The memories of one store that have no vector; closed ones too, for they are asked for by date."""

    noun = "memories"
    is_cached = False

    def __init__(self, open_store: Callable[[], Awaitable[MemoryStore]]) -> None:
        self._open_store = open_store

    async def waiting(self, model_id: str, limit: int) -> Sequence[WaitingText]:
        """Oldest first; none where the store keeps no vectors."""
        store = await self._open_store()
        items = await store.memories_without_vector(model_id, limit) if isinstance(store, SupportsMemoryVectors) else ()
        return [WaitingText(item.memory_id, item.text) for item in items]

    async def count(self, model_id: str) -> int:
        """How many wait."""
        return len(await self.waiting(model_id, _MOST))

    async def put(self, model_id: str, item_ids: Sequence[str], vectors: bytes) -> None:
        """Those of memories that were forgotten meanwhile are dropped by the store."""
        store = await self._open_store()
        if isinstance(store, SupportsMemoryVectors):
            await store.put_vectors(model_id, item_ids, vectors)
