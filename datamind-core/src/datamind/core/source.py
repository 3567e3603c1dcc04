"""Where stored content came from."""

from __future__ import annotations

from typing import Literal

from datamind.core.record import Record
from datamind.core.types import Origin, content_hash, derived_id

SourceKind = Literal["text", "file", "chunk", "records", "memory", "skill", "tool"]


class SourceRef(Record):
    """One version of one source.

    Attributes:
        source_id: Follows from uri and content; from the content alone for text.
        uri: ``file:`` relative to the profile where it lies inside it, else absolute; ``text:<hash>`` for text;
            ``chunk:<of what>#<id>`` for a chunk that came cut.
        checksum: SHA-256 of the bytes that were read.
    """

    source_id: str
    kind: SourceKind
    uri: str
    checksum: str
    media_type: str
    profile: str
    origin: Origin

    @classmethod
    def of_text(cls, text: str, *, profile: str, origin: Origin = "user", media_type: str = "text/plain") -> SourceRef:
        """The source of text given in a call."""
        checksum = content_hash(text)
        return cls(
            source_id=derived_id("src", checksum),
            kind="text",
            uri=f"text:{checksum[:16]}",
            checksum=checksum,
            media_type=media_type,
            profile=profile,
            origin=origin,
        )

    @classmethod
    def of_content(
        cls, kind: SourceKind, uri: str, content: bytes, *, media_type: str, profile: str, origin: Origin
    ) -> SourceRef:
        """The source of bytes that have a place of their own, such as a file."""
        checksum = content_hash(content)
        return cls.of_checksum(kind, uri, checksum, media_type=media_type, profile=profile, origin=origin)

    @classmethod
    def of_checksum(
        cls, kind: SourceKind, uri: str, checksum: str, *, media_type: str, profile: str, origin: Origin
    ) -> SourceRef:
        """The same where only the hash of the bytes is at hand."""
        return cls(
            source_id=derived_id("src", uri, checksum),
            kind=kind,
            uri=uri,
            checksum=checksum,
            media_type=media_type,
            profile=profile,
            origin=origin,
        )
