"""The graph store on Oxigraph."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from anyio.to_thread import run_sync

from datamind.capabilities.graph.rows import ROW_MEDIA_TYPES, write_rows
from datamind.core.errors import InputInvalid
from datamind.core.protocols.graph import (
    AssertedBy,
    Assertion,
    Direction,
    Edges,
    Entity,
    EntityHit,
    GraphReader,
    GraphStats,
    GraphUnit,
    ParsedQuery,
    QueryResult,
    StatementPage,
    Term,
    Triple,
    TriplePattern,
)
from datamind_graph_rdflib import files, reading, writing
from datamind_graph_rdflib.counting import stats_of
from datamind_graph_rdflib.engine import Engine, Open
from datamind_graph_rdflib.sparql import SparqlProcess
from datamind_graph_rdflib.vocabulary import DEFAULT, triple_of

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext
    from datamind_graph_rdflib.options import RdflibGraphOptions

FOLDER_NAME: Final = "graph"
_PIECE: Final = 64 * 1024
_ROWS_AT_ONCE: Final = 1_000


async def open_store(ctx: ProviderContext, options: RdflibGraphOptions) -> OxigraphStore:
    """The store of ``<storage_dir>/graph``. The files are opened by the first use, not here."""
    folder = ctx.storage_dir / FOLDER_NAME
    engine = Engine(folder, ctx.lease)
    sparql = SparqlProcess(engine.graph_folder, ctx.lease, memory_mb=options.query_memory_mb)
    return OxigraphStore(engine, sparql)


class OxigraphReader:
    """The reading side."""

    media_types = tuple(files.FORMATS)

    def __init__(self, engine: Engine, sparql: SparqlProcess) -> None:
        self._engine = engine
        self._sparql = sparql

    async def statements(self, where: TriplePattern, *, offset: int = 0, limit: int = 100) -> StatementPage:
        """In the engine's order."""
        return await self._engine.read(partial(reading.page_of, where=where, offset=offset, limit=limit))

    async def asserted_by(self, triples: Sequence[Triple]) -> Sequence[tuple[AssertedBy, ...]]:
        """Oldest first."""
        return await self._engine.read(partial(reading.asserted_by, triples=triples))

    async def edges(
        self, nodes: Sequence[Term], *, direction: Direction, predicates: Sequence[Term] = (), limit: int = 100
    ) -> Edges:
        """In the engine's order."""
        return await self._engine.read(
            partial(reading.edges, nodes=nodes, direction=direction, predicates=predicates, limit=limit)
        )

    async def search_entities(self, text: str, limit: int) -> Sequence[EntityHit]:
        """Of some hundreds of candidates the best."""
        return await self._engine.read(partial(reading.search, text=text, limit=limit))

    async def search_predicates(self, text: str, limit: int) -> Sequence[EntityHit]:
        """Of all predicates the best."""
        return await self._engine.read(partial(reading.search_predicates, text=text, limit=limit))

    async def entities(self, terms: Sequence[Term]) -> Sequence[Entity]:
        """In their order."""
        return await self._engine.read(lambda opened: [reading.entity_of(opened, term) for term in terms])

    async def units(self, *, receipt_ids: Sequence[str] = (), source: str = "") -> Sequence[GraphUnit]:
        """Oldest first."""
        return await self._engine.read(partial(reading.units, receipt_ids=receipt_ids, source=source))

    async def stats(self) -> GraphStats:
        """Counted by the engine; about a second for a million statements."""
        return await self._engine.read(stats_of)

    def parse(self, file: BinaryIO, media_type: str, *, source_id: str) -> Iterator[Triple | None]:
        """See SupportsGraphFiles; blank nodes are named ``urn:datamind:b:…``."""
        return files.parse(file, media_type, source_id=source_id)

    async def export(self, media_type: str) -> AsyncIterator[bytes]:
        """The graph in a file format; it is written to a temporary file first.

        N-Quads and TriG hold every statement in the default graph, and again in the graph of each receipt.

        Raises:
            InputInvalid: No such format.
        """
        if media_type not in files.FORMATS and media_type not in ROW_MEDIA_TYPES:
            raise InputInvalid(
                f"the graph is not written as {media_type[:80]!r}",
                hint="It is written as ttl, nt, nq, trig, jsonld, rdf, csv, tsv and jsonl.",
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph"
            await self._engine.read(partial(_dump, path=path, media_type=media_type))
            with path.open("rb") as file:
                while piece := await run_sync(file.read, _PIECE):
                    yield piece

    async def parse_query(self, text: str) -> ParsedQuery:
        """Read by rdflib, in the process that runs the queries."""
        return await self._sparql.parse(text)

    async def query(self, text: str, *, limit_rows: int, timeout_s: float) -> QueryResult:
        """Run by Oxigraph in a process of its own, which opens the graph read-only for this query."""
        return await self._sparql.query(text, limit_rows=limit_rows, timeout_s=timeout_s)


class OxigraphStore(OxigraphReader):
    """A graph on disk, open while the profile's lease is held."""

    async def upsert(self, unit: GraphUnit, assertions: Iterable[Assertion], *, replaces: Sequence[str] = ()) -> int:
        """One transaction, or slices above ``ONE_COMMIT``."""
        others = [one for one in replaces if one != unit.receipt_id]
        return await self._engine.write(partial(writing.upsert, unit=unit, assertions=assertions, replaces=others))

    async def drop_receipts(self, receipt_ids: Sequence[str], by_receipt: str) -> int:
        """One transaction."""
        return await self._engine.write(partial(writing.drop, receipt_ids=receipt_ids, by_receipt=by_receipt))

    async def remove(self, patterns: Sequence[TriplePattern], by_receipt: str) -> int:
        """One transaction."""
        return await self._engine.write(partial(writing.remove, patterns=patterns, by_receipt=by_receipt))

    @property
    def is_doubtful(self) -> bool:
        """See SupportsRepair."""
        return self._engine.is_doubtful

    async def check(self) -> bool:
        """See SupportsRepair."""
        return await self._engine.check()

    async def missing_writes(self, receipt_ids: Sequence[str]) -> Sequence[str]:
        """See SupportsWriteCheck."""
        return await self._engine.missing_writes(receipt_ids)

    async def set_aside(self) -> str:
        """See SupportsRepair."""
        return await self._engine.set_aside()

    async def erase(self, ids: Sequence[str] = ()) -> None:
        """See SupportsErase; about a minute for a million statements."""
        await self._engine.write_anew()

    def read_view(self) -> GraphReader:
        """The same files without a way to write."""
        return OxigraphReader(self._engine, self._sparql)

    async def sync(self) -> None:
        """Sync the files that were written, and their folders."""
        await self._engine.sync()

    async def aclose(self) -> None:
        """Close the files and end the query process."""
        await self._sparql.aclose()
        await self._engine.aclose()


def _dump(opened: Open, path: Path, media_type: str) -> None:
    if media_type in files.WITH_GRAPHS:
        files.write(reading.with_assertions(opened), path, media_type)
        return
    if media_type in files.FORMATS:
        opened.graph.dump(str(path), files.FORMATS[media_type], from_graph=DEFAULT)
        return
    triples = (triple_of(quad) for quad in reading.matching(opened, TriplePattern()))
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(write_rows([], media_type, header=True))
        while some := list(islice(triples, _ROWS_AT_ONCE)):
            file.write(write_rows(some, media_type, header=False))
