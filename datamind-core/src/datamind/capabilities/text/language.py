"""Which language a text is in, from its scripts and its function words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Final

from datamind.capabilities.text.scripts import HAN, HANGUL, KANA, THAI
from datamind.capabilities.text.stopwords import stop_words
from datamind.core.lazy_pattern import lazy_pattern

_SAMPLE_CHARS: Final = 4_000
_HAN: Final = lazy_pattern(f"[{HAN}]")
_KANA: Final = lazy_pattern(f"[{KANA}]")
# One Han character carries about as much as one word of the scripts below.
_SCRIPT_WORDS: Final = {
    "ko": lazy_pattern(f"[{HANGUL}]+"),
    "ru": lazy_pattern("[\u0400-\u052f]+"),
    "el": lazy_pattern("[\u0370-\u03ff]+"),
    "ar": lazy_pattern("[\u0600-\u06ff]+"),
    "he": lazy_pattern("[\u0590-\u05ff]+"),
    "hi": lazy_pattern("[\u0900-\u097f]+"),
    "th": lazy_pattern(f"[{THAI}]+"),
}
_LATIN_WORD: Final = lazy_pattern(r"[a-zA-Z\u00c0-\u024f\u1e00-\u1eff]+")
_LATIN_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl")
_KANA_SHARE: Final = 0.1
"""Chinese text quotes a kana now and then; Japanese is rarely below a third."""


def detect_language(text: str) -> str:
    """Code of the main language: ``en``, ``zh``, ``ja``, ``ko``, ``de``, ``fr``, ``es``, ``it``, ``pt``, ``nl``,
    ``ru``, ``el``, ``ar``, ``he``, ``hi`` or ``th``.

    Looks at the first 4,000 characters. ``en`` when nothing tells, as for numbers alone.
    """
    sample = text[:_SAMPLE_CHARS]
    if sample.isascii():
        return _latin_language(_LATIN_WORD.findall(sample.lower()))
    words = [word.lower() for word in _LATIN_WORD.findall(sample)]
    weights = {language: len(pattern.findall(sample)) for language, pattern in _SCRIPT_WORDS.items()}
    weights["latin"] = len(words)
    weights[_han_language(sample)] = len(_HAN.findall(sample)) + len(_KANA.findall(sample))
    best = max(weights, key=lambda language: weights[language])
    return best if weights[best] and best != "latin" else _latin_language(words)


def _han_language(sample: str) -> str:
    kana, han = len(_KANA.findall(sample)), len(_HAN.findall(sample))
    return "ja" if kana and kana >= _KANA_SHARE * (kana + han) else "zh"


def _latin_language(words: list[str]) -> str:
    votes = Counter(chain.from_iterable(map(_languages_of_words().get, words, repeat(()))))
    return max(_LATIN_LANGUAGES, key=votes.__getitem__)


@cache
def _languages_of_words() -> Mapping[str, Sequence[str]]:
    """Each function word with the languages that have it."""
    found: dict[str, list[str]] = {}
    for language in _LATIN_LANGUAGES:
        for word in stop_words(language):
            found.setdefault(word, []).append(language)
    return found
