"""Zip containers: opened only after their directory was checked."""

from __future__ import annotations

import io
import zipfile
from typing import Final
from xml.etree import ElementTree

from datamind.core.errors import LimitExceeded, NotFound, SourceUnreadable
from datamind_documents.reading import Bounds, other_format

_MAX_ENTRIES: Final = 20_000
_MAX_RATIO: Final = 250
"""Deflate reaches 1,032; office XML stays below 100 unless it repeats one row for ever."""

_RATIO_FROM_BYTES: Final = 8 * 1024**2
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")


def open_archive(content: bytes, what: str, bounds: Bounds) -> zipfile.ZipFile:
    """The container, unless it is encrypted or a bomb.

    What it declares is held against the limits; what it really holds cannot exceed that, for a part is read up to its
    declared size and no further.

    Raises:
        SourceUnreadable: ``.encrypted``, ``.broken`` or ``.other_format``.
        LimitExceeded: ``limit_exceeded.unpacked``.
    """
    if content.startswith(_OLE):
        raise encrypted(what) if _OLE_ENCRYPTED in content else _old_format(what)
    if not content.startswith(b"PK"):
        raise other_format(what, content)
    archive = zipfile.ZipFile(io.BytesIO(content))
    _check(archive, len(content), what, bounds)
    return archive


def read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    """One part, whole.

    Raises:
        NotFound: There is no such part.
    """
    try:
        return archive.read(name)
    except KeyError:
        raise NotFound(f"the document has no part {name!r:.80}") from None


def read_xml(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """One part as a tree.

    Raises:
        NotFound: There is no such part.
        SourceUnreadable: It brings a document type with entities.
    """
    content = read_part(archive, name)
    if b"<!ENTITY" in content:
        raise SourceUnreadable("its XML defines entities.", code="source_unreadable.broken")
    return ElementTree.fromstring(content)  # noqa: S314 - in the child, without entities, under limits


def encrypted(what: str) -> SourceUnreadable:
    """The error for a document that needs a password."""
    return SourceUnreadable(
        f"the {what} file is encrypted.",
        code="source_unreadable.encrypted",
        hint="Save it without a password first.",
    )


def _old_format(what: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"the bytes are an office file of before 2007, not {what}.",
        code="source_unreadable.other_format",
        hint="Save it in today's format.",
    )


def _check(archive: zipfile.ZipFile, size: int, what: str, bounds: Bounds) -> None:
    entries = archive.infolist()
    if any(entry.flag_bits & 1 for entry in entries):
        raise encrypted(what)
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    too_dense = unpacked > _RATIO_FROM_BYTES and unpacked > _MAX_RATIO * size
    if len(entries) > _MAX_ENTRIES or unpacked > bounds.max_unpacked_bytes or too_dense or packed > size:
        raise LimitExceeded(
            f"the {what} file of {size} bytes would unpack to {unpacked} bytes in {len(entries)} parts.",
            code="limit_exceeded.unpacked",
            hint="It looks like a zip bomb; if it is not, raise ingest.options max_unpacked.",
        )
