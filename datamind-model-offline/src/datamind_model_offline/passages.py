"""What the reading tools found, cut into the smallest spans that can be an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from datamind.capabilities.text.sentences import split_sentences

UnitKind = Literal["sentence", "item", "row", "heading"]

_HEADING: Final = re.compile(r"#{1,6}[ \t]+|\*\*[^*\n]+\*\*[:：]?\Z")
_BULLET: Final = re.compile(
    r"(?:[-*+•·◦▪–][ \t]+|\(?\d{1,3}[.)、][ \t]*|[（(]?[一二三四五六七八九十]{1,3}[、）)][ \t]*)(?=\S)"
)
_RULE_ROW: Final = re.compile(r"[|\s:+=_*-]+")
_INTRO: Final = re.compile(r"[:：]\Z")
_POINTS_BACK: Final = re.compile(
    r"(?:it|its|they|their|them|he|his|she|her|this|these|that|those|there|then|here|both)\b|[它他她该其这此]|两者",
    re.IGNORECASE,
)
_MARKER: Final = re.compile(r"\[(\d+)\]")
_ENDS: Final = re.compile(r"[.!?。！？;；:：,，]\Z")
_QUESTION: Final = re.compile(r"[?？]\Z|怎么办\Z")
_ASKING_TITLE: Final = re.compile(
    r"(?:how|what|when|where|who|why|which|can|do|does|is|are|may) |如何|怎么|怎样|什么", re.IGNORECASE
)
_TITLE_CHARS: Final = 100
_SECTION_CHARS: Final = 40
_SAYS: Final = re.compile(r"[:：\d|]")
_SENTENCE: Final = re.compile(r"\r?\n[^\n]{20,}?[.!?。！？]")
_FRONT: Final = re.compile(r"#{1,6}[ \t]+|>[ \t]?")


@dataclass(frozen=True, slots=True)
class Found:
    """One result of a reading tool.

    Attributes:
        cite: The number to cite it by.
        share: Its score as a share of the best score of its call, 1.0 for the best.
    """

    cite: int
    content: str
    surface: str
    source: str = ""
    note: str = ""
    rank: int = 0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a list item or a table row of a result.

    Attributes:
        before: The unit in front of it, where a pronoun may point.
        lead: The same where it is a sentence of the same paragraph, else empty.
        heading: Headings, the sentence that introduces a list and the header of a table: what the unit is about.
        label: The innermost heading, introduction or header of a table alone.
        topic: The first sentence of its paragraph.
        asked: The question it stands behind, in a list of questions and answers.
        behind_asked: How many units stand between.
    """

    found: Found
    text: str
    start: int
    end: int
    kind: UnitKind
    before: str = ""
    heading: str = ""
    lead: str = ""
    label: str = ""
    topic: str = ""
    asked: str = ""
    behind_asked: int = 0

    @property
    def points_back(self) -> bool:
        """Whether it begins with a word that means something said before."""
        return points_back(self.text)

    @property
    def shown(self) -> str:
        """The exact span on one line, without list marks"""
        body = self.text
        if self.kind == "row":
            body = body.strip().strip("|")
        else:
            body = _BULLET.sub("", _FRONT.sub("", body, count=1), count=1) if self.kind != "sentence" else body
        return shown_text(body)


def points_back(text: str) -> bool:
    """Whether a sentence begins with a word that means something said before."""
    return _POINTS_BACK.match(text) is not None


def shown_text(text: str, *, keep_lines: bool = False) -> str:
    """A span on one line, or line by line; a document's own ``[1]`` cannot pose as a citation."""
    lines = text.splitlines() if keep_lines else [text]
    return "\n".join(" ".join(_MARKER.sub(r"(\1)", line).split()) for line in lines)


def units_of(found: Found) -> list[Unit]:
    """The units of one result, in reading order; headings and questions are context only."""
    reader = _Reader(found)
    for start, end in split_sentences(found.content):
        reader.read(start, end)
    return reader.units


