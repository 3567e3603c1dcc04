"""How well one unit answers a question."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from datamind.capabilities.text.stopwords import stop_words
from datamind.capabilities.text.tokens import tokenize_for_index
from datamind_model_offline.answer_types import FIRM, AnswerType, cue_of, form_of, is_clear
from datamind_model_offline.asking import HAN_MEASURES
from datamind_model_offline.passages import Unit
from datamind_model_offline.question import Question
from datamind_model_offline.terms import Term
from datamind_model_offline.text_index import TextIndex, index_of
from datamind_model_offline.weights import CHOICE, TRUST

_COVERAGE: Final = ("own", "related", "head", "before", "chunk", "missing")
"""They say where the question's words stand, by rarity: in the unit itself, by a related word, in its
headings, before it in the paragraph, elsewhere in the result, or nowhere."""

_CAPITALISED: Final = re.compile(r"\b[A-Z][a-zÀ-ÿ][\w'’-]*(?![\w'’:-])")
_CALENDAR: Final = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|June|July|August|September|October"
    r"|November|December"
)
_SINGULAR: Final = re.compile(r"(?:i|i'm|my|me|mine)\b", re.IGNORECASE)
_SAYS: Final = 0.4
_SAID: Final = 0.4
_UNSEEN: Final = 8
_CJK: Final = "\u2e80"


class Span(NamedTuple):
    """A place in a text that may hold the answer."""

    start: int
    end: int
    strength: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit with what was measured on it."""

    unit: Unit
    features: Mapping[str, float]

    @property
    def choice(self) -> float:
        """Higher for the better sentence; compared within one question only."""
        return sum(weight * self.features[name] for name, weight in CHOICE.items())

    @property
    def trust(self) -> float:
        """Above 0 when the question can probably be answered at all."""
        return TRUST["bias"] + sum(weight * self.features[name] for name, weight in TRUST.items() if name != "bias")


