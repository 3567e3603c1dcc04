"""A file is read fast or with care, and makes the same table; nothing of it is lost unseen."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datamind.capabilities.db.tabular import formats
from datamind.capabilities.db.tabular.columns import ColumnGuess, resolve
from datamind.capabilities.db.tabular.parsing import Rejects, check_some_rows, convert_rows, plan_columns
from datamind.capabilities.db.tabular.sources import CSV, ReadOptions, open_source, open_text_source
from datamind.core.errors import DataMindError
from datamind.engine_host import EngineRequest
from datamind_db_duckdb.counting import count_records
from datamind_db_duckdb.delimited import Odd, fast_batches
from datamind_db_duckdb.files import FileReader
from datamind_db_duckdb.guessing import look_at

FIELDS = st.one_of(
    st.sampled_from(["", " ", "1", "-2", "007", "3.50", "1,5", "1.500", "1e3", "true", "2026-01-02", "03/04/2026"]),
    st.sampled_from(
        ["31/12/2026", "x", "é", "张三", '""', '"a,b"', '"a\nb"', '"q""q"', 'a"b', '"', "1234567890123456"]
    ),
    st.text(alphabet='ab,;"\n\t 1', max_size=5),
)
LINES = st.lists(st.lists(FIELDS, min_size=1, max_size=4), min_size=1, max_size=8)


def texts(rows: list[list[str]], end: str, delimiter: str) -> str:
    return end.join(delimiter.join(row) for row in rows) + end


def with_care(content: bytes) -> dict[str, Any]:
    source = open_source(io.BytesIO(content), ReadOptions(CSV))
    plan, rejects = plan_columns(source), Rejects()
    rows = [row for part in convert_rows(source, plan, plan.types, (), rejects) for row in part]
    check_some_rows(plan, rejects)
    return {
        "names": list(plan.names),
        "types": [
            (found.kind, found.format.name if found.format else "", found.whole, found.scale) for found in plan.types
        ],
        "rejected": [(row.line, row.code) for row in rejects.first],
        "rows": len(rows),
    }


def through_arrow(content: bytes, folder: Path) -> dict[str, Any]:
    args = {"media_type": CSV, "key": [], "encoding": "", "delimiter": "", "header": None, "sheet": ""}
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as stage:
        file.write(content)
        file.flush()
        reply = FileReader(str(folder), 1 << 30).parse(EngineRequest(args, (), (file, stage)))
        stage.seek(0)
        with pa.ipc.open_stream(stage) as reader:
            staged = sum(batch.num_rows for batch in reader)
    report = json.loads(reply.payloads[0])
    assert staged == report["rows"]
    return {
        "names": report["names"],
        "types": [(found["kind"], found["format"], found["whole"], found["scale"]) for found in report["columns"]],
        "rejected": [(row["line"], row["code"]) for row in report["detected"]["rejected"]],
        "rows": staged,
    }


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(rows=LINES, end=st.sampled_from(["\n", "\r\n", "\r"]), delimiter=st.sampled_from([",", ";", "\t"]))
def test_both_ways_make_the_same_table(rows: list[list[str]], end: str, delimiter: str) -> None:
    content = texts(rows, end, delimiter).encode()
    folder = Path(tempfile.gettempdir())
    try:
        expected = with_care(content)
    except DataMindError as error:
        with pytest.raises(DataMindError) as caught:
            through_arrow(content, folder)
        assert caught.value.code == error.code
        return
    assert through_arrow(content, folder) == expected


@given(
    values=st.lists(FIELDS, min_size=1, max_size=6).map(lambda some: some * 60),
)
def test_a_batch_is_guessed_like_its_values(values: list[str]) -> None:
    one, all_at_once = ColumnGuess(formats.ALL), ColumnGuess(formats.ALL)
    one.add(values)
    look_at(all_at_once, pa.array([value or None for value in values], pa.string()))  # as readers give them
    assert resolve([one]) == resolve([all_at_once])


@given(rows=st.lists(st.lists(st.text(alphabet='ab"\n,', max_size=4), min_size=2, max_size=2), min_size=1, max_size=6))
def test_the_count_of_a_plain_file_is_that_of_its_records(rows: list[list[str]]) -> None:
    quoted = [[f'"{field.replace(chr(34), chr(34) * 2)}"' for field in row] for row in rows]
    content = texts(quoted, "\n", ",").encode()
    census = count_records(io.BytesIO(content), b",")
    if census.is_plain:
        assert census.records == len(rows)


@pytest.mark.parametrize(
    "text", ['a,b\n""x,1\n2,3\n4,5\n', 'a\tb\n"",\n1\t2\n', 'a,b\n"","x"\n"",""\n2,3\n', 'a,b\n"""x",1\n"",2\n']
)
def test_a_field_that_opens_twice_is_read_with_care(text: str, tmp_path: Path) -> None:
    assert through_arrow(text.encode(), tmp_path) == with_care(text.encode())


def test_what_does_not_add_up_is_not_read_fast() -> None:
    plain, gap = b"a,b\n1,2\n3,4\n", b"a,b\n1,2\n\n3,4\n"
    assert read_fast(plain) == 2
    for content in (gap, b'a,b\n1,"2\n",3\n4,5\n', b"a,b\n1,2,\n", b'a,b\n1,"x"y\n', b"a,b\r1,2\r", b"a,b\n1,\0\n"):
        with pytest.raises(Odd):
            read_fast(content)


def read_fast(content: bytes) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        source = open_text_source(file, ReadOptions(CSV, encoding="utf-8", header=True))
        return sum(batch.num_rows for batch in fast_batches(source, Rejects()))
