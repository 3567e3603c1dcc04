"""Files that a surface keeps as they stand: taken from their folder, and planned as writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from datamind.capabilities.ingest.files import (
    Located,
    PathPolicy,
    file_uri,
    is_folder,
    look_at,
    printable,
    read_or_keep,
)
from datamind.capabilities.ingest.folder import survey
from datamind.capabilities.ingest.loaders import guess_media_type
from datamind.core.errors import DataMindError
from datamind.core.kept import KeptFile
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, Refusal
from datamind.core.types import DataSurface

_SNIFFED_BYTES: Final = 4_096
_HELD_BYTES: Final = 1024 * 1024  # larger files are never in memory whole


@dataclass(frozen=True, slots=True)
class FileTaking:
    """How a surface takes files.

    Attributes:
        max_bytes: A larger file is refused.
        folder: Where the private copy of a large file is made.
        media_type: From what the name and the first bytes say to what the surface takes it for.
    """

    policy: PathPolicy
    profile: str
    max_bytes: int
    folder: Path
    media_type: Callable[[str], str] = str

    async def take(self, located: Located) -> TakenFile:
        """The content of a file, with its source.

        Raises:
            DataMindError: It cannot be read, is too large or changes meanwhile.
        """
        return await anyio.to_thread.run_sync(self._taken, located)

    def _taken(self, located: Located) -> TakenFile:
        content = read_or_keep(located, max_bytes=self.max_bytes, keep_above=_HELD_BYTES, folder=self.folder)
        head, checksum = look_at(content, _SNIFFED_BYTES)
        name = printable(located.path.name)
        source = SourceRef.of_checksum(
            "file",
            file_uri(located, self.policy),
            checksum,
            media_type=self.media_type(guess_media_type(name, head)),
            profile=self.profile,
            origin="file",
        )
        return TakenFile(name, content, source)


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file's content, its printable name and its source."""

    name: str
    content: bytes | KeptFile
    source: SourceRef


def planned_write(args: Mapping[str, Any], content: bytes | KeptFile, *, source: SourceRef, label: str) -> PlannedWrite:
    """A unit whose content is held, or kept as a file."""
    if isinstance(content, KeptFile):
        return PlannedWrite(args, file=content, source=source, label=label)
    return PlannedWrite(args, content=content, source=source, label=label)


async def plan_each(
    located: Located, policy: PathPolicy, surface: DataSurface, plan: Callable[[Located], Awaitable[PlannedWrite]]
) -> AsyncIterator[PlannedWrite | Refusal]:
    """The unit of a file, or those of a folder's files that belong to a surface; one of these fails alone."""
    if not await anyio.to_thread.run_sync(is_folder, located):
        yield await plan(located)
        return
    found = await anyio.to_thread.run_sync(survey, located, policy)
    for below in found.of(surface):
        try:
            yield await plan(below)
        except DataMindError as error:
            yield Refusal(printable("/".join(below.parts)), error.code, str(error))
