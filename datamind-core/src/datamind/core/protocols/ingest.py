"""Loaders: bytes of a file to text with spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from datamind.core.record import Record


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """Bounds of one load."""

    max_bytes: int
    max_characters: int = 50_000_000
    timeout_s: float = 60.0


class LoadedDocument(Record):
    """A file as text.

    Attributes:
        text: What is stored; every span of the document refers to it.
        pages: Start of each page in ``text``, in order; empty where there are no pages. Where there are, a form feed
            ends each page: page numbers are told from the stored text.
        encoding: The encoding that was found, for text.
    """

    text: str
    title: str = ""
    media_type: str
    encoding: str = ""
    pages: tuple[int, ...] = ()


@runtime_checkable
class FileLoader(Protocol):
    """Reads one or more media types.

    G1 Takes bytes that were read from a descriptor; opens no file and no connection itself.
    G2 The same bytes give the same text.
    G3 Raises SourceUnreadable for bytes that are not what the media type says, and LimitExceeded beyond the limits.
    """

    @property
    def media_types(self) -> tuple[str, ...]:
        """What it reads, such as ``text/markdown``."""
        ...

    async def load(self, content: bytes, *, media_type: str, limits: LoadLimits) -> LoadedDocument:
        """See G1 to G3."""
        ...


@runtime_checkable
class SupportsBlockingLoad(Protocol):
    """A loader that is done within milliseconds, and so can read many files in one worker thread.

    G1 Gives and raises what ``load`` does.
    """

    def load_blocking(self, content: bytes, *, media_type: str, limits: LoadLimits) -> LoadedDocument:
        """Blocking: never called on the event loop."""
        ...
