"""Writing the graph: statements in under a receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import anyio.to_thread

from datamind.capabilities.control.sources import SourceLog
from datamind.capabilities.graph.candidates import MAX_CANDIDATES, receipts_in
from datamind.capabilities.graph.rows import ROW_MEDIA_TYPES, read_rows
from datamind.capabilities.graph.service import OpenStore
from datamind.capabilities.graph.terms import line_of, read_line
from datamind.core.context import WriteUnit
from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind.core.protocols.graph import (
    AssertedBy,
    Assertion,
    GraphStore,
    GraphUnit,
    SupportsGraphFiles,
    Triple,
    TriplePattern,
)
from datamind.core.receipts import Detected, RejectedRow, RevertKind, SurfaceWriteResult, WriteStatus
from datamind.core.record import now
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, derived_id

_SHOWN_REJECTS: Final = 100
_CHECKED_AT_ONCE: Final = 1_000
_RESTORABLE: Final = 20_000


@dataclass
class _Reading:
    """Assertions of a file as they go by, and what was left out of it."""

    rejected: list[RejectedRow] = field(default_factory=list)
    rejected_total: int = 0

    def keep(self, rows: Iterable[Assertion | RejectedRow]) -> Iterator[Assertion]:
        for row in rows:
            if isinstance(row, Assertion):
                yield row
                continue
            self.rejected_total += 1
            if len(self.rejected) < _SHOWN_REJECTS:
                self.rejected.append(row)


class GraphWrites:
    """What the writing side may do.

    Attributes:
        folder: Where a large file is copied to while it is imported.
    """

    def __init__(self, open_store: OpenStore, sources: SourceLog, max_bytes: int, folder: Path) -> None:
        self._open_store = open_store
        self._sources = sources
        self.max_bytes = max_bytes
        self.folder = folder

    async def upsert(
        self, assertions: Sequence[Assertion], source: SourceRef, text: str, unit: WriteUnit
    ) -> SurfaceWriteResult:
        """Assert statements that a text makes."""
        if not assertions:
            raise InputInvalid("there is no triple to write")
        store = await self._open_store()
        held = await self._held_by(store, source, lambda: assertions, unit)
        if held:
            return _result("none", 0, held, revert="exact")
        count = await store.upsert(_graph_unit(source, unit), assertions)
        await self._keep_source(source, text, unit)
        return _result("added", count, (unit.receipt_id,), revert="exact")

    async def import_file(self, file: BinaryIO, source: SourceRef, unit: WriteUnit) -> SurfaceWriteResult:
        """Assert what a file says, in the place of what it said before.

        Raises:
            SourceUnreadable: No reader takes this type, or the bytes are not what it says.
            InputInvalid: It holds no statement.
        """
        store = await self._open_store()
        reading = _Reading()
        held = await self._held_by(store, source, lambda: _Reading().keep(_rows(store, file, source)), unit)
        if held:
            return _result("none", 0, held, revert="exact")
        earlier = [one.receipt_id for one in await store.units(source=source.uri) if one.receipt_id != unit.receipt_id]
        assertions = reading.keep(_rows(store, file, source))
        count = await store.upsert(_graph_unit(source, unit), _some(assertions, source), replaces=earlier)
        await self._keep_source(source, "", unit)
        detected = Detected(
            media_type=source.media_type, rejected=tuple(reading.rejected), rejected_total=reading.rejected_total
        )
        return _result(
            "replaced" if earlier else "added",
            count,
            (unit.receipt_id,),
            detected=detected,
            closed_ids=tuple(earlier),
            status="partial" if reading.rejected_total else "stored",
            revert="none" if earlier else "exact",
        )

    async def assertions_of(self, ids: Sequence[str]) -> list[list[str]] | None:
        """What a deletion of these ids takes, as statement, receipt, span and confidence; None above the bound."""
        store = await self._open_store()
        receipts = receipts_in(ids)
        patterns = [TriplePattern(receipt_id=one) for one in receipts] if receipts else patterns_of(ids)
        kept: list[list[str]] = []
        for where in patterns:
            page = await store.statements(where, limit=_RESTORABLE + 1)
            for triple, asserted in zip(page.triples, await store.asserted_by(page.triples), strict=True):
                going = [one for one in asserted if not receipts or one.unit.receipt_id == where.receipt_id]
                kept += [_kept(triple, one) for one in going]
            if len(kept) > _RESTORABLE:
                return None
        return kept

    async def delete(self, ids: Sequence[str], unit: WriteUnit) -> SurfaceWriteResult:
        """Remove statements, everything about entities, or what receipts alone assert."""
        store = await self._open_store()
        receipts = receipts_in(ids)
        if receipts:
            count = await store.drop_receipts(receipts, unit.receipt_id)
        else:
            count = await store.remove(patterns_of(ids), unit.receipt_id)
        await self._end_documents(store, unit)
        changed = bool(receipts) or bool(count)
        return SurfaceWriteResult(
            surface=DataSurface.GRAPH,
            operation="deleted" if changed else "none",
            status="stored" if changed else "unchanged",
            items_written=count,
            ids=tuple(ids),
            revert="none",
        )

    async def sync(self) -> None:
        """Make the writes so far survive a power loss."""
        await (await self._open_store()).sync()

    async def _held_by(
        self, store: GraphStore, source: SourceRef, read: Callable[[], Iterable[Assertion]], unit: WriteUnit
    ) -> tuple[str, ...]:
        """Receipts of this very source when they still assert all of it; none for a redo of this unit."""
        units = [one for one in await store.units(source=source.source_id) if one.source.source_id == source.source_id]
        receipts = {one.receipt_id for one in units}
        if not receipts or unit.receipt_id in receipts:
            return ()
        waiting = iter(read())
        while some := await anyio.to_thread.run_sync(lambda: list(islice(waiting, _CHECKED_AT_ONCE))):
            for by in await store.asserted_by([assertion.triple for assertion in some]):
                if not receipts & {one.unit.receipt_id for one in by}:
                    return ()
        return tuple(sorted(receipts))

    async def _keep_source(self, source: SourceRef, text: str, unit: WriteUnit) -> None:
        await self._sources.put(
            DataSurface.GRAPH, document_of(source), source, text, unit.receipt_id, title=source.uri, metadata={}
        )

    async def _end_documents(self, store: GraphStore, unit: WriteUnit) -> None:
        left = {document_of(one.source) for one in await store.units()}
        active = await self._sources.active(DataSurface.GRAPH)
        gone = [one.document_id for one in active if one.document_id not in left]
        if gone:
            await self._sources.end(DataSurface.GRAPH, gone, unit.receipt_id)


def document_of(source: SourceRef) -> str:
    """Stable over the versions of one source."""
    return derived_id("graph", source.uri)


def patterns_of(ids: Sequence[str]) -> list[TriplePattern]:
    """What ids of statements and of entities name."""
    patterns = []
    for one in ids:
        terms = read_line(one)
        if len(terms) == 3:
            patterns.append(TriplePattern(subject=terms[0], predicate=terms[1], object=terms[2]))
        elif len(terms) == 1:
            patterns += [TriplePattern(subject=terms[0]), TriplePattern(object=terms[0])]
        else:
            raise InputInvalid(f"{one[:80]!r} is no statement, entity or receipt of the graph")
    return patterns


def _kept(triple: Triple, by: AssertedBy) -> list[str]:
    span = "" if by.start is None else f"{by.start}-{by.end}"
    return [line_of(triple), by.unit.receipt_id, by.unit.source.model_dump_json(), span, str(by.confidence)]


def _rows(store: GraphStore, file: BinaryIO, source: SourceRef) -> Iterator[Assertion | RejectedRow]:
    file.seek(0)
    if source.media_type in ROW_MEDIA_TYPES:
        yield from read_rows(file.read(), source.media_type)
        return
    if not isinstance(store, SupportsGraphFiles) or source.media_type not in store.media_types:
        raise SourceUnreadable(
            f"the graph store reads no {source.media_type}",
            code="source_unreadable.no_loader",
            hint="Tables with the columns subject, predicate and object are always read.",
        )
    for number, triple in enumerate(store.parse(file, source.media_type, source_id=source.source_id), 1):
        yield RejectedRow(line=number, code="not_a_triple") if triple is None else Assertion(triple)


def _some(assertions: Iterator[Assertion], source: SourceRef) -> Iterator[Assertion]:
    first = next(assertions, None)
    if first is None:
        raise InputInvalid(f"{source.uri[:80]!r} holds no statement")
    yield first
    yield from assertions


def _graph_unit(source: SourceRef, unit: WriteUnit) -> GraphUnit:
    return GraphUnit(receipt_id=unit.receipt_id, source=source, asserted_at=now())


def _result(
    operation: str,
    count: int,
    ids: tuple[str, ...],
    *,
    revert: RevertKind,
    detected: Detected | None = None,
    closed_ids: tuple[str, ...] = (),
    status: WriteStatus = "stored",
) -> SurfaceWriteResult:
    return SurfaceWriteResult(
        surface=DataSurface.GRAPH,
        operation=operation,
        status=status if count else "unchanged",
        items_written=count,
        ids=ids[:MAX_CANDIDATES],
        closed_ids=closed_ids[:MAX_CANDIDATES],
        detected=detected or Detected(),
        revert=revert,
    )
