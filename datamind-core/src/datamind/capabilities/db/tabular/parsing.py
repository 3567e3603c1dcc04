"""From the rows of a file to typed rows: what a column is, what fits, and what was left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from datamind.capabilities.db.tabular.columns import ColumnGuess, ColumnType, join, resolve
from datamind.capabilities.db.tabular.records import Rejected
from datamind.capabilities.db.tabular.sources import Row, RowSource
from datamind.core.errors import InputInvalid, SourceUnreadable

SLICE_ROWS: Final = 2_000
SHOWN_REJECTS: Final = 100
_MOST_REJECTED: Final = 10


@dataclass
class Rejects:
    """Rows left out: the first ones by line, all of them counted."""

    first: list[Rejected] = field(default_factory=list)
    total: int = 0

    def add(self, row: Rejected) -> None:
        """One more."""
        self.total += 1
        if len(self.first) < SHOWN_REJECTS:
            self.first.append(row)


@dataclass(frozen=True)
class Plan:
    """What the columns of a file become.

    Attributes:
        types: Of the columns, in the order of the file.
        records: Rows and rejected ones together, as counted while finding this out.
        blank: Columns that hold nothing.
    """

    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    records: int
    blank: tuple[bool, ...]


def plan_columns(source: RowSource) -> Plan:
    """Read a file once to find the types of its columns."""
    guesses = [ColumnGuess(source.known) for _ in source.names]
    records = 0
    for part in _slices(source):
        records += len(part)
        rows = [row.cells for row in part if isinstance(row, Row)]
        for place, guess in enumerate(guesses):
            guess.add(cells[place] for cells in rows)
    blank = tuple(not guess.has_text and not guess.kinds for guess in guesses)
    return Plan(source.names, resolve(guesses), records, blank)


def convert_rows(
    source: RowSource, plan: Plan, types: Sequence[ColumnType], key: Sequence[str], rejects: Rejects
) -> Iterator[list[list[Any]]]:
    """Typed rows in slices; what is left out is added to ``rejects``.

    Raises:
        SourceUnreadable: The file does not hold as many records as when it was read first.
    """
    keys = [_place(plan.names, name) for name in key]
    readers = [_reader(held, found) for held, found in zip(types, plan.types, strict=True)]
    seen = 0
    for part in _slices(source):
        seen += len(part)
        rows = []
        for row in part:
            made = row if isinstance(row, Rejected) else _converted(row, readers, keys)
            if isinstance(made, Rejected):
                rejects.add(made)
            else:
                rows.append(made)
        yield rows
    if seen != plan.records:
        raise SourceUnreadable(f"{plan.records} records were counted and {seen} read", code="source_unreadable.changed")


def fit_columns(plan: Plan, held: Mapping[str, ColumnType]) -> tuple[ColumnType, ...]:
    """The types in which the columns of a file and of the table they are added to both fit.

    Args:
        plan: Of the file.
        held: Casefolded name to type, of the table.

    Raises:
        InputInvalid: A column that the table lacks, or one that does not fit.
    """
    unknown = [name for name in plan.names if name.casefold() not in held]
    if unknown:
        raise InputInvalid(
            f"the table has no column {unknown[0][:60]!r}",
            code="input_invalid.columns",
            hint="Give the file the table's columns, or import it into another table.",
        )
    fitted = []
    for name, found, blank in zip(plan.names, plan.types, plan.blank, strict=True):
        joined = join(held[name.casefold()], found, is_blank=blank)
        if joined is None:
            raise InputInvalid(
                f"column {name[:60]!r} holds {held[name.casefold()].kind} and the file has {found.kind}",
                code="input_invalid.column_type",
                hint="Mend the file, or import it into another table.",
            )
        fitted.append(joined)
    return tuple(fitted)


def check_key(names: Sequence[str], key: Sequence[str]) -> None:
    """See that a key can be one.

    Raises:
        InputInvalid: It names a column that is not there.
    """
    for name in key:
        if name.casefold() not in {known.casefold() for known in names}:
            raise InputInvalid(f"the key column {name[:60]!r} is not in the file", code="input_invalid.key")


def check_some_rows(plan: Plan, rejects: Rejects) -> None:
    """See that something of the file can be stored.

    Raises:
        SourceUnreadable: Every record was rejected, or so many for each one kept that the file is read wrongly.
    """
    above = sum(row.code == "before_header" for row in rejects.first)
    kept = plan.records - rejects.total
    if plan.records > above and rejects.total - above > _MOST_REJECTED * kept:
        first = next(row for row in rejects.first if row.code != "before_header")
        fitting = f"only {kept} of {plan.records} records fit" if kept else f"none of {plan.records} records fits"
        raise SourceUnreadable(
            f"{fitting}; the first that does not, in line {first.line}, has {first.code}",
            code="source_unreadable.no_rows",
        )


def make_detected(source: RowSource, media_type: str, rejects: Rejects) -> dict[str, Any]:
    """What a receipt says of a file: the fields of ``Detected``, as JSON."""
    return {
        "encoding": source.encoding,
        "delimiter": source.delimiter,
        "escape": source.escape,
        "header": source.header,
        "media_type": media_type,
        "rejected": [row._asdict() for row in rejects.first],
        "rejected_total": rejects.total,
        "renamed": dict(source.renamed),
    }


def _slices(source: RowSource) -> Iterator[list[Row | Rejected]]:
    rows = source.rows()
    while part := list(itertools.islice(rows, SLICE_ROWS)):
        yield part


def _place(names: Sequence[str], name: str) -> int:
    return [known.casefold() for known in names].index(name.casefold())


def _reader(held: ColumnType, found: ColumnType) -> ColumnType:
    # Text keeps what is written; any other type is read as the file's own format says.
    return held if held.kind == "text" or found.format is None else ColumnType(held.kind, found.format)


def _converted(row: Row, readers: Sequence[ColumnType], keys: Sequence[int]) -> list[Any] | Rejected:
    try:
        cells = [reader.convert(cell) for reader, cell in zip(readers, row.cells, strict=True)]
    except (ValueError, ArithmeticError):
        return Rejected(line=row.line, code="type_mismatch")
    if any(cells[place] is None for place in keys):
        return Rejected(line=row.line, code="null_key")
    return cells
