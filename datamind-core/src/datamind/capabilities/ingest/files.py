"""The one way a file is opened: beneath a granted root, by descriptor, never through a link."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

from datamind.core.errors import DataMindError, LimitExceeded, NotFound, PathDenied, SourceUnreadable, StoreError
from datamind.core.kept import KeptFile
from datamind.core.types import content_hash

_T = TypeVar("_T")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SLICE = 1 << 20
_TRIES = 3
_NO_PLAIN_FILE = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV})


@dataclass(frozen=True, slots=True)
class PathPolicy:
    """What may be read.

    Attributes:
        home: Relative paths start here: the profile's data folder.
        roots: Granted folders and files beside it, absolute and resolved.
        forbidden: Folders that no grant opens, such as the stores themselves.
    """

    home: Path
    roots: tuple[Path, ...] = ()
    forbidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Located:
    """A path inside a granted root; ``parts`` is empty when the root itself was granted as a file."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The absolute path, for messages and uris."""
        return self.root.joinpath(*self.parts)


class NotGranted(PathDenied):
    """A well-formed path outside every root: a person may grant it."""

    default_code = "path_denied.not_granted"


def locate(raw: str, policy: PathPolicy) -> Located:
    """Find the root that ``raw`` lies in, by whole path parts; the file system is not asked.

    ``..`` is taken away before the comparison, so a path may leave a folder and come back. Percent signs,
    look-alike slashes and Unicode forms are ordinary characters.

    Raises:
        NotGranted: It lies outside every root.
        PathDenied: It is no local path, or names a hidden file or a store.
    """
    if not raw or "\0" in raw or len(raw) > 4096:
        raise PathDenied(f"the path {raw[:40]!r} is empty, too long or contains NUL", code="path_denied.malformed")
    if raw.startswith(("//", "\\\\", "~")) or (_SCHEME.match(raw) and not raw.startswith("/")):
        raise PathDenied(f"{raw[:80]!r} is not a local path", code="path_denied.not_local")
    absolute = PurePosixPath(os.path.normpath(policy.home / raw))
    for root in (policy.home, *policy.roots):
        if absolute.is_relative_to(root):
            located = Located(root, absolute.relative_to(root).parts)
            break
    else:
        raise NotGranted(
            f"{raw[:80]!r} is outside the granted folders", hint="Name it on the command line or as a Path."
        )
    if any(absolute.is_relative_to(folder) for folder in policy.forbidden):
        raise PathDenied(f"{raw[:80]!r} is inside the stores", code="path_denied.storage")
    if any(part.startswith(".") for part in located.parts):
        raise PathDenied(f"{raw[:80]!r} is a hidden file", code="path_denied.hidden")
    return located


def read_file(located: Located, *, max_bytes: int) -> bytes:
    """The bytes of a plain file, at most ``max_bytes``. Blocking.

    Raises:
        PathDenied: A link, device, socket, FIFO or folder stands where a plain file should.
        SourceUnreadable: The disk, or the system, does not give it out; or it changes whenever it is read
            (``source_unreadable.changed``).
        LimitExceeded: It is larger, or grows beyond the limit while it is read.
        NotFound: There is no such file.
    """
    return _steadily(located, max_bytes, lambda slices, _: _joined(slices))


def read_or_keep(located: Located, *, max_bytes: int, keep_above: int, folder: Path) -> bytes | KeptFile:
    """Like ``read_file``; a larger file than ``keep_above`` is copied to an unnamed one in ``folder``. Blocking.

    Raises:
        StoreError: The copy cannot be written.
        DataMindError: As ``read_file``.
    """

    def take(slices: Iterator[bytes], size: int) -> tuple[bytes | KeptFile, int]:
        return _joined(slices) if size <= keep_above else _kept(slices, folder)

    return _steadily(located, max_bytes, take)


def look_at(content: bytes | KeptFile, size: int) -> tuple[bytes, str]:
    """The first bytes, and the hash of all."""
    if isinstance(content, KeptFile):
        return content.head(size), content.content_hash
    return content[:size], content_hash(content)


def _steadily(located: Located, max_bytes: int, take: Callable[[Iterator[bytes], int], tuple[_T, int]]) -> _T:
    """What ``take`` makes of the slices and the size of a file that does not change meanwhile, in some tries."""
    for _ in range(_TRIES):
        with _opened(located) as descriptor:
            before = os.fstat(descriptor)
            if before.st_size > max_bytes:
                raise _too_large(located, max_bytes)
            taken, size = take(_readable(_slices(descriptor, located, max_bytes), located), before.st_size)
            if _version(before) == _version(os.fstat(descriptor)) and size == before.st_size:
                return taken
    raise SourceUnreadable(
        f"{printable(located.path.name)!r} changes while it is read.",
        code="source_unreadable.changed",
        retryable=True,
        hint="Store it once nothing writes to it.",
    )


def _joined(slices: Iterator[bytes]) -> tuple[bytes, int]:
    content = b"".join(slices)
    return content, len(content)


def _readable(slices: Iterator[bytes], located: Located) -> Iterator[bytes]:
    try:
        yield from slices
    except OSError as error:
        raise _denied(located, error) from None


