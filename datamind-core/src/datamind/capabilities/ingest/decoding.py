"""Bytes to text, or a plain statement of why they are not text. Nothing is replaced and nothing is guessed."""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from datamind.core.errors import SourceUnreadable

_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SLICE_BYTES: Final = 1 << 20
"""A codec holds the interpreter for a whole call, so long texts are decoded in slices."""

_SAMPLE_BYTES: Final = 64 * 1024
_MAX_CONTROL_SHARE: Final = 0.05
_CONTROLS: Final = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_ADVICE: Final = "Save it as UTF-8."


class DecodedText(NamedTuple):
    """Text without its byte order mark, newlines as they were, and the Python codec that read it."""

    text: str
    encoding: str


def decode_text(content: bytes) -> DecodedText:
    """Text of UTF-8, UTF-16 and UTF-32 with their marks, UTF-8 without, GB18030 (with GBK and GB2312) and cp1252.

    The last two are told apart by what the text would look like; when neither or both look like language, the
    bytes are refused.

    Raises:
        SourceUnreadable: ``source_unreadable.binary`` or ``source_unreadable.encoding``.
    """
    marked = next((encoding for mark, encoding in _BOMS if content.startswith(mark)), None)
    if marked:
        return _checked(_strictly(content, marked), marked)
    if b"\0" in content:
        where = content.index(b"\0")
        raise SourceUnreadable(
            f"byte {where} is NUL: this is binary, or UTF-16 without its mark.",
            code="source_unreadable.binary",
            hint=_ADVICE,
        )
    try:
        return _checked(_decoded(content, "utf-8"), "utf-8")
    except UnicodeDecodeError:
        encoding = _legacy_encoding(content)
    return _checked(_strictly(content, encoding), encoding)


def _decoded(content: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    parts = [decoder.decode(content[at : at + _SLICE_BYTES]) for at in range(0, len(content), _SLICE_BYTES)]
    return "".join([*parts, decoder.decode(b"", final=True)])


def _strictly(content: bytes, encoding: str) -> str:
    try:
        return _decoded(content, encoding)
    except UnicodeError as error:
        raise SourceUnreadable(
            f"the text begins as {encoding} and is not {encoding} throughout ({error.args[-1]}).",
            code="source_unreadable.encoding",
            hint=_ADVICE,
        ) from None


def _checked(text: str, encoding: str) -> DecodedText:
    controls = len(_CONTROLS.findall(text[:_SAMPLE_BYTES])) + text.count("\0")
    if "\0" in text or controls > _MAX_CONTROL_SHARE * min(len(text), _SAMPLE_BYTES):
        raise SourceUnreadable(
            f"{controls} control characters read as {encoding}: this is not text.", code="source_unreadable.binary"
        )
    return DecodedText(text, encoding)


def _legacy_encoding(content: bytes) -> str:
    first = next(i for i, byte in enumerate(content) if byte >= 0x80)
    sample = content[max(first - 1, 0) : first + _SAMPLE_BYTES]
    possible = [name for name, looks_right in ((_GB, _is_chinese), (_LATIN, _is_latin)) if looks_right(sample)]
    if len(possible) == 1:
        return possible[0]
    found = "both GB18030 and cp1252" if possible else "neither UTF-8, nor GB18030, nor cp1252"
    raise SourceUnreadable(f"the bytes read like {found}.", code="source_unreadable.encoding", hint=_ADVICE)


_GB: Final = "gb18030"
_LATIN: Final = "cp1252"

# Two-byte characters; `common` are punctuation and the 3,755 everyday characters of GB 2312, which other
# encodings meet by chance only.
_GB_PAIRS: Final = re.compile(
    rb"(?P<common>[\xa1-\xa3\xb0-\xd7][\xa1-\xfe])|[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x80-\xff]"
)
_MIN_COMMON_SHARE: Final = 0.75
# Characters that make up a third of Chinese prose. EUC-KR fills the same bytes with other ones.
_FREQUENT: Final = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方"
    "多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情"
    "明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利二等产或新己制身果加月名司户单日号元价钱数据表"
)
_MIN_FREQUENT_SHARE: Final = 0.08


def _is_chinese(sample: bytes) -> bool:
    pairs = [match.lastgroup is not None for match in _GB_PAIRS.finditer(sample)]
    if sum(pairs) < _MIN_COMMON_SHARE * len(pairs):
        return False
    han = [char for char in sample.decode(_GB, "ignore") if char >= "\u4e00"]
    frequent = sum(char in _FREQUENT for char in han)
    return frequent >= max(1, _MIN_FREQUENT_SHARE * len(han))


_HIGH_LETTER: Final = rb"\x8a\x8c\x8e\x9a\x9c\x9e\x9f\xaa\xba\xc0-\xd6\xd8-\xf6\xf8-\xff"
_UPPER: Final = rb"\x8a\x8c\x8e\x9f\xc0-\xd6\xd8-\xde"
_LOWER: Final = rb"\x9a\x9c\x9e\xdf-\xf6\xf8-\xff"
_LETTER: Final = rb"A-Za-z" + _HIGH_LETTER
_HIGH_WORD: Final = re.compile(rb"[" + _LETTER + rb"]*[" + _HIGH_LETTER + rb"][" + _LETTER + rb"]*")
# Three in a row, small before capital, or a longer word without a plain letter: no language of western Europe.
_ODD_WORD: Final = re.compile(
    rb"[" + _HIGH_LETTER + rb"]{3}|[a-z" + _LOWER + rb"][" + _UPPER + rb"]|^[" + _HIGH_LETTER + rb"]{2,}$"
)
_MARK: Final = re.compile(rb"[\x80-\xbf\xd7\xf7]")
# Signs of other alphabets read as cp1252: a symbol that a letter follows, or a mark inside a word.
_ODD_MARK: Final = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]"
    rb"|[\x83\x86-\x89\x98\xa2\xa4-\xa6\xa8\xac\xaf\xb1-\xb6\xb8\xb9\xbc-\xbe][" + _LETTER + rb"]"
    rb"|[" + _LETTER + rb"][\x80\x82\x84\x85\x8b\x93-\x95\x9b\xa1\xa9\xab\xb0\xbf][" + _LETTER + rb"]"
)
_MAX_ODD_SHARE: Final = 0.1


def _is_latin(sample: bytes) -> bool:
    if 2 * sum(byte >= 0x80 for byte in sample) > len(sample) + 1:
        return False
    words = _HIGH_WORD.findall(sample)
    odd = sum(_ODD_WORD.search(word) is not None for word in words) + len(_ODD_MARK.findall(sample))
    return odd <= _MAX_ODD_SHARE * (len(words) + len(_MARK.findall(sample)))
