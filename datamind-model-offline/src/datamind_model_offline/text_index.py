"""A text as matching sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.tokens import tokenize_for_index
from datamind_model_offline.terms import Term

_CJK: Final = "\u2e80"


@dataclass(frozen=True, slots=True)
class TextIndex:
    """A text with its tokens, in order and as a set."""

    raw: str
    folded: str
    tokens: frozenset[str]
    order: tuple[str, ...]

    def level(self, term: Term) -> float:
        """How surely the text names the term: 1 itself, .8 a related word, less for a hint, 0 not at all."""
        if term.exact & self.tokens:
            return 1.0
        if any(word in self.tokens or (word > _CJK and word in self.folded) for word in term.related):
            return 0.8
        if not term.weak:
            return 0.9 if not self.tokens.isdisjoint(_comparatives(term.text.casefold())) else 0.0
        if len(term.weak) == 1:
            return 0.45 if term.weak in self.tokens else 0.0
        word = term.text.casefold()
        return 0.6 if any(t.startswith(term.weak) or _is_part(t, word) for t in self.tokens) else 0.0


@lru_cache(maxsize=1024)
def _comparatives(word: str) -> frozenset[str]:
    """ "older" and "oldest" of "old"; stemming leaves them apart."""
    return frozenset(word + ending for ending in ("er", "est", "r", "st")) if word.isascii() else frozenset()


def _is_part(token: str, word: str) -> bool:
    """ "hive" of "beehive", "tech" of "technically"."""
    return len(token) > 3 and (word.startswith(token) or word.rstrip("s").endswith(token.rstrip("s")))


@lru_cache(maxsize=1024)
def index_of(text: str) -> TextIndex:
    """The index of a text; texts repeat, as headings and neighbours."""
    normal = normalize_nfkc(text)
    order = tuple(tokenize_for_index(normal))
    return TextIndex(normal, normal.casefold(), frozenset(order), order)
