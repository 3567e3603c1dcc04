"""A database against a model made of dicts, in any order of imports, redos, drops and reopenings. Needs hypothesis."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, invariant, rule

from datamind.core.errors import Conflict
from datamind.core.protocols.database import TableDrop, TableImport, TableOutcome
from datamind.core.source import SourceRef
from datamind.core.types import new_id
from datamind.testing.database_data import load, make_table_import, rows
from datamind.testing.machines.base import ProviderMachine

_TABLES = st.sampled_from(["orders", "ORDERS", "表"])
_ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", ""])), max_size=4)
_URIS = st.sampled_from(["file:one", "file:two"])
_MODES = st.sampled_from(["append", "replace", "fail", "upsert"])
Done = tuple[TableImport, bytes, TableOutcome]
_Row = tuple[str, int, str | None]


class _Given(NamedTuple):
    """One import, and how many rows it gave."""

    unit: str
    source: SourceRef
    rows: int

    def held(self, rows: list[_Row]) -> int:
        """How many of them are there."""
        return sum(row[0] == self.unit for row in rows)


class DatabaseMachine(ProviderMachine):
    """Runs as ``TestX = X.TestCase`` of a subclass that sets ``target``."""

    done: Bundle[Done] = Bundle("done")

    @initialize()
    def begin(self) -> None:
        """Nothing is there; each row of the model knows the import it came from."""
        self.tables: dict[str, list[_Row]] = {}
        self.given: dict[str, list[_Given]] = {}

    @rule(target=done, table=_TABLES, uri=_URIS, values=_ROWS, mode=_MODES, force=st.booleans())
    def load(self, table: str, uri: str, values: list[tuple[int, str]], mode: str, force: bool) -> Any:
        """An import does what its mode says, and says what it did."""
        content = ("id,name\n" + "".join(f"{number},{name}\n" for number, name in values)).encode()
        request = make_table_import(
            table, content, uri=uri, mode=mode, force=force, header=True, key=("id",) if mode == "upsert" else ()
        )
        if mode == "fail" and table.casefold() in self.tables:
            with pytest.raises(Conflict):
                self.run(load(self.provider, request, content))
            return None
        expected = self._expected(request, values)
        outcome = self.run(load(self.provider, request, content))
        assert (outcome.status, outcome.rows, bool(outcome.closed)) == (*expected, expected[0] == "renewed")
        return request, content, outcome

    def _expected(self, request: TableImport, values: list[tuple[int, str]]) -> tuple[str, int]:
        name, unit, source = request.table.casefold(), request.unit_id, request.source
        held = self.tables.get(name)
        if held is not None and request.mode in ("append", "upsert") and not request.force:
            for before in self.given[name]:
                if before.source.source_id == source.source_id and before.held(held) == before.rows:
                    return "unchanged", 0
        new = [(unit, number, text or None) for number, text in values]
        if request.mode == "upsert":
            new = list({row[1]: row for row in new}.values())
            held = None if held is None else [row for row in held if row[1] not in {row[1] for row in new}]
        status = {"append": "appended", "replace": "replaced", "upsert": "upserted"}.get(request.mode, "")
        if held is not None and request.mode == "append" and not request.force:
            older = [before for before in self.given[name] if before.source.uri == source.uri]
            if any(before.held(held) or not before.rows for before in older):
                status = "renewed"
            held = [row for row in held if row[0] not in {before.unit for before in older}]
            self.given[name] = [before for before in self.given[name] if before not in older]
        if name not in self.tables or request.mode == "replace":
            self.given[name] = []
            status, held = ("created" if name not in self.tables else "replaced"), []
        self.tables[name] = [*(held or []), *new]
        self.given[name].append(_Given(unit, source, len(new)))
        return status, len(new)

    @rule(before=done)
    def redo(self, before: Done | None) -> None:
        """The first outcome, and nothing changes; what changed nothing may be decided anew."""
        if before is not None and before[2].status != "unchanged":
            assert self.run(load(self.provider, before[0], before[1])) == before[2]

    @rule(table=_TABLES)
    def drop(self, table: str) -> None:
        """The table is gone."""
        held = self.tables.pop(table.casefold(), None)
        outcome = self.run(self.provider.drop(TableDrop(table=table, unit_id=new_id("unit"), receipt_id="r")))
        assert (outcome.status, outcome.rows) == ("unchanged", 0) if held is None else ("dropped", len(held))

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        """Every table, every row."""
        found = {table.name.casefold(): table for table in self.run(self.provider.tables())}
        assert set(found) == set(self.tables)
        for name, table in found.items():
            assert table.rows == len(self.tables[name])
            seen = self.run(rows(self.provider, f'SELECT id, name FROM "{table.name}"'))  # noqa: S608
            # A column made by a file without rows is text.
            expected = [(str(number), text) for _, number, text in self.tables[name]]
            assert sorted((str(number), repr(text)) for number, text in seen) == sorted(
                (number, repr(text)) for number, text in expected
            )
