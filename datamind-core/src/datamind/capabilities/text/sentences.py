"""Sentence borders in English, Chinese and Japanese text."""

from __future__ import annotations

import re
from typing import Final

from datamind.capabilities.text.scripts import CJK
from datamind.capabilities.text.spans import trim_span
from datamind.core.lazy_pattern import lazy_pattern

_CLOSERS: Final = "\"'”’」』）)\\]】》〉»"
# The look-behind keeps a long run of stops from being tried again at each of its characters.
_BORDERS: Final = lazy_pattern(
    rf"(?P<wide>[。！？；｡]++[{_CLOSERS}]*+)"
    rf"|(?P<stop>(?<![.!?…])[.!?…]++)[{_CLOSERS}]*+(?=\s|\Z|[{CJK}])"
    r"|(?P<line>[\r\n]\s*+)"
)
_CONTINUES: Final = frozenset("，、,;；：:とっ")
"""After a closing quote: the sentence around the quotation goes on."""


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ALWAYS_GO_ON: Final = _words("approx cf dr e.g i.e mr mrs ms prof viz vs")
_GO_ON_BEFORE_A_NUMBER: Final = _words(
    "art ch chap eq eqs fig figs no nos nr p pp sec vol jan feb mar apr jun jul aug sep sept oct nov dec"
)
_OPEN_ENDED: Final = _words(
    "adm al capt co col corp dept etc gen gov hon inc jr lt ltd maj mt ph.d rep rev sen sgt sr st"
)
_STARTERS: Final = _words(
    "a after all although an and another as at because before both but by each even every few first for from he her"
    " here his how however i if in it its many most my no not now of on one or our several she since so some such that"
    " the their then there these they this those though through to today two under until we what when where which"
    " while who why with you your"
)
"""Words that, with a capital, begin a sentence after an abbreviation that may end one."""

_WORD_BEFORE: Final = lazy_pattern(r"[^\W_]+(?:\.[^\W_]+)*\Z")
_NEXT_WORD: Final = lazy_pattern(r"\s*[\"'“‘(\[「『（]*([^\W_]*)")
_ACRONYM: Final = lazy_pattern(r"[a-zA-Z](?:\.[a-zA-Z])+|[A-Z]")
_LIST_LABEL: Final = lazy_pattern(r"[ \t]*(?:\d{1,3}|[a-zA-Z])")
_NEW_BLOCK: Final = lazy_pattern(
    r"[-*+•·◦‣▪–—][ \t]|[#>|=]|```|~~~|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]|[（(]?[一二三四五六七八九十]{1,3}[、）)]"
)
_FIRST_UNIT: Final = lazy_pattern(rf"[{CJK}]|[^\s{CJK}]+")
_BLANK_LINE: Final = lazy_pattern(r"(?>\r\n|\r|\n)[^\r\n]*[\r\n]")
_LINE: Final = lazy_pattern(r"[^\r\n]*")
_LOOK_BACK: Final = 24
_NARROWEST_WRAP: Final = 40
_WIDEST_WRAP: Final = 160


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences, in order, without the blanks around them; every other character is in one.

    Headings, list items, blank lines and lines that were not wrapped end a sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BORDERS.finditer(text):
        if _is_border(text, match):
            _append_trimmed(text, start, match.end(), spans)
            start = match.end()
    _append_trimmed(text, start, len(text), spans)
    return spans


def _append_trimmed(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    first, last = trim_span(text, start, end)
    if first < last:
        spans.append((first, last))


def _is_border(text: str, match: re.Match[str]) -> bool:
    if match["wide"]:
        return text[match.end() : match.end() + 1] not in _CONTINUES
    if match["line"]:
        return _is_line_border(text, match)
    following = _NEXT_WORD.match(text, match.end())
    next_word = following[1] if following else ""
    if match["stop"] == ".":
        return _is_full_stop(text, match.start(), next_word)
    if "!" in match["stop"] or "?" in match["stop"]:
        is_quotation = match[0] != match["stop"]
        return not (is_quotation and next_word[:1].islower())
    is_followed_at_once = not text[match.end() : match.end() + 1].isspace() and match.end() < len(text)
    return not (is_followed_at_once or next_word[:1].islower())


def _is_full_stop(text: str, stop: int, next_word: str) -> bool:
    before = text[max(0, stop - _LOOK_BACK) : stop]
    line = _line_before(text, stop, _LOOK_BACK)
    if len(line) < _LOOK_BACK and _LIST_LABEL.fullmatch(line):
        return False
    found = _WORD_BEFORE.search(before)
    word = found[0] if found else ""
    lower = word.lower()
    if lower in _ALWAYS_GO_ON:
        return False
    if lower in _GO_ON_BEFORE_A_NUMBER:
        return not next_word[:1].isdigit()
    if _ACRONYM.fullmatch(word) or (lower in _OPEN_ENDED and (word[0].isupper() or lower in {"al", "etc"})):
        return next_word == "" or (next_word[0].isupper() and next_word.lower() in _STARTERS)
    return True


def _is_line_border(text: str, match: re.Match[str]) -> bool:
    if _BLANK_LINE.match(match[0]) or _NEW_BLOCK.match(text, match.end()):
        return True
    line = _line_before(text, match.start(), _WIDEST_WRAP + 1)
    return line.lstrip().startswith(("#", "|")) or not _was_wrapped(line, text, match.end())


def _line_before(text: str, end: int, limit: int) -> str:
    lowest = max(0, end - limit)
    start = max(text.rfind("\n", lowest, end) + 1, text.rfind("\r", lowest, end) + 1, lowest)
    return text[start:end]


def _was_wrapped(line: str, text: str, next_start: int) -> bool:
    if not _NARROWEST_WRAP <= _columns(line) <= _WIDEST_WRAP:
        return False
    # Had the next word still fitted, the line ended where its writer meant it to.
    next_line = _LINE.match(text, next_start, next_start + _WIDEST_WRAP)
    next_word = _FIRST_UNIT.match(text, next_start, next_start + _WIDEST_WRAP)
    if next_line is None or next_word is None:
        return False
    return _columns(line) + 1 + _columns(next_word[0]) >= _columns(next_line[0])


def _columns(line: str) -> int:
    return len(line) if line.isascii() else sum(2 if char >= "\u2e80" else 1 for char in line)
