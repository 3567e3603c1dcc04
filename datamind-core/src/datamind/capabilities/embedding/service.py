"""Fills in vectors after the texts were stored; goes on where it stopped, whatever stopped it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from datamind.capabilities.control.vectors import VectorCache
from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.embedding.backlog import SupportsDrop, VectorBacklog, WaitingText
from datamind.core.errors import DataMindError, InputInvalid, SurfaceUnavailable
from datamind.core.protocols.models import EmbeddingProvider
from datamind.core.results import DrainReport, Notice
from datamind.core.shielded import finish_despite_cancel

log = logging.getLogger(__name__)

Progress = Callable[[int, str], None]

_ATTEMPTS: Final = 4
_FIRST_DELAY_S: Final = 0.5


@dataclass
class _Drain:
    """One call: what it has done, and what it must not try again."""

    embedding: EmbeddingProvider
    progress: Progress | None
    embedded: int = 0
    refused: set[str] = field(default_factory=set)

    @property
    def model_id(self) -> str:
        return self.embedding.description.model_id


class EmbeddingService:
    """Embeds what waits, one batch after another.

    A batch is stored as soon as it is there, so whatever ends the process costs one batch. What is stored or deleted
    meanwhile is seen at the next batch.
    """

    def __init__(
        self,
        access: EmbeddingAccess,
        backlogs: Callable[[], Awaitable[Sequence[VectorBacklog]]],
        cache: VectorCache,
        batch_size: int,
    ) -> None:
        self._access = access
        self._backlogs = backlogs
        self._cache = cache
        self._batch_size = batch_size
        self._turn = anyio.Lock()

    async def drain(self, *, timeout_s: float | None = None, progress: Progress | None = None) -> DrainReport:
        """Embed until nothing waits, the time is up, or the embedding fails four times in a row.

        An embedding that fails is no error of this call: the report says what remains and why.

        Raises:
            InputInvalid: A negative time.
            ConfigError: A setting of the embedding is wrong.
            StoreError: A store failed.
        """
        if timeout_s is not None and not timeout_s >= 0:
            raise InputInvalid(f"timeout_s = {timeout_s!r} is no number of seconds")
        embedding = await self._access.get()
        if embedding is None:
            return DrainReport(notice=Notice(code="vectors.off", message=self._access.reason))
        drain = _Drain(embedding, progress)
        backlogs = await self._backlogs()
        notice = None
        with anyio.move_on_after(timeout_s):
            async with self._turn:
                notice = await self._drain(drain, backlogs)
        remaining = sum([await backlog.count(drain.model_id) for backlog in backlogs]) - len(drain.refused)
        return DrainReport(
            embedded=drain.embedded, remaining=max(remaining, 0), refused=len(drain.refused), notice=notice
        )

    async def drop_passages(self) -> int:
        """Forget the passages' vectors of the current model, and those that are kept; ``drain`` makes them anew.

        Returns how many passages wait then.

        Raises:
            SurfaceUnavailable: No embedding is chosen, or it does not run here.
            StoreError: A store failed.
        """
        embedding = await self._access.get()
        if embedding is None:
            raise SurfaceUnavailable(f"there is no model to make vectors with: {self._access.reason}")
        model_id = embedding.description.model_id
        async with self._turn:
            # First: what is kept would otherwise come back.
            await self._cache.drop(model_id)
            return sum([await one.drop(model_id) for one in await self._backlogs() if isinstance(one, SupportsDrop)])

    async def warm(self) -> None:
        """Load the model that embeds questions; does nothing where there is none."""
        embedding = await self._access.get()
        if embedding is None:
            return
        try:
            await embedding.embed_query("warm")
        except DataMindError as error:
            log.warning("the embedding is not ready: %s", error)

    async def _drain(self, drain: _Drain, backlogs: Sequence[VectorBacklog]) -> Notice | None:
        for backlog in backlogs:
            failures = 0
            while True:
                try:
                    if not await self._next_batch(drain, backlog):
                        break
                    failures = 0
                except _EmbeddingFailed as failed:
                    failures += 1
                    log.warning("%s are not embedded: %s", backlog.noun, failed.error)
                    if not failed.error.retryable or failures == _ATTEMPTS:
                        return Notice(code=failed.error.code, message=str(failed.error))
                    await anyio.sleep(_FIRST_DELAY_S * 2 ** (failures - 1))
        return None

    async def _next_batch(self, drain: _Drain, backlog: VectorBacklog) -> bool:
        found = await backlog.waiting(drain.model_id, self._batch_size + len(drain.refused))
        batch = [item for item in found if item.item_id not in drain.refused][: self._batch_size]
        if not batch:
            return False
        vectors = await self._vectors(drain, backlog, batch)
        if vectors:
            # A store is not left in the middle of a write by whoever gives up waiting.
            try:
                await finish_despite_cancel(backlog.put(drain.model_id, list(vectors), b"".join(vectors.values())))
            except InputInvalid as error:  # of another dimension than those that are there
                raise _EmbeddingFailed(error) from error
            drain.embedded += len(vectors)
            if drain.progress is not None:
                drain.progress(drain.embedded, backlog.noun)
        return True

    async def _vectors(self, drain: _Drain, backlog: VectorBacklog, batch: Sequence[WaitingText]) -> dict[str, bytes]:
        """Item id to vector; texts that the model refuses are noted and left out."""
        texts = list(dict.fromkeys(item.text for item in batch))
        known = await self._cache.get(drain.model_id, texts) if backlog.is_cached else {}
        # The model may have been changed under its name.
        known = {text: vector for text, vector in known.items() if len(vector) == 4 * drain.embedding.description.dim}
        made = await _embedded(drain.embedding, [text for text in texts if text not in known])
        if backlog.is_cached and made:
            await self._cache.put(drain.model_id, made)
        known = {**known, **made}
        drain.refused |= {item.item_id for item in batch if item.text not in known}
        return {item.item_id: known[item.text] for item in batch if item.text in known}


class _EmbeddingFailed(Exception):
    def __init__(self, error: DataMindError) -> None:
        super().__init__(str(error))
        self.error = error


async def _embedded(embedding: EmbeddingProvider, texts: Sequence[str]) -> dict[str, bytes]:
    """Text to vector; one that is refused does not keep the others from theirs."""
    if not texts:
        return {}
    try:
        vectors = await embedding.embed_documents(texts)
    except InputInvalid as error:
        if len(texts) == 1:
            log.warning("a text of %d characters is not embedded: %s", len(texts[0]), error)
            return {}
        parts = [await _embedded(embedding, [text]) for text in texts]
        return {text: vector for part in parts for text, vector in part.items()}
    except DataMindError as error:
        raise _EmbeddingFailed(error) from error
    size = len(vectors) // len(texts)
    return {text: vectors[place * size : (place + 1) * size] for place, text in enumerate(texts)}
