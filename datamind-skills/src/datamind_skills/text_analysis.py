"""Counts over a text: what a person would ask of an editor, for spaced and unspaced scripts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from datamind.capabilities.text.language import detect_language
from datamind.capabilities.text.scripts import CJK, UNSPACED
from datamind.capabilities.text.sentences import split_sentences
from datamind.capabilities.text.stopwords import stop_bigrams, stop_words
from datamind.core.errors import InputInvalid, LimitExceeded
from datamind.core.lazy_pattern import lazy_pattern

MAX_CHARS: Final = 200_000
MAX_TERMS: Final = 50

WORDS_PER_MINUTE: Final = 238
"""Silent reading of English non-fiction. Source: Brysbaert 2019."""

CJK_PER_MINUTE: Final = 260
"""Characters of Chinese a minute; an estimate, and the same for Japanese and Korean."""

_WORD = lazy_pattern(rf"[^\W_{UNSPACED}]+(?:['’.\-][^\W_{UNSPACED}]+)*")
_CJK_RUN = lazy_pattern(f"[{CJK}]+")
_PARAGRAPH_BREAK = lazy_pattern(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class TextAnalysis:
    """What was counted.

    Attributes:
        characters: Code points, line ends included as they are.
        words: Runs of letters and digits in scripts that put spaces between words.
        cjk_characters: Chinese, Japanese and Korean characters; they are in no word.
        lines: As an editor numbers them; a final line end adds none.
        language: Code of the best guess, ``en`` when there is nothing to go by.
        reading_time_s: An estimate from words and CJK characters.
        terms: Most frequent first, ties by term: words without function words, CJK characters in pairs.
    """

    characters: int
    characters_without_spaces: int
    words: int
    cjk_characters: int
    sentences: int
    paragraphs: int
    lines: int
    language: str
    reading_time_s: int
    terms: tuple[tuple[str, int], ...]


def analyze_text(text: str, *, max_terms: int = 10) -> TextAnalysis:
    """Count what is in ``text``.

    Raises:
        LimitExceeded: More than 200,000 characters.
        InputInvalid: ``max_terms`` is not between 0 and 50.
    """
    if len(text) > MAX_CHARS:
        raise LimitExceeded(f"the text has {len(text)} characters, more than {MAX_CHARS}", hint="Analyse it in parts.")
    if not 0 <= max_terms <= MAX_TERMS:
        raise InputInvalid(f"max_terms is {max_terms}", hint=f"Give a number from 0 to {MAX_TERMS}.")
    words = sum(1 for _ in _WORD.finditer(text))
    cjk = sum(map(len, _CJK_RUN.findall(text)))
    language = detect_language(text)
    return TextAnalysis(
        characters=len(text),
        characters_without_spaces=sum(1 for char in text if not char.isspace()),
        words=words,
        cjk_characters=cjk,
        sentences=len(split_sentences(text)),
        paragraphs=sum(1 for part in _PARAGRAPH_BREAK.split(_unix_lines(text)) if part.strip()),
        lines=len(_unix_lines(text).removesuffix("\n").split("\n")) if text else 0,
        language=language,
        reading_time_s=round(60 * (words / WORDS_PER_MINUTE + cjk / CJK_PER_MINUTE)),
        terms=_frequent_terms(text, language, max_terms),
    )


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _frequent_terms(text: str, language: str, limit: int) -> tuple[tuple[str, int], ...]:
    function_words = stop_words(language) | stop_words("en")
    words = (match[0].casefold().replace("’", "'") for match in _WORD.finditer(text))
    counts = Counter(word for word in words if word.replace("'", "") not in function_words and not word.isdigit())
    for run in _CJK_RUN.findall(text):
        counts.update(pair for pair in map("".join, pairwise(run)) if pair not in stop_bigrams())
    return tuple(sorted(counts.items(), key=lambda term: (-term[1], term[0]))[:limit])
