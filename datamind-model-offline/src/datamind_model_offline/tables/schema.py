"""Tables as the reading tools told them, and what their names may be called in a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind_model_offline.conversation import Step
from datamind_model_offline.tables import words

Kind = Literal["text", "number", "date", "other"]
_BRACKETS: Final = re.compile(r"[(（\[].*?[)）\]]")
_CAMEL: Final = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])")
_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
_PART: Final = re.compile(r"[^\W_]+")
_NUMERIC: Final = ("INT", "DEC", "NUM", "FLOAT", "DOUBLE", "REAL", "HUGE")
_NAMES: Final = frozenset({"name", "title", "label", "full"})
_HAN_NAMES: Final = ("姓名", "名称", "名字", "标题", "书名", "名")
_NAMES_KEPT: Final = 2_000  # of tables and columns: they are looked at in every round of every question
_KEYS: Final = re.compile(
    r"(?:.*[_\W])?(?:id|no|nr|number|code|sku|key)\Z|.*Id\Z|.*(?:编号|号|代码|ID)\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        distinct: Different values, or -1 when they were not counted.
    """

    table: str
    name: str
    kind: Kind = "text"
    distinct: int = -1
    nulls: int = 0
    minimum: Any = None
    maximum: Any = None

    @property
    def is_flag(self) -> bool:
        """Whether its cells only say yes or no."""
        if self.kind == "number" and name_words(self.name)[:1] not in (("is",), ("has",)) and "是否" not in self.name:
            return False
        ends = {str(self.minimum).lower(), str(self.maximum).lower()}
        return 1 <= self.distinct <= 2 and ends <= words.YES | words.NO

    @property
    def is_key(self) -> bool:
        """Whether its name is that of an identifier."""
        return _KEYS.match(self.name.strip()) is not None

    @property
    def is_additive(self) -> bool:
        """Whether its values of several rows are usually summed."""
        parts = name_words(self.name)
        if set(parts) & {words.stem(word) for word in words.EACH} or any(word in self.name for word in words.HAN_EACH):
            return False
        stems = {words.stem(word) for word in words.ADDITIVE}
        return any(part in stems for part in parts) or any(word in self.name for word in words.HAN_ADDITIVE)


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    name: str
    rows: int
    columns: tuple[Column, ...]

    def label(self) -> Column:
        """The column that says which row is meant: its name, else a text of many values, else the first."""

        def fits(column: Column) -> float:
            parts = name_words(column.name)
            named = 2.0 * (parts[-1:] != () and parts[-1] in _NAMES) + 2.0 * column.name.strip().endswith(_HAN_NAMES)
            own = set(parts) & set(name_words(self.name)) or any(run in self.name for run in _HAN.findall(column.name))
            unique = column.distinct / self.rows if self.rows and column.distinct > 0 else 0.0
            text = column.kind == "text"
            return named + 1.2 * bool(own) * text + unique * (1.0 if text else 0.3) - 0.6 * column.is_key

        best = max(self.columns, key=fits)
        if 0 < best.distinct < self.rows or (best.kind != "text" and not best.is_key):
            # Of visits of few patients, the number of the visit says which is meant; no amount ever does.
            keys = [column for column in self.columns if column.is_key and column.distinct == self.rows]
            return keys[0] if keys else best
        return best


