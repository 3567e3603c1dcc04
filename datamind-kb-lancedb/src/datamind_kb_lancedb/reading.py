"""The reading side of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

import pyarrow as pa
from anyio.to_thread import run_sync
from lancedb import AsyncTable
from lancedb.query import ColumnOrdering, MatchQuery

from datamind.core.protocols.kb import (
    ChunkHit,
    ChunkRow,
    DocumentPage,
    DocumentRow,
    KBCounts,
    KBFilter,
    KBQuery,
    KBStoreStatus,
    VectorIndexStatus,
)
from datamind_kb_lancedb import approximate, filters, schema
from datamind_kb_lancedb.catalogue import Catalogues
from datamind_kb_lancedb.engine import translated
from datamind_kb_lancedb.files import bytes_below
from datamind_kb_lancedb.neighbours import Neighbours
from datamind_kb_lancedb.tables import WORDS_INDEX, Tables, dimension_of, model_of
from datamind_kb_lancedb.vectors import COSINE, Neighbour

_BY_URI: Final = [ColumnOrdering(column_name="uri"), ColumnOrdering(column_name="document_id")]
_ON_TOP: Final = 16
_ATTEMPTS: Final = 5


class LanceReader:
    """Reads the newest version of the tables, whoever wrote it. Holds nothing that writes."""

    def __init__(self, tables: Tables, catalogues: Catalogues, neighbours: Neighbours) -> None:
        self._tables = tables
        self._catalogues = catalogues
        self._neighbours = neighbours

    async def documents(self, *, offset: int = 0, limit: int = 100, where: KBFilter | None = None) -> DocumentPage:
        """Documents by uri, ties by id."""
        table = await self._tables.chunks()
        if table is None:
            return DocumentPage(documents=(), total=0)
        condition = filters.all_of([filters.is_document(), *filters.conditions(where)])
        with translated("read"):
            total = await table.count_rows(condition.to_sql())
            query = table.query().where(condition).select(["document", "uri", "document_id"])
            rows = await query.order_by(_BY_URI).offset(offset).limit(limit).to_arrow() if total > offset else None
        found = rows["document"].to_pylist() if rows is not None else []
        return DocumentPage(documents=tuple(map(schema.document_of, found)), total=total)

    async def document(self, document_id: str) -> DocumentRow | None:
        """One document, or None."""
        table = await self._tables.chunks()
        if table is None:
            return None
        condition = filters.all_of([filters.is_document(), filters.is_one_of("document_id", [document_id])])
        with translated("read"):
            rows = await table.query().where(condition).select(["document"]).limit(1).to_arrow()
        return schema.document_of(rows["document"][0].as_py()) if rows.num_rows else None

    async def chunks(self, document_id: str) -> Sequence[ChunkRow]:
        """All chunks of a document in order; empty if there is none."""
        table = await self._tables.chunks()
        if table is None:
            return []
        condition = filters.all_of([filters.is_chunk(), filters.is_one_of("document_id", [document_id])])
        with translated("read"):
            rows = await table.query().where(condition).select(schema.HIT_COLUMNS).to_arrow()
        return [chunk for chunk, _ in schema.chunks_of(rows.sort_by("position"))]

    async def counts(self) -> KBCounts:
        """A chunk counts as embedded when it has a vector of any model."""
        table = await self._tables.chunks()
        if table is None:
            return KBCounts(documents=0, chunks=0)
        catalogue = await self._catalogues.current()
        with translated("read"):
            documents = await table.count_rows(filters.is_document().to_sql())
        embedded = await self._neighbours.embedded(catalogue)
        return KBCounts(documents=documents, chunks=len(catalogue.digests), embedded=embedded)

    async def search_words(self, query: KBQuery) -> Sequence[ChunkHit]:
        """BM25 by the engine over the words it was given."""
        table = await self._tables.chunks()
        if table is None or not query.tokens:
            return []
        rows = await _by_words(table, query, schema.HIT_COLUMNS)
        found = {chunk.chunk_id: (chunk, document) for chunk, document in schema.chunks_of(rows)}
        return [_hit(*found[name], score, "bm25") for name, score in _ordered(rows)[: query.limit]]

    async def rank_words(self, query: KBQuery) -> Sequence[str]:
        """See SupportsRankings."""
        table = await self._tables.chunks()
        if table is None or not query.tokens:
            return []
        return [name for name, _ in _ordered(await _by_words(table, query, ["id"]))[: query.limit]]

    async def search_vectors(
        self, model_id: str, vector: bytes, limit: int, where: KBFilter | None = None
    ) -> Sequence[ChunkHit]:
        """Cosine over every vector of the model, or through an index where there are more than ``exact_limit``.

        Raises:
            InputInvalid: Another dimension than the model's vectors have.
        """
        table = await self._tables.chunks()
        if table is None:
            return []
        for _ in range(_ATTEMPTS):
            near = await self._nearest(table, model_id, vector, limit, where)
            rows = await _fetched(table, near)
            if len(rows) == len(near):
                break
            # A document was replaced between the two looks at the table.
        return [_hit(*rows[hit.chunk_id], hit.score, COSINE) for hit in near if hit.chunk_id in rows]

    async def rank_vectors(
        self, model_id: str, vector: bytes, limit: int, where: KBFilter | None = None
    ) -> Sequence[str]:
        """See SupportsRankings.

        Raises:
            InputInvalid: Another dimension than the model's vectors have.
        """
        table = await self._tables.chunks()
        if table is None:
            return []
        return [hit.chunk_id for hit in await self._nearest(table, model_id, vector, limit, where)]

    async def _nearest(
        self, table: AsyncTable, model_id: str, vector: bytes, limit: int, where: KBFilter | None
    ) -> Sequence[Neighbour]:
        catalogue = await self._catalogues.current()
        allowed = await _allowed(table, where)
        return await self._neighbours.of(model_id).nearest(vector, limit, catalogue, allowed)

    async def words_revision(self) -> str:
        """Follows from the chunks; the work on the tables in the background does not change it."""
        return (await self._catalogues.current()).words_revision

    async def words(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Ids of all chunks with their words."""
        table = await self._tables.chunks()
        if table is None:
            return []
        with translated("read"):
            rows = await table.query().where(filters.is_chunk()).select(["id", "tokens"]).to_arrow()
        return await run_sync(_words_of, rows)

    async def matching_chunks(self, where: KBFilter) -> Set[str]:
        """Ids of the chunks of documents that may answer."""
        table = await self._tables.chunks()
        if table is None:
            return set()
        allowed = await _allowed(table, where)
        return set((await self._catalogues.current()).digests) if allowed is None else allowed

    async def rows_of(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[ChunkRow, DocumentRow]]:
        """Those of the chunks that are there, by id."""
        table = await self._tables.chunks()
        return {} if table is None else await _rows_of(table, chunk_ids)

    async def status(self) -> KBStoreStatus:
        """Size, versions, what no index knows yet, and how the vectors of each model are searched."""
        table = await self._tables.chunks()
        size = await run_sync(bytes_below, self._tables.folder)
        if table is None:
            return KBStoreStatus(size_bytes=size, versions=0, unindexed_chunks=0)
        with translated("read"):
            versions = len(await table.list_versions())  # type: ignore[no-untyped-call]
            words = await table.index_stats(WORDS_INDEX)
            models = [
                await _index_status(one, self._neighbours.exact_limit) for one in await self._tables.all_vectors()
            ]
        waiting = words.num_unindexed_rows if words else 0
        return KBStoreStatus(size_bytes=size, versions=versions, unindexed_chunks=waiting, vectors=tuple(models))

    async def warm(self, model_id: str = "") -> None:
        """Load what the first search would have to load."""
        table = await self._tables.chunks()
        if table is not None:
            await self.search_words(KBQuery(text="", tokens=("a",), limit=1))
            await self.count_embedded(model_id)

    async def count_embedded(self, model_id: str) -> int:
        """How many chunks have a vector of the model."""
        return await self._neighbours.of(model_id).count(await self._catalogues.current())

    async def dimension(self, model_id: str) -> int:
        """Length of the model's vectors."""
        table = await self._tables.vectors(model_id)
        with translated("read"):
            return dimension_of(await table.schema()) if table is not None else 0

    async def unembedded(self, model_id: str, chunk_ids: Sequence[str]) -> Set[str]:
        """Which of these chunks have no vector of the model."""
        if not chunk_ids:
            return set()
        catalogue = await self._catalogues.current()
        return set(await self._neighbours.of(model_id).without(chunk_ids, catalogue))


