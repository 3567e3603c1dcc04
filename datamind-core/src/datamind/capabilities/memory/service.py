"""Memory: scopes over two stores, drafts from what was said, selectors and evidence."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any

from datamind.capabilities.embedding.access import EmbeddingAccess
from datamind.capabilities.memory.words import memory_tokens
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.context import WriteUnit
from datamind.core.errors import DataMindError, InputInvalid
from datamind.core.evidence import Evidence, MemoryLocator
from datamind.core.hooks import Candidates
from datamind.core.protocols.memory import (
    MemoryDraft,
    MemoryFilter,
    MemoryHit,
    MemoryItem,
    MemoryKind,
    MemoryQuery,
    MemoryReader,
    MemoryRevert,
    MemoryScope,
    MemoryStore,
    MemoryVectorReader,
    SaveOutcome,
)
from datamind.core.source import SourceRef
from datamind.core.types import SHARED_PROFILE, DataSurface, Origin, content_hash, derived_id

log = logging.getLogger(__name__)

ALL_SCOPES = (MemoryScope.SESSION, MemoryScope.PROFILE, MemoryScope.GLOBAL)
_CANDIDATES = 20
_MOST = 10_000
_CJK = "\u2e80"
_ENOUGH_CJK = 0.6


@dataclass(frozen=True, slots=True)
class MemoryStores:
    """The profile's own store and that of the global memories, each opened on first use."""

    own: Callable[[], Awaitable[MemoryStore]]
    shared: Callable[[], Awaitable[MemoryStore]]