@lru_cache(maxsize=_NAMES_KEPT)
def name_words(name: str) -> tuple[str, ...]:
    """Stems of the Latin words of a name: ``unit_price (EUR)`` gives unit and price."""
    bare = _BRACKETS.sub(" ", normalize_nfkc(name))
    spaced = _CAMEL.sub(" ", _HAN.sub(" ", bare))
    return tuple(words.stem(part) for part in _PART.findall(spaced))


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to say a name: stems of Latin words in a row, or one run of Chinese."""

    said: tuple[str, ...] | str
    score: float


@lru_cache(maxsize=_NAMES_KEPT)
def variants(name: str) -> tuple[Variant, ...]:
    """How a table or column may be called, the name itself first."""
    return tuple(_variants(name))


def _variants(name: str) -> Iterator[Variant]:
    latin = name_words(name)
    while len(latin) > 1 and latin[-1] in words.UNITS:
        latin = latin[:-1]
    yield from _latin_variants(latin)
    for run in _HAN.findall(_BRACKETS.sub("", normalize_nfkc(name))):
        yield from _han_variants(run)


def verb_of(name: str) -> str:
    """The stem of the verb that a table is called after, "deliver" of deliveries; empty for other names."""
    latin = name_words(name)
    return words.VERBS.get(latin[-1], "") if latin else ""


def _latin_variants(latin: tuple[str, ...]) -> Iterator[Variant]:
    if not latin:
        return
    yield Variant(latin, 1.0)
    heads: list[tuple[tuple[str, ...], float]] = []
    if len(latin) > 1:
        generic = {words.stem(word) for word in words.GENERIC}
        heads = [(latin[:-1], 0.85)] if latin[-1] in generic else [((latin[-1],), 0.8), ((latin[0],), 0.55)]
        for head, score in heads:
            yield Variant(head, score)
    for said, score in [(latin, 0.9), *((head, score * 0.9) for head, score in heads)]:
        if len(said) == 1 and score > 0.5:
            yield from (Variant((other,), score * 0.9) for other in sorted(words.like(said[0])))
            yield from (Variant(han, score * 0.95) for han in sorted(words.in_han(said[0])))
    if len(latin) == 1 or latin[0] in ("is", "has", "was"):
        yield Variant((f"un{latin[-1]}",), 0.88)
    if len(latin[-1]) > 4 and latin[-1].endswith(("er", "or")):
        yield from (Variant((words.stem(latin[-1][:-cut]),), 0.8) for cut in (1, 2))
    if len(latin) == 2:
        yield Variant(latin[::-1], 0.9)


def _han_variants(run: str) -> Iterator[Variant]:
    yield Variant(run, 1.0)
    shorter = run
    for front in words.HAN_FRONTS:
        shorter = shorter.removeprefix(front)
    bare = next((shorter.removesuffix(end) for end in words.HAN_ENDS if shorter.endswith(end)), shorter)
    front, end = (run[:2], run[-2:]) if len(run) > 3 else ("", "")
    for said, score in ((shorter, 0.95), (bare, 0.85), (end, 0.8), (front, 0.7)):
        if len(said) > 1 and said != run:
            yield Variant(said, score)
    for said, score in ((run, 0.85), (shorter, 0.8), (bare, 0.75)):
        if len(said) > 1:
            yield from (Variant(other, score) for other in sorted(words.han_like(said)) if len(other) > 1)


def listed_tables(steps: Sequence[Step]) -> list[Table]:
    """The tables of ``db_list_tables``, with what ``db_describe_table`` told of some of them."""
    told = [step for step in steps if step.name == "db_list_tables" and not step.failed]
    described = {
        str(step.data.get("table")): step.data for step in steps if step.name == "db_describe_table" and not step.failed
    }
    rows = [row for step in told[-1:] for row in step.data.get("tables", ()) if isinstance(row, Mapping)]
    return [_table(row, described.get(str(row.get("table")), {})) for row in rows]


def _table(row: Mapping[str, Any], described: Mapping[str, Any]) -> Table:
    name = str(row.get("table"))
    profiles = described.get("columns")
    profiles = profiles if isinstance(profiles, Mapping) else {}
    types = row.get("columns")
    listed = types.items() if isinstance(types, Mapping) else ()
    columns = [_column(name, str(column), {"type": kind, **profiles.get(column, {})}) for column, kind in listed]
    count = row.get("rows")
    return Table(name, count if isinstance(count, int) else 0, tuple(columns))


def _column(table: str, name: str, profile: Mapping[str, Any]) -> Column:
    return Column(
        table,
        name,
        _kind(str(profile.get("type", ""))),
        int(profile.get("distinct", -1)),
        int(profile.get("nulls", 0)),
        profile.get("minimum"),
        profile.get("maximum"),
    )


def _kind(type_name: str) -> Kind:
    upper = type_name.upper()
    if any(part in upper for part in _NUMERIC) and "INTERVAL" not in upper:
        return "number"
    if upper.startswith(("DATE", "TIMESTAMP")):
        return "date"
    return "text" if not upper or upper.startswith(("VARCHAR", "TEXT", "STRING", "CHAR")) else "other"


def quoted(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("'", "''").replace("\0", "") + "'"