async def backlog(
    tables: Tables, catalogues: Catalogues, neighbours: Neighbours, model_id: str, limit: int
) -> Sequence[ChunkRow]:
    """Chunks without a vector of the model, oldest first."""
    table = await tables.chunks()
    if table is None:
        return []
    catalogue = await catalogues.current()
    waiting = (await neighbours.of(model_id).without(catalogue.digests, catalogue))[:limit]
    rows = await _rows_of(table, waiting)
    return [rows[name][0] for name in waiting if name in rows]


async def _by_words(table: AsyncTable, query: KBQuery, columns: Sequence[str]) -> pa.Table:
    """The best hits, and every other that is as good as the last one that is wanted."""
    wanted = query.limit + _ON_TOP
    while True:
        search = table.query().nearest_to_text(_match(query.tokens))
        for condition in filters.conditions(query.where):
            search = search.where(condition)
        with translated("read"):
            rows = await search.select([*columns, "_score"]).limit(wanted).to_arrow()
        scores = sorted(rows["_score"].to_pylist(), reverse=True)
        if len(scores) < wanted or scores[query.limit - 1] > scores[-1]:
            return rows
        wanted *= 4


def _ordered(rows: pa.Table) -> list[tuple[str, float]]:
    """Ids with their scores, best first, ties by id."""
    found = zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True)
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))


