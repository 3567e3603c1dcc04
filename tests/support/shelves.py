"""A store of the simplest kind behind a real ledger: what a write tool may do, with handles to make it fail or wait."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from datamind.capabilities.control.control import Control, open_control
from datamind.capabilities.ingest import ledger
from datamind.capabilities.ingest.ledger import IngestLedger
from datamind.core.context import RequestContext, ToolContext
from datamind.core.dispatch import Sides
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult
from datamind.core.tools import PlannedWrite, ReadBack, ToolSpec
from datamind.core.types import DataSurface, Role, ToolEffect, derived_id

PROFILE = "test"


class Shelf:
    """Texts by id, with what happened to it in order.

    Attributes:
        fails: An exception for each of ``put``, ``sync`` and ``read back`` that should raise.
        entered: Set when a put has begun.
        may_go_on: A put waits for it.
    """

    def __init__(self, control: Control) -> None:
        self.control = control
        self.texts: dict[str, str] = {}
        self.events: list[str] = []
        self.fails: dict[str, Exception] = {}
        self.shows_writes = True
        self.entered = anyio.Event()
        self.may_go_on = anyio.Event()
        self.may_go_on.set()
        sides = Sides(read=self, write=self)
        self.ledger = IngestLedger(PROFILE, lambda _: control, lambda: (control,), sides, self.sync)
        self.spec = ToolSpec(
            "shelf_put",
            "Put a text.",
            {"type": "object"},
            self.put,
            ToolEffect.WRITE,
            DataSurface.KB,
            **_declared(self),
        )
        self.tool = self.ledger.wrap(self.spec)

    async def put(self, args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
        self.entered.set()
        await self.may_go_on.wait()
        self.happened("put")
        assert ctx.unit is not None
        text = (ctx.unit.content or b"").decode() if args.get("large") else args["text"]
        item = derived_id("item", ctx.unit.unit_id)
        known = item in self.texts
        self.texts[item] = text
        self.events.append(f"{'again' if known else 'new'} {text[:20]}")
        return SurfaceWriteResult(
            surface=DataSurface.KB, operation="added", status="stored", items_written=1, ids=(item,)
        )

    async def sync(self, surface: DataSurface, profile: str) -> None:
        self.happened("sync")

    async def read_back(self, result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
        self.happened("read back")
        there = self.shows_writes and result.ids[0] in self.texts
        return ReadBack(there, f"{int(there)} of 1 items")

    def happened(self, event: str) -> None:
        self.events.append(event)
        if event in self.fails:
            raise self.fails[event]

    async def write(self, text: str, *, key: str = "", ctx: RequestContext | None = None, **more: Any) -> IngestReceipt:
        """Put one text through the ledger; the receipt."""
        ctx = ctx or request(key)
        output = await self.tool.handler({"text": text, **more}, ToolContext(ctx, "call_1", self))
        (receipt,) = output.receipts  # type: ignore[union-attr]
        return receipt

    async def leave_open(self, *texts: str, applied: bool = False, **more: Any) -> None:
        """Die after the intent of each text, or after the mark that the engine has it; the ledger is closed then."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.control.intents, "finish" if applied else "applied", _die)
            # Without the task that shields a write: an event loop does not survive a KeyboardInterrupt in one.
            patch.setattr(ledger, "finish_despite_cancel", _here)
            for text in texts:
                with pytest.raises(KeyboardInterrupt):
                    await self.write(text, **more)
        self.control.close()


async def _die(*_: Any) -> Any:
    raise KeyboardInterrupt


async def _here(work: Any) -> Any:
    return await work


def _declared(shelf: Shelf) -> dict[str, Any]:
    async def plan(args: Mapping[str, Any], ctx: ToolContext) -> Any:
        large = bool(args.get("large"))
        kept = {"large": True} if large else dict(args)
        yield PlannedWrite(kept, content=args["text"].encode() if large else None)

    return {"plan": plan, "read_back": shelf.read_back}


def open_shelf(folder: Path) -> Shelf:
    """A shelf whose ledger lies in ``folder``."""
    return Shelf(open_control(PROFILE, folder / "storage", folder / "keys"))


def request(key: str = "", **changes: Any) -> RequestContext:
    """A request that stores."""
    return RequestContext(PROFILE, Role.STORE, idempotency_key=key, **changes)
