"""The tests of a graph store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

import pytest

from datamind.capabilities.graph.terms import make_literal, make_node
from datamind.core.errors import InputInvalid
from datamind.core.protocols.graph import (
    ONE_COMMIT,
    Assertion,
    GraphReader,
    GraphStore,
    SupportsGraphFiles,
    SupportsSparql,
    Term,
    Triple,
    TriplePattern,
)
from datamind.testing.conformance.graph_reader import GraphReaderConformance
from datamind.testing.crash import write_and_die
from datamind.testing.graph_data import (
    CHINESE,
    FOUNDED,
    HEIGHT,
    PEOPLE,
    WORKS,
    all_statements,
    found,
    make_triple,
    make_unit,
    put,
    receipts_of,
    say,
)

WRITING: Final = ("put", "add", "write", "upsert", "insert", "update", "delete", "remove", "drop", "commit", "sync")
"""How names of methods begin that a read view must not have."""


async def write_people(store: GraphStore) -> None:
    """What the child process of G12 does before it is killed."""
    await put(store, "people", *PEOPLE)
    await put(store, "again", WORKS, HEIGHT, at=2)
    await store.drop_receipts(["rcpt_people.test"], "rcpt_drop.test")


async def write_one(store: GraphStore) -> None:
    """What another process does while this one has the graph open."""
    await put(store, "other", CHINESE)


class GraphStoreConformance(GraphReaderConformance):
    """Tests of GraphStore and GraphReader.

    Capabilities: ``durable`` (it outlives the process), ``processes`` (several processes may use it by turns),
    ``files`` (it is a SupportsGraphFiles; run GraphFilesConformance too) and ``sparql`` (it is a SupportsSparql; run
    SparqlConformance too).

    ``one_commit`` may be lowered by a suite that lowers it in its store too, so that a large write is a quick one.

    Troubleshooting: receipts are upserted, dropped and redone in every order; what a store keeps about a receipt
    must live and die in the transaction of its statements.
    """

    protocols: ClassVar[tuple[type, ...]] = (GraphReader, GraphStore)
    one_commit: ClassVar[int] = ONE_COMMIT
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "processes", "files", "sparql"})

    async def test_it_declares_what_it_is(self, tmp_path: Path) -> None:
        """The declared capabilities are those of the store."""
        async with self.opened(tmp_path) as store:
            assert isinstance(store, GraphStore)
            for kind, name in ((SupportsGraphFiles, "files"), (SupportsSparql, "sparql")):
                assert isinstance(store, kind) is (name in self.capabilities)
                assert isinstance(store.read_view(), kind) is (name in self.capabilities)

    async def test_g7_upserting_a_receipt_again_changes_nothing(self, tmp_path: Path) -> None:
        """Nor does it once the receipt was dropped, or with other statements."""
        async with self.opened(tmp_path) as store:
            unit = make_unit("people")
            assert await store.upsert(unit, say(*PEOPLE, WORKS)) == 4
            assert await store.upsert(unit, say(*PEOPLE)) == 4
            assert await store.upsert(unit, say(make_triple("x", "y", "z"))) == 4
            assert await all_statements(store) == sorted(PEOPLE)
            await store.drop_receipts([unit.receipt_id], "rcpt_d.test")
            assert await store.upsert(unit, say(*PEOPLE)) == 4
            assert await all_statements(store) == []

    async def test_g7_the_same_statement_twice_counts_once(self, tmp_path: Path) -> None:
        """Of two spans one is kept."""
        async with self.opened(tmp_path) as store:
            assert await store.upsert(make_unit("a"), [Assertion(WORKS, 0, 3), Assertion(WORKS, 5, 9)]) == 1
            (by,) = (await store.asserted_by([WORKS]))[0]
            assert (by.start, by.end) in ((0, 3), (5, 9))

    async def test_g8_a_later_version_replaces_the_earlier(self, tmp_path: Path) -> None:
        """What others assert stays; nothing of the old version alone does."""
        async with self.opened(tmp_path) as store:
            old = await put(store, "old", WORKS, FOUNDED, HEIGHT)
            other = await put(store, "other", HEIGHT, at=2)
            new = await put(store, "new", FOUNDED, CHINESE, at=3, replaces=[old])
            assert await all_statements(store) == sorted([FOUNDED, HEIGHT, CHINESE])
            assert await receipts_of(store, FOUNDED) == [new]
            assert await receipts_of(store, HEIGHT) == [other]
            assert await receipts_of(store, WORKS) == []
            assert [unit.receipt_id for unit in await store.units()] == [other, new]

    async def test_g8_readers_see_the_old_or_the_new_version(self, tmp_path: Path) -> None:
        """Never both and never neither."""
        versions = [[make_triple(f"thing {n}", "version", str(v)) for n in range(40)] for v in range(4)]
        seen: list[set[str]] = []
        async with self.opened(tmp_path) as store:
            last = await put(store, "v0", *versions[0])
            writer = asyncio.ensure_future(self._write_versions(store, versions, last))
            while not writer.done() or len(seen) < 3:
                page = await store.read_view().statements(TriplePattern(), limit=1000)
                seen.append({triple.object.value for triple in page.triples})
                assert len(page.triples) == 40
                await asyncio.sleep(0)
            await writer
        assert all(len(objects) == 1 for objects in seen)

    async def _write_versions(self, store: GraphStore, versions: list[list[Triple]], last: str) -> None:
        for number, triples in enumerate(versions[1:], 1):
            last = await put(store, f"v{number}", *triples, at=number, replaces=[last])

    async def test_g8_a_write_that_fails_leaves_nothing(self, tmp_path: Path) -> None:
        """Whether the term is bad or the source of the assertions."""
        bad = Triple(Term("no iri"), WORKS.predicate, WORKS.object)
        async with self.opened(tmp_path) as store:
            await put(store, "old", HEIGHT)
            with pytest.raises(InputInvalid):
                await store.upsert(make_unit("bad"), say(WORKS, bad), replaces=["rcpt_old.test"])
            with pytest.raises(ZeroDivisionError):
                await store.upsert(make_unit("broken"), _broken(1), replaces=["rcpt_old.test"])
            assert await all_statements(store) == [HEIGHT]
            assert await found(store, "Acme") == []
            assert await store.upsert(make_unit("bad"), say(WORKS)) == 1

    async def test_g9_dropping_leaves_what_another_receipt_asserts(self, tmp_path: Path) -> None:
        """Two dropped together take what only they assert."""
        async with self.opened(tmp_path) as store:
            first = await put(store, "first", WORKS, FOUNDED)
            second = await put(store, "second", WORKS, HEIGHT, at=2)
            third = await put(store, "third", HEIGHT, at=3)
            assert await store.drop_receipts([first, second], "rcpt_d.test") == 2
            assert await all_statements(store) == [HEIGHT]
            assert await receipts_of(store, HEIGHT) == [third]
            assert [unit.receipt_id for unit in await store.units()] == [third]
            assert (await store.stats()).receipts == 1

    async def test_g10_removing_takes_a_statement_from_every_receipt(self, tmp_path: Path) -> None:
        """By pattern; a receipt that asserts nothing more is gone, and cannot bring it back."""
        async with self.opened(tmp_path) as store:
            await put(store, "first", WORKS, FOUNDED, CHINESE)
            await store.upsert(make_unit("second", at=2), [Assertion(WORKS, 0, 4, 0.5)])
            ada = make_node("Ada Lovelace")
            assert await store.remove([TriplePattern(subject=ada), TriplePattern(object=ada)], "rcpt_d.test") == 2
            assert await all_statements(store) == [CHINESE]
            assert await receipts_of(store, WORKS) == []
            assert [unit.receipt_id for unit in await store.units()] == ["rcpt_first.test"]
            assert await store.drop_receipts(["rcpt_second.test"], "rcpt_d2.test") == 0
            assert await found(store, "Ada Lovelace") == []
            await put(store, "third", WORKS, at=3)
            by = (await store.asserted_by([WORKS]))[0]
            assert [(one.unit.receipt_id, one.start, one.confidence) for one in by] == [("rcpt_third.test", None, 1.0)]

    async def test_g11_dropping_and_removing_again_change_nothing(self, tmp_path: Path) -> None:
        """The first count is given again, also once others have written."""
        async with self.opened(tmp_path) as store:
            first = await put(store, "first", WORKS, HEIGHT)
            assert await store.drop_receipts([first], "rcpt_d1.test") == 2
            await put(store, "second", WORKS)
            assert await store.drop_receipts([first], "rcpt_d1.test") == 2
            where = [TriplePattern(subject=WORKS.subject)]
            assert await store.remove(where, "rcpt_d2.test") == 1
            await put(store, "third", HEIGHT)
            assert await store.remove(where, "rcpt_d2.test") == 1
            assert await all_statements(store) == [HEIGHT]

    async def test_g12_what_returned_survives_the_death_of_the_process(self, tmp_path: Path) -> None:
        """A child process writes and is killed."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_people.__name__}")
        async with self.opened(tmp_path) as store:
            assert await all_statements(store.read_view()) == sorted([WORKS, HEIGHT])
            assert await receipts_of(store, WORKS) == ["rcpt_again.test"]
            assert await found(store, "lovelace") == ["Ada Lovelace"]
            await write_people(store)  # a redo of all of it
            assert await all_statements(store) == sorted([WORKS, HEIGHT])

    async def test_g12_closing_and_opening_keeps_everything(self, tmp_path: Path) -> None:
        """Redo works as before."""
        self.need("durable")
        async with self.opened(tmp_path) as store:
            await store.upsert(make_unit("people"), [Assertion(WORKS, 1, 5, 0.25), *say(*PEOPLE[1:])])
        async with self.opened(tmp_path) as store:
            assert await all_statements(store) == sorted(PEOPLE)
            (by,) = (await store.asserted_by([WORKS]))[0]
            assert (by.unit, by.start, by.end, by.confidence) == (make_unit("people"), 1, 5, 0.25)
            assert await store.upsert(make_unit("people"), say(CHINESE)) == 4

    async def test_g12_sync_may_be_called_at_any_time_and_aclose_twice(self, tmp_path: Path) -> None:
        """Neither raises."""
        async with self.opened(tmp_path) as store:
            await store.sync()
            await put(store, "people", *PEOPLE)
            await store.sync()
            await store.sync()
            await store.aclose()

    async def test_g13_a_read_view_has_no_method_that_writes(self, tmp_path: Path) -> None:
        """By the names of its public attributes."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            assert isinstance(view, GraphReader)
            assert not isinstance(view, GraphStore)
            assert not [name for name in dir(view) if name.startswith(WRITING)]

    async def test_a23_writes_at_once_are_all_kept(self, tmp_path: Path) -> None:
        """Thirty-six tasks, and two stores where they may share a folder."""
        async with self.opened(tmp_path) as store:
            stores = [store]
            if "processes" in self.capabilities:
                stores.append(await self.open_provider(tmp_path))
            try:
                writes = [
                    put(stores[n % len(stores)], f"w{n}", make_triple(f"n {n}", "p", "hub"), WORKS) for n in range(36)
                ]
                receipts = await asyncio.gather(*writes)
                for one in stores:
                    assert len(await all_statements(one)) == 37
                    assert sorted(await receipts_of(one, WORKS)) == sorted(receipts)
            finally:
                for other in stores[1:]:
                    await other.aclose()

    async def test_a23_another_process_writes_between_two_calls(self, tmp_path: Path) -> None:
        """Though this one has the graph open, and sees it at once."""
        self.need("processes")
        async with self.opened(tmp_path) as store:
            await put(store, "people", WORKS)
            await write_and_die(self.target, tmp_path, f"{__name__}:{write_one.__name__}")
            assert await all_statements(store) == sorted([WORKS, CHINESE])
            assert await found(store, "星河") == ["星河科技"]

    async def test_g8_a_large_write_is_whole_once_it_returned(self, tmp_path: Path) -> None:
        """More than one commit holds; one that fails in the middle leaves nothing."""
        count = self.one_commit + 500
        async with self.opened(tmp_path) as store:
            old = await put(store, "old", *PEOPLE)
            with pytest.raises(ZeroDivisionError):
                await store.upsert(make_unit("broken"), _broken(count), replaces=[old])
            assert await all_statements(store) == sorted(PEOPLE)
            many = (Assertion(triple) for triple in _many(count))
            assert await store.upsert(make_unit("large"), many, replaces=[old]) == count
            stats = await store.stats()
            assert (stats.statements, stats.receipts) == (count, 1)
            assert await found(store, "item 99", 1) == ["item 99"]


def _many(count: int) -> Iterator[Triple]:
    return (make_triple(f"item {n % 1_000}", "number", make_literal(n)) for n in range(count))


def _broken(after: int) -> Iterator[Assertion]:
    for triple in _many(after):
        yield Assertion(triple)
    raise ZeroDivisionError
