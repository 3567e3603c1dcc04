"""Numbers for evidence, and answers whose every marker means something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from datamind.capabilities.text.normalize import contains_normalized
from datamind.capabilities.text.numerals import find_numbers
from datamind.capabilities.text.sentences import split_sentences
from datamind.core.evidence import Citation, Claims, Evidence
from datamind.core.messages import Block, Message, TextBlock, ToolResultBlock
from datamind.core.outcome import ToolOutcome
from datamind.core.results import Notice

_BRACKETED: Final = re.compile(r"[\[［【]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]］】]")
_CODE: Final = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|(?P<ticks>`+)[^`\n]+(?P=ticks)", re.DOTALL)
_INDEXED: Final = re.compile(r"(?:(?<![\w'’])[a-z]|\w*_\w*)\Z", re.ASCII)
_GOES_ON_AS_CODE: Final = re.compile(r"\.[a-z_]|\(|\s?[-+*/]?=(?!=)", re.ASCII)
_QUOTED: Final = re.compile(
    r"\"([^\"\n]{2,400})\"|“([^”\n]{2,400})”|「([^」\n]{2,400})」|『([^』\n]{2,400})』|«([^»\n]{2,400})»"
)
_LIST_LABEL: Final = re.compile(r"\s*(?:[-*+•]\s+)?(?:\(?\d{1,3}[.)、](?!\d)\s*)?")
_CITE_KEY: Final = re.compile(r'\{"cite": \d+, ')
_OPENERS: Final = '[(（【［`"“「'
_LOOK_BACK: Final = 40


@dataclass(frozen=True, slots=True)
class Marker:
    """``[3]``, or several numbers in one bracket, in ``text[start:end]``."""

    start: int
    end: int
    numbers: tuple[int, ...]


def find_markers(text: str) -> Iterator[Marker]:
    """The citation markers of an answer, in order.

    A marker is one or more numbers of one to three digits, from 1, in square brackets: ``[3]``, ``[1, 3]``, ``【3】``.
    It may stand behind a word without a blank. None of these is one: what stands in code, ``[0]``, a year
    ``[2024]``, the text of a link ``[1](…)``, the label of a reference ``[1]: …``, an index such as ``a[1]``,
    ``row_of[1]`` or ``x[1].name``.
    """
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _BRACKETED.finditer(text):
        numbers = tuple(int(number) for number in re.findall(r"\d+", match[1]))
        in_code = any(start <= match.start() < end for start, end in code)
        if 0 not in numbers and not in_code and not _is_something_else(text, match):
            yield Marker(match.start(), match.end(), numbers)


def _is_something_else(text: str, match: re.Match[str]) -> bool:
    if _GOES_ON_AS_CODE.match(text, match.end()):
        return True
    begins_line = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
    is_label = begins_line and text.startswith(":", match.end())
    return is_label or _INDEXED.search(text[max(0, match.start() - _LOOK_BACK) : match.start()]) is not None


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
        """Resolve the markers of an answer; those that name nothing are taken out and reported.

        Several numbers in one bracket are markers when all of them are known, else a list or an interval that stays.
        """
        unknown: set[int] = set()
        text = self._with_known_markers(answer, "", unknown)
        # Taking one out may leave another, as in "[[9]8]".
        text = self._with_known_markers(text, "({})", unknown)
        cited = [(claim, self._cite(claim, numbers)) for claim, numbers in self._claims(text) if numbers]
        claims = [all(citation.supported for citation in citations) for claim, citations in cited if claim]
        return ResolvedAnswer(
            text,
            tuple(citation for _, citations in cited for citation in citations),
            Claims(supported=sum(claims), unsupported=len(claims) - sum(claims)),
            tuple(
                Notice(code="citation.unknown", message=f"[{n}] names no evidence; removed") for n in sorted(unknown)
            ),
        )

    def _with_known_markers(self, answer: str, unknown_as: str, unknown: set[int]) -> str:
        def written(marker: Marker) -> str:
            if self._knows(marker):
                return "".join(f"[{number}]" for number in marker.numbers)
            unknown.update(marker.numbers)
            return unknown_as.format(marker.numbers[0])

        markers = [marker for marker in find_markers(answer) if len(marker.numbers) == 1 or self._knows(marker)]
        return _rewritten(answer, markers, written)[0].strip()

    def _knows(self, marker: Marker) -> bool:
        return all(number <= len(self.evidence) for number in marker.numbers)

    def _claims(self, answer: str) -> list[tuple[str, list[int]]]:
        """Each sentence without its markers, and the numbers behind it in order."""
        markers = [marker for marker in find_markers(answer) if self._knows(marker)]
        words, places = _rewritten(answer, markers, lambda marker: "")
        sentences = split_sentences(words) or [(0, 0)]
        numbers: list[dict[int, None]] = [{} for _ in sentences]
        for marker, place in zip(markers, places, strict=True):
            numbers[_owner(words, sentences, place)].update(dict.fromkeys(marker.numbers))
        return [(words[start:end], list(found)) for (start, end), found in zip(sentences, numbers, strict=True)]

    def _cite(self, claim: str, numbers: Sequence[int]) -> list[Citation]:
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


def _rewritten(text: str, markers: Sequence[Marker], write: Callable[[Marker], str]) -> tuple[str, list[int]]:
    """The text with each marker written anew, and where each then begins.

    A marker that is written as nothing takes the blank before it along, unless words would run together.
    """
    out = ""
    blank = ""
    places = []
    end = 0
    for marker in (*markers, None):
        piece = text[end : marker.start if marker else len(text)]
        written = write(marker) if marker else ""
        if piece or written:
            out += blank if blank and _needs_blank(piece or written) else ""
            blank = ""
        out += piece
        if marker is None:
            break
        if not written:
            words = out.rstrip(" \t")
            out, blank = words, blank or out[len(words) :]
        places.append(len(out))
        out += written
        end = marker.end
    return out, places


def _needs_blank(following: str) -> bool:
    return following[0].isalnum() or following[0] in _OPENERS


def _owner(words: str, sentences: Sequence[tuple[int, int]], place: int) -> int:
    """The sentence a marker at ``place`` stands in or behind; the next one when it begins a line."""
    last = max((number for number, (start, _) in enumerate(sentences) if start < place), default=0)
    begins_line = "\n" in words[sentences[last][1] : place]
    return last + 1 if begins_line and last + 1 < len(sentences) else last


def unsupported_parts(claim: str, cited: Sequence[Evidence]) -> tuple[str, ...]:
    """The quotations and numbers of a claim that stand in none of the cited evidence, its notes included."""
    claim = claim[_LIST_LABEL.match(claim).end() :]  # type: ignore[union-attr]  # it matches nothing too
    texts = [text for item in cited for text in (item.content, item.note)]
    quoted = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(claim)]
    missing = [part for part in quoted if not any(contains_normalized(text, part) for text in texts)]
    there = {number.value for text in texts for number in find_numbers(text)}
    numbers = [claim[number.start : number.end] for number in find_numbers(claim) if number.value not in there]
    return (*missing, *numbers)


def uncited(message: Message) -> Message:
    """A message of an earlier turn without its citation numbers, which mean nothing in this one."""
    blocks = tuple(_uncited_block(block) for block in message.blocks) if message.role != "user" else message.blocks
    return message if blocks == message.blocks else message.model_copy(update={"blocks": blocks})


def _uncited_block(block: Block) -> Block:
    if isinstance(block, ToolResultBlock):
        # The key as ToolOutcome writes it; inside a JSON string its quotes would be escaped.
        return block.model_copy(update={"content": _CITE_KEY.sub("{", block.content)})
    if isinstance(block, TextBlock):
        words = _rewritten(block.text, list(find_markers(block.text)), lambda marker: "")[0]
        return block.model_copy(update={"text": words}) if words.strip() else block
    return block
