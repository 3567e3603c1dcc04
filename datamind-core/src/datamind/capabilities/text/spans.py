"""Spans of a text: trimming them, and cutting one that is too long."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

# Where to cut, the best places first. ASCII marks need a blank behind them: "1,200", "12:30".
_CUTS: Final = (("\n", "\r"), ("，", "、", "；", "：", ", ", "; ", ": "), (" ", "\t", "\u3000"))
_ZERO_WIDTH_JOINER: Final = "\u200d"


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blanks at its ends; empty when it is all blank."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def cut_span(text: str, start: int, end: int, *, first_size: int, size: int) -> Iterator[tuple[int, int]]:
    """Trimmed spans of at most ``size`` characters, the first of at most ``first_size``.

    Cuts behind a line break, a comma or a blank of the second half; failing these anywhere, though not inside
    an accented letter, an emoji or a surrogate pair unless that alone is longer than half the size.
    """
    limit = first_size
    start, end = trim_span(text, start, end)
    while end - start > limit:
        cut = _best_cut(text, start, start + limit)
        yield trim_span(text, start, cut)
        start, _ = trim_span(text, cut, end)
        limit = size
    if start < end:
        yield start, end


def _best_cut(text: str, start: int, limit: int) -> int:
    lowest = start + (limit - start) // 2
    for marks in _CUTS:
        cut = max(text.rfind(mark, lowest, limit) + len(mark.rstrip(" ") or mark) for mark in marks)
        if cut > lowest:
            return cut
    for cut in range(limit, lowest, -1):
        if not _is_inside_character(text, start, cut):
            return cut
    return limit


def _is_inside_character(text: str, start: int, position: int) -> bool:
    before, char = text[position - 1], text[position]
    if char.isascii():
        return before == "\r" and char == "\n"
    return (
        unicodedata.category(char).startswith("M")
        or _ZERO_WIDTH_JOINER in (before, char)
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= char <= "\udfff")
        or "\u1160" <= char <= "\u11ff"
        or (_is_flag_letter(char) and _flag_letters_before(text, start, position) % 2 == 1)
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, start: int, position: int) -> int:
    first = position
    while first > start and _is_flag_letter(text[first - 1]):
        first -= 1
    return position - first
