"""The kit of graph stores fails where one step is broken, and so does the machine."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from datamind.capabilities.graph.providers.memory import MemoryGraphStore
from datamind.core.protocols.graph import Assertion, Triple
from datamind.testing.conformance.graph_store import GraphStoreConformance
from datamind.testing.machines.graph import GraphMachine
from datamind.testing.providers import ProviderTarget
from tests.unit.testing.kits import failures_of, numbers_of, suite_of

QUICK = settings(
    max_examples=200,
    stateful_step_count=20,
    database=None,
    derandomize=True,
    print_blob=False,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


class OnePredicate(MemoryGraphStore):
    """G2: the second relation of a pair takes the place of the first."""

    async def edges(self, nodes, **options):
        found = await super().edges(nodes, **options)
        kept = {(triple.subject, triple.object): triple for triple in found.triples}
        return found.model_copy(update={"triples": tuple(kept.values())})


class Doubtless(MemoryGraphStore):
    """G3: spans and confidence are lost."""

    async def upsert(self, unit, assertions, *, replaces=()):
        return await super().upsert(unit, [Assertion(one.triple) for one in assertions], replaces=replaces)


class Untyped(MemoryGraphStore):
    """G4: a literal is its text."""

    async def upsert(self, unit, assertions, *, replaces=()):
        plain = []
        for one in assertions:
            subject, predicate, object_ = one.triple
            plain.append(one._replace(triple=Triple(subject, predicate, object_._replace(language=""))))
        return await super().upsert(unit, plain, replaces=replaces)


class WholeNames(MemoryGraphStore):
    """G5: a predicate is found by its very IRI alone."""

    async def search_predicates(self, text, limit):
        return [hit for hit in await super().search_predicates(text, limit) if hit.entity.term.value == text]


class Unbounded(MemoryGraphStore):
    """G6: a hub gives everything."""

    async def edges(self, nodes, *, direction, predicates=(), limit=100):
        return await super().edges(nodes, direction=direction, predicates=predicates, limit=10**6)


class KeepsTheOld(MemoryGraphStore):
    """G8: a later version stands beside the earlier."""

    async def upsert(self, unit, assertions, *, replaces=()):
        return await super().upsert(unit, assertions)


class DropsTheFirst(MemoryGraphStore):
    """G9: only the first receipt is looked at."""

    async def drop_receipts(self, receipt_ids, by_receipt):
        return await super().drop_receipts(receipt_ids[:1], by_receipt)


class CountsAnew(MemoryGraphStore):
    """G11: a redo drops what was written since."""

    async def remove(self, patterns, by_receipt):
        return await super().remove(patterns, f"{by_receipt}{len(self._snapshot.counts)}")


BROKEN = {
    "g2": OnePredicate,
    "g3": Doubtless,
    "g4": Untyped,
    "g5": WholeNames,
    "g6": Unbounded,
    "g8": KeepsTheOld,
    "g9": DropsTheFirst,
    "g11": CountsAnew,
}


@pytest.mark.parametrize(("number", "store"), BROKEN.items())
async def test_the_kit_finds_it(tmp_path, number, store):
    suite = suite_of(GraphStoreConformance, store)
    suite.one_commit = 100
    assert number in numbers_of(await failures_of(suite, tmp_path, only=f"test_{number}_"))


@pytest.mark.parametrize("store", [OnePredicate, Doubtless, KeepsTheOld, DropsTheFirst, CountsAnew, Unbounded])
def test_the_machine_finds_it(store):
    class Machine(GraphMachine):
        target = ProviderTarget("graph.store", "not.opened:here")
        durable = False

        async def _open(self):
            return store()

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=QUICK)
