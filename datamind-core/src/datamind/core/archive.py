"""The file that a profile is exported to: a zip whose every byte is under a hash, with a manifest."""

from __future__ import annotations

import json
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import PurePosixPath
from typing import BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pydantic import Field, ValidationError

from datamind.core.errors import SourceUnreadable
from datamind.core.record import Instant, Record

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
MAX_BYTES: Final = 256 * 1024**3
MAX_RATIO: Final = 300
_RATIO_FROM_BYTES: Final = 64 * 1024**2
"""A small file may be packed however well; it can do no harm."""
_MAX_MANIFEST_BYTES: Final = 256 * 1024**2
_MAX_FILES: Final = 1_000_000
_PIECE: Final = 1024**2
_MARK: Final = b"datamind sha256 "
_DIGEST_CHARS: Final = 64
_UNREADABLE: Final = (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error, struct.error)

Tell = Callable[[int, str], None]
"""Called with the bytes done and the name of the file at hand."""


class ArchivedFile(Record):
    """One file of an export."""

    name: str
    size: int = Field(ge=0)
    sha256: str


class Manifest(Record):
    """What an export holds.

    Attributes:
        format: Version of the layout.
        product: Version of DataMind that wrote it.
        profile: Whose data it is.
        counts: How much each surface holds, by surface and noun.
        tables: File of each table to the table's name.
        left_out: What is not in it, and why.
        files: Every other file.
    """

    format: int
    product: str
    profile: str
    exported_at: Instant
    counts: Mapping[str, Mapping[str, int]] = {}
    tables: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()
    files: tuple[ArchivedFile, ...] = ()


class ArchiveWriter:
    """Writes an export from its first byte to its last; nothing is held in memory but a list of the files.

    Attributes:
        digest: The hash that ends the file, once it is closed.
    """

    def __init__(self, file: BinaryIO, tell: Tell | None = None) -> None:
        self._out = _HashedOutput(file)
        self._zip = ZipFile(self._out, "w", ZIP_DEFLATED, compresslevel=1)
        self._zip.comment = _MARK + b"0" * _DIGEST_CHARS
        self._tell = tell
        self._done = 0
        self.files: list[ArchivedFile] = []
        self.digest = ""

    def add(self, name: str, pieces: Iterable[bytes]) -> ArchivedFile:
        """One file. Blocking."""
        with self.entry(name) as write:
            for piece in pieces:
                write(piece)
        return self.files[-1]

    @contextmanager
    def entry(self, name: str) -> Iterator[Callable[[bytes], None]]:
        """One file, written piece by piece by what this gives."""
        hashed, size = sha256(), 0
        with self._zip.open(_info(name), "w", force_zip64=True) as target:

            def write(piece: bytes) -> None:
                nonlocal size
                hashed.update(piece)
                size += len(piece)
                target.write(piece)
                self._done += len(piece)
                if self._tell is not None:
                    self._tell(self._done, name)

            yield write
        self.files.append(ArchivedFile(name=name, size=size, sha256=hashed.hexdigest()))

    def close(self, manifest: Manifest) -> None:
        """Add the manifest, and end the file."""
        whole = manifest.model_copy(update={"files": tuple(self.files)})
        self.add(MANIFEST, [whole.model_dump_json(indent=1).encode()])
        self._zip.close()
        self.digest = self._out.end()


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name)  # with a fixed date: the manifest has the time
    info.compress_type = ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


class _HashedOutput:
    """Takes bytes in order and cannot seek, so that zipfile goes back to none; the end becomes the hash of the rest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = sha256()
        self._held = b""

    def write(self, data: bytes) -> int:
        held = self._held + bytes(data)
        self._held = held[-_DIGEST_CHARS:]
        ready = held[: len(held) - len(self._held)]
        self._hash.update(ready)
        self._file.write(ready)
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Whoever opened the file closes it."""

    def end(self) -> str:
        self._file.write(self._hash.hexdigest().encode())
        return self._hash.hexdigest()


class Archive:
    """An export that was looked through, and whose every byte is what was written. ``open_archive`` makes it."""

    def __init__(self, opened: ZipFile, manifest: Manifest, digest: str) -> None:
        self._zip = opened
        self.manifest = manifest
        self.digest = digest

    def pieces(self, file: ArchivedFile) -> Iterator[bytes]:
        """The content of one file; the last piece comes once size and hash were found to be right.

        Raises:
            SourceUnreadable: They are not.
        """
        hashed, left, last = sha256(), file.size, b""
        with _read_errors(), self._zip.open(file.name) as source:
            while piece := source.read(_PIECE):
                left -= len(piece)
                hashed.update(piece)
                if left < 0:
                    break
                if last:
                    yield last
                last = piece
        if left or hashed.hexdigest() != file.sha256:
            raise _damaged(f"{file.name[:120]!r} is not what its manifest says")
        yield last


