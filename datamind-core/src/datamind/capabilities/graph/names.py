"""What entities are called, and how well a name answers to a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from datamind.capabilities.graph.terms import name_of
from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.scripts import UNSPACED
from datamind.core.lazy_pattern import lazy_pattern
from datamind.core.protocols.graph import (
    ALIAS_PREDICATES,
    LABEL_PREDICATES,
    Entity,
    EntityHit,
    MatchKind,
    Term,
)

MAX_NAME_CHARS: Final = 200
_WORD: Final = lazy_pattern(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_UNSPACED: Final = lazy_pattern(f"[{UNSPACED}]")
_RANK: Final = {predicate: rank for rank, predicate in enumerate((*LABEL_PREDICATES, *ALIAS_PREDICATES))}
_LEAST_ALIKE: Final = 0.65
# Each kind has a band of scores of its own, so that a better kind always ranks first.
_BANDS: Final[Mapping[MatchKind, tuple[float, float]]] = {
    "exact": (1.0, 1.0),
    "alias": (0.95, 0.95),
    "prefix": (0.7, 0.9),
    "words": (0.4, 0.65),
    "similar": (0.1, 0.35),
}


@dataclass(frozen=True, slots=True)
class Label:
    """One text that names an entity."""

    predicate: str
    text: str


def is_name(predicate: str) -> bool:
    """Whether statements with this predicate name their subject."""
    return predicate in _RANK


def make_entity(term: Term, labels: Iterable[Label]) -> Entity:
    """An entity from the statements that name it."""
    ordered = sorted(labels, key=lambda label: (_RANK[label.predicate], label.text))
    labelled = [label.text for label in ordered if label.predicate in LABEL_PREDICATES]
    aliases = [label.text for label in ordered if label.predicate not in LABEL_PREDICATES]
    derived = name_of(term)
    names = list(dict.fromkeys([*labelled, *([] if labelled else [derived]), *aliases, derived]))
    return Entity(term=term, name=names[0], aliases=tuple(names[1:]))


def words_of(text: str) -> list[str]:
    """Words of a name without regard to case, width and punctuation; a run of Chinese or Japanese is one."""
    return _WORD.findall(normalize_nfkc(text[:MAX_NAME_CHARS]).casefold())


def fold(text: str) -> str:
    """The form in which names are compared."""
    return " ".join(words_of(text))


def is_unspaced(char: str) -> bool:
    """Whether it is of a script that sets no spaces between words."""
    return _UNSPACED.match(char) is not None


def grams(folded: str) -> list[str]:
    """What a name is found by: trigrams of a word with its borders, characters and pairs of an unspaced run."""
    found: list[str] = []
    for word in folded.split(" "):
        if not word:
            continue
        if _UNSPACED.match(word):
            found += [*word, *(word[i : i + 2] for i in range(len(word) - 1))]
        else:
            padded = f"__{word}_"
            found += [padded[i : i + 3] for i in range(len(padded) - 2)]
    return list(dict.fromkeys(found))


def rank(text: str, entities: Iterable[Entity], limit: int) -> Sequence[EntityHit]:
    """The entities that answer to ``text``, best first, ties by IRI."""
    wanted = fold(text)
    hits = [hit for entity in entities if (hit := _hit(wanted, entity)) is not None]
    hits.sort(key=lambda hit: (-hit.score, hit.entity.term))
    return hits[:limit]


def _hit(wanted: str, entity: Entity) -> EntityHit | None:
    best: tuple[float, MatchKind] | None = None
    for index, name in enumerate((entity.name, *entity.aliases)):
        found = _match(wanted, fold(name), is_alias=index > 0)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return None if best is None else EntityHit(entity=entity, match=best[1], score=round(best[0], 4))


def _match(wanted: str, name: str, *, is_alias: bool) -> tuple[float, MatchKind] | None:
    if not wanted or not name:
        return None
    if name == wanted:
        return _scored("alias" if is_alias else "exact", 1.0)
    share = min(len(wanted), len(name)) / max(len(wanted), len(name))
    if name.startswith(wanted):
        return _scored("prefix", share)
    if _holds_words(name, wanted) or _holds_words(wanted, name):
        return _scored("words", share)
    alike = max(_alike(wanted, name), _words_alike(wanted, name))
    return _scored("similar", alike) if alike >= _LEAST_ALIKE else None


def _scored(kind: MatchKind, share: float) -> tuple[float, MatchKind]:
    low, high = _BANDS[kind]
    return low + (high - low) * share, kind


def _holds_words(text: str, words: str) -> bool:
    # A run without spaces holds every part of itself; other words are held whole.
    have = set(text.split(" "))
    return all(word in have or (_UNSPACED.match(word) is not None and word in text) for word in words.split(" "))


def _words_alike(wanted: str, name: str) -> float:
    """How alike the words of a search are to words of a longer name: the worst of their best."""
    have = name.split(" ")
    if len(have) < 2:
        return 0.0
    return min(max(_alike(word, other) for other in have) for word in wanted.split(" ")) * 0.95


@lru_cache(maxsize=20_000)
def _alike(first: str, second: str) -> float:
    """One minus the share of characters to change, insert, delete or swap. Source: Damerau 1964, without overlaps."""
    longest = max(len(first), len(second))
    if abs(len(first) - len(second)) > longest * (1 - _LEAST_ALIKE):
        return 0.0
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, char in enumerate(first, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(second, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != other)))
            if i > 1 and j > 1 and char == second[j - 2] and first[i - 2] == other:
                row[j] = min(row[j], last[j - 2] + 1)
    return 1 - row[-1] / longest
