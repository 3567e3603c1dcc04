"""What a question asks for: its content words and the kind of thing that would answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.scripts import HAN
from datamind.capabilities.text.sentences import split_sentences
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
    kind_asked,
    unit_asked,
)

_WORD: Final = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*(?:\+\+|#)?")
_HAN_RUN: Final = re.compile(f"[{HAN}]+")
_QUOTED: Final = re.compile(r"[\"“”「『《](.+?)[\"“”」』》]")
# "Which painkiller is safe?" is answered by a name, seldom by the word itself.
_CATEGORY: Final = re.compile(
    r"\b(?:which|what)\s+((?:[\w-]+\s+)?[\w-]+)\s+(?:is|are|was|were|do|does|did|can|could|has|have|had"
    r"|should|must|may"
    r"|will|would|to|of|in)\b|\b(?:which|what)\s+([\w-]+)",
    re.IGNORECASE,
)
# "石磊的电话": what stands before the last 的 names whose telephone is meant.
_HAN_OWNER: Final = re.compile(r"([\u4e00-\u9fff]{2,8})的(?!是|时候|话)(?=[\u4e00-\u9fff])")
_POSSESSIVE: Final = re.compile(r"['’]s\Z")
_LISTING: Final = re.compile(
    r"\b(?:what|which) (?:are|were|\w+(?: \w+)?s (?:do|does|did|are|were|can|should|must|have))\b"
    r"|\b(?:list|all|steps|ingredients|items)\b|哪些|有什么|什么材料|步骤|清单|列出|分别|用料|食材",
    re.IGNORECASE,
)
FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|my|me|mine|we|our|us)\b|我|咱", re.IGNORECASE)
MAX_QUESTION_CHARS: Final = 2_000
"""What is read of a question; patterns are tried on every place of it."""

_MAX_QUERY_CHARS: Final = 1_500

_LIGHT: Final = 0.3
_CATEGORY_WEIGHT: Final = 0.4
_LOOSE: Final = 0.45
_NAME: Final = 1.6
_HAN_LIGHT: Final = 0.08
# A Latin word in a Chinese question weighs as much as two or three characters.
_LATIN_AMONG_HAN: Final = 2.5


@dataclass(frozen=True, slots=True)
class Term:
    """One thing the question names: a Latin word, or one character of a run of Chinese with its neighbours.

    Attributes:
        exact: Tokens of which one must stand in a text that names the same thing.
        related: Tokens of which one may stand for it; of Chinese, words.
        others: The same as words, for a wider search.
        weak: Tokens that hint at it: the single character, or the beginning of a long word.
        weight: How much it matters before rarity is known.
        said_by_form: The kind of thing asked for says it: an amount in euros says "cost".
        is_name: A proper name, a number or a quotation: a text about something else does not answer.
        start: Where it stands in the question.
    """

    text: str
    exact: frozenset[str]
    related: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    weak: str = ""
    weight: float = 1.0
    is_name: bool = False
    said_by_form: bool = False
    start: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A question, taken apart.

    Attributes:
        kind: The kind of thing asked for.
        unit: Search token of what is counted ("days" of "how many days"), or empty.
        context: Terms of the turn before, which count less.
    """

    text: str
    language: str
    kind: Kind
    terms: tuple[Term, ...]
    unit: str = ""
    context: tuple[Term, ...] = ()

    @property
    def is_of_the_user(self) -> bool:
        """Whether it asks about the one who asks."""
        return FIRST_PERSON.search(self.text) is not None

    @property
    def wants_list(self) -> bool:
        """Whether several items together answer it."""
        return self.kind is Kind.METHOD or _LISTING.search(self.text) is not None

    @property
    def wide(self) -> str:
        """The question's words and those that may stand for them, for a search that misses less."""
        words = [self.text, *(word for term in (*self.terms, *self.context) for word in term.others)]
        return " ".join(dict.fromkeys([*words, *(term.text for term in self.context)]))[:_MAX_QUERY_CHARS]


def analyse(text: str) -> Question:
    """Take a question apart. Of several sentences the ones that ask count; those in front of them are its context."""
    normal = normalize_nfkc(text[:MAX_QUESTION_CHARS]).strip()
    sentences = [normal[start:end] for start, end in split_sentences(normal)]
    asking = [i for i, sentence in enumerate(sentences) if sentence.endswith("?")]
    if not asking or len(sentences) == 1:
        return _analyse(normal)
    question = _analyse(" ".join(sentences[i] for i in asking))
    said = [sentence for i, sentence in enumerate(sentences[: asking[-1]]) if i not in asking]
    return with_context(question, _analyse(" ".join(said))) if said else question


def _analyse(normal: str) -> Question:
    language = "zh" if _HAN_RUN.search(normal) else "en"
    kind = kind_asked(normal, language)
    terms = _with_category([*_latin_terms(normal, language, kind), *_han_terms(normal, kind)])
    return Question(normal, language, kind, terms, unit_asked(normal, language, kind))


