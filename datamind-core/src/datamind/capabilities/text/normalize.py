"""Comparing answers and claims with stored text: one form in which equal things are equal."""

from __future__ import annotations

import unicodedata
from typing import Final

from datamind.capabilities.text.numerals import FoundNumber, find_numbers
from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.scripts import CJK
from datamind.core.lazy_pattern import lazy_pattern

__all__ = ["FoundNumber", "contains_normalized", "find_numbers", "normalize_for_match"]

_PUNCTUATION: Final = str.maketrans(
    dict.fromkeys("‐‒–—―−", "-")
    | dict.fromkeys("‘’‚‛′", "'")
    | dict.fromkeys("“”„‟″「」『』", '"')
    | {"。": ".", "、": ","}
)
_LATIN: Final = rf"[^\W\d_{CJK}]"
_NARROW_GROUP: Final = lazy_pattern(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_COMMA_GROUP: Final = lazy_pattern(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_NO_CENTS: Final = lazy_pattern(r"(?<=\d)\.00(?![\d.])")
_PERCENT: Final = lazy_pattern(r"(?<=\d)\s*(?:%|(?:percent|per cent|pct)\b)")
_CHINESE_PERCENT: Final = lazy_pattern(r"百分之\s*(\d+(?:\.\d+)?)")
_CURRENCY: Final = lazy_pattern(r"(?<=[$€£¥])\s+(?=\d)")
_UNIT: Final = lazy_pattern(rf"(?<=\d)(?={_LATIN})|(?<={_LATIN})(?=\d)")
_CJK_CHAR: Final = lazy_pattern(f"[{CJK}]")
_BLANK_AT_CJK: Final = lazy_pattern(rf"(?<=[{CJK}])\s|\s(?=[{CJK}])")


def normalize_for_match(text: str) -> str:
    """The form in which two texts are compared; not meant to be shown.

    NFKC, casefolded, blanks collapsed and none beside Chinese or Japanese, plain quotes and dashes, "1,200" as
    "1200", "129.00" as "129", "50 percent" and "百分之50" as "50%", "5km" as "5 km", "$ 5" as "$5".
    """
    text = normalize_nfkc(_NARROW_GROUP.sub("", text)).casefold().translate(_PUNCTUATION)
    text = " ".join(text.split())
    text = _COMMA_GROUP.sub(lambda group: group[0].replace(",", ""), text)
    text = _NO_CENTS.sub("", text)
    text = _CHINESE_PERCENT.sub(r"\1%", _PERCENT.sub("%", text))
    text = _UNIT.sub(" ", _CURRENCY.sub("", text))
    return _BLANK_AT_CJK.sub("", text)


def contains_normalized(haystack: str, needle: str) -> bool:
    """Whether ``needle`` stands in ``haystack`` as whole words and whole numbers, once both are normalised.

    "9" is not in "19", "3" not in "3.5", "5" not in "-5", "cat" not in "category". Chinese and Japanese have no
    word borders to hold to. An empty needle is in nothing.
    """
    sought = normalize_for_match(needle)
    text = normalize_for_match(haystack)
    start = text.find(sought) if sought else -1
    while start >= 0:
        if _begins_whole(text, start) and _ends_whole(text, start + len(sought)):
            return True
        start = text.find(sought, start + 1)
    return False


def _begins_whole(text: str, start: int) -> bool:
    if start == 0 or not _is_word(text[start]):
        return True
    before = text[start - 1]
    if _is_word(before):
        return False
    if not text[start].isdigit():
        return True
    further = text[start - 2] if start > 1 else " "
    is_fraction = before == "." and further.isdigit()
    is_signed = before == "-" and not _is_word(further) and not _is_cjk(further)
    return not (is_fraction or is_signed)


def _ends_whole(text: str, end: int) -> bool:
    if end == len(text) or not _is_word(text[end - 1]):
        return True
    if _is_word(text[end]):
        return False
    is_fraction = text[end - 1].isdigit() and text[end] == "." and text[end + 1 : end + 2].isdigit()
    return not is_fraction


def _is_word(char: str) -> bool:
    """Whether the character joins others into a word that has borders."""
    is_part = char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")
    return is_part and not _is_cjk(char)


def _is_cjk(char: str) -> bool:
    return _CJK_CHAR.match(char) is not None
