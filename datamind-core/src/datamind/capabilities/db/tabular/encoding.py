"""The encoding of a file that holds a table. Tables have few words, so more is tried than for prose."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import Final

from datamind.capabilities.ingest.decoding import decode_text
from datamind.core.errors import InputInvalid, SourceUnreadable

SAMPLE_BYTES: Final = 256 * 1024
Guess = Callable[[bytes], str]

_MIN_VALID_SHARE: Final = 0.5
_MIN_NUL_SHARE: Final = 0.3
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f]")


def find_encoding(sample: bytes, *, is_whole: bool, guess: Guess | None = None) -> str:
    """The Python codec of a text whose beginning is ``sample``.

    Args:
        sample: At most some hundred KiB.
        is_whole: Nothing follows the sample.
        guess: Asked when the bytes alone do not tell; gives a codec, or an empty string.

    Raises:
        SourceUnreadable: It is binary, or no encoding fits.
    """
    if not is_whole:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    if wide := _wide_encoding(sample):
        return wide
    try:
        return decode_text(sample).encoding
    except SourceUnreadable as error:
        if error.code != "source_unreadable.encoding":
            raise
        if _is_mostly_utf8(sample):
            return "utf-8"
        found = guess(sample) if guess else ""
        if found:
            return found
        raise


def check_encoding(name: str) -> str:
    """A codec for text by the name a user gave.

    Raises:
        InputInvalid: There is none.
    """
    try:
        found = codecs.lookup(name)
        "".encode(found.name)
    except (LookupError, ValueError):
        raise InputInvalid(f"there is no encoding {name[:40]!r}", hint="Such as utf-8, gb18030 or cp1252.") from None
    return found.name


def _wide_encoding(sample: bytes) -> str:
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = sample[: 4096 if len(sample) > 4096 else len(sample) // 2 * 2]
    if b"\0" not in head or (head.isascii() and head.count(0) < _MIN_NUL_SHARE * len(head)):
        return ""  # a stray NUL in plain text makes no other alphabet of it
    likely = [codec for codec in ("utf-16-le", "utf-16-be") if _looks_wide(head, codec)]
    return likely[0] if len(likely) == 1 else ""


def _looks_wide(head: bytes, codec: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeDecodeError:
        return False
    # Line ends and separators the wrong way round are letters of scripts that nobody mixes with these.
    turned = any(char in text for char in "\u0a00\u0d00\u2c00\u3b00\u0900")
    return ("\n" in text or "," in text) and not turned and not _CONTROLS.search(text)


def _is_mostly_utf8(sample: bytes) -> bool:
    lines: Sequence[bytes] = [line for line in sample.split(b"\n") if not line.isascii()]
    return sum(map(_is_utf8, lines)) > _MIN_VALID_SHARE * len(lines)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
