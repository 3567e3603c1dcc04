"""How long an event loop was held up, apart from what a busy machine does to it."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

LIMIT_S: Final = 0.25
_EVERY_S: Final = 0.01
_TASKS: Final = Path("/proc/self/task")


class LagProbe:
    """Measures the loop it is entered in, until it is left.

    A late wake-up proves nothing on a starved machine. The kernel counts how long each thread was ready to run and was
    not let; the longest such wait in this process, that of the loop's thread or of one that held the interpreter
    meanwhile, is taken off. Work on the loop, a blocking call and an interpreter held by another thread all remain.
    Where the kernel does not count (elsewhere than on Linux), nothing is taken off.

    Attributes:
        longest_s: The longest lag.
        beats: How often the loop was looked at.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.beats = 0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._measure())
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.sleep(2 * _EVERY_S)  # a lag that lasted to the end is seen too
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _measure(self) -> None:
        while True:
            waited = _waits()
            began = time.perf_counter()
            await asyncio.sleep(_EVERY_S)
            late = time.perf_counter() - began - _EVERY_S
            self.beats += 1
            if late > self.longest_s:
                starved = max((now - waited.get(thread, 0.0) for thread, now in _waits().items()), default=0.0)
                self.longest_s = max(self.longest_s, late - starved)


def _waits() -> dict[str, float]:
    """Seconds that each thread of this process has waited for a processor."""
    found = {}
    with suppress(OSError):
        for thread in _TASKS.iterdir():
            with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
                found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return found
