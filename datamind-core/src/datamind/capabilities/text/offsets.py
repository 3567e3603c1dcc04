"""NFKC with the way back: which characters of the source a normalised character came from."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

SOFT_HYPHEN = "\u00ad"


class NormalizedText(NamedTuple):
    """NFKC text without soft hyphens; character ``i`` came from ``source[starts[i]:ends[i]]``."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Span of the source that ``text[start:end]`` came from; ``start < end``."""
        return self.starts[start], self.ends[end - 1]


def normalize_nfkc(text: str) -> str:
    """NFKC without soft hyphens, the form in which texts are compared."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.replace(SOFT_HYPHEN, ""))


def normalize_with_offsets(text: str) -> NormalizedText:
    """What `normalize_nfkc` gives, with offsets into ``text``."""
    if text.isascii() or (SOFT_HYPHEN not in text and unicodedata.is_normalized("NFKC", text)):
        return NormalizedText(text, range(len(text)), range(1, len(text) + 1))
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        piece = normalize_nfkc(text[start:end])
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return NormalizedText("".join(pieces), starts, ends)


def _clusters(text: str) -> list[tuple[int, int]]:
    # Normalising cluster by cluster equals normalising the whole: no cluster begins with a character
    # that can compose with, or be reordered before, what stands to its left.
    borders = [i for i, char in enumerate(text) if (char < "\u0300" and char != SOFT_HYPHEN) or not _attaches(char)]
    if not borders or borders[0] != 0:
        borders.insert(0, 0)
    return list(zip(borders, [*borders[1:], len(text)], strict=True))


@lru_cache(maxsize=16_384)
def _attaches(char: str) -> bool:
    if char == SOFT_HYPHEN:
        return True
    first = unicodedata.normalize("NFKD", char)[0]
    is_jamo_tail = "\u1160" <= first <= "\u11ff"
    return is_jamo_tail or unicodedata.category(first).startswith("M")
