"""What a statement may read: a table, or two that an obvious key joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from datamind_model_offline.tables.schema import Column, Table, name_words, quoted

_SHORT: Final = 3


@dataclass(frozen=True, slots=True)
class Relation:
    """One table, or two.

    Attributes:
        tables: The one whose rows are meant, then the one that each row points to.
        keys: The columns that are equal, in the order of the tables.
    """

    tables: tuple[Table, ...]
    keys: tuple[Column, Column] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns."""
        return tuple(column for table in self.tables for column in table.columns)

    def table(self, name: str) -> Table:
        """A table of it."""
        return next(table for table in self.tables if table.name == name)

    def column(self, table: str, name: str) -> Column:
        """A column of it."""
        return next(column for column in self.table(table).columns if column.name == name)

    def expression(self, column: Column) -> str:
        """A column as SQL."""
        if self.keys is None:
            return quoted(column.name)
        return f"{quoted(column.table)}.{quoted(column.name)}"

    def sql(self) -> str:
        """What stands behind FROM."""
        first = quoted(self.tables[0].name)
        if self.keys is None:
            return first
        mine, theirs = self.keys
        return f"{first} JOIN {quoted(self.tables[1].name)} ON {self.expression(mine)} = {self.expression(theirs)}"


def relations(tables: Sequence[Table]) -> Iterator[Relation]:
    """Every single table, then every pair with a key."""
    yield from (Relation((table,)) for table in tables)
    for first in tables:
        for second in tables:
            if first.name != second.name:
                keys = _keys(first, second)
                if keys is not None:
                    yield Relation((first, second), keys)


def _keys(first: Table, second: Table) -> tuple[Column, Column] | None:
    """A column of the first table that says which row of the second is meant."""
    owner = set(name_words(second.name))
    best: tuple[int, Column, Column] | None = None
    for mine in first.columns:
        for theirs in second.columns:
            if not _identifies(theirs, second) or (mine.kind == "number") != (theirs.kind == "number"):
                continue
            rank = _rank(mine, theirs, owner, second)
            if rank and (best is None or rank > best[0]):
                best = rank, mine, theirs
    return None if best is None else best[1:]


def _identifies(column: Column, table: Table) -> bool:
    return column.distinct == table.rows - column.nulls and column.distinct > 0


def _rank(mine: Column, theirs: Column, owner: set[str], second: Table) -> int:
    same = mine.name.casefold() == theirs.name.casefold()
    mine_words = name_words(mine.name)
    if same and (mine.is_key or theirs.is_key) and mine_words != ("id",):
        return 4
    points = bool(owner & set(mine_words)) or (len(mine.name) > 1 and mine.name[:2] in second.name)
    if points and mine.is_key and theirs.is_key:
        return 3
    if points and not mine.is_key and theirs == second.label():
        return 2
    return 1 if same and mine.kind == "text" and theirs == second.label() and len(mine.name) < 12 else 0
