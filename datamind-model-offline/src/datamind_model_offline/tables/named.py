"""What a question names in one relation, sorted by what it may be for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from datamind_model_offline.tables import words
from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.query import Query
from datamind_model_offline.tables.reading import Reading
from datamind_model_offline.tables.schema import Column, name_words


class Named:
    """The columns that one reading names and no condition uses; what is decided of one of them is dropped.

    Attributes:
        measures: Those of ``columns`` that hold amounts.
    """

    def __init__(self, reading: Reading, free: list[Mention], base: Query) -> None:
        self.reading = reading
        self.free = free
        self.base = base
        self.columns = list(dict.fromkeys(reading.column(name) for name in free))
        if len(self.columns) > 1 or base.filters:
            self.columns = [one for one in self.columns if one not in self._said_as_verb()]
        self.measures = [column for column in self.columns if column.kind == "number" and not column.is_key]

    def called(self, names: Iterable[str], kind: str = "") -> Column | None:
        """The one column that is called by one of these words, the first word first."""
        columns = [column for column in self.reading.relation.columns if not kind or column.kind == kind]
        columns = [column for column in columns if column not in {one.column for one in self.base.filters}]
        for name in names:
            wanted = words.stem(name)
            found = [
                column
                for column in columns
                if wanted in name_words(column.name) or (not name.isascii() and name in column.name)
            ]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    def pieces(self) -> Column | None:
        """The column that says how many pieces a row is about."""
        return self.called(("quantity", "qty", "units", "sold", "数量", "件数", "张数"), "number")

    def when(self) -> Column | None:
        """The one column of times, or of years where there is none."""
        dated = [column for column in self.reading.relation.columns if column.kind == "date"]
        years = [
            column
            for column in self.reading.relation.columns
            if "year" in name_words(column.name) or "年" in column.name
        ]
        found = dated or years
        return found[0] if len(found) == 1 else None

    def only_number(self) -> Column | None:
        """The column of amounts, if there is one alone."""
        numbers = [c for c in self.reading.relation.columns if c.kind == "number" and not c.is_key]
        return numbers[0] if len(numbers) == 1 else None

    def has_table(self) -> bool:
        """Whether the rows themselves are named."""
        return any(name.kind == "table" for name in self.reading.names)

    def drop(self, column: Column) -> None:
        """Its part is decided."""
        self.columns = [one for one in self.columns if one != column]
        self.measures = [one for one in self.measures if one != column]

    def _said_as_verb(self) -> list[Column]:
        """Times that a verb names, such as "sold" of sold_on, where nothing asks for a time; "built" in "built at X"."""
        weak = [self.reading.column(name) for name in self.free if name.score < 0.7 and self._is_verb(name)]
        if self.reading.cue("when", "late", "early") is not None:
            return weak
        return weak + [
            self.reading.column(name)
            for name in self.free
            if name.score < 0.9 and self.reading.column(name).kind == "date" and self.reading.text.language == "en"
        ]

    def _is_verb(self, name: Mention) -> bool:
        if self.reading.column(name).is_key:
            return self.reading.text.low[: name.end].endswith("ed")
        behind = self.reading.text.low[name.end :]
        match = re.match(r" (?:in|at|by|from|on|for|to|with)(?: the)? ", behind)
        return match is not None and any(value.start == name.end + match.end() for value in self.reading.values)
