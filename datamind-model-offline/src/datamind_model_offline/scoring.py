"""How well one unit answers a question: what is measured, and what each measure weighs.

Both sets of weights were fitted by logistic regression on public English and Chinese question sets and on invented
everyday ones: ``CHOICE`` so that the sentence which holds the answer comes first among those found, ``TRUST`` so that
its sum is above 0 when the question can be answered from what was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.tokens import tokenize_for_index
from datamind_model_offline.answer_types import FIRM, AnswerType, cue_of, form_of, is_clear
from datamind_model_offline.passages import Unit
from datamind_model_offline.question import Question, Term

CHOICE: Final[Mapping[str, float]] = {
    "own": 2.3, "related": 4.0, "head": 1.8, "before": 0.6, "chunk": -2.8, "missing": -2.9, "worst": -1.1, "kind": 1.3,
    "kind_missing": -0.9, "cue": 0.7, "unit": 1.4, "near": 0.6, "phrase": 0.4, "share": 2.4, "rank": 1.6, "length": -0.2,
    "new": -2.1,
}  # fmt: skip
TRUST: Final[Mapping[str, float]] = {
    "bias": 0.7, "missing": -3.5, "names_missing": -0.7, "worst": -1.0, "own": 3.7, "related": -1.0, "head": 0.2,
    "before": 0.8, "phrase": 1.3,
}  # fmt: skip

_COVERAGE: Final = ("own", "related", "head", "before", "chunk", "missing")
FEATURES: Final = (
    *_COVERAGE, "names_missing", "worst", "kind", "kind_missing", "cue", "unit", "near", "phrase", "share", "rank", "length", "new",
)  # fmt: skip
"""Coverage: share of the question's words, by rarity, that stand in the unit itself, by a related word, in its headings,
in the unit before, elsewhere in the result, or nowhere."""

_CAPITALISED: Final = re.compile(r"(?<![.!?] )(?<!\A)\b[A-Z][\w'’-]+")
_CJK: Final = "\u2e80"


@dataclass(frozen=True, slots=True)
class TextIndex:
    """A text as matching sees it."""

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
            return 0.0
        if len(term.weak) == 1:
            return 0.35 if term.weak in self.tokens else 0.0
        word = term.text.casefold()
        return 0.6 if any(t.startswith(term.weak) or (len(t) > 3 and word.startswith(t)) for t in self.tokens) else 0.0


@lru_cache(maxsize=4096)
def index_of(text: str) -> TextIndex:
    """The index of a text; texts repeat, as headings and neighbours."""
    normal = normalize_nfkc(text)
    order = tuple(tokenize_for_index(normal))
    return TextIndex(normal, normal.casefold(), frozenset(order), order)


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
        count = len(self._indexes)
        if not count:
            return term.weight
        df = sum(not term.exact.isdisjoint(index.tokens) for index in self._indexes)
        return term.weight * max(math.log(1 + count / (df + 0.5)) / math.log(1 + count / 0.5), 0.15)

    def _features(self, unit: Unit, index: TextIndex) -> dict[str, float]:
        levels = [index.level(term) for term in self._terms]
        hits = [term for term, level in zip(self._terms, levels, strict=True) if level == 1.0]
        return {
            **self._coverage(unit, index, levels),
            **self._kind_features(unit, index, hits),
            "phrase": self._phrase(index),
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
            ("chunk", index_of(unit.found.content), 0.6),
        )
        sums = dict.fromkeys((*_COVERAGE, "names_missing"), 0.0)
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
            is_absent = max(level, *(place.level(term) for _, place, _ in places)) < 0.5
            sums["names_missing"] += weight * (term.is_name and is_absent) / self._name_total
        return {**sums, "worst": self._worst(lacks)}

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
            return dict.fromkeys(("kind", "kind_missing", "cue", "unit", "near"), 0.0)
        matches = [*form_of(kind).finditer(index.raw)]
        if kind is AnswerType.PERSON:
            matches += _CAPITALISED.finditer(index.raw)
        spans = [match for match in matches if match[0].casefold() not in self._asked.folded]
        return {
            "kind": max((1.0 if is_clear(kind, match[0]) else 0.5 for match in spans), default=0.0),
            "kind_missing": float(kind in FIRM and not spans),
            "cue": float(bool(cue_of(kind).search(f"{unit.heading}\n{index.raw}"))),
            "unit": float(bool(self._question.unit) and self._has_unit(index, spans)),
            "near": _nearness(index, spans, hits),
        }

    def _has_unit(self, index: TextIndex, spans: Sequence[re.Match[str]]) -> bool:
        word = self._question.unit
        for match in spans:
            after = index.raw[match.end() : match.end() + 28]
            if word > _CJK:
                if word in match[0] or word in after[:6]:
                    return True
            elif word in tokenize_for_index(match[0] + after)[:5]:
                return True
        return False

    def _phrase(self, index: TextIndex) -> float:
        """Share of the question's neighbouring tokens that are neighbours in the unit too."""
        tokens = [token for term in self._question.terms for token in sorted(term.exact)]
        pairs = set(zip(tokens, tokens[1:], strict=False))
        met = sum(pair in pairs for pair in zip(index.order, index.order[1:], strict=False))
        return min(met / max(len(pairs), 1), 1.0)


def _nearness(index: TextIndex, spans: Sequence[re.Match[str]], hits: Sequence[Term]) -> float:
    places = [place for term in hits if (place := index.folded.find(term.text.casefold())) >= 0]
    if not places or not spans:
        return 0.0
    gap = min(abs(match.start() - place) for place in places for match in spans)
    return 1.0 / (1.0 + gap / 20.0)


def _name_words(source: str) -> str:
    """The words of a file's name, without folder and ending."""
    name = source.rpartition("/")[2]
    return re.sub(r"[-_.]+", " ", name.rpartition(".")[0]) if "." in name else ""
