"""The writes: each is one commit that a reader sees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

import anyio
import pyarrow as pa
from anyio.to_thread import run_sync
from lancedb import AsyncTable

from datamind_kb_lancedb import filters, schema
from datamind_kb_lancedb.catalogue import Version, version_of
from datamind_kb_lancedb.engine import committed, translated
from datamind_kb_lancedb.vectors import Floats, check_dimension, rows_of_vectors

_LOOKUP = 2_000
_NOW = timedelta(milliseconds=1)  # the engine warns of none at all


class KnownDocuments:
    """Ids of the documents, read once and then kept up with the writes of this process."""

    def __init__(self) -> None:
        self._version: Version | None = None
        self._ids: set[str] = set()

    async def of(self, table: AsyncTable) -> set[str]:
        """As of now; called by whoever may write."""
        version = await version_of(table)
        if version != self._version:
            with translated("read"):
                rows = await table.query().where(filters.is_document()).select(["document_id"]).to_arrow()
            self._ids, self._version = set(rows["document_id"].to_pylist()), version
        return self._ids

    async def moved_on(self, table: AsyncTable, *, added: Iterable[str] = (), gone: Iterable[str] = ()) -> None:
        """Take in what this process has just written."""
        self._ids.update(added)
        self._ids.difference_update(gone)
        self._version = await version_of(table)


async def put_documents(table: AsyncTable, known: KnownDocuments, puts: Sequence[schema.Put]) -> Collection[str] | None:
    """Add or replace documents in one commit.

    Returns the chunks of older versions that are gone by it, or None if there was nothing to do.
    """
    ids = await known.of(table)
    latest = {document.document_id: (document, chunks) for document, chunks in puts}
    _, version = await version_of(table)
    present = [name for name in latest if name in ids]
    stored = await _stored_otherwise(table, {name: latest[name] for name in present})
    changed = list(stored)
    wanted = [put for name, put in latest.items() if name not in ids or name in changed]
    if not wanted:
        return None
    rows = await run_sync(schema.rows_of, wanted, version << 20)
    if changed:
        await committed("written", lambda: _replace(table, rows, changed))
    else:
        # An upsert of rows that are all new costs twenty times as much.
        await committed("written", lambda: table.add(rows))
    await known.moved_on(table, added=latest)
    kept = {(row["id"], row["digest"]) for row in rows.select(["id", "digest"]).to_pylist()}
    return [name for found in stored.values() for name, digest, _ in found if (name, digest) not in kept]


async def _replace(table: AsyncTable, rows: pa.Table, changed: Iterable[str]) -> None:
    upsert = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    await upsert.when_not_matched_by_source_delete(filters.is_one_of("document_id", changed)).execute(rows)


async def _stored_otherwise(
    table: AsyncTable, puts: Mapping[str, schema.Put]
) -> Mapping[str, set[tuple[str, int, str]]]:
    """The documents that are stored otherwise, with their rows as ``(id, digest, document)``."""
    if not puts:
        return {}
    with translated("read"):
        columns = ["document_id", "id", "digest", "document"]
        rows = await table.query().where(filters.is_one_of("document_id", puts)).select(columns).to_arrow()
    stored, given = _by_document(rows), _by_document(await run_sync(schema.rows_of, list(puts.values()), 0))
    return {name: stored.get(name, set()) for name in puts if stored.get(name) != given[name]}


def _by_document(rows: pa.Table) -> Mapping[str, set[tuple[str, int, str]]]:
    found: dict[str, set[tuple[str, int, str]]] = {}
    columns = (rows[name].to_pylist() for name in ("document_id", "id", "digest", "document"))
    for name, *row in zip(*columns, strict=True):
        found.setdefault(name, set()).add(tuple(row))
    return found


async def delete_documents(table: AsyncTable, known: KnownDocuments, document_ids: Iterable[str]) -> int:
    """Remove rows and words in one commit; how many documents there were of these."""
    gone = await known.of(table) & set(document_ids)
    if gone:
        await committed("written", lambda: table.delete(filters.is_one_of("document_id", gone)))
        await known.moved_on(table, gone=list(gone))
    return len(gone)


async def chunk_ids_of(table: AsyncTable, document_ids: Iterable[str]) -> list[str]:
    """Ids of all rows of some documents."""
    with translated("read"):
        rows = await table.query().where(filters.is_one_of("document_id", document_ids)).select(["id"]).to_arrow()
    ids: list[str] = rows["id"].to_pylist()
    return ids


async def put_vectors(table: AsyncTable, model_id: str, digests: Mapping[str, int], values: Floats) -> None:
    """Keep a row of values for each chunk, in place of the one that it may have."""
    table_schema = await table.schema()
    check_dimension(model_id, table_schema.field("vector").type.list_size, values.shape[1])
    _, version = await version_of(table)
    ids = list(digests)
    rows = await run_sync(rows_of_vectors, ids, list(digests.values()), values, version + 1, table_schema)
    with translated("read"):
        have = await table.query().where(filters.is_one_of("id", ids)).select(["id"]).limit(1).to_arrow()
    if have.num_rows:
        upsert = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        await committed("written", lambda: upsert.execute(rows))
    else:
        await committed("written", lambda: table.add(rows))


async def drop_vectors(tables: Iterable[AsyncTable], chunk_ids: Sequence[str]) -> None:
    """Remove the vectors of chunks that are gone. No read shows them any more, whether this comes to its end or not."""
    for table in tables:
        for first in range(0, len(chunk_ids), _LOOKUP):
            part = chunk_ids[first : first + _LOOKUP]
            await committed("written", partial(table.delete, filters.is_one_of("id", part)))


async def copy_rows(source: AsyncTable, target: AsyncTable) -> None:
    """Add every row of one table to another."""
    with translated("read"):
        batches = await source.query().to_batches()
        while (batch := await anext(batches, None)) is not None:
            await target.add(pa.Table.from_batches([batch]))


async def write_anew(table: AsyncTable) -> None:
    """Put the rows of a table into new files; the old ones are of an older version then."""
    with translated("read"):
        rows = await table.query().to_arrow()
    await committed("written", lambda: table.add(rows, mode="overwrite"))


async def drop_versions(table: AsyncTable) -> None:
    """Remove the files of every version but the present one."""
    await anyio.sleep(2 * _NOW.total_seconds())
    await committed("cleaned", lambda: table.optimize(cleanup_older_than=_NOW, delete_unverified=True))
