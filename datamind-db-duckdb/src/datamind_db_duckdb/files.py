"""The child process that reads files: it opens none by name, and writes rows to a descriptor it is given."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import pyarrow.compute as pc

from datamind.capabilities.db.tabular.columns import ColumnGuess, resolve
from datamind.capabilities.db.tabular.formats import PADDING
from datamind.capabilities.db.tabular.parsing import (
    Plan,
    Rejects,
    check_key,
    check_some_rows,
    convert_rows,
    make_detected,
    plan_columns,
)
from datamind.capabilities.db.tabular.sources import ReadOptions, RowSource, TextSource, open_source
from datamind.engine_host import EngineReply, EngineRequest
from datamind_db_duckdb.delimited import Odd, Ragged, as_utf8, careful_batches, fast_batches
from datamind_db_duckdb.guessing import look_at
from datamind_db_duckdb.staging import Stage, make_batch, text_schema, typed_schema

PARQUET: Final = "application/vnd.apache.parquet"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def open_files(options: Mapping[str, Any]) -> FileReader:
    """The engine's factory."""
    return FileReader(options["folder"], options["max_bytes"])


class FileReader:
    """Turns a file into a stage and a plan of its columns."""

    def __init__(self, folder: str, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self.operations: Mapping[str, Callable[[EngineRequest], EngineReply]] = {
            "parse": self.parse,
            "start": lambda request: EngineReply(),
        }

    def parse(self, request: EngineRequest) -> EngineReply:
        """Read the first file, write the second; the answer's payload is JSON."""
        args = request.args
        source_file, stage_file = request.files
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            work = _Work(args, stage_file.fileno(), self._max_bytes, self._folder, pool)
            report = work.run(source_file)
        return EngineReply(None, (json.dumps(report).encode(),))


class _Staged(NamedTuple):
    guesses: list[ColumnGuess]
    padded: list[bool]
    rows: int


class _Work:
    """One file."""

    def __init__(
        self, args: Mapping[str, Any], stage: int, max_bytes: int, folder: str, pool: ThreadPoolExecutor
    ) -> None:
        self._media_type: str = args["media_type"]
        self._key = tuple(args["key"])
        self._options = ReadOptions(self._media_type, args["encoding"], args["delimiter"], args["header"])
        self._sheet: str = args["sheet"]
        self._stage = stage
        self._max_bytes = max_bytes
        self._folder = folder
        self._pool = pool

    def run(self, file: Any) -> dict[str, Any]:
        if self._media_type == PARQUET:
            from datamind_db_duckdb.parquet import stage_parquet

            return stage_parquet(file, self._key, self._open_stage)
        if self._media_type == XLSX:
            from datamind_db_duckdb.xlsx import open_xlsx_source

            source = open_xlsx_source(file, self._sheet, self._options.header)
            report = self._typed(source)
            report["detected"] |= {"sheet": source.sheet, "other_sheets": source.other_sheets}
            return report
        found = open_source(file, self._options, _guess_encoding)
        check_key(found.names, self._key)
        return self._text(found) if isinstance(found, TextSource) else self._typed(found)

    def _open_stage(self, schema: Any) -> Stage:
        os.ftruncate(self._stage, 0)
        os.lseek(self._stage, 0, os.SEEK_SET)
        return Stage(self._stage, schema, numbered=bool(self._key), max_bytes=self._max_bytes)

    def _text(self, source: TextSource) -> dict[str, Any]:
        with as_utf8(source, self._folder) as plain:
            staged, rejects = self._read_text(plain)
        types, blank = resolve(staged.guesses), tuple(not guess.has_text for guess in staged.guesses)
        plan = Plan(source.names, types, staged.rows + rejects.total, blank)
        check_some_rows(plan, rejects)
        return _report(source, self._media_type, plan, rejects, padded=staged.padded)

    def _read_text(self, source: TextSource) -> tuple[_Staged, Rejects]:
        """As fast as the file allows: in threads, else line by line, else with care."""
        rejects = Rejects()
        try:
            try:
                return self._write_text(source, fast_batches(source)), rejects
            except Ragged:
                return self._write_text(source, fast_batches(source, rejects)), rejects
        except Odd:
            rejects = Rejects()
            return self._write_text(source, careful_batches(source, self._key, rejects)), rejects

    def _write_text(self, source: TextSource, batches: Any) -> _Staged:
        guesses = [ColumnGuess(source.known) for _ in source.names]
        padded = [False] * len(source.names)
        keys = [place for place, name in enumerate(source.names) if name.casefold() in _folded(self._key)]
        stage = self._open_stage(text_schema(len(source.names)))
        try:
            for batch in batches:
                seen = self._pool.map(look_at, guesses, batch.columns)
                padded = [before or now for before, now in zip(padded, seen, strict=True)]
                if any(_has_blank(batch.columns[place]) for place in keys):
                    raise Odd  # the line has to be told
                stage.write(batch)
        finally:
            stage.close()
        return _Staged(guesses, padded, stage.rows)

    def _typed(self, source: RowSource) -> dict[str, Any]:
        check_key(source.names, self._key)
        rejects = Rejects()
        plan = plan_columns(source)
        schema = typed_schema(plan.types)
        stage = self._open_stage(schema)
        try:
            for rows in convert_rows(source, plan, plan.types, self._key, rejects):
                stage.write(make_batch(rows, schema))
        finally:
            stage.close()
        check_some_rows(plan, rejects)
        return _report(source, self._media_type, plan, rejects)


def _report(
    source: RowSource, media_type: str, plan: Plan, rejects: Rejects, *, padded: Sequence[bool] | None = None
) -> dict[str, Any]:
    raw = padded is not None
    return {
        "names": plan.names,
        "columns": [
            {
                "kind": found.kind,
                "format": found.format.name if found.format and raw else "",
                "whole": found.whole,
                "scale": found.scale,
                "raw": raw,
                "padded": is_padded,
                "blank": blank,
            }
            for found, blank, is_padded in zip(plan.types, plan.blank, padded or [False] * len(plan.names), strict=True)
        ],
        "rows": plan.records - rejects.total,
        "detected": make_detected(source, media_type, rejects),
    }


def _has_blank(column: Any) -> bool:
    return bool(column.null_count or pc.any(pc.equal(pc.utf8_trim(column, characters=PADDING), "")).as_py())


def _folded(names: Sequence[str]) -> set[str]:
    return {name.casefold() for name in names}


def _guess_encoding(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding if best is not None else ""
