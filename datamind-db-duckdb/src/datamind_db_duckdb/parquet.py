"""Parquet files: their own types are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from datamind.capabilities.db.tabular.names import make_column_names
from datamind.capabilities.db.tabular.parsing import check_key
from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind_db_duckdb.staging import Stage

_BATCH_ROWS: Final = 20_000


def stage_parquet(file: Any, key: Sequence[str], open_stage: Callable[[Any], Stage]) -> dict[str, Any]:
    """Write the rows of a Parquet file to a stage; returns what the parser reports.

    Raises:
        SourceUnreadable: It is none.
        InputInvalid: The key is not in it, or is NULL in a row: such a file has no lines to reject.
    """
    try:
        parquet = pq.ParquetFile(pa.PythonFile(file, mode="r"))
        names, renamed = make_column_names(parquet.schema_arrow.names)
        check_key(names, key)
        schema = pa.schema([(f"c{place}", field.type) for place, field in enumerate(parquet.schema_arrow)])
        folded = {name.casefold() for name in key}
        keys = [place for place, name in enumerate(names) if name.casefold() in folded]
        rows = _write(parquet, schema, keys, open_stage)
    except (pa.ArrowException, OSError) as error:  # in words that may quote the file
        raise SourceUnreadable(
            f"the file is no Parquet, or is damaged ({type(error).__name__})", code="source_unreadable.parquet"
        ) from None
    column = {"kind": "other", "format": "", "whole": 0, "scale": 0, "raw": False, "padded": False, "blank": False}
    return {
        "names": names,
        "columns": [column] * len(names),
        "rows": rows,
        "detected": {"media_type": "application/vnd.apache.parquet", "renamed": renamed},
    }


def _write(parquet: Any, schema: Any, keys: Sequence[int], open_stage: Callable[[Any], Stage]) -> int:
    stage = open_stage(schema)
    try:
        for batch in parquet.iter_batches(batch_size=_BATCH_ROWS):
            plain = [_decoded(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
            if any(plain[place].null_count for place in keys):
                raise InputInvalid("the key is NULL in some row", code="input_invalid.key")
            stage.write(pa.RecordBatch.from_arrays(plain, schema=schema))
    finally:
        stage.close()
    return stage.rows


def _decoded(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)
