"""How text is a number, a date or a truth value: only when it can mean nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datamind.core.protocols.database import ColumnKind


PADDING: Final = " \t"
"""What may stand around a value; a field of nothing else is blank, and blank is NULL."""

_WHOLE: Final = "(?:0|[1-9][0-9]{0,14})"  # no leading zero, 15 digits: else it is a code, and stays text
_PLAIN: Final = rf"-?(?:{_WHOLE}(?:\.[0-9]{{1,23}})?|\.[0-9]{{1,23}})"


@dataclass(frozen=True)
class Format:
    """One way to read text.

    Attributes:
        pattern: Of the whole value without padding; the same in Python and in RE2.
        parse: The value; raises ValueError for what the pattern lets through and is none, such as 30 February.
        implies: Formats that fit wherever this one does.
        rival: A format under which the same text would mean something else: a column that fits both stays text.
        exact: The pattern alone decides.
    """

    name: str
    kind: ColumnKind
    pattern: str
    parse: Callable[[str], Any]
    implies: frozenset[str] = frozenset()
    rival: str = ""
    exact: bool = True
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", re.compile(self.pattern))

    def fits(self, text: str) -> bool:
        """Whether ``text``, without padding, is of this format."""
        if self._compiled.fullmatch(text) is None:
            return False
        if self.exact:
            return True
        try:
            self.parse(text)
        except ValueError:
            return False
        return True


def _comma_decimal(text: str) -> Decimal:
    return Decimal(text.replace(".", "").replace(",", "."))


def _grouped_decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def _date_parser(order: str, separator: str) -> Callable[[str], date]:
    places = [order.index(part) for part in "ymd"]

    def parse(text: str) -> date:
        parts = text.split(separator)
        year, month, day = (int(parts[place]) for place in places)
        return date(year, month, day)

    return parse


def _date_format(order: str, separator: str, rival: str = "") -> Format:
    widths = {"y": "[0-9]{4}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}"}
    pattern = re.escape(separator).join(widths[part] for part in order)
    return Format(f"date_{order}{separator}", "date", pattern, _date_parser(order, separator), rival=rival, exact=False)


BOOLEAN: Final = Format("boolean", "boolean", "(?i:true|false)", lambda text: text.lower() == "true")
INTEGER: Final = Format(
    "integer", "integer", f"-?{_WHOLE}", int, frozenset({"decimal", "float", "decimal_comma", "decimal_grouped"})
)
DECIMAL: Final = Format("decimal", "decimal", _PLAIN, Decimal, frozenset({"float"}))
FLOAT: Final = Format("float", "float", f"{_PLAIN}(?:[eE][+-]?[0-9]{{1,2}})?", float)
DECIMAL_COMMA: Final = Format(
    "decimal_comma",
    "decimal",
    rf"-?(?:{_WHOLE}|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}}){{1,4}})(?:,[0-9]{{1,23}})?",
    _comma_decimal,
    rival="decimal_grouped",
)
DECIMAL_GROUPED: Final = Format(
    "decimal_grouped",
    "decimal",
    rf"-?(?:{_WHOLE}|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}}){{1,4}})(?:\.[0-9]{{1,23}})?",
    _grouped_decimal,
    rival="decimal_comma",
)
DATE: Final = Format(
    "date", "date", "[0-9]{4}-[0-9]{2}-[0-9]{2}", date.fromisoformat, frozenset({"timestamp"}), exact=False
)
TIMESTAMP: Final = Format(
    "timestamp",
    "timestamp",
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?",
    datetime.fromisoformat,
    exact=False,
)
_DAY_FIRST_OR_MONTH: Final = (("dmy", "mdy"), ("mdy", "dmy"))
_OTHER_DATES: Final = (
    _date_format("ymd", "/"),
    _date_format("ymd", "."),
    _date_format("dmy", "."),  # with points nobody writes the month first
    *(_date_format(order, sign, f"date_{rival}{sign}") for sign in "/-" for order, rival in _DAY_FIRST_OR_MONTH),
)

ISO: Final[tuple[Format, ...]] = (DATE, TIMESTAMP)
"""What strings of formats with types of their own, such as JSON, may still be."""

ALL: Final[tuple[Format, ...]] = (
    BOOLEAN,
    INTEGER,
    DECIMAL,
    FLOAT,
    DECIMAL_COMMA,
    DECIMAL_GROUPED,
    *ISO,
    *_OTHER_DATES,
)
"""In the order of preference."""

BY_NAME: Final = {known.name: known for known in ALL}


def narrow(alive: Sequence[Format], holds: Callable[[Format], bool]) -> tuple[Format, ...]:
    """Those formats that hold for more values; what another one implies is not asked again."""
    kept: list[Format] = []
    implied: set[str] = set()
    for known in alive:
        if known.name in implied or holds(known):
            kept.append(known)
            implied |= known.implies
    return tuple(kept)


def choose(alive: Sequence[Format]) -> Format | None:
    """The one format of a column, or None for text."""
    names = {known.name for known in alive}
    return next((known for known in alive if known.rival not in names), None)