class Scorer:
    """Measures the units of one set of results against one question."""

    def __init__(self, question: Question, units: Sequence[Unit]) -> None:
        self._question = question
        self._asked = index_of(question.text)
        self._units = units
        self._indexes = [index_of(unit.text) for unit in units]
        self._terms = [*question.terms, *question.context]
        self._weights = [self._weight(term) for term in self._terms]
        for i in range(len(question.terms), len(self._terms)):
            self._weights[i] *= 0.5
        self._total = sum(self._weights) or 1.0
        names = (weight for weight, term in zip(self._weights, self._terms, strict=True) if term.is_name)
        self._name_total = sum(names) or 1.0

    def candidates(self) -> list[Candidate]:
        """Every unit with its features, in order of the units."""
        pairs = zip(self._units, self._indexes, strict=True)
        return [Candidate(unit, self._features(unit, index)) for unit, index in pairs]

    def _weight(self, term: Term) -> float:
        # A few texts say little about what is rare: the more there are, the more their counts weigh.
        seen = len(self._indexes) + _UNSEEN
        df = sum(not term.exact.isdisjoint(index.tokens) for index in self._indexes)
        return term.weight * max(math.log(1 + seen / (df + 0.5)) / math.log(1 + seen / 0.5), 0.15)

    def _features(self, unit: Unit, index: TextIndex) -> dict[str, float]:
        is_said = any(span.strength == 1.0 for span in self._spans(index))
        levels = [max(index.level(term), 0.8 * (is_said and term.said_by_form)) for term in self._terms]
        hits = [term for term, level in zip(self._terms, levels, strict=True) if level == 1.0]
        return {
            **self._coverage(unit, index, levels),
            **self._kind_features(unit, index, hits),
            "phrase": self._phrase(index),
            "faq": self._answers_heading(unit),
            "whose": float(self._is_anothers(unit)),
            "mine": float(self._question.is_of_the_user and unit.found.surface == "memory"),
            "share": unit.found.share,
            "rank": 1.0 / (1 + unit.found.rank),
            "length": math.log(1 + len(index.raw) / 40),
            "new": sum(token not in self._asked.tokens for token in index.tokens) / (len(index.tokens) or 1),
        }

    def _coverage(self, unit: Unit, index: TextIndex, levels: Sequence[float]) -> dict[str, float]:
        before = index_of(unit.before)
        places = (
            ("head", index_of(f"{unit.heading}\n{_name_words(unit.found.source)}"), 1.0),
            ("before", before, 0.9 if unit.points_back else 0.5),
            ("before", index_of(unit.topic), 0.7),
            ("chunk", index_of(unit.found.content), 0.6),
        )
        sums = dict.fromkeys(_COVERAGE, 0.0)
        lacks: list[float] = []
        for term, weight, level in zip(self._terms, self._weights, levels, strict=True):
            sums["own" if level == 1.0 else "related"] += weight * level / self._total
            left = 1 - level
            for name, place, trust in places:
                gained = left * trust * place.level(term)
                sums[name] += weight * gained / self._total
                left -= gained
            sums["missing"] += weight * left / self._total
            lacks.append(left if term.weight >= 1.0 else 0.0)
        return {
            **sums,
            **self._names(levels, [place for _, place, _ in places]),
            "worst": self._worst(lacks),
            "bare": float(sums["own"] + sums["related"] < 0.05 and not self._is_introduced(unit)),
            "attribute_missing": self._attribute_missing(levels, places[0][1], before, unit),
            "relation_missing": self._relation_missing(levels, unit),
        }

    def _names(self, levels: Sequence[float], places: Sequence[TextIndex]) -> dict[str, float]:
        """Share of the names that stand nowhere in the result, and of those that stand far from the unit."""
        missing = far = 0.0
        for term, weight, level in zip(self._terms, self._weights, levels, strict=True):
            if term.is_name and max(level, *(place.level(term) for place in places[:-1])) < 0.5:
                is_far = places[-1].level(term) >= 0.5
                far += weight * is_far
                missing += weight * (not is_far)
        return {"names_missing": missing / self._name_total, "names_far": far / self._name_total}

    def _is_introduced(self, unit: Unit) -> bool:
        """Whether a question or a list's heading speaks for it: "2 carrots" answers "which ingredients"."""
        is_listed = self._question.wants_list and unit.kind == "item"
        return is_listed or self._answers_heading(unit) >= 0.4

    def _attribute_missing(self, levels: Sequence[float], head: TextIndex, before: TextIndex, unit: Unit) -> float:
        """Where the question names something: how much of what it wants to know of it is said nowhere near."""
        if not any(term.is_name for term in self._terms):
            return 0.0
        asked = [
            max(level, head.level(term), before.level(term) if unit.points_back else 0.0)
            for term, level in zip(self._terms, levels, strict=True)
            if not term.is_name and term.weight >= _SAYS
        ]
        return 1.0 - sum(asked) / len(asked) if asked else 0.0

    def _relation_missing(self, levels: Sequence[float], unit: Unit) -> float:
        """Whether what is asked of the rest is said neither in the sentence nor in what it stands under."""
        # The headings of the document are about all of it; an introduction, a question or a label is about this.
        near = index_of(f"{unit.asked}\n{unit.label}\n{unit.lead if unit.points_back else ''}")
        said = [max(lev, near.level(term)) for term, lev in zip(self._terms, levels, strict=True) if term.is_relation]
        return float(bool(said) and sum(said) / len(said) < _SAID)

    def _is_anothers(self, unit: Unit) -> bool:
        """Whether the user speaks of himself and the question is not about him; Chinese leaves such words out."""
        question = self._question
        of_the_user = unit.found.surface == "memory" and _SINGULAR.match(unit.text) is not None
        return of_the_user and question.language == "en" and not question.is_of_the_user

    def _answers_heading(self, unit: Unit) -> float:
        """How far the question that the unit stands behind is the one asked; less for each unit further on."""
        if not unit.asked:
            return 0.0
        place = index_of(unit.asked)
        covered = sum(w * place.level(term) for w, term in zip(self._weights, self._terms, strict=True)) / self._total
        return covered / (1 + 0.3 * unit.behind_asked)

    def _worst(self, lacks: Sequence[float]) -> float:
        """How much of the word that is missed most is missing; of Chinese, of any two characters in a row."""
        worst = run = 0.0
        for term, lack in zip(self._terms, lacks, strict=True):
            is_han = term.text > _CJK
            run = run + lack if is_han and lack > 0.3 else 0.0
            worst = max(worst, min(run / 2, 1.0) if is_han else lack)
        return worst

    def _kind_features(self, unit: Unit, index: TextIndex, hits: Sequence[Term]) -> dict[str, float]:
        kind = self._question.kind
        if kind is AnswerType.ANY:
            return dict.fromkeys(("kind", "kind_missing", "cue", "unit", "unit_missing", "near"), 0.0)
        spans = self._spans(index)
        has_unit = bool(self._question.unit) and self._has_unit(index, spans)
        return {
            "kind": max((strength for _, _, strength in spans), default=0.0),
            "kind_missing": float(kind in FIRM and not self._has_kind(index, unit, spans)),
            "cue": float(bool(cue_of(kind).search(f"{unit.heading}\n{index.raw}"))),
            "unit": float(has_unit),
            "unit_missing": float(bool(self._question.unit) and not has_unit),
            "near": _nearness(index, spans, hits),
        }

    def _spans(self, index: TextIndex) -> list[Span]:
        """What in the text is of the kind asked for and not in the question, with 1 for clear and .5 for possible."""
        kind = self._question.kind
        if kind is AnswerType.ANY:
            return []
        spans = [
            Span(match.start(), match.end(), 1.0 if is_clear(kind, match[0]) else 0.5)
            for match in form_of(kind).finditer(index.raw)
            if match[0].casefold() not in self._asked.folded
        ]
        if kind is AnswerType.PERSON:
            spans += [
                Span(match.start(), match.end(), 1.0 if match.start() else 0.5)
                for match in _CAPITALISED.finditer(index.raw)
                if match[0].casefold() not in self._asked.folded
                and match[0].casefold() not in stop_words("en")
                and _CALENDAR.fullmatch(match[0]) is None
            ]
        return spans

    def _has_kind(self, index: TextIndex, unit: Unit, spans: Sequence[Span]) -> bool:
        # A bare number is an amount of money only where something says so.
        if self._question.kind is not AnswerType.MONEY or any(span.strength == 1.0 for span in spans):
            return bool(spans)
        return bool(spans) and cue_of(AnswerType.MONEY).search(f"{unit.heading}\n{index.raw}") is not None

    def _has_unit(self, index: TextIndex, spans: Sequence[Span]) -> bool:
        word = self._question.unit
        for span in spans:
            if word > _CJK:
                if word in index.raw[span.start : span.end + (1 if word in HAN_MEASURES else 6)]:
                    return True
            elif word in tokenize_for_index(index.raw[span.start : span.end + 28])[:5]:
                return True
        return False

    def _phrase(self, index: TextIndex) -> float:
        """Share of the question's neighbouring tokens that are neighbours in the unit too."""
        tokens = [token for term in self._question.terms for token in sorted(term.exact)]
        pairs = set(pairwise(tokens))
        met = sum(pair in pairs for pair in pairwise(index.order))
        return min(met / max(len(pairs), 1), 1.0)


def _nearness(index: TextIndex, spans: Sequence[Span], hits: Sequence[Term]) -> float:
    places = [place for term in hits if (place := index.folded.find(term.text.casefold())) >= 0]
    if not places or not spans:
        return 0.0
    gap = min(abs(span.start - place) for place in places for span in spans)
    return 1.0 / (1.0 + gap / 20.0)


def _name_words(source: str) -> str:
    """The words of a file's name, without folder and ending."""
    name = source.rpartition("/")[2]
    return re.sub(r"[-_.]+", " ", name.rpartition(".")[0]) if "." in name else ""
