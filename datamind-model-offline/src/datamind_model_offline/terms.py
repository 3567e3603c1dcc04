"""The things a question names, each with what a text may call it and how much it matters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from datamind.capabilities.text.scripts import HAN
from datamind.capabilities.text.stopwords import stop_words
from datamind.capabilities.text.tokens import tokenize_for_index
from datamind_model_offline import lexicon
from datamind_model_offline.answer_types import AnswerType as Kind
from datamind_model_offline.asking import (
    ASKING_WORDS,
    HAN_ASKING,
    HAN_CATEGORY,
    HAN_LIGHT,
    HAN_SAID_BY_FORM,
    HOW_ADJECTIVE,
    LOOSE_VERBS,
    SAID_BY_FORM,
    VERB_SLOT,
)
from datamind_model_offline.relations import relation_places

HAN_RUN: Final = re.compile(f"[{HAN}]+")

LOOSE: Final = 0.45
"""Weight of a verb that an answer often replaces by another."""

CATEGORY: Final = 0.4
"""Weight of "painkiller" in "Which painkiller is safe?": the answer is a name, seldom the word itself."""

_LIGHT: Final = 0.3
_NAME: Final = 1.6
_HAN_LIGHT: Final = 0.08
# A Latin word in a Chinese question weighs as much as two or three characters.
_LATIN_AMONG_HAN: Final = 2.5

_WORD: Final = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*(?:\+\+|#)?")
_QUOTED: Final = re.compile(r"[\"“”「『《](.+?)[\"“”」』》]")
_CATEGORY: Final = re.compile(
    r"\b(?:which|what)\s+((?:[\w-]+\s+)?[\w-]+)\s+(?:is|are|was|were|do|does|did|can|could|has|have|had|should|must|may"
    r"|will|would|to|of|in)\b|\b(?:which|what)\s+([\w-]+)",
    re.IGNORECASE,
)
_POSSESSIVE: Final = re.compile(r"['’]s\Z")
# "石磊的电话": what stands before the last 的 names whose telephone is meant.
_HAN_OWNER: Final = re.compile(r"([\u4e00-\u9fff]{2,8})的(?!是|时候|话)(?=[\u4e00-\u9fff])")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing the question names: a Latin word, or one character of a run of Chinese with its neighbours.

    Attributes:
        exact: Tokens of which one must stand in a text that names the same thing.
        related: Tokens of which one may stand for it; of Chinese, words.
        others: The same as words, for a wider search.
        weak: Tokens that hint at it: the single character, or the beginning of a long word.
        weight: How much it matters before rarity is known.
        is_name: A proper name, a number or a quotation: a text about something else does not answer.
        is_relation: What is asked of the rest: "maintains" in "Who maintains Heron?", 妻子 in 沈若川的妻子是谁.
        said_by_form: The kind of thing asked for says it: an amount in euros says "cost".
    """

    text: str
    exact: frozenset[str]
    related: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    weak: str = ""
    weight: float = 1.0
    is_name: bool = False
    said_by_form: bool = False
    is_relation: bool = False


def latin_terms(text: str, language: str, kind: Kind) -> Iterator[Term]:
    """The words of Latin and like scripts that say something, in order."""
    quoted = _spans(_QUOTED, text)
    adjectives = {match.end() for match in HOW_ADJECTIVE.finditer(text)}
    verbs = {match.start(match.lastindex or 0) for match in VERB_SLOT.finditer(text)}
    asked = relation_places(text, language)
    categories = {
        word.start()
        for asked in _CATEGORY.finditer(text)
        for word in _WORD.finditer(text, *asked.span(asked.lastindex or 0))
    }
    for number, match in enumerate(_WORD.finditer(HAN_RUN.sub(lambda run: " " * len(run[0]), text))):
        folded = match[0].casefold().replace("’", "'").removesuffix("'s")
        is_quoted = _is_within(match.start(), quoted)
        if not is_quoted and folded.replace("'", "") in stop_words("en"):
            continue
        is_name = is_quoted or _is_name(match[0], is_first=number == 0)
        says_little = not is_name and (folded in ASKING_WORDS or match.end() in adjectives)
        weight = _weight(folded, is_name, says_little, match.start() in categories)
        weight = min(weight, LOOSE) if match.start() in verbs else weight
        scale = _LATIN_AMONG_HAN if language == "zh" else 1.0
        is_said = folded in SAID_BY_FORM.get(kind, ())
        for term in _latin_term(match[0], folded, weight * scale, is_name, is_said):
            yield replace(term, is_relation=match.start() in asked and not is_name)


