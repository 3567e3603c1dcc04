"""What a column is, found from its values, and its values in that type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.db.tabular import formats
from datamind.capabilities.db.tabular.formats import PADDING, Format

if TYPE_CHECKING:
    from datamind.core.protocols.database import ColumnKind

MAX_DIGITS: Final = 38
_MAX_INT64: Final = 2**63 - 1


@dataclass(frozen=True)
class ColumnType:
    """A type, and for text of a file how it is read.

    Attributes:
        whole: Most digits before the point of a decimal.
        scale: Most digits after it.
    """

    kind: ColumnKind
    format: Format | None = None
    whole: int = 0
    scale: int = 0

    def convert(self, cell: Any) -> Any:
        """The value of a cell; blank is None.

        Raises:
            ValueError: It does not fit.
        """
        if cell is None:
            return None
        if isinstance(cell, str):
            return self._of_text(cell)
        return _CONVERT[self.kind](cell)

    def _of_text(self, cell: str) -> Any:
        text = cell.strip(PADDING)
        if not text:
            return None
        if self.format is None:
            return cell
        if not self.format.fits(text):
            raise ValueError(f"no {self.format.name}")
        return _CONVERT[self.kind](self.format.parse(text))


TEXT: Final = ColumnType("text")


@dataclass
class ColumnGuess:
    """What the values so far leave possible.

    Attributes:
        known: The formats that text may have.
        kinds: Kinds of values that came with a type of their own.
    """

    known: Sequence[Format] = formats.ALL
    alive: tuple[Format, ...] = field(init=False)
    kinds: set[ColumnKind] = field(default_factory=set)
    has_text: bool = False
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.alive = tuple(self.known)

    def add(self, cells: Iterable[Any]) -> None:
        """Look at more values."""
        texts = []
        for cell in cells:
            if isinstance(cell, str):
                if text := cell.strip(PADDING):
                    texts.append(text)
            elif cell is not None:
                self.kinds.add(_kind_of(cell))
                self._measure_number(cell)
        self.add_texts(texts)

    def add_texts(self, texts: Sequence[str]) -> None:
        """Look at more texts, without padding and not blank."""
        if not texts:
            return
        self.narrow(lambda known: all(known.fits(text) for text in texts))
        for known in self.alive:
            if known.kind == "decimal":
                self.measure(known.name, *_digits(texts, known))

    def narrow(self, holds: Callable[[Format], bool]) -> None:
        """Keep the formats that hold for more text."""
        self.has_text = True
        self.alive = formats.narrow(self.alive, holds)

    def measure(self, name: str, whole: int, scale: int) -> None:
        """Most digits before and after the point of more numbers, read in the format ``name``."""
        before = self.sizes.get(name, (0, 0))
        self.sizes[name] = max(before[0], whole), max(before[1], scale)

    def _measure_number(self, cell: Any) -> None:
        if isinstance(cell, Decimal) and cell.is_finite():
            exponent = cell.as_tuple().exponent
            assert isinstance(exponent, int)  # finite
            self.measure("", max(cell.adjusted() + 1, 1), max(-exponent, 0))
        elif isinstance(cell, int) and not isinstance(cell, bool):
            self.measure("", len(str(abs(cell))), 0)


def resolve(guesses: Sequence[ColumnGuess]) -> tuple[ColumnType, ...]:
    """The types of a file's columns.

    Where one column has a decimal comma, ``1.500`` in another is one thousand and a half, grouped.
    """
    chosen = [formats.choose(guess.alive) if guess.has_text else None for guess in guesses]
    if formats.DECIMAL_COMMA in chosen:
        for place, guess in enumerate(guesses):
            if chosen[place] is formats.DECIMAL and formats.DECIMAL_COMMA in guess.alive:
                chosen[place] = formats.DECIMAL_COMMA
    return tuple(_type_of(guess, found) for guess, found in zip(guesses, chosen, strict=True))


def join(held: ColumnType, found: ColumnType, *, is_blank: bool = False) -> ColumnType | None:
    """The type in which both fit without loss, or None; a text column takes everything."""
    if is_blank or held.kind == "text" or held.kind == found.kind != "decimal":
        return held
    if {held.kind, found.kind} <= {"integer", "decimal"}:
        whole, scale = max(held.whole, found.whole), max(held.scale, found.scale)
        if held.kind == "integer":
            whole = max(whole, 19)
        return ColumnType("decimal", None, whole, scale) if whole + scale <= MAX_DIGITS else None
    return held if (held.kind, found.kind) in (("float", "integer"), ("timestamp", "date")) else None


def _type_of(guess: ColumnGuess, chosen: Format | None) -> ColumnType:
    if guess.has_text and not guess.kinds:
        return TEXT if chosen is None else _fitted(chosen.kind, guess, chosen)
    if guess.has_text or not guess.kinds:
        return TEXT
    return _fitted(_common_kind(guess.kinds), guess, None)


def _fitted(kind: ColumnKind, guess: ColumnGuess, chosen: Format | None) -> ColumnType:
    if kind != "decimal":
        return ColumnType(kind, chosen)
    whole, scale = guess.sizes.get(chosen.name if chosen else "", (1, 0))
    return ColumnType(kind, chosen, whole, scale) if whole + scale <= MAX_DIGITS else TEXT


def _common_kind(kinds: set[ColumnKind]) -> ColumnKind:
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds <= {"integer", "decimal"}:
        return "decimal"
    if kinds <= {"integer", "decimal", "float"}:
        return "float"
    return "timestamp" if kinds <= {"date", "timestamp"} else "text"


def _kind_of(cell: Any) -> ColumnKind:
    match cell:
        case bool():
            return "boolean"
        case int():
            return "integer" if abs(cell) <= _MAX_INT64 else "text"
        case float():
            return "float"
        case Decimal():
            return "decimal"
        case datetime():
            return "timestamp"
        case date():
            return "date"
        case time():
            return "time"
        case bytes():
            return "binary"
    return "text"


def _digits(texts: Sequence[str], known: Format) -> tuple[int, int]:
    point = "," if known is formats.DECIMAL_COMMA else "."
    whole = scale = 0
    for text in texts:
        before, _, after = text.partition(point)
        whole, scale = max(whole, sum(map(str.isdigit, before))), max(scale, len(after))
    return whole, scale


def _same(cell: Any) -> Any:
    return cell


def _text(cell: Any) -> str:
    match cell:
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case date() | time():
            return cell.isoformat()
        case dict() | list():
            return json.dumps(cell, ensure_ascii=False, separators=(",", ":"))
    return str(cell)


def _timestamp(cell: Any) -> datetime:
    return cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


_CONVERT: Final[dict[ColumnKind, Callable[[Any], Any]]] = {
    "text": _text,
    "integer": _same,
    "decimal": Decimal,
    "float": float,
    "boolean": _same,
    "date": _same,
    "timestamp": _timestamp,
    "time": _same,
    "binary": _same,
    "nested": _text,
    "other": _text,
}
