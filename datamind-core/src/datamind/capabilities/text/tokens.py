"""Search tokens, the same for every store: Latin words stemmed, unspaced scripts in bigrams.

A document and a query are cut differently, on purpose. The document keeps everything a query could ask for:
stop words, single characters of unspaced scripts, the parts of compounds. The query keeps what tells documents
apart, and the rest only when there is nothing else ("who", "to be or not to be").
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from operator import add
from typing import Any, Final, NamedTuple

from datamind.capabilities.text.offsets import normalize_nfkc, normalize_with_offsets
from datamind.capabilities.text.scripts import MARKS, UNSPACED
from datamind.capabilities.text.stopwords import stop_bigrams, stop_words

MAX_TOKEN_CHARS: Final = 64
"""Longer tokens are cut, in documents and queries alike, so that a blob cannot swell an index."""

TOKENS_VERSION: Final = 1
"""Moves on whenever any text is cut differently; whoever keeps tokens keeps it beside them, and makes them anew."""

_CACHED_RUN_CHARS: Final = 64
_CACHED_RUNS: Final = 32_768
_ALNUM: Final = "[a-zA-Z0-9]"
_LETTER: Final = rf"[^\W_{UNSPACED}]"
# ASCII first and a negative class last: the order costs or saves half of the time.
_WORD: Final = rf"(?:{_ALNUM}++|{_LETTER}{_ALNUM}*+)(?:(?=[^\x00-\x7f])(?:{_LETTER}|[{MARKS}])++{_ALNUM}*+)*+"
_GROUP_COMMA: Final = r"(?<=\d),(?=\d{3}(?!\d))"
_SUFFIX: Final = r"(?:(?<![^\W_].)(?:\+\+|\#)(?![^\W_]))?"
_RUNS: Final = re.compile(
    rf"(?=\w)(?:([{UNSPACED}]++)|({_WORD}(?:(?:['’._\-\u2010]|{_GROUP_COMMA}){_WORD})*+{_SUFFIX}))"
)
_ASCII_RUNS: Final = re.compile(rf"{_ALNUM}++(?:(?:['._\-]|{_GROUP_COMMA}){_ALNUM}++)*+{_SUFFIX}")
_SEGMENTS: Final = re.compile(rf"(?:[^\W_]|[{MARKS}]|(?<=\d)[.,](?=\d)|[+#])++")
_PIECES: Final = re.compile(
    r"\d+(?:[.,]\d+)*|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+(?![^\W\d_A-Z])|[A-Z]+(?![^\W\d_])|[^\W\d_]\D*"
)
_CONTRACTED: Final = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATED: Final = re.compile(r"n['’]t$", re.IGNORECASE)

_SNOWBALL: Final = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "nb": "norwegian", "fi": "finnish",
    "hu": "hungarian", "ro": "romanian", "tr": "turkish", "ru": "russian", "el": "greek",
}  # fmt: skip
_NOT_LATIN: Final = frozenset({"zh", "ja", "ko", "th", "ru", "uk", "bg", "el", "ar", "he", "hi"})
_LIGATURES: Final = {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "ŋ": "n"}


class TokenSpan(NamedTuple):
    """A token and the characters ``source[start:end]`` it came from."""

    token: str
    start: int
    end: int


class _Part(NamedTuple):
    token: str
    is_stop: bool
    start: int
    end: int


def tokenize(text: str, *, language: str | None = None) -> list[str]:
    """Tokens of a query, in reading order, without stop words unless there is nothing else.

    Args:
        text: A question or a list of words.
        language: Code such as ``en`` or ``de-AT`` for Latin words; English when None. It must be the one
            the documents were indexed with. Other scripts are told by their characters.
    """
    latin = _latin_language(language)
    parts: list[_Part] = []
    for run, _, is_unspaced in _runs(normalize_nfkc(text)):
        parts += _pairs(run) if is_unspaced else _word_parts(run, latin)
    return [part.token for part in parts if not part.is_stop] or [part.token for part in parts]


def tokenize_for_index(text: str, *, language: str | None = None) -> list[str]:
    """Tokens of a document: all that `tokenize` can make of any words in it, stop words included."""
    known = _known_tokens(_latin_language(language))
    if text.isascii():
        return list(chain.from_iterable(map(known.__getitem__, _ASCII_RUNS.findall(text))))
    tokens: list[str] = []
    for unspaced, run in _RUNS.findall(normalize_nfkc(text)):
        tokens += _unspaced_tokens(unspaced) if unspaced else known[run]
    return tokens


def tokenize_with_spans(text: str, *, language: str | None = None) -> list[TokenSpan]:
    """What `tokenize_for_index` gives, each token with its span in ``text`` as it was given."""
    latin = _latin_language(language)
    normalized = normalize_with_offsets(text)
    spans: list[TokenSpan] = []
    for run, offset, is_unspaced in _runs(normalized.text):
        parts = _unspaced_parts(run) if is_unspaced else _word_parts(run, latin)
        for part in parts:
            start, end = normalized.source_span(offset + part.start, offset + part.end)
            spans.append(TokenSpan(part.token, start, end))
    return spans


def _runs(normalized: str) -> Iterator[tuple[str, int, bool]]:
    for match in _RUNS.finditer(normalized):
        yield match[0], match.start(), match[1] is not None


def _unspaced_tokens(run: str) -> list[str]:
    return [*map(add, run, run[1:]), *run]


def _pairs(run: str) -> list[_Part]:
    """Overlapping bigrams; the character itself when it stands alone."""
    stops = stop_bigrams()
    size = min(len(run), 2)
    return [_Part(run[i : i + size], run[i : i + size] in stops, i, i + size) for i in range(len(run) - size + 1)]


def _unspaced_parts(run: str) -> list[_Part]:
    singles = [_Part(char, False, i, i + 1) for i, char in enumerate(run)]
    return _pairs(run) + singles if len(run) > 1 else singles


class _KnownTokens(dict[str, tuple[str, ...]]):
    """What a document has of a run, kept for the next time it comes."""

    def __init__(self, latin: str) -> None:
        super().__init__()
        self._latin = latin

    def __missing__(self, run: str) -> tuple[str, ...]:
        if run.isdigit() and run.isascii():
            return (run[:MAX_TOKEN_CHARS],)  # numbers come once, and would push the words out
        if len(run) > _CACHED_RUN_CHARS:
            return tuple(part.token for part in _word_parts(run, self._latin))
        if len(self) >= _CACHED_RUNS:
            self.clear()
        # Most words by far have neither joiners nor parts.
        is_simple = run.isascii() and run.isalpha() and run.islower()
        tokens = self[run] = (
            (_token(run, self._latin)[0],) if is_simple else tuple(part.token for part in _word_parts(run, self._latin))
        )
        return tokens


@lru_cache(maxsize=32)
def _known_tokens(latin: str) -> _KnownTokens:
    return _KnownTokens(latin)


def _word_parts(run: str, latin: str) -> list[_Part]:
    """A compound whole, with its joiners dropped, then what it is made of."""
    if run.isascii() and ((run.isalpha() and run.islower()) or run.isdigit()):
        return [_part(run, latin, 0, len(run))]  # nearly every run is no compound
    run = _CONTRACTED.sub("", run)
    whole = _part("".join(_SEGMENTS.findall(run)), latin, 0, len(run))
    if _NEGATED.search(run):
        return [whole]
    inner: list[_Part] = []
    segments = list(_SEGMENTS.finditer(run))
    for segment in segments:
        if len(segments) > 1 and len(segment[0]) > 1:
            inner.append(_part(segment[0], latin, *segment.span()))
        inner += _inner_parts(segment[0], segment.start(), latin)
    return [whole, *inner]


def _inner_parts(segment: str, offset: int, latin: str) -> list[_Part]:
    pieces = list(_PIECES.finditer(segment))
    if len(pieces) < 2:
        return []
    is_quantity = len(pieces) == 2
    return [
        _part(piece[0], latin, offset + piece.start(), offset + piece.end())
        for piece in pieces
        if len(piece[0]) > 1 or (is_quantity and piece[0].isdigit())
    ]


def _part(text: str, latin: str, start: int, end: int) -> _Part:
    token, is_stop = _token(text.replace(",", "")[:MAX_TOKEN_CHARS], latin)
    return _Part(token, is_stop, start, end)


def _token(word: str, latin: str) -> tuple[str, bool]:
    folded = word.casefold()
    language = _word_language(folded[0], latin)
    if folded in stop_words(language):
        return folded.translate(_FOLDING), True
    if language == "en":
        return _stem(folded.translate(_FOLDING), language), False
    # Elsewhere the stemmer needs the accents.
    return _stem(folded, language).translate(_FOLDING), False


def _latin_language(language: str | None) -> str:
    if language is None:
        return "en"
    primary = language.replace("_", "-").split("-")[0].lower()
    return "en" if primary in _NOT_LATIN else primary


def _word_language(first: str, latin: str) -> str:
    if "\u0400" <= first <= "\u052f":
        return "ru"
    return "el" if "\u0370" <= first <= "\u03ff" else latin


class _Folding(dict[int, str]):
    """Maps Latin and Greek letters to the same without accents, on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if code < 0x400 or 0x1E00 <= code <= 0x1FFF:
            char = "".join(c for c in unicodedata.normalize("NFD", char) if not unicodedata.combining(c))
        self[code] = char
        return char


_FOLDING: Final = _Folding({ord(ligature): letters for ligature, letters in _LIGATURES.items()})
_stemmer_lock: Final = threading.Lock()


@lru_cache(maxsize=32_768)
def _stem(word: str, language: str) -> str:
    stemmer = _stemmer(language)
    if stemmer is None or not word.isalpha():
        return word
    # A stemmer keeps the word it works on in itself.
    with _stemmer_lock:
        stemmed: str = stemmer.stemWord(word)
    return stemmed or word


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Any:
    name = _SNOWBALL.get(language)
    if name is None:
        return None
    import snowballstemmer

    return snowballstemmer.stemmer(name)