def _with_category(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The category counts in full where the question names nothing else: "Which school did I go to?"."""
    if any(term.weight >= _LOOSE for term in terms):
        return tuple(terms)
    return tuple(replace(term, weight=1.0) if term.weight == _CATEGORY_WEIGHT else term for term in terms)


def with_context(question: Question, earlier: Question) -> Question:
    """A follow-up, read with the question before it."""
    known = {key for term in question.terms for key in term.exact}
    context = tuple(replace(term, is_name=False) for term in earlier.terms if not term.exact & known)
    keeps_kind = question.kind is not Kind.ANY
    return replace(
        question,
        kind=question.kind if keeps_kind else earlier.kind,
        unit=question.unit if keeps_kind else earlier.unit,
        context=context,
    )


def _latin_terms(text: str, language: str, kind: Kind) -> Iterator[Term]:
    quoted = [match.span(1) for match in _QUOTED.finditer(text)]
    adjectives = {match.end() for match in HOW_ADJECTIVE.finditer(text)}
    categories = {
        found.start()
        for asked in _CATEGORY.finditer(text)
        for found in _WORD.finditer(text, *asked.span(asked.lastindex or 0))
    }
    verbs = {match.start(match.lastindex or 0) for match in VERB_SLOT.finditer(text)}
    latin = _HAN_RUN.sub(lambda run: " " * len(run[0]), text)
    for number, match in enumerate(_WORD.finditer(latin)):
        word, folded = match[0], match[0].casefold().replace("’", "'").removesuffix("'s")
        is_quoted = _within(match.start(), quoted)
        tokens = tokenize_for_index(word)
        if not tokens or (not is_quoted and folded.replace("'", "") in stop_words("en")):
            continue
        is_number = any(char.isdigit() for char in word)
        is_owner = _POSSESSIVE.search(match[0]) is not None
        is_name = (
            is_number
            or is_quoted
            or is_owner
            or (word[0].isupper() and number > 0)
            or (word.isupper() and len(word) > 1)
        )
        says_little = folded in ASKING_WORDS or match.end() in adjectives
        weight = _latin_weight(folded, is_name, says_little and not is_name, match.start() in categories)
        if match.start() in verbs:
            weight = min(weight, _LOOSE)
        others = lexicon.english(tokens[0])
        yield Term(
            text=word,
            exact=frozenset(tokens[:1]),
            related=frozenset(lexicon.token_of(other) for other in others),
            others=others,
            weak=folded[:5] if len(folded) > 6 else "",
            weight=weight * (_LATIN_AMONG_HAN if language == "zh" else 1.0),
            is_name=is_name,
            said_by_form=folded in SAID_BY_FORM.get(kind, ()),
            start=match.start(),
        )


def _latin_weight(folded: str, is_name: bool, says_little: bool, is_category: bool) -> float:
    if says_little:
        return _LIGHT
    if is_category and not is_name:
        return _CATEGORY_WEIGHT
    if is_name:
        return _NAME
    return _LOOSE if folded in LOOSE_VERBS or (len(folded) > 5 and folded.endswith("ly")) else 1.0


def _han_terms(text: str, kind: Kind) -> Iterator[Term]:
    quoted = [match.span(1) for match in _QUOTED.finditer(text)]
    asking = _places(HAN_ASKING, text)
    light = _places(HAN_LIGHT, text)
    said = _places(HAN_SAID_BY_FORM[kind], text) if kind in HAN_SAID_BY_FORM else set()
    categories = {i for match in HAN_CATEGORY.finditer(text) for i in range(*match.span(1))}
    owners = {i for match in _HAN_OWNER.finditer(text) for i in range(*match.span(1))}
    if owners & asking:
        owners = set()
    for run in _HAN_RUN.finditer(text):
        words = _known_words(run[0], run.start())
        for i in range(*run.span()):
            is_quoted = _within(i, quoted)
            if i in asking and not is_quoted:
                continue
            apart = asking if is_quoted else asking | light
            others = words.get(i, ())
            is_light = i in light and not is_quoted
            weight = _HAN_LIGHT if is_light else _CATEGORY_WEIGHT if i in categories and not is_quoted else 1.0
            yield Term(
                text=text[i],
                exact=_pairs(text, i, run.span(), set() if is_quoted else (asking if i in light else apart)),
                related=frozenset(others),
                others=others,
                weak=text[i],
                weight=weight,
                is_name=is_quoted or (i in owners and not is_light),
                said_by_form=i in said,
                start=i,
            )


def _pairs(text: str, i: int, run: tuple[int, int], apart: set[int]) -> frozenset[str]:
    """A character with each neighbour that belongs to a word with it; alone if none does."""
    left = text[i - 1 : i + 1] if i > run[0] and i - 1 not in apart else ""
    right = text[i : i + 2] if i + 1 < run[1] and i + 1 not in apart else ""
    return frozenset(pair for pair in (left, right) if pair) or frozenset([text[i]])


def _places(pattern: re.Pattern[str], text: str) -> set[int]:
    return {i for match in pattern.finditer(text) for i in range(*match.span())}


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


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