class MemoryReads:
    """What the reading side may do. Holds read views only."""

    def __init__(self, stores: MemoryStores, profile: str, embedding: EmbeddingAccess, *, extractive: bool) -> None:
        self._stores = stores
        self._profile = profile
        self._embedding = embedding
        self._extractive = extractive

    async def recall(self, query: str, where: MemoryFilter, *, limit: int, for_model: bool) -> tuple[Evidence, ...]:
        """Memories that match ``query`` by words, and by meaning where there are vectors; best first.

        An extractive model answers in words that the question shares. A memory that is only near in meaning would
        mislead it, and loading an embedding would cost it more than the answer: for such a model words decide alone.
        """
        tokens = tuple(tokenize(query))
        readers = await self._readers(where)
        near = {} if self._extractive and for_model else await self._vector(query, [reader for reader, _ in readers])
        found = [
            await reader.recall(MemoryQuery(tokens=tokens, where=part, limit=limit, **near)) for reader, part in readers
        ]
        # Scores of two stores do not compare, ranks do; of equal ranks the narrower store goes first.
        merged = [hit for hit in chain.from_iterable(zip_longest(*found)) if hit is not None][:limit]
        return tuple(self._evidence(hit.item, hit) for hit in merged)

    async def find(self, where: MemoryFilter, *, offset: int = 0, limit: int = 100) -> tuple[Evidence, ...]:
        """Memories by filter alone, newest first."""
        items: list[MemoryItem] = []
        for reader, part in await self._readers(where):
            items += await reader.find(part, limit=offset + limit)
        items.sort(key=lambda item: (-item.valid_from.timestamp(), item.memory_id))
        return tuple(self._evidence(item) for item in items[offset : offset + limit])

    async def count(self, where: MemoryFilter) -> int:
        """How many memories match a filter."""
        return sum([await reader.count(part) for reader, part in await self._readers(where)])

    async def seen(self, memory_ids: Sequence[str], session: str) -> int:
        """How many of these are on a read path of this session, holding or not."""
        where = visible(session, memory_ids=tuple(memory_ids), include_closed=True)
        return await self.count(where) if memory_ids else 0

    async def candidates(self, query: str, where: MemoryFilter) -> Candidates:
        """What words mean: the memories that have all of them, of Chinese the most pairs of characters.

        Half of the words would not do: "I like coffee" would mean "I like tea".
        """
        wanted = set(tokenize(query))
        items = [item for item in await self._matching(tuple(wanted), where) if wanted]
        covered = {item.memory_id: _coverage(wanted, set(_words(item))) for item in items}
        best = max(covered.values(), default=0.0)
        chosen = [item for item in items if covered[item.memory_id] == best > 0]
        return Candidates(tuple(item.memory_id for item in chosen), tuple(_label(item) for item in chosen))

    async def named(self, where: MemoryFilter) -> Candidates:
        """The memories that a filter names."""
        items: list[MemoryItem] = []
        for reader, part in await self._readers(where):
            items += await reader.find(part, limit=_MOST)
        return Candidates(tuple(item.memory_id for item in items), tuple(_label(item) for item in items))

    async def _vector(self, query: str, readers: Sequence[MemoryReader]) -> dict[str, Any]:
        embedding = await self._embedding.get()
        if embedding is None:
            return {}
        model_id = embedding.description.model_id
        vectored = [reader for reader in readers if isinstance(reader, MemoryVectorReader)]
        if not any([await reader.has_vectors(model_id) for reader in vectored]):
            return {}
        try:
            return {"vector": await embedding.embed_query(query), "model_id": model_id}
        except DataMindError as error:
            log.warning("memories are recalled by words alone: %s", error)
            return {}

    async def _matching(self, tokens: tuple[str, ...], where: MemoryFilter) -> list[MemoryItem]:
        items: list[MemoryItem] = []
        for reader, part in await self._readers(where):
            hits = await reader.recall(MemoryQuery(tokens=tokens, where=part, limit=_CANDIDATES))
            items += [hit.item for hit in hits]
        return items

    async def _readers(self, where: MemoryFilter) -> list[tuple[MemoryReader, MemoryFilter]]:
        readers = []
        own = tuple(scope for scope in where.scopes if scope is not MemoryScope.GLOBAL)
        if own:
            readers.append(((await self._stores.own()).read_view(), where.model_copy(update={"scopes": own})))
        if MemoryScope.GLOBAL in where.scopes:
            only = where.model_copy(update={"scopes": (MemoryScope.GLOBAL,)})
            readers.append(((await self._stores.shared()).read_view(), only))
        return readers

    def _evidence(self, item: MemoryItem, hit: MemoryHit | None = None) -> Evidence:
        checksum = content_hash(item.text)
        source = SourceRef(
            source_id=derived_id("src", item.memory_id, checksum),
            kind="memory",
            uri=f"memory:{item.memory_id}",
            checksum=checksum,
            media_type="text/plain",
            profile=SHARED_PROFILE if item.scope is MemoryScope.GLOBAL else self._profile,
            origin=item.origin,
        )
        return Evidence.of(
            DataSurface.MEMORY,
            source,
            MemoryLocator(memory_id=item.memory_id),
            item.text,
            receipt_ids=(item.receipt_id,),
            score=hit.score if hit else None,
            score_meaning=hit.score_meaning if hit else "",
            note=_note(item),
        )


