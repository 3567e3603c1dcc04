"""The words of one question against one relation: what each names, and whether all of them are explained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from datamind_model_offline.graph.concepts import concepts
from datamind_model_offline.tables import words
from datamind_model_offline.tables.cues import Cue, find_cues, is_light, without_light_han
from datamind_model_offline.tables.dates import When, find_dates
from datamind_model_offline.tables.linking import Mention, Text
from datamind_model_offline.tables.relations import Relation
from datamind_model_offline.tables.schema import Column

_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d,.]*")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the words of a question name in a relation; nothing overlaps.

    Attributes:
        names: Tables and columns in the order of the question.
        score: The better each word fits, the higher.
    """

    text: Text
    relation: Relation
    names: tuple[Mention, ...]
    values: tuple[Mention, ...]
    cues: tuple[Cue, ...]
    dates: tuple[When, ...]
    unexplained: tuple[str, ...]

    @property
    def score(self) -> float:
        """How well it fits."""
        rows = 0.02 * any(one.kind == "table" for one in self.names)
        return rows + sum(one.score for one in (*self.names, *self.values)) - 0.3 * (len(self.relation.tables) - 1)

    def cue(self, *names: str) -> Cue | None:
        """The first of these cues."""
        return next((cue for cue in self.cues if cue.name in names), None)

    def column(self, mention: Mention) -> Column:
        """The column that a mention names."""
        return self.relation.column(mention.table, mention.column)


def read(text: Text, relation: Relation, mentions: Iterable[Mention]) -> Reading:
    """Give each word the best of what it may mean here."""
    own = {table.name for table in relation.tables}
    mine = [mention for mention in mentions if mention.table in own]
    cues = list(find_cues(text.low, text.language))
    dates = list(find_dates(text.low))
    taken: list[tuple[int, int]] = []
    names: list[Mention] = []
    values: list[Mention] = []
    kept_cues: list[Cue] = []
    kept_dates: list[When] = []
    counts = any(cue.name == "count" for cue in cues)
    items: list[Mention | Cue | When] = [*mine, *cues, *dates]
    for item in sorted(items, key=lambda item: _preference(item, counts=counts)):
        if any(item.start < end and start < item.end for start, end in taken):
            continue
        taken.append((item.start, item.end))
        match item:
            case Cue():
                kept_cues.append(item)
            case When():
                kept_dates.append(item)
            case Mention(kind="value"):
                values.append(item)
            case Mention():
                names.append(item)
    names = [_settled(relation, name, mine, values) for name in names]
    return Reading(
        text,
        relation,
        tuple(sorted(names, key=lambda one: one.start)),
        tuple(sorted(values, key=lambda one: one.start)),
        tuple(sorted(kept_cues, key=lambda one: one.start)),
        tuple(sorted(kept_dates, key=lambda one: one.start)),
        tuple(_left(text, taken, values)),
    )


def _preference(item: Mention | Cue | When, *, counts: bool) -> tuple[float, float, int]:
    length = item.end - item.start
    match item:
        case When():
            rank = 0.98
        case Cue(name="top" | "above" | "below" | "between" | "at_least" | "at_most"):
            rank = 0.99
            length += 3
        case Cue():
            rank = 0.86
        case Mention(kind="value"):
            rank = item.score
        case _:
            # Of a table and a column of one name the rows are counted, else the cells are meant.
            rank = item.score - (0.005 if (item.kind == "column") == counts else 0.0)
    weak = rank < 0.6
    return (length * (0.5 if weak else 1.0) * -1.0 if rank >= 0.8 else -0.7 * length, -rank, item.start)


def _settled(relation: Relation, name: Mention, mine: Sequence[Mention], values: Sequence[Mention]) -> Mention:
    """Of several columns that the same words name equally well, the one of the table that is meant elsewhere."""
    same = [one for one in mine if (one.start, one.end, one.kind) == (name.start, name.end, name.kind)]
    best = max(one.score for one in same)
    rivals = [one for one in same if one.score >= best - 0.011]
    used = {value.column for value in values}
    free = [one for one in rivals if one.column not in used] or rivals
    labels = {table.label().name for table in relation.tables}
    rows = [one for one in mine if (one.start, one.end, one.kind) == (name.start, name.end, "table")]
    if name.kind == "column" and rows and relation.table(name.table).label().name == name.column:
        return max(rows, key=lambda one: one.score)  # the rows are called so
    return next((one for one in free if one.column in labels), free[0])


def is_ambiguous(relation: Relation, name: Mention, mentions: Iterable[Mention]) -> bool:
    """Whether another column of the same table is named as well by the same words; its label is meant before others."""
    if name.column == relation.table(name.table).label().name:
        return False
    return any(
        one.kind == "column"
        and (one.start, one.end, one.table) == (name.start, name.end, name.table)
        and one.column != name.column
        and abs(one.score - name.score) < 0.011
        for one in mentions
    )


def _left(text: Text, taken: Sequence[tuple[int, int]], values: Sequence[Mention]) -> list[str]:
    def is_taken(start: int, end: int) -> bool:
        return any(start < stop and begin < end for begin, stop in taken)

    left = [
        word.low
        for word in text.words
        if not is_taken(word.start, word.end) and (word.is_name or not is_light(word.low))
    ]
    left = [word for word in left if not _is_verb_before_value(text, word, values)]
    covered = "".join(" " if is_taken(i, i + 1) else char for i, char in enumerate(text.low))
    for run in _HAN.findall(covered):
        left += [part for part in without_light_han(run).split() if len(part) > 1]
    left += [match[0] for match in _NUMBER.finditer(text.low) if not is_taken(*match.span())]
    return list(dict.fromkeys(left))


def _is_verb_before_value(text: Text, word: str, values: Sequence[Mention]) -> bool:
    """ "flow into the Grey Sea": where the value says what is meant, the verb in front of it need not be known."""
    if concepts(words.stem(word)):
        return False
    before = rf"\b{re.escape(word)} (?:in|into|on|at|from|to|with|by|for|through)(?: the)? \Z"
    return any(re.search(before, text.low[: value.start]) for value in values)
