"""Words that mean the same in everyday questions and answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Final

from datamind.capabilities.text.tokens import tokenize_for_index

# Stemming leaves the beginning of a word alone, so that only a few words need to be stemmed for a look-up.
_KEY_CHARS: Final = 3

Line = tuple[tuple[str, ...], tuple[str, ...]]


def token_of(word: str) -> str:
    """The search token of one word."""
    return tokenize_for_index(word)[0]


@lru_cache(maxsize=4096)
def english(token: str) -> tuple[str, ...]:
    """The words that may stand for the English word with this search token."""
    found: dict[str, None] = {}
    for word, line in _english_index().get(token[:_KEY_CHARS], ()):
        if token_of(word) == token:
            found |= dict.fromkeys(other for other in line[1] if other != word)
    return tuple(found)


@lru_cache(maxsize=1)
def chinese() -> dict[str, tuple[str, ...]]:
    """Chinese word to the words that may stand for it."""
    table: dict[str, dict[str, None]] = {}
    for asking, words in _lines("lexicon_zh.txt"):
        for word in asking:
            table.setdefault(word, {}).update(dict.fromkeys(other for other in words if other != word))
    return {word: tuple(others) for word, others in table.items()}


@lru_cache(maxsize=1)
def _english_index() -> dict[str, list[tuple[str, Line]]]:
    index: dict[str, list[tuple[str, Line]]] = {}
    for line in _lines("lexicon_en.txt"):
        for word in line[0]:
            index.setdefault(word.replace("-", "")[:_KEY_CHARS], []).append((word, line))
    return index


def _lines(name: str) -> Iterator[Line]:
    """Each line as the words that ask, and all words that may stand for them."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            asking, _, answering = line.partition(">")
            yield tuple(asking.split()), (*asking.split(), *answering.split())
