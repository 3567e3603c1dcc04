"""Stores looked at when a process first uses them: one that is damaged or gone is set aside and filled again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

import anyio

from datamind.capabilities.control.control import Control
from datamind.capabilities.control.repairs import Repair
from datamind.core.errors import StoreError
from datamind.core.lease import Lease, keeping_leases
from datamind.core.protocols.repair import DAMAGED, SupportsRepair, SupportsWriteCheck
from datamind.core.record import now
from datamind.core.types import DataSurface

log = logging.getLogger(__name__)

Open = Callable[[], Awaitable[Any]]
Replay = Callable[[Control, DataSurface], Awaitable[tuple[int, dict[str, str]]]]
"""Repeats every write of a surface; how many, and why each that could not be failed."""

_LOOKED_FOR: Final = 8
_REPAIRING: Final[ContextVar[bool]] = ContextVar("_REPAIRING", default=False)


class Repairs:
    """The stores of one profile. Until ``replay`` is known none is looked at.

    Attributes:
        replay: Set once the tools are known, for a write is repeated by its tool.
        done: What this process has repaired.
    """

    def __init__(self, control_of: Callable[[], Control], lease: Lease) -> None:
        self._control_of = control_of
        self._lease = lease
        self._seen: set[DataSurface] = set()
        self._locks: dict[DataSurface, anyio.Lock] = {}
        self._stores: dict[DataSurface, Open] = {}
        self.replay: Replay | None = None
        self.done: dict[DataSurface, Repair] = {}

    def watched(self, surface: DataSurface, open_store: Open) -> Open:
        """The same store, looked at before it is used first."""
        self._stores[surface] = open_store

        async def open_watched() -> Any:
            store = await open_store()
            replay = None if _REPAIRING.get() else self.replay
            if replay is not None and isinstance(store, SupportsRepair) and self._is_in_doubt(surface, store):
                async with self._locks.setdefault(surface, anyio.Lock()):
                    if self._is_in_doubt(surface, store):
                        await self._look(surface, store, replay)
                        self._seen.add(surface)
            return store

        return open_watched

    def _is_in_doubt(self, surface: DataSurface, store: SupportsRepair) -> bool:
        return surface not in self._seen or store.is_doubtful

    async def _look(self, surface: DataSurface, store: SupportsRepair, replay: Replay) -> None:
        if not await self._reason(surface, store):
            return
        async with keeping_leases(), self._lease.use():
            reason = await self._reason(surface, store)  # another process may have repaired it meanwhile
            if not reason:
                return
            repair = await self._refill(surface, store, replay, reason)
        log.warning("%s: %s", surface, repair)

    async def rebuild(self, surface: DataSurface, reason: str) -> Repair | None:
        """Fill a store again from control.db, whatever its state; its files are set aside.

        None where nothing was ever written, or where the store is not filled from writes.

        Raises:
            StoreError: It is in use, or its files cannot be moved.
        """
        open_store = self._stores.get(surface)
        if open_store is None or self.replay is None or not await self._control_of().intents.has_applied(surface):
            return None
        store = await open_store()
        if not isinstance(store, SupportsRepair):
            return None
        self._seen.discard(surface)  # whoever comes now waits
        async with self._locks.setdefault(surface, anyio.Lock()), keeping_leases(), self._lease.use():
            repair = await self._refill(surface, store, self.replay, reason)
            self._seen.add(surface)
        return repair

    async def _refill(self, surface: DataSurface, store: SupportsRepair, replay: Replay, reason: str) -> Repair:
        control = self._control_of()
        await control.repairs.begin(surface)
        moved_to, sources = await store.set_aside(), await control.sources.saved(surface)
        token = _REPAIRING.set(True)
        try:
            writes, missing = await replay(control, surface)
        finally:
            _REPAIRING.reset(token)
        await control.sources.restore(surface, sources)
        at = now()
        repair = Repair(surface=surface, at=at, reason=reason, moved_to=moved_to, writes=writes, missing=missing)
        await control.repairs.finish(repair)
        self.done[surface] = repair
        return repair

    async def _reason(self, surface: DataSurface, store: SupportsRepair) -> str:
        """Why the store has to be filled again; empty when it need not be.

        Raises:
            StoreError: It cannot be said: it is in use, or of a later version.
        """
        control = self._control_of()
        if not await control.intents.has_applied(surface):
            return ""
        if await control.repairs.is_under_way(surface):
            return "filling the store again was broken off"
        try:
            if not await store.check():
                return "the files of the store were gone"
            lost = await self._lost_writes(surface, store)
            return f"the store was damaged: it lacked {', '.join(lost)}, which it had acknowledged" if lost else ""
        except StoreError as error:
            if error.code != DAMAGED:
                raise  # as its use would
            return f"the store was damaged: {error.message}"

    async def _lost_writes(self, surface: DataSurface, store: SupportsRepair) -> Sequence[str]:
        # The latest are enough: what such an engine leaves out is the end of its log.
        if not isinstance(store, SupportsWriteCheck):
            return ()
        control = self._control_of()
        latest = await control.receipts.last_stored(surface, limit=_LOOKED_FOR)
        known = {receipt_id for repair in await control.repairs.all() for receipt_id in repair.missing}
        return await store.missing_writes([receipt_id for receipt_id in latest if receipt_id not in known])