def _latin_term(word: str, folded: str, weight: float, is_name: bool, said_by_form: bool) -> Iterator[Term]:
    tokens = tokenize_for_index(word)
    if tokens:
        others = lexicon.english(tokens[0])
        related = frozenset(lexicon.token_of(other) for other in others)
        weak = folded[:5] if len(folded) > 6 else ""
        yield Term(word, frozenset(tokens[:1]), related, others, weak, weight, is_name, said_by_form)


def _is_name(word: str, *, is_first: bool) -> bool:
    return (
        any(char.isdigit() for char in word)
        or _POSSESSIVE.search(word) is not None
        or (word[0].isupper() and not is_first)
        or (word.isupper() and len(word) > 1)
    )


def _weight(folded: str, is_name: bool, says_little: bool, is_category: bool) -> float:
    if says_little:
        return _LIGHT
    if is_name:
        return _NAME
    if is_category:
        return CATEGORY
    return LOOSE if folded in LOOSE_VERBS or (len(folded) > 5 and folded.endswith("ly")) else 1.0


def han_terms(text: str, kind: Kind) -> Iterator[Term]:
    """The Chinese characters that do not only ask, in order."""
    quoted = _spans(_QUOTED, text)
    asking = _places(HAN_ASKING, text)
    light = _places(HAN_LIGHT, text)
    categories = _places(HAN_CATEGORY, text, 1)
    said = _places(HAN_SAID_BY_FORM[kind], text) if kind in HAN_SAID_BY_FORM else set()
    owners = _places(_HAN_OWNER, text, 1)
    owners = set() if owners & asking else owners - light
    related = relation_places(text, "zh") - light - asking
    for run in HAN_RUN.finditer(text):
        words = _known_words(run[0], run.start())
        for i in range(*run.span()):
            is_quoted = _is_within(i, quoted)
            if i in asking and not is_quoted:
                continue
            weight = 1.0 if is_quoted else _han_weight(i, light, categories)
            apart = set() if is_quoted else asking if i in light else asking | light
            exact = _pairs(text, i, run.span(), apart)
            others = words.get(i, ())
            yield Term(
                text[i],
                exact,
                frozenset(others),
                others,
                text[i],
                weight,
                is_quoted or i in owners,
                said_by_form=i in said,
                is_relation=i in related,
            )


def _han_weight(place: int, light: Collection[int], categories: Collection[int]) -> float:
    if place in light:
        return _HAN_LIGHT
    return CATEGORY if place in categories else 1.0


def _pairs(text: str, i: int, run: tuple[int, int], apart: Collection[int]) -> frozenset[str]:
    """A character with each neighbour that belongs to a word with it; alone if none does."""
    left = text[i - 1 : i + 1] if i > run[0] and i - 1 not in apart else ""
    right = text[i : i + 2] if i + 1 < run[1] and i + 1 not in apart else ""
    return frozenset(pair for pair in (left, right) if pair) or frozenset([text[i]])


def _known_words(run: str, offset: int) -> dict[int, tuple[str, ...]]:
    """Words that may stand for what each character of the run is part of."""
    table = lexicon.chinese()
    found: dict[int, tuple[str, ...]] = {}
    for size in (1, 2, 3, 4):
        for i in range(len(run) - size + 1):
            others = table.get(run[i : i + size])
            if others:
                found |= dict.fromkeys(range(offset + i, offset + i + size), others)
    return found


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span(1) for match in pattern.finditer(text)]


def _places(pattern: re.Pattern[str], text: str, group: int = 0) -> set[int]:
    return {i for match in pattern.finditer(text) for i in range(*match.span(group))}


def _is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