async def _index_status(table: AsyncTable, exact_limit: int) -> VectorIndexStatus:
    table_schema = await table.schema()
    count = await table.count_rows()
    indexed = count > exact_limit and await approximate.is_indexed(table)
    return VectorIndexStatus(
        model_id=model_of(table_schema),
        dimension=dimension_of(table_schema),
        vectors=count,
        kind=approximate.KIND if indexed else "exact",
        recall=await approximate.recall(table) if indexed else None,
    )


def _match(tokens: Sequence[str]) -> MatchQuery:
    return MatchQuery(" ".join(tokens), "tokens")  # type: ignore[call-arg]  # its other fields have defaults


def _words_of(rows: pa.Table) -> list[tuple[str, Sequence[str]]]:
    pairs = zip(rows["id"].to_pylist(), rows["tokens"].to_pylist(), strict=True)
    return [(name, tokens.split(" ") if tokens else []) for name, tokens in pairs]


async def _allowed(table: AsyncTable, where: KBFilter | None) -> frozenset[str] | None:
    conditions = filters.conditions(where)
    if not conditions:
        return None
    with translated("read"):
        rows = await table.query().where(filters.all_of(conditions)).select(["id"]).to_arrow()
    return frozenset(rows["id"].to_pylist())


async def _fetched(table: AsyncTable, near: Sequence[Neighbour]) -> Mapping[str, tuple[ChunkRow, DocumentRow]]:
    digests = {hit.chunk_id: hit.digest for hit in near}
    return await _rows_of(table, list(digests), digests)


async def _rows_of(
    table: AsyncTable, chunk_ids: Sequence[str], digests: Mapping[str, int] | None = None
) -> Mapping[str, tuple[ChunkRow, DocumentRow]]:
    if not chunk_ids:
        return {}
    with translated("read"):
        query = table.query().where(filters.is_one_of("id", chunk_ids)).select([*schema.HIT_COLUMNS, "digest"])
        rows = await query.to_arrow()
    stored = dict(schema.keys_of(rows))
    found = {chunk.chunk_id: (chunk, document) for chunk, document in schema.chunks_of(rows)}
    return {name: pair for name, pair in found.items() if digests is None or digests[name] == stored[name]}


def _hit(chunk: ChunkRow, document: DocumentRow, score: float, meaning: str) -> ChunkHit:
    return ChunkHit(chunk=chunk, document=document, score=score, score_meaning=meaning)
