"""A store on disk whose files can be freed of what no read shows any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class SupportsErase(Protocol):
    """What was removed from it can be made to leave no byte.

    E1  When ``erase`` returns, no file of the store holds what was deleted or replaced, older versions and logs
        included; every read gives what it gave before.
    E2  It can be repeated, also after a process died in it.
    """

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """Write the files anew; durable when this returns.

        Args:
            ids: What was removed, for a store that keeps what is removed so that it can come back.

        Raises:
            StoreError: It is not certain that nothing is left; nothing that reads show is lost.
        """
