"""From files to the units of a write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from datamind.capabilities.ingest.files import Located, PathPolicy, file_uri, printable, read_file
from datamind.capabilities.ingest.loaders import guess_media_type
from datamind.core.errors import DataMindError
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, Refusal

_SNIFFED_BYTES: Final = 4_096
_ZIP: Final = b"PK"
_AHEAD_FILES: Final = 64
_AHEAD_BYTES: Final = 4 * 1024 * 1024
Metadata = dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class FileReading:
    """How the files of one call become units. Its methods block."""

    policy: PathPolicy
    profile: str
    max_bytes: int
    title: str
    metadata: Metadata

    def unit(self, located: Located) -> PlannedWrite:
        """One file.

        Raises:
            DataMindError: It cannot be read.
        """
        content = read_file(located, max_bytes=self.max_bytes)
        name = printable(located.path.name)
        source = SourceRef.of_content(
            "file",
            file_uri(located, self.policy),
            content,
            media_type=guess_media_type(name, content if content[:2] == _ZIP else content[:_SNIFFED_BYTES]),
            profile=self.profile,
            origin="file",
        )
        return planned_document(source, content, self.title, self.metadata, name)

    def ahead(self, files: Iterator[Located]) -> list[PlannedWrite | Refusal]:
        """The next files, so many that a thread is worth its while and not all of them are in memory."""
        units: list[PlannedWrite | Refusal] = []
        size = 0
        while len(units) < _AHEAD_FILES and size < _AHEAD_BYTES and (located := next(files, None)) is not None:
            try:
                planned = self.unit(located)
            except DataMindError as error:
                units.append(Refusal(printable("/".join(located.parts)), error.code, str(error)))
            else:
                units.append(planned)
                size += len(planned.content or b"")
        return units


def planned_document(source: SourceRef, content: bytes, title: str, metadata: Metadata, label: str) -> PlannedWrite:
    """One document as a unit of a write."""
    args = {"source": source.model_dump(mode="json"), "title": title, "metadata": metadata}
    return PlannedWrite(args, content=content, source=source, label=label)