class _Reader:
    """Goes through a result once and keeps what the next unit stands under."""

    def __init__(self, found: Found) -> None:
        self.units: list[Unit] = []
        self._found = found
        # A passage's note names its document and section; a memory's says since when it holds.
        note = found.note if found.surface in ("kb", "skills") else ""
        self._headings: list[tuple[int, str]] = [(0, note)] if note else []
        self._asked = _asking(note.rpartition(" > ")[2], is_title=True)
        self._behind_asked = 0
        self._intro = self._header = self._before = self._topic = ""
        self._end_before = 0

    def read(self, start: int, end: int) -> None:
        """Take in the next sentence, item or row."""
        text = self._found.content
        piece = text[start:end]
        kind = "heading" if _stands_alone(text, start, end) else _kind_of(piece)
        if kind == "heading":
            self._enter_section(piece)
            return
        if kind == "row" and _RULE_ROW.fullmatch(piece):
            return
        if kind != "item":
            self._header = "" if kind == "sentence" else self._header or piece
        if _asking(piece):
            self._asked, self._behind_asked, self._intro = piece, -1, ""
        elif kind == "sentence" and _INTRO.search(piece):
            self._intro = piece
        else:
            self._add(piece, start, end, kind)
        self._before, self._end_before = piece, end
        self._behind_asked += 1

    def _enter_section(self, title: str) -> None:
        level = len(title) - len(title.lstrip("#")) or 7
        self._headings = [*(entry for entry in self._headings if entry[0] < level), (level, title.strip("#* \t"))]
        self._intro = self._header = self._before = ""
        self._asked, self._behind_asked = _asking(title, is_title=True), 0

    def _add(self, piece: str, start: int, end: int, kind: UnitKind) -> None:
        is_new_paragraph = not self._before or "\n\n" in self._found.content[self._end_before : start]
        if is_new_paragraph:
            self._topic = piece
        context = (part for part in (self._asked, self._intro, self._header) if part)
        unit = Unit(
            found=self._found,
            text=piece,
            start=start,
            end=end,
            kind=kind,
            before=self._before,
            heading=" / ".join([*(title for _, title in self._headings), *context]),
            label="\n".join(
                [title for _, title in self._headings[-1:] if len(self._headings) > 2] + [self._intro, self._header]
            ),
            lead=self._before if kind == "sentence" and not is_new_paragraph else "",
            topic=self._topic,
            asked=self._asked,
            behind_asked=self._behind_asked,
        )
        self.units.append(unit)
        if kind == "sentence":
            self._intro = ""


def _asking(piece: str, *, is_title: bool = False) -> str:
    """The piece without marks, if it is a question; a title may be one without a question mark."""
    text = piece.strip("#* \t")
    return text if _QUESTION.search(text) or (is_title and _ASKING_TITLE.match(text)) else ""


def _stands_alone(text: str, start: int, end: int) -> bool:
    """A short line with an empty line after it, first or alone on its own: a title without a mark."""
    if end - start > _TITLE_CHARS or _ENDS.search(text[start:end]) is not None:
        return False
    is_apart = text[end:].startswith(("\n\n", "\r\n\r\n"))
    if not text[:start].strip():
        return is_apart
    if end - start > _SECTION_CHARS or not text[:start].endswith(("\n\n", "\r\n\r\n")):
        return False
    return is_apart or (_SAYS.search(text[start:end]) is None and _SENTENCE.match(text[end:]) is not None)


def _kind_of(piece: str) -> UnitKind:
    if piece.lstrip().startswith("|"):
        return "row"
    if _HEADING.match(piece):
        return "heading"
    return "item" if _BULLET.match(piece) else "sentence"


def distinct_units(results: Iterable[Found]) -> list[Unit]:
    """Units of all results; the same sentence in overlapping chunks counts once, where it ranks best."""
    seen: dict[tuple[str, str], Unit] = {}
    for found in results:
        for unit in units_of(found):
            seen.setdefault((found.source, unit.text), unit)
    return list(seen.values())
