"""The memory store in memory: what the Protocol asks for and nothing else. Gone with the process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.memory.providers.rules import (
    check_draft,
    check_page,
    content_key,
    name_key,
)
from datamind.capabilities.memory.words import memory_tokens
from datamind.capabilities.text.bm25 import BM25Index
from datamind.core.errors import NotFound, changed_since
from datamind.core.protocols.memory import (
    MemoryDraft,
    MemoryFilter,
    MemoryHit,
    MemoryItem,
    MemoryQuery,
    MemoryReader,
    MemoryRevert,
    MemoryScope,
    SaveOutcome,
)
from datamind.core.record import now

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

_LATEST: Final = datetime.max.replace(tzinfo=UTC)


async def open_store(ctx: ProviderContext, options: Any) -> InMemoryStore:
    """An empty store."""
    return InMemoryStore()


@dataclass
class _Memories:
    """Everything; a forgotten memory leaves ``items`` and ``words``, and only the receipt that took it stays."""

    items: dict[str, MemoryItem] = field(default_factory=dict)
    words: BM25Index = field(default_factory=BM25Index)
    outcomes: dict[str, SaveOutcome] = field(default_factory=dict)
    forgotten_by: dict[str, str] = field(default_factory=dict)
    changes: dict[str, dict[str, tuple[MemoryItem | None, MemoryItem | None]]] = field(default_factory=dict)
    reverts: dict[str, MemoryRevert] = field(default_factory=dict)

    def note(self, receipt_id: str, memory_id: str, before: MemoryItem | None) -> None:
        """Note what a write made of a memory; None where it is on no read path."""
        noted = self.changes.setdefault(receipt_id, {})
        noted[memory_id] = (noted[memory_id][0] if memory_id in noted else before, self.items.get(memory_id))


class InMemoryReader:
    """The reading side."""

    def __init__(self, memories: _Memories) -> None:
        self._now = memories

    async def recall(self, query: MemoryQuery) -> Sequence[MemoryHit]:
        """BM25 by words; a vector is ignored.

        Raises:
            InputInvalid: A limit below 1, or an ``as_of`` without a zone.
        """
        check_page(query.where, query.limit)
        items = self._now.items
        found = self._now.words.search(
            query.tokens, max(len(items), 1), allowed=lambda memory_id: _matches(items[memory_id], query.where)
        )
        found.sort(key=lambda hit: (-hit[1], *_newest_first(items[hit[0]])))
        return [
            MemoryHit(item=items[memory_id], score=score, score_meaning="bm25")
            for memory_id, score in found[: query.limit]
        ]

    async def find(self, where: MemoryFilter, *, offset: int = 0, limit: int = 100) -> Sequence[MemoryItem]:
        """By filter alone, newest first.

        Raises:
            InputInvalid: A limit below 1, an offset below 0, or an ``as_of`` without a zone.
        """
        check_page(where, limit, offset)
        found = [item for item in self._now.items.values() if _matches(item, where)]
        return sorted(found, key=_newest_first)[offset : offset + limit]

    async def count(self, where: MemoryFilter) -> int:
        """How many ``find`` would return without a limit.

        Raises:
            InputInvalid: An ``as_of`` without a zone.
        """
        check_page(where, 1)
        return sum(_matches(item, where) for item in self._now.items.values())


class InMemoryStore(InMemoryReader):
    """The store. A method awaits nothing, so each write is one transaction to every other task."""

    def __init__(self) -> None:
        super().__init__(_Memories())

    async def save(self, draft: MemoryDraft) -> SaveOutcome:
        """Add a memory, or find that it is there.

        Raises:
            InputInvalid: See ``check_draft``.
        """
        check_draft(draft)
        if draft.memory_id in self._now.outcomes:
            return self._now.outcomes[draft.memory_id]
        equal = self._equal(draft)
        others = [item for item in self._others(draft) if item is not equal]
        if equal is None:
            self._add(draft, self._following(draft))
        elif not _held(equal, draft.valid_from):
            others = []
        ends = [(item, draft.valid_from) for item in others]
        return self._settle(draft, equal.memory_id if equal else draft.memory_id, ends)

    async def update(self, memory_id: str, draft: MemoryDraft) -> SaveOutcome:
        """Close ``memory_id`` and add ``draft``, which holds whatever came after its ``valid_from``.

        Raises:
            InputInvalid: See ``check_draft``.
            NotFound: No such memory holds.
        """
        check_draft(draft)
        if draft.memory_id in self._now.outcomes:
            return self._now.outcomes[draft.memory_id]
        target = self._now.items.get(memory_id)
        if target is None or target.valid_to is not None:
            raise NotFound(f"no memory {memory_id[:60]!r} holds")
        equal = next((item for item in self._equals(draft) if item.valid_to is None), None)
        if equal is target:
            return self._settle(draft, memory_id, [])
        closing = [item for item in self._now.items.values() if item is target or _is_from(item, draft)]
        if equal is None:
            self._add(draft, None)
        ends = [(item, max(item.valid_from, draft.valid_from)) for item in closing if item is not equal]
        return self._settle(draft, equal.memory_id if equal else draft.memory_id, ends)

    async def forget(self, memory_ids: Sequence[str], receipt_id: str) -> int:
        """Number forgotten by this receipt, now or when it was first asked."""
        for memory_id in self._now.items.keys() & set(memory_ids):
            before = self._now.items.pop(memory_id)
            self._now.words.remove(memory_id)
            self._now.forgotten_by[memory_id] = receipt_id
            self._now.note(receipt_id, memory_id, before)
        return sum(self._now.forgotten_by.get(memory_id) == receipt_id for memory_id in set(memory_ids))

    async def reverting(self, receipt_id: str) -> MemoryRevert:
        """What ``revert`` would do.

        Raises:
            Conflict: A later write changed one of its memories, or the same fact.
        """
        return self._planned(receipt_id)

    async def revert(self, receipt_id: str, by_receipt: str) -> MemoryRevert:
        """Take back what a receipt wrote.

        Raises:
            Conflict: A later write changed one of its memories, or the same fact.
        """
        if by_receipt in self._now.reverts:
            return self._now.reverts[by_receipt]
        done = self._planned(receipt_id)
        for item in done.gone:
            del self._now.items[item.memory_id]
            self._now.words.remove(item.memory_id)
            self._now.forgotten_by[item.memory_id] = by_receipt
            self._now.note(by_receipt, item.memory_id, item)
        for item in done.back:
            before = self._now.items.get(item.memory_id)
            if before is None:
                tokens = memory_tokens(item.text, item.subject, item.attribute, item.value)
                self._now.words.add(item.memory_id, tokens)
            self._now.items[item.memory_id] = item
            self._now.forgotten_by.pop(item.memory_id, None)
            self._now.note(by_receipt, item.memory_id, before)
        self._now.reverts[by_receipt] = done
        return done

    def _planned(self, receipt_id: str) -> MemoryRevert:
        back, gone = [], []
        for memory_id, (before, after) in self._now.changes.get(receipt_id, {}).items():
            current = self._now.items.get(memory_id)
            if current != after:
                raise changed_since(receipt_id, self._changed_by(memory_id, current))
            if before is not None:
                back.append(before)
            elif current is not None:
                gone.append(current)
        changed = {item.memory_id for item in (*back, *gone)}
        others = [item for item in self._now.items.values() if item.memory_id not in changed]
        for item in back:
            for other in others:
                if _contradicts(item, other):
                    raise changed_since(receipt_id, other.receipt_id)
        return MemoryRevert(back=tuple(back), gone=tuple(gone))

    def _changed_by(self, memory_id: str, current: MemoryItem | None) -> str:
        by = [one for one, noted in self._now.changes.items() if memory_id in noted and noted[memory_id][1] == current]
        return by[-1] if by else ""

    def read_view(self) -> MemoryReader:
        """The same data without a way to write."""
        return InMemoryReader(self._now)

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """Nothing of it is on disk."""

    async def sync(self) -> None:
        """Nothing to do: the store ends with the process."""

    async def aclose(self) -> None:
        """Nothing to close; may be called twice."""

    def _equals(self, draft: MemoryDraft) -> list[MemoryItem]:
        key = content_key(draft)
        found = [item for item in self._now.items.values() if content_key(item) == key]
        return sorted(found, key=lambda item: (item.valid_from, item.memory_id))

    def _equal(self, draft: MemoryDraft) -> MemoryItem | None:
        """The equal memory that holds, or that held when a functional draft says it does."""
        equals = self._equals(draft)
        holding = [item for item in equals if item.valid_to is None]
        then = [item for item in equals if draft.functional and _held(item, draft.valid_from)]
        return next(iter(holding + then), None)

    def _others(self, draft: MemoryDraft) -> Iterator[MemoryItem]:
        return (item for item in _same_fact(self._now.items.values(), draft) if _held(item, draft.valid_from))

    def _following(self, draft: MemoryDraft) -> MemoryItem | None:
        """The next value of a functional fact; one that never held for a moment does not count."""
        later = [
            item
            for item in _same_fact(self._now.items.values(), draft)
            if item.functional and item.valid_from > draft.valid_from and item.valid_to != item.valid_from
        ]
        return min(later, key=lambda item: (item.valid_from, item.memory_id), default=None)

    def _add(self, draft: MemoryDraft, following: MemoryItem | None) -> None:
        values = draft.model_dump(exclude={"tokens"})
        if following is not None:
            values |= {
                "valid_to": following.valid_from,
                "closed_by": following.memory_id,
                "close_receipt_id": draft.receipt_id,
            }
        self._now.items[draft.memory_id] = MemoryItem(**values, created_at=now())
        self._now.words.add(draft.memory_id, draft.tokens)
        self._now.note(draft.receipt_id, draft.memory_id, None)

    def _settle(self, draft: MemoryDraft, memory_id: str, ends: Sequence[tuple[MemoryItem, datetime]]) -> SaveOutcome:
        """Close memories in favour of ``memory_id`` and keep what was done for a redo."""
        for item, end in ends:
            closed = {"valid_to": end, "closed_by": memory_id, "close_receipt_id": draft.receipt_id}
            self._now.items[item.memory_id] = item.model_copy(update=closed)
            self._now.note(draft.receipt_id, item.memory_id, item)
        closed_items = sorted((item for item, _ in ends), key=lambda item: (item.valid_from, item.memory_id))
        outcome = SaveOutcome(
            status="superseded" if ends else "added" if memory_id == draft.memory_id else "unchanged",
            memory_id=memory_id,
            closed_ids=tuple(item.memory_id for item in closed_items),
        )
        self._now.outcomes[draft.memory_id] = outcome
        return outcome


def _held(item: MemoryItem, at: datetime) -> bool:
    return item.valid_from <= at and (item.valid_to is None or at < item.valid_to)


def _contradicts(one: MemoryItem, other: MemoryItem) -> bool:
    """Whether both say something of a functional fact for one instant."""
    if not (one.functional and other.functional and _fact_key(one) == _fact_key(other)):
        return False
    first, last = max(one.valid_from, other.valid_from), min(one.valid_to or _LATEST, other.valid_to or _LATEST)
    return first < last


def _is_from(item: MemoryItem, draft: MemoryDraft) -> bool:
    """Whether it says something of a functional draft's fact for any time from the draft on."""
    lasting = item.valid_to is None or item.valid_to > max(item.valid_from, draft.valid_from)
    return lasting and any(_same_fact([item], draft))


def _same_fact(items: Iterable[MemoryItem], draft: MemoryDraft) -> Iterator[MemoryItem]:
    if draft.functional:
        key = _fact_key(draft)
        yield from (item for item in items if _fact_key(item) == key)


def _fact_key(memory: MemoryDraft | MemoryItem) -> tuple[str, ...]:
    return memory.scope, memory.session, name_key(memory.subject), name_key(memory.attribute)


def _matches(item: MemoryItem, where: MemoryFilter) -> bool:
    return (
        item.scope in where.scopes
        and (item.scope is not MemoryScope.SESSION or item.session == where.session)
        and (not where.kinds or item.kind in where.kinds)
        and (not where.subject or name_key(item.subject) == name_key(where.subject))
        and (not where.attribute or name_key(item.attribute) == name_key(where.attribute))
        and (not where.memory_ids or item.memory_id in where.memory_ids)
        and (where.include_closed or (_held(item, where.as_of) if where.as_of else item.valid_to is None))
    )


def _newest_first(item: MemoryItem) -> tuple[timedelta, str]:
    return _LATEST - item.valid_from, item.memory_id
