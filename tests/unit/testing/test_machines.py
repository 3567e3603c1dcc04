"""The state machines find what is wrong with a broken store, and go through closing and opening."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from datamind.capabilities.kb.providers.memory import MemoryVectorStore
from datamind.capabilities.skills.providers.memory import MemorySkillSource
from datamind.testing.machines.kb import KBMachine
from datamind.testing.machines.skills import SkillsMachine
from datamind.testing.providers import ProviderTarget

# Finding it is enough: nobody reads the smallest example.
QUICK = settings(
    max_examples=200,
    stateful_step_count=20,
    database=None,
    derandomize=True,
    print_blob=False,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


class KeepsOldVectors(MemoryVectorStore):
    """A new version leaves the vectors of the old one."""

    async def put_document(self, document, chunks):
        vectors = self._now.vectors
        await super().put_document(document, chunks)
        object.__setattr__(self._now, "vectors", vectors)


class DeletesTheFirst(MemoryVectorStore):
    """Only the first id is looked at."""

    async def delete_documents(self, document_ids):
        return await super().delete_documents(document_ids[:1])


class ForgetsKeywords(MemorySkillSource):
    """A second version keeps the first one's keywords."""

    async def put(self, draft):
        old = self._now.get(draft.name)
        return await super().put(draft.model_copy(update={"keywords": old.keywords}) if old else draft)


def machine_of(base, make):
    class Machine(base):
        target = ProviderTarget("kb.store", "not.opened:here")
        durable = False

        async def _open(self):
            return make()

    return Machine


@pytest.mark.parametrize(
    ("machine", "broken"),
    [(KBMachine, KeepsOldVectors), (KBMachine, DeletesTheFirst), (SkillsMachine, ForgetsKeywords)],
)
def test_a_broken_store_is_found(machine, broken):
    with pytest.raises((AssertionError, KeyError)):
        run_state_machine_as_test(machine_of(machine, broken), settings=QUICK)


def test_a_store_that_forgets_when_it_is_closed_is_found():
    class Machine(KBMachine):
        target = ProviderTarget("kb.store", "datamind.capabilities.kb.providers.memory:open_store")

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=QUICK)


class Filed(KBMachine):
    target = ProviderTarget("kb.store", "tests.unit.testing.filed_store:open_filed")


TestFiled = Filed.TestCase
TestFiled.settings = settings(max_examples=15, stateful_step_count=20)
