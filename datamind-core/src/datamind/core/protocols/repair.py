"""A store on disk that can say it is damaged, and begin anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from datamind.core.errors import IntegrityError

DAMAGED: Final = "integrity_error.damaged"
"""Code of what a store raises whose files are not what it wrote."""


@runtime_checkable
class SupportsRepair(Protocol):
    """What was written to it can be written again: control.db keeps every write.

    R1  ``check`` opens what there is, reads a little of everything, and changes nothing.
    R2  Whatever meets damage leaves a mark that makes ``check`` raise until the files are set aside.
    R3  ``set_aside`` moves every file of the store, whatever state it is in; nothing is removed. The next use makes
        new ones.
    """

    @property
    def is_doubtful(self) -> bool:
        """Whether damage was met since the files were made, in whatever process. Cheap: it is asked at every use."""

    async def check(self) -> bool:
        """Whether there are files; False before the first write, or when they have gone.

        Raises:
            StoreError: ``DAMAGED``: what is there cannot be read. Another code: it cannot be said.
        """

    async def set_aside(self) -> str:
        """Where the files are now, under a name with the time; empty when there were none.

        Raises:
            StoreError: They could not be moved.
        """


@runtime_checkable
class SupportsWriteCheck(Protocol):
    """A store whose engine may leave out what it cannot read of its log, and say nothing."""

    async def missing_writes(self, receipt_ids: Sequence[str]) -> Sequence[str]:
        """Those of these receipts whose work never reached the files; what was removed later is not missing."""


def damaged(message: str) -> IntegrityError:
    """The error of a store whose files are not what it wrote."""
    hint = "The next use sets it aside and fills it again from control.db."
    return IntegrityError(message, code=DAMAGED, hint=hint)