def _kept(slices: Iterator[bytes], folder: Path) -> tuple[KeptFile, int]:
    size, hashed = 0, hashlib.sha256()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            for piece in slices:
                file.write(piece)
                hashed.update(piece)
                size += len(piece)
            file.flush()
            return KeptFile(os.dup(file.fileno()), size, hashed.hexdigest()), size
    except OSError as error:
        raise StoreError(
            f"the file cannot be copied into {str(folder)!r} ({error.strerror or error}).",
            hint="Check the space there.",
        ) from None


def peek(located: Located, size: int) -> bytes:
    """The first bytes of a plain file. Blocking.

    Raises:
        DataMindError: As ``read_file``.
    """
    with _opened(located) as descriptor:
        try:
            return os.read(descriptor, size)
        except OSError as error:
            raise _denied(located, error) from None


def file_uri(located: Located, policy: PathPolicy) -> str:
    """The uri of a file: relative to the profile's data folder where it lies there."""
    path = located.path
    return f"file:{printable(path.relative_to(policy.home) if path.is_relative_to(policy.home) else path)}"


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _slices(descriptor: int, located: Located, max_bytes: int) -> Iterator[bytes]:
    taken = 0
    while piece := os.read(descriptor, min(_SLICE, max_bytes - taken + 1)):
        taken += len(piece)
        if taken > max_bytes:
            raise _too_large(located, max_bytes)
        yield piece


def is_folder(located: Located) -> bool:
    """Whether a folder stands there; a link never is one."""
    try:
        with _folder(located.root, located.parts):
            return True
    except DataMindError:
        return False


def walk(located: Located) -> Iterator[Located]:
    """Plain files below a folder, in the order of their names; hidden ones and links are passed over. Blocking.

    A folder below that cannot be opened is given in the place of its files: whoever reads it is told why.

    Raises:
        PathDenied: The folder itself cannot be opened.
        NotFound: There is no such folder.
    """
    waiting = entries(located)[::-1]
    while waiting:
        below, kind = waiting.pop()
        if below.parts[-1].startswith("."):
            continue
        if kind == "file":
            yield below
        elif kind == "folder":
            try:
                waiting += entries(below)[::-1]
            except NotFound:  # it has vanished meanwhile
                continue
            except DataMindError:
                yield below


EntryKind = Literal["file", "folder", "link", "special"]


def entries(located: Located) -> list[tuple[Located, EntryKind]]:
    """What a folder holds, hidden or not, in the order of the names. Blocking.

    Raises:
        PathDenied: The folder cannot be opened.
        NotFound: There is no such folder.
    """
    with _folder(located.root, located.parts) as descriptor, os.scandir(descriptor) as found:
        return [
            (Located(located.root, (*located.parts, entry.name)), _kind(entry))
            for entry in sorted(found, key=lambda entry: entry.name)
        ]


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"


def printable(path: Path | str) -> str:
    """A path as text that is safe in JSON, a log and a terminal; paths that differ stay different.

    Bytes that are not UTF-8 are shown as ``\\xff``, characters that do not print as ``\\u202e``, a backslash doubled.
    """
    text = str(path)
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char.isprintable() and char != "\\":
        return char
    if char.isascii():
        return char.encode("unicode_escape").decode()
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


@contextmanager
def _opened(located: Located) -> Iterator[int]:
    folder, name = (located.parts[:-1], located.parts[-1]) if located.parts else ((), located.root.name)
    root = located.root if located.parts else located.root.parent
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _folder(root, folder) as parent:
        try:
            descriptor = os.open(name, flags, dir_fd=parent)
        except OSError as error:
            raise _denied(located, error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PathDenied(f"{printable(name)!r} is not a plain file", code="path_denied.not_a_file")
        if status.st_nlink > 1 and located.parts:
            # A hard link cannot be told from its target, which may lie outside; a file named by the user may be one.
            raise PathDenied(f"{printable(name)!r} has several hard links", code="path_denied.hard_link")
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _folder(root: Path, parts: Sequence[str]) -> Iterator[int]:
    # Roots are resolved when they are granted, so that a link in the last part is one the user did not follow.
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(root, flags)
    except OSError as error:
        raise _denied(Located(root, ()), error) from None
    try:
        for part in parts:
            try:
                below = os.open(part, flags, dir_fd=descriptor)
            except OSError as error:
                raise _denied(Located(root, tuple(parts)), error) from None
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _denied(located: Located, error: OSError) -> DataMindError:
    shown = printable(located.parts[-1] if located.parts else located.root.name)
    if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):
        return NotFound(f"there is no file {shown[:80]!r}", code="not_found.file")
    if isinstance(error, PermissionError):
        return PathDenied(f"{shown!r} may not be read", code="path_denied.permission")
    if error.errno in _NO_PLAIN_FILE:
        return PathDenied(f"{shown!r} is a link or no plain file", code="path_denied.link")
    return SourceUnreadable(f"{shown!r} cannot be read ({error.strerror})", code="source_unreadable.io")


def _too_large(located: Located, max_bytes: int) -> LimitExceeded:
    shown = printable(located.path.name)
    return LimitExceeded(
        f"{shown!r} has more than {max_bytes} bytes",
        hint="ingest.max_bytes, for documents ingest.kb_max_bytes, says how large a file may be.",
    )
