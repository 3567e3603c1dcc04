"""Content too large to be held in memory."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

_SLICE: Final = 1 << 20


class KeptFile:
    """A private copy of a file that nobody else can change; it has no name, and is gone with this object.

    Attributes:
        size: In bytes.
        content_hash: SHA-256 of its bytes, in hex.
    """

    def __init__(self, descriptor: int, size: int, content_hash: str) -> None:
        self._descriptor = descriptor
        self._release = weakref.finalize(self, os.close, descriptor)
        self.size = size
        self.content_hash = content_hash

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file at its beginning; one reader at a time."""
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            yield file

    def head(self, count: int) -> bytes:
        """Its first bytes."""
        return os.pread(self._descriptor, count, 0)

    def slices(self) -> Iterator[bytes]:
        """All of it, a MiB at a time."""
        with self.opened() as file:
            while piece := file.read(_SLICE):
                yield piece
