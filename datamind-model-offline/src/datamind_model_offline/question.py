"""What a question asks for: its content words and the kind of thing that would answer it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.sentences import split_sentences
from datamind_model_offline.answer_types import AnswerType as Kind
from datamind_model_offline.asking import kind_asked, unit_asked
from datamind_model_offline.terms import CATEGORY, HAN_RUN, LOOSE, Term, han_terms, latin_terms

MAX_QUESTION_CHARS: Final = 2_000
"""What is read of a question; patterns are tried on every place of it."""

_MAX_QUERY_CHARS: Final = 1_500
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|my|me|mine|we|our|us)\b|我|咱", re.IGNORECASE)
_SPEAKER: Final = re.compile(r"\b(?:i|i'm|my|me|mine)\b|我(?!们)", re.IGNORECASE)
_LISTING: Final = re.compile(
    r"\b(?:what|which) (?:are|were|\w+(?: \w+)?s (?:do|does|did|are|were|can|should|must|have))\b"
    r"|\b(?:list|all|steps|ingredients|items)\b|哪些|有什么|什么材料|步骤|清单|列出|分别|用料|食材",
    re.IGNORECASE,
)


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
        return _FIRST_PERSON.search(self.text) is not None

    @property
    def wants_list(self) -> bool:
        """Whether several items together answer it."""
        return self.kind is Kind.METHOD or _LISTING.search(self.text) is not None

    @property
    def wide(self) -> str:
        """The question's words and those that may stand for them, for a search that misses less."""
        words = [self.text, *(word for term in (*self.terms, *self.context) for word in term.others)]
        # Alone, a character finds the words that have it in another place.
        words += [term.text for term in self.terms if term.weak == term.text and term.weight >= LOOSE]
        return " ".join(dict.fromkeys([*words, *(term.text for term in self.context)]))[:_MAX_QUERY_CHARS]


def is_of_the_speaker(text: str) -> bool:
    """Whether a text speaks of the one who speaks, alone: "my", not "our"."""
    return _SPEAKER.search(text) is not None


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
    language = "zh" if HAN_RUN.search(normal) else "en"
    kind = kind_asked(normal, language)
    terms = _with_category([*latin_terms(normal, language, kind), *han_terms(normal, kind)])
    return Question(normal, language, kind, terms, unit_asked(normal, language, kind))


def _with_category(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The category counts in full where the question names nothing else: "Which school did I go to?"."""
    if any(term.weight >= LOOSE for term in terms):
        return tuple(terms)
    return tuple(replace(term, weight=1.0) if term.weight == CATEGORY else term for term in terms)


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
