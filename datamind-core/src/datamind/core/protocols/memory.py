"""Memory: what is true of the user, the profile or the session, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

from datamind.core.record import Instant, Record
from datamind.core.types import Origin


class MemoryKind(StrEnum):
    """What sort of thing is remembered."""

    PREFERENCE = "preference"
    DECISION = "decision"
    WORKFLOW = "workflow"
    SUMMARY = "summary"
    SKILL = "skill"
    FACT = "fact"


class MemoryScope(StrEnum):
    """Who sees it: every profile, this profile, or one session of it."""

    GLOBAL = "global"
    PROFILE = "profile"
    SESSION = "session"


class _Memory(Record):
    memory_id: str
    scope: MemoryScope
    session: str = ""
    kind: MemoryKind
    text: str
    subject: str = ""
    attribute: str = ""
    value: str = ""
    functional: bool = False
    valid_from: Instant
    origin: Origin
    receipt_id: str


class MemoryDraft(_Memory):
    """A memory about to be saved.

    Attributes:
        memory_id: Follows from the write's unit, so that saving again after a crash is the same save.
        session: Set exactly when ``scope`` is ``session``.
        subject: With ``attribute``: what the value is of. Empty for free text.
        functional: A subject has one value of this attribute at a time; a new one closes the old.
        tokens: Words for the lexical side, of text, subject, attribute and value.
    """

    tokens: tuple[str, ...]


class MemoryItem(_Memory):
    """A memory as stored.

    Attributes:
        valid_to: When it stopped being true (superseded or updated); None while it holds.
        closed_by: Id of the memory that superseded it.
        close_receipt_id: Receipt of the write that closed it.
    """

    valid_to: Instant | None = None
    created_at: Instant
    closed_by: str = ""
    close_receipt_id: str = ""


class SaveOutcome(Record):
    """What a save did.

    Attributes:
        status: ``added``, ``superseded`` (older values were closed) or ``unchanged`` (an equal one holds already).
        memory_id: The memory that holds now: the draft's, or the equal one found.
        closed_ids: Memories this save closed.
    """

    status: Literal["added", "superseded", "unchanged"]
    memory_id: str
    closed_ids: tuple[str, ...] = ()


class MemoryRevert(Record):
    """What taking a write back does, or did.

    Attributes:
        back: Memories as they are after it, that were closed or forgotten.
        gone: Memories as they were before it.
    """

    back: tuple[MemoryItem, ...] = ()
    gone: tuple[MemoryItem, ...] = ()


class MemoryFilter(Record):
    """Which memories; every given condition must hold.

    Attributes:
        scopes: Empty means none: a reader sees nothing it did not ask for.
        session: The one session whose memories count when ``session`` is among the scopes.
        as_of: Memories that held at this instant; None for those that hold now.
        include_closed: Those that no longer hold too (``as_of`` is then ignored).
    """

    scopes: tuple[MemoryScope, ...]
    session: str = ""
    kinds: tuple[MemoryKind, ...] = ()
    subject: str = ""
    attribute: str = ""
    memory_ids: tuple[str, ...] = ()
    as_of: datetime | None = None
    include_closed: bool = False


class MemoryQuery(Record):
    """One recall.

    Attributes:
        vector: float32, shape (1, dim), with ``model_id``; empty recalls by words alone.
    """

    tokens: tuple[str, ...]
    where: MemoryFilter
    limit: int
    vector: bytes = b""
    model_id: str = ""


class MemoryHit(Record):
    """A memory with its score; best first, ties newest first, then by id."""

    item: MemoryItem
    score: float
    score_meaning: str


@runtime_checkable
class MemoryReader(Protocol):
    """The reading half of a memory store.

    G1 Forgotten memories are on no read path.
    G2 The filter is applied in the query, before the limit; another scope or session is never returned.
    G3 A recall whose words match nothing returns nothing; a score of 0 is no hit.
    G4 Words match in any script: two Chinese characters of a longer run are found.
    """

    async def recall(self, query: MemoryQuery) -> Sequence[MemoryHit]:
        """Best first; see G2 to G4."""
        ...

    async def find(self, where: MemoryFilter, *, offset: int = 0, limit: int = 100) -> Sequence[MemoryItem]:
        """By filter alone, newest ``valid_from`` first, ties by id."""
        ...

    async def count(self, where: MemoryFilter) -> int:
        """How many ``find`` would return without a limit."""
        ...


@runtime_checkable
class MemoryStore(MemoryReader, Protocol):
    """A memory store. A memory *holds* while it is neither closed (``valid_to``) nor forgotten, by whatever clock.

    G5 ``save`` reads and writes in one transaction: of two processes saving different values of one functional
    fact, one closes the other's.
    G6 An equal memory that holds (same scope, session, kind, text and fact) gives ``unchanged``; a forgotten one
    does not count, and neither do ``functional``, ``valid_from``, origin and receipt.
    G7 A functional draft closes every other value of its (scope, session, subject, attribute) at the draft's
    ``valid_from``, and nothing else; subject and attribute are compared after casefold. A draft that is older than
    the value that holds takes its place in the past: it ends where the next value begins.
    G8 Saving a ``memory_id`` again gives the first outcome and changes nothing.
    G9 ``update`` closes one memory and adds the draft, which holds, in one transaction; ``forget`` removes from every
    read path and reopens nothing.
    G10 What returned survives the death of the process; after ``sync`` also a power loss.
    G11 ``read_view`` cannot write, by the engine where it can be.
    G12 ``revert`` brings the memories that a receipt's write closed, forgot or added back to what they were before it,
    found again by their words; reverting the revert undoes that. What a later write changed is left alone: it refuses.
    """

    async def save(self, draft: MemoryDraft) -> SaveOutcome:
        """See G5 to G8."""
        ...

    async def update(self, memory_id: str, draft: MemoryDraft) -> SaveOutcome:
        """Close ``memory_id`` and add ``draft``.

        Raises:
            NotFound: No such memory holds.
        """
        ...

    async def forget(self, memory_ids: Sequence[str], receipt_id: str) -> int:
        """Number forgotten by this receipt, now or when it was first asked; see G1."""
        ...

    async def reverting(self, receipt_id: str) -> MemoryRevert:
        """What ``revert`` would do; nothing of a receipt that wrote nothing here.

        Raises:
            Conflict: ``conflict.changed_since``: a later write changed one of its memories, or the same fact.
        """
        ...

    async def revert(self, receipt_id: str, by_receipt: str) -> MemoryRevert:
        """Take back what a receipt wrote; the same again with the same ``by_receipt`` changes nothing. See G12.

        Raises:
            Conflict: As ``reverting``.
        """
        ...

    def read_view(self) -> MemoryReader:
        """The same data without a way to write."""
        ...

    async def sync(self) -> None:
        """Make every write so far survive a power loss."""
        ...

    async def aclose(self) -> None:
        """Close files; may be called twice."""
        ...


@runtime_checkable
class MemoryVectorReader(Protocol):
    """The reading half of a store's vectors; a read view has it too.

    G1 A vector of one model says nothing of another.
    """

    async def has_vectors(self, model_id: str) -> bool:
        """Whether any memory has a vector of the model: without one, a query need not be embedded."""
        ...


@runtime_checkable
class SupportsMemoryVectors(MemoryVectorReader, Protocol):
    """A memory store that keeps vectors.

    G1 Vectors belong to (memory id, model id); those of another model are never searched.
    """

    async def put_vectors(self, model_id: str, memory_ids: Sequence[str], vectors: bytes) -> None:
        """float32, shape (len(memory_ids), dim), row i for id i."""
        ...

    async def memories_without_vector(self, model_id: str, limit: int) -> Sequence[MemoryItem]:
        """The backlog, oldest first."""
        ...
