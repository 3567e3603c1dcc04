"""What waits for vectors, whatever surface it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class WaitingText(NamedTuple):
    """A text without a vector, and the id under which its vector is put."""

    item_id: str
    text: str


class VectorBacklog(Protocol):
    """The texts of one store that have no vector of a model.

    Attributes:
        noun: What the texts are, in the plural.
        is_cached: Their vectors are kept in control.db, so that the same text need not be embedded again.
    """

    noun: str
    is_cached: bool

    async def waiting(self, model_id: str, limit: int) -> Sequence[WaitingText]:
        """Oldest first."""
        ...

    async def count(self, model_id: str) -> int:
        """How many wait."""
        ...

    async def put(self, model_id: str, item_ids: Sequence[str], vectors: bytes) -> None:
        """float32, row i for id i; vectors of what has vanished or was replaced are dropped."""
        ...


@runtime_checkable
class SupportsDrop(Protocol):
    """A backlog whose vectors can be made anew."""

    async def drop(self, model_id: str) -> int:
        """Forget the vectors of a model; how many texts wait then."""
        ...
