"""Work that finishes although its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def finish_despite_cancel(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end; a cancellation that arrives meanwhile is raised afterwards.

    An anyio scope alone does not hold off ``task.cancel()``, which is how Ctrl-C and asyncio callers cancel.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                cancelled = True
    if cancelled:
        if not task.cancelled():
            task.exception()  # seen here, or asyncio would report it as never retrieved
        raise asyncio.CancelledError
    return task.result()
