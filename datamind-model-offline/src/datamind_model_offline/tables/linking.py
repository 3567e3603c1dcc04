"""Which tables, columns and values a question names, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind_model_offline.tables import words
from datamind_model_offline.tables.cues import is_light
from datamind_model_offline.tables.schema import Column, Table, literal, quoted, variants, verb_of

MentionKind = Literal["table", "column", "value"]
MAX_QUESTION_CHARS: Final = 400
_LATIN: Final = re.compile(r"[^\W_\u3400-\u9fff]+(?:[-'’.][^\W_\u3400-\u9fff]+)*(?:_[^\W_\u3400-\u9fff]+)*")
_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
_MOST_COLUMNS: Final = 60
_MOST_WORDS: Final = 12
_VALUE_CHARS: Final = 80
_EACH: Final = 20
_WHO: Final = re.compile(r"\bwho(?:m|se)?\b")
# Verbs whose stem is that of a noun.
_NO_NAMES: Final = frozenset({"placed", "made", "taken", "given"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of Latin or like letters."""

    start: int
    end: int
    low: str
    stem: str
    is_name: bool


@dataclass(frozen=True, slots=True)
class Text:
    """A question prepared for linking; ``low`` has the same length as ``shown``."""

    shown: str
    low: str
    words: tuple[Word, ...]
    stems: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A place of the question that names a table, a column or a value of a column.

    Attributes:
        score: 1.0 for the name itself, less for a part of it or another word.
        value: As it stands in the cell.
    """

    start: int
    end: int
    kind: MentionKind
    score: float
    table: str
    column: str = ""
    value: str = ""


def prepare(question: str, language: str) -> Text:
    """Normalise a question and find its words."""
    shown = normalize_nfkc(question[:MAX_QUESTION_CHARS]).replace("’", "'").strip()
    low = "".join(lower if len(lower := char.lower()) == 1 else char for char in shown)
    found = [_word(match, first=match.start() == 0) for match in _LATIN.finditer(shown)]
    return Text(shown, low, tuple(found), tuple(word.stem for word in found), language)


def _word(match: re.Match[str], *, first: bool) -> Word:
    raw = match[0]
    text = re.sub(r"['’]s?\Z", "", raw)
    is_name = (raw[0].isupper() and not first) or any(char.isdigit() for char in raw)
    return Word(match.start(), match.start() + len(text), text.lower(), words.stem(text), is_name)


def name_mentions(text: Text, tables: Sequence[Table]) -> Iterator[Mention]:
    """Every place that may name one of the tables or columns."""
    for table in tables:
        for variant in variants(table.name):
            for start, end in _places(text, variant.said):
                yield Mention(start, end, "table", variant.score, table.name)
        yield from _deeds(text, table)
        for column in table.columns:
            for variant in variants(column.name):
                for start, end in _places(text, variant.said):
                    yield Mention(start, end, "column", variant.score, table.name, column.name)


def _deeds(text: Text, table: Table) -> Iterator[Mention]:
    """Its verb, but for "who": a row seldom says which of its names did it."""
    verb = verb_of(table.name)
    if verb and not _WHO.search(text.low):
        for start, end in _places(text, (verb,)):
            yield Mention(start, end, "table", 0.75, table.name)


def _places(text: Text, said: tuple[str, ...] | str) -> Iterator[tuple[int, int]]:
    if isinstance(said, str):
        at = text.shown.find(said)
        while at >= 0:
            yield at, at + len(said)
            at = text.shown.find(said, at + len(said))
        return
    for i in range(len(text.stems) - len(said) + 1):
        if text.stems[i : i + len(said)] == said and text.words[i].low not in _NO_NAMES:
            yield text.words[i].start, text.words[i + len(said) - 1].end


def lookup_sql(text: Text, tables: Sequence[Table]) -> str:
    """One statement that finds which cells the question may name; empty when there is nothing to look for."""
    columns = [column for table in tables for column in table.columns][:_MOST_COLUMNS]
    if not columns:
        return ""
    cells = " UNION ALL ".join(_cells(place, column) for place, column in enumerate(columns))
    tests = [f"instr({literal(text.low)}, lower(v)) > 0"]
    tests += [f"instr(lower(v), {literal(word)}) > 0" for word in _sought(text)]
    return (
        "SELECT t, c, v FROM (SELECT *, row_number() OVER (PARTITION BY p ORDER BY v) AS n "  # noqa: S608
        f"FROM (SELECT DISTINCT p, t, c, v FROM ({cells}) "
        f"WHERE length(v) BETWEEN 1 AND {_VALUE_CHARS} AND ({' OR '.join(tests)}))) WHERE n <= {_EACH} ORDER BY p, n"
    )


def _sought(text: Text) -> list[str]:
    latin = [
        word.stem if word.low.startswith(word.stem) else word.low
        for word in text.words
        if len(word.low) > 2 and (word.is_name or not is_light(word.low))
    ]
    pairs = [run[0][i : i + 2] for run in _HAN.finditer(text.low) for i in range(len(run[0]) - 1)]
    return list(dict.fromkeys([*latin, *pairs]))[: _MOST_WORDS if not pairs else 3 * _MOST_WORDS]


def _cells(place: int, column: Column) -> str:
    cell = f"CAST({quoted(column.name)} AS VARCHAR)"
    named = f"{literal(column.table)} AS t, {literal(column.name)} AS c"
    return f"SELECT {place} AS p, {named}, {cell} AS v FROM {quoted(column.table)}"  # noqa: S608


def value_mentions(text: Text, cells: Sequence[Sequence[object]]) -> Iterator[Mention]:
    """Every place that names one of the looked-up cells: whole, by its stems, or by a part that names no other."""
    partial: dict[tuple[str, str, int, int], list[Mention]] = {}
    for table, column, value in ((str(a), str(b), str(c)) for a, b, c in cells if c is not None):
        whole = list(_whole(text, table, column, value))
        yield from whole
        if whole:
            continue
        for mention in _part(text, table, column, value):
            partial.setdefault((table, column, mention.start, mention.end), []).append(mention)
    for mentions in partial.values():
        if len(mentions) == 1:
            yield mentions[0]


def _whole(text: Text, table: str, column: str, value: str) -> Iterator[Mention]:
    low = normalize_nfkc(value).lower().strip()
    if not low or low in words.YES | words.NO:
        return
    for match in re.finditer(re.escape(low), text.low):
        start, end = match.span()
        if _is_bordered(text.low, start, end):
            same_case = text.shown[start:end] == normalize_nfkc(value).strip()
            yield Mention(start, end, "value", 1.0 if same_case else 0.97, table, column, value)
            return
    for said in _said_otherwise(low):
        at = text.low.find(said)
        if at >= 0 and _is_bordered(text.low, at, at + len(said)):
            yield Mention(at, at + len(said), "value", 0.95, table, column, value)
            return
    stems = tuple(words.stem(word) for word in _LATIN.findall(low))
    if stems and not _HAN.search(low):
        for start, end in _places(text, stems):
            yield Mention(start, end, "value", 0.9, table, column, value)
            return


def _said_otherwise(low: str) -> Iterator[str]:
    """How a cell that denies something may be said: 未付款 as 没有付款, "unpaid" as "not been paid"."""
    if low.startswith("未") and len(low) > 2:
        yield from (front + low[1:] for front in ("还没有", "没有", "尚未", "还没", "没", "还未"))
    if re.fullmatch(r"un\w+(?:ed|aid|en|t)", low):
        yield from (f"{front} {low[2:]}" for front in ("not been", "not yet been", "not yet", "not"))


def _is_bordered(low: str, start: int, end: int) -> bool:
    def joins(a: str, b: str) -> bool:
        return a.isalnum() and b.isalnum() and not (_HAN.match(a) or _HAN.match(b))

    before = start > 0 and joins(low[start - 1], low[start])
    after = end < len(low) and joins(low[end - 1], low[end])
    return not before and not after


def _part(text: Text, table: str, column: str, value: str) -> Iterator[Mention]:
    low = normalize_nfkc(value).lower()
    have = {words.stem(word) for word in _LATIN.findall(low)}
    runs: list[list[Word]] = []
    for word in text.words:
        if word.stem in have and not (is_light(word.low) and not word.is_name):
            if runs and runs[-1][-1].end + 2 > word.start:
                runs[-1].append(word)
            else:
                runs.append([word])
    if runs:
        best = max(runs, key=len)
        if any(word.is_name for word in best) or len(best) * 2 >= len(have):
            yield Mention(best[0].start, best[-1].end, "value", 0.6 + 0.1 * len(best) / len(have), table, column, value)
    yield from _han_part(text, table, column, value, low)


def _han_part(text: Text, table: str, column: str, value: str, low: str) -> Iterator[Mention]:
    for run in _HAN.findall(low):
        for size in range(len(run) - 1, max(1, (len(run) - 1) // 2), -1):
            part = run[:size]
            place = text.low.find(part)
            if place >= 0 and size >= 2:
                yield Mention(place, place + size, "value", 0.7, table, column, value)
                return
