"""The tests of a file loader."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.core.errors import LimitExceeded, SourceUnreadable
from datamind.core.protocols.ingest import FileLoader, LoadedDocument, LoadLimits
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance

_LIMITS: Final = LoadLimits(max_bytes=64 * 1024 * 1024)
_WATCHED: Final = frozenset({"open", "socket.connect", "socket.bind", "socket.getaddrinfo"})
_watchers: list[list[str]] = []


@dataclass(frozen=True)
class Sample:
    """A file of a media type.

    Attributes:
        contains: Text that is in it, in this order.
    """

    media_type: str
    content: bytes
    contains: Sequence[str]


class LoaderConformance(ProviderConformance):
    """Tests of FileLoader.

    Troubleshooting: G1 watches what Python opens while a file is loaded for the second time, so that modules and
    fonts loaded on first use do not count.

    Attributes:
        samples: Good files, each media type at least once.
        broken: Media types and bytes that are not what the type says.
    """

    protocols = (FileLoader,)
    kind = ProviderKind.INGEST_LOADER
    samples: ClassVar[Sequence[Sample]] = ()
    broken: ClassVar[Sequence[tuple[str, bytes]]] = ()

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[FileLoader]:
        """A loader until the block ends; one that has something to close is closed."""
        loader = await self.open_provider(folder)
        try:
            yield loader
        finally:
            if close := getattr(loader, "aclose", None):
                await close()

    async def test_it_reads_every_media_type_it_names(self, tmp_path: Path) -> None:
        """And finds the text, with pages that lie in it."""
        async with self.opened(tmp_path) as loader:
            assert isinstance(loader, FileLoader)
            assert {sample.media_type for sample in self.samples} == set(loader.media_types)
            for sample in self.samples:
                _check(await loader.load(sample.content, media_type=sample.media_type, limits=_LIMITS), sample)

    async def test_g1_it_opens_no_file_and_no_connection(self, tmp_path: Path) -> None:
        """Everything it needs is in the bytes."""
        async with self.opened(tmp_path) as loader:
            for sample in self.samples:
                await loader.load(sample.content, media_type=sample.media_type, limits=_LIMITS)
                with watched() as opened:
                    await loader.load(sample.content, media_type=sample.media_type, limits=_LIMITS)
                assert opened == []

    async def test_g2_the_same_bytes_give_the_same_text(self, tmp_path: Path) -> None:
        """In this loader and in another."""
        async with self.opened(tmp_path) as first, self.opened(tmp_path) as second:
            for sample in self.samples:
                documents = [
                    await loader.load(sample.content, media_type=sample.media_type, limits=_LIMITS)
                    for loader in (first, first, second)
                ]
                assert documents[0] == documents[1] == documents[2]

    async def test_g3_bytes_of_something_else_are_refused(self, tmp_path: Path) -> None:
        """With an error of the tree, whatever the library raises."""
        assert self.broken, "give bytes that are not what the media type says"
        async with self.opened(tmp_path) as loader:
            for media_type, content in self.broken:
                with pytest.raises(SourceUnreadable):
                    await loader.load(content, media_type=media_type, limits=_LIMITS)

    async def test_g3_more_than_the_limits_is_refused(self, tmp_path: Path) -> None:
        """Bytes and characters."""
        async with self.opened(tmp_path) as loader:
            for sample in self.samples:
                for limits in (LoadLimits(max_bytes=len(sample.content) - 1), LoadLimits(_LIMITS.max_bytes, 1)):
                    with pytest.raises(LimitExceeded):
                        await loader.load(sample.content, media_type=sample.media_type, limits=limits)
                exact = LoadLimits(max_bytes=len(sample.content))
                assert await loader.load(sample.content, media_type=sample.media_type, limits=exact)


def _check(document: LoadedDocument, sample: Sample) -> None:
    places = [document.text.find(text) for text in sample.contains]
    assert places == sorted(places) and min(places, default=0) >= 0, sample.contains
    assert document.media_type == sample.media_type
    assert list(document.pages) == sorted(document.pages)
    assert all(0 <= start <= len(document.text) for start in document.pages)
    assert not document.pages or document.text.count("\f") == len(document.pages), "a form feed ends each page"
    assert document.text.encode("utf-8").decode("utf-8") == document.text
    assert "\0" not in document.text


@contextmanager
def watched() -> Iterator[list[str]]:
    """What this process opens or connects to until the block ends, by audit event and first argument."""
    if not _watchers:
        sys.addaudithook(_see)  # it stays for the life of the process, and does nothing outside this block
        _watchers.append([])
    seen: list[str] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.remove(seen)


def _see(event: str, args: tuple[Any, ...]) -> None:
    if event in _WATCHED and len(_watchers) > 1 and args[0] != os.devnull:
        _watchers[-1].append(f"{event} {args[0]!r}")
