"""What a child prints: read so that it never waits, logged in bounds, its last words kept."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import Final

from datamind.core.logging import redactor

logger = logging.getLogger(__name__)

_READ_BYTES: Final = 16 * 1024
_PIPE_BYTES: Final = 64 * 1024
_TAIL_BYTES: Final = 4 * 1024
_MAX_LINE: Final = 1_000
_MAX_LOGGED: Final = 64 * 1024


class Output:
    """Reads a pipe in the running event loop until it ends or is closed."""

    def __init__(self, descriptor: int, engine: str) -> None:
        self._descriptor = descriptor
        self._engine = engine
        self._tail = b""
        self._line = b""
        self._left = _MAX_LOGGED
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def tail(self) -> bytes:
        """Its last 4 KiB, with what is there and not yet read."""
        self._read_rest()
        return self._tail

    def close(self) -> None:
        """Log what is left, and stop reading; may be called twice."""
        self._read_rest()
        self._end()

    def _read_rest(self) -> None:
        for _ in range(_PIPE_BYTES // _READ_BYTES):  # a child that goes on writing is not waited for
            self._read()

    def _read(self) -> None:
        if self._descriptor < 0:
            return
        with suppress(BlockingIOError):
            if data := os.read(self._descriptor, _READ_BYTES):
                self._tail = (self._tail + data)[-_TAIL_BYTES:]
                self._log(data)
            else:
                self._end()

    def _end(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self._log(b"\n")

    def _log(self, data: bytes) -> None:
        if not logger.isEnabledFor(logging.DEBUG):
            return
        *lines, self._line = (self._line + data).split(b"\n")
        if len(self._line) > _MAX_LINE:
            lines.append(self._line)
            self._line = b""
        for line in filter(None, lines):
            self._log_line(line)

    def _log_line(self, line: bytes) -> None:
        if self._left <= 0:
            return
        self._left -= len(line)
        text = redactor.text(line.decode(errors="replace"))[:_MAX_LINE]
        shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
        logger.debug("engine %r: %s", self._engine, shown)
        if self._left <= 0:
            logger.debug("engine %r: more is not logged", self._engine)