class MemoryWrites:
    """What the writing side may do."""

    def __init__(self, stores: MemoryStores) -> None:
        self._stores = stores

    async def save(self, draft: MemoryDraft) -> SaveOutcome:
        """Save one memory in the store of its scope."""
        return await (await self._store(draft.scope is MemoryScope.GLOBAL)).save(draft)

    async def update(self, memory_id: str, draft: MemoryDraft) -> SaveOutcome:
        """Replace one memory; the old text stays in the history."""
        return await (await self._store(draft.scope is MemoryScope.GLOBAL)).update(memory_id, draft)

    async def forget(self, memory_ids: Sequence[str], receipt_id: str, *, shared: bool) -> int:
        """Take memories off every read path."""
        return await (await self._store(shared)).forget(memory_ids, receipt_id)

    async def reverting(self, receipt_id: str, *, shared: bool) -> MemoryRevert:
        """What taking a write back would do.

        Raises:
            Conflict: A later write changed one of its memories, or the same fact.
        """
        return await (await self._store(shared)).reverting(receipt_id)

    async def revert(self, receipt_id: str, by_receipt: str, *, shared: bool) -> MemoryRevert:
        """Take a write back."""
        return await (await self._store(shared)).revert(receipt_id, by_receipt)

    async def found(
        self, memory_ids: Sequence[str], session: str, *, shared: bool, include_closed: bool
    ) -> Sequence[MemoryItem]:
        """Those of these memories that one store has and this session may see."""
        where = visible(session, memory_ids=tuple(memory_ids), include_closed=include_closed)
        return await (await self._store(shared)).find(where, limit=max(1, len(memory_ids)))

    async def holding(self, fact: tuple[str, str, str], scope: MemoryScope, session: str) -> MemoryItem | None:
        """The memory of a scope that says this subject, attribute and value, if it holds."""
        subject, attribute, value = fact
        where = MemoryFilter(scopes=(scope,), session=session, subject=subject, attribute=attribute)
        found = await (await self._store(scope is MemoryScope.GLOBAL)).find(where, limit=_CANDIDATES)
        return next((item for item in found if item.value.casefold() == value.casefold()), None)

    async def sync(self, *, shared: bool) -> None:
        """Make the writes of a store survive a power loss."""
        await (await self._store(shared)).sync()

    async def _store(self, shared: bool) -> MemoryStore:
        return await (self._stores.shared if shared else self._stores.own)()


def make_draft(
    unit: WriteUnit,
    *,
    text: str,
    kind: MemoryKind,
    scope: MemoryScope,
    session: str,
    fact: tuple[str, str, str],
    functional: bool,
    valid_from: datetime,
    origin: Origin,
) -> MemoryDraft:
    """A draft whose id follows from the unit, so that a redo is the same save.

    Raises:
        InputInvalid: A session memory outside a session, or a blank text.
    """
    if not text.strip():
        raise InputInvalid(f"the memory text {text[:40]!r} is blank")
    if scope is MemoryScope.SESSION and not session:
        raise InputInvalid("a session memory needs a session", hint="Use scope `profile`, or give a session.")
    subject, attribute, value = fact
    return MemoryDraft(
        memory_id=derived_id("mem", unit.unit_id),
        scope=scope,
        session=session if scope is MemoryScope.SESSION else "",
        kind=kind,
        text=text.strip(),
        subject=subject,
        attribute=attribute,
        value=value,
        functional=functional,
        valid_from=valid_from,
        origin=origin,
        receipt_id=unit.receipt_id,
        tokens=memory_tokens(text, subject, attribute, value),
    )


def origin_of(text: str, user_text: str) -> Origin:
    """``user`` when every word of ``text`` is among the user's own words of this request, else ``derived``."""
    return "user" if set(tokenize(text)) <= set(tokenize_for_index(user_text)) else "derived"


def visible(session: str, **conditions: Any) -> MemoryFilter:
    """Every scope that a request of this session may see."""
    scopes = ALL_SCOPES if session else ALL_SCOPES[1:]
    return MemoryFilter(scopes=scopes, session=session, **conditions)


def _words(item: MemoryItem) -> list[str]:
    return list(memory_tokens(item.text, item.subject, item.attribute, item.value))


def _coverage(wanted: set[str], words: set[str]) -> float:
    """Share of what is wanted among the words of a memory; 0 when a word is missing, or too many of the pairs."""
    pairs = {token for token in wanted if token > _CJK}
    if not wanted - pairs <= words or len(pairs & words) < _ENOUGH_CJK * len(pairs):
        return 0.0
    return len(wanted & words) / len(wanted)


def _label(item: MemoryItem) -> str:
    return f"{item.memory_id}  {item.text[:120]}"


def _note(item: MemoryItem) -> str:
    held = f"since {item.valid_from.date()}" if item.valid_to is None else f"until {item.valid_to.date()}"
    origin = "" if item.origin == "user" else f"; origin {item.origin}"
    return f"{item.kind}; {item.scope}; {held}{origin}"
