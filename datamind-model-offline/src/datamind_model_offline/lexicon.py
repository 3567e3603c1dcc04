"""Words that mean the same in everyday questions and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import resources

from datamind.capabilities.text.tokens import tokenize_for_index


def _groups(name: str) -> Iterator[tuple[list[str], list[str]]]:
    """Each line as the words that ask, and all words that may stand for them."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            asking, _, answering = line.partition(">")
            yield asking.split(), [*asking.split(), *answering.split()]


def _related(name: str, form: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for asking, words in _groups(name):
        for word in asking:
            key = form(word)
            others = {other: None for other in words if form(other) != key}
            table.setdefault(key, {}).update(others)
    return {key: tuple(others) for key, others in table.items()}


def token_of(word: str) -> str:
    """The search token of one word."""
    return tokenize_for_index(word)[0]


@lru_cache(maxsize=1)
def english() -> dict[str, tuple[str, ...]]:
    """Search token of a word to the words that may stand for it."""
    return _related("lexicon_en.txt", token_of)


@lru_cache(maxsize=1)
def chinese() -> dict[str, tuple[str, ...]]:
    """Chinese word to the words that may stand for it."""
    return _related("lexicon_zh.txt", str)
