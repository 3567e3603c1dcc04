"""Numbers for evidence, and answers whose every marker means something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from datamind.capabilities.text.normalize import contains_normalized
from datamind.capabilities.text.numerals import find_numbers
from datamind.capabilities.text.sentences import split_sentences
from datamind.core.evidence import Citation, Claims, Evidence
from datamind.core.outcome import ToolOutcome
from datamind.core.results import Notice

_MARKER = re.compile(r"[ \t]?\[(\d{1,4})\]")
_QUOTED = re.compile(
    r"\"([^\"\n]{2,400})\"|“([^”\n]{2,400})”|「([^」\n]{2,400})」|『([^』\n]{2,400})』|«([^»\n]{2,400})»"
)


@dataclass
class EvidenceNormalizer:
    """Gives each distinct piece of evidence of a run one number, from 1, in the order it was first seen."""

    evidence: list[Evidence] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: ToolOutcome) -> str:
        """Take in what a call found; returns the text a model is shown, with the numbers to cite."""
        for item in outcome.evidence:
            if item.evidence_id not in self.numbers:
                self.evidence.append(item)
                self.numbers[item.evidence_id] = len(self.evidence)
        return outcome.to_text(self.numbers)

    def resolve(self, answer: str) -> ResolvedAnswer:
        """Resolve the markers of an answer; those that name nothing are taken out and reported."""
        known = range(1, len(self.evidence) + 1)
        unknown = sorted({int(match[1]) for match in _MARKER.finditer(answer)} - set(known))
        text = _MARKER.sub(lambda match: match[0] if int(match[1]) in known else "", answer).strip()
        citations = [citation for claim in _claims(text) for citation in self._cite(*claim)]
        notices = [Notice(code="citation.unknown", message=f"[{n}] names no evidence; removed") for n in unknown]
        supported = sum(citation.supported for citation in citations)
        claims = Claims(supported=supported, unsupported=len(citations) - supported)
        return ResolvedAnswer(text, tuple(citations), claims, tuple(notices))

    def _cite(self, claim: str, numbers: list[int]) -> list[Citation]:
        cited = [self.evidence[number - 1] for number in numbers]
        missing = unsupported_parts(claim, cited)
        return [
            Citation(
                number=number, evidence_id=item.evidence_id, claim=claim, supported=not missing, unsupported=missing
            )
            for number, item in zip(numbers, cited, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ResolvedAnswer:
    """An answer after code has looked at every marker."""

    text: str
    citations: tuple[Citation, ...]
    claims: Claims
    notices: tuple[Notice, ...]


def _claims(answer: str) -> list[tuple[str, list[int]]]:
    """Each sentence with markers, without them, and the numbers behind it in order."""
    claims: list[tuple[str, list[int]]] = []
    carried = ""
    for start, end in split_sentences(answer):
        sentence = answer[start:end]
        numbers = list(dict.fromkeys(int(match[1]) for match in _MARKER.finditer(sentence)))
        words = _MARKER.sub("", sentence).strip(" \t\n.。")
        if not numbers:
            carried = sentence
            continue
        # "Sentence. [1]": the splitter may leave the marker alone, behind the sentence it belongs to.
        claims.append(((words and _MARKER.sub("", sentence).strip()) or carried, numbers))
        carried = ""
    return claims


def unsupported_parts(claim: str, cited: Sequence[Evidence]) -> tuple[str, ...]:
    """The quotations and numbers of a claim that stand in none of the cited evidence."""
    quoted = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(claim)]
    missing = [part for part in quoted if not any(contains_normalized(item.content, part) for item in cited)]
    there = {number.value for item in cited for number in find_numbers(item.content)}
    numbers = [claim[number.start : number.end] for number in find_numbers(claim) if number.value not in there]
    return (*missing, *numbers)