@contextmanager
def open_archive(file: BinaryIO, tell: Tell | None = None) -> Iterator[Archive]:
    """Look through an export without unpacking anything.

    Args:
        file: Seekable; stays the caller's.
        tell: Progress.

    Raises:
        SourceUnreadable: It is no export, was changed or cut, has another format, or holds what an export never
            does: paths out of its folder, links, or far more than its size.
    """
    digest = _checked_digest(file, tell)
    with _read_errors():
        opened = ZipFile(file)
    with opened:
        entries = _checked_entries(opened)
        manifest = _manifest(opened, entries)
        yield Archive(opened, manifest, digest)


def _checked_digest(file: BinaryIO, tell: Tell | None) -> str:
    size = file.seek(0, 2)
    end = len(_MARK) + _DIGEST_CHARS
    file.seek(max(0, size - end))
    last = file.read(end)
    if size <= end or not last.startswith(_MARK):
        file.seek(0)
        if file.read(4) == b"PK\x03\x04":
            raise _damaged("its end is missing or another one")
        raise SourceUnreadable("this is no file of `datamind export`", code="source_unreadable.no_export")
    hashed, left = sha256(), size - _DIGEST_CHARS
    file.seek(0)
    while left:
        piece = file.read(min(_PIECE, left))
        if not piece:
            break
        left -= len(piece)
        hashed.update(piece)
        if tell is not None:
            tell(size - left, "checking")
    if hashed.hexdigest().encode() != last[-_DIGEST_CHARS:]:
        raise _damaged("its bytes are not those that were written")
    return hashed.hexdigest()


def _checked_entries(opened: ZipFile) -> Mapping[str, ZipInfo]:
    infos = opened.infolist()
    entries = {info.filename: info for info in infos}
    if len(entries) != len(infos):
        raise _unsafe("holds a name twice")
    if len(entries) > _MAX_FILES:
        raise _unsafe(f"holds more than {_MAX_FILES:,} files")
    for info in infos:
        if not _is_plain(info):
            raise _unsafe(f"holds {info.filename[:120]!r}, which is no file inside its folder")
    unpacked, packed = (sum(getattr(info, name) for info in infos) for name in ("file_size", "compress_size"))
    if unpacked > MAX_BYTES or (unpacked > _RATIO_FROM_BYTES and unpacked > MAX_RATIO * packed):
        raise _unsafe(f"would unpack to {unpacked:,} bytes")
    return entries


def _is_plain(info: ZipInfo) -> bool:
    path = PurePosixPath(info.filename)
    mode = info.external_attr >> 16
    return (
        info.filename == str(path)
        and not path.is_absolute()
        and not {"..", "."} & set(path.parts)
        and not any(mark in info.filename or mark in info.orig_filename for mark in ("\\", ":", "\0"))
        and info.filename.isprintable()
        and (not mode or stat.S_ISREG(mode))
        and info.compress_type in (ZIP_STORED, ZIP_DEFLATED)
        and not info.flag_bits & 0x1  # encrypted
    )


def _manifest(opened: ZipFile, entries: Mapping[str, ZipInfo]) -> Manifest:
    info = entries.get(MANIFEST)
    if info is None:
        raise SourceUnreadable("this zip has no manifest of `datamind export`", code="source_unreadable.no_export")
    if info.file_size > _MAX_MANIFEST_BYTES:
        raise _unsafe("has a manifest that is too large")
    with _read_errors(), opened.open(info) as source:
        body = source.read(_MAX_MANIFEST_BYTES)
    _refuse_other_format(body)
    try:
        manifest = Manifest.model_validate_json(body)
    except ValidationError as error:
        raise _damaged(f"its manifest cannot be read ({error.error_count()} mistakes)") from None
    sizes = {name: entry.file_size for name, entry in entries.items() if name != MANIFEST}
    if {file.name: file.size for file in manifest.files} != sizes or len(manifest.files) != len(sizes):
        raise _damaged("its files are not those of its manifest")
    return manifest


def _refuse_other_format(body: bytes) -> None:
    try:
        found = json.loads(body)["format"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise _damaged("its manifest names no format") from None
    if type(found) is not int or found != FORMAT:
        raise SourceUnreadable(
            f"the export has format {str(found)[:20]}, this DataMind reads {FORMAT}",
            code="source_unreadable.export_version",
            hint="Import it with the version of DataMind that wrote it, or a later one.",
        )


@contextmanager
def _read_errors() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise _damaged(f"it cannot be unpacked ({str(error)[:120] or type(error).__name__})") from None


def _damaged(reason: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"the export is damaged: {reason}", code="source_unreadable.damaged_export", hint="Copy or export it again."
    )


def _unsafe(reason: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"the file is no honest export: it {reason}; nothing was unpacked", code="source_unreadable.unsafe_export"
    )
