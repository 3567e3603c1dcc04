"""The tests of a KB store that takes many documents at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from datamind.core.errors import DataMindError
from datamind.core.protocols.kb import KBCounts, SupportsBatches
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.conformance.kb_checks import found, state, watch
from datamind.testing.kb_data import Document, make_document


class BatchesConformance(ProviderConformance):
    """Tests of SupportsBatches, for the store that VectorStoreConformance tests.

    Troubleshooting: a batch mixes documents that are new, changed and the same; whatever they are, a reader sees all
    of it or nothing.
    """

    protocols = (SupportsBatches,)
    kind = ProviderKind.KB_STORE

    async def test_g1_readers_see_all_of_a_batch_or_nothing(self, tmp_path: Path) -> None:
        """While batches that add, replace and keep documents follow one another."""
        batches = [_batch(number) for number in range(8)]
        async with self.opened(tmp_path) as store:
            reader = store.read_view()
            assert isinstance(store, SupportsBatches)
            await store.put_documents(batches[0])
            writer = asyncio.ensure_future(_put(store, batches[1:]))
            seen: list[int] = [0]

            async def look() -> list[int]:
                rows = (await reader.documents(limit=100)).documents
                return [[_rows(batch) for batch in batches].index(list(rows))]

            await watch(writer, look, seen)
            await writer
            assert seen == sorted(seen)
            assert await look() == [7]

    async def test_g1_nothing_of_a_batch_is_kept_when_one_document_is_refused(self, tmp_path: Path) -> None:
        """Text that no file can hold."""
        bad = make_document("bad.md", "alpha")
        broken = (bad.row, [bad.chunks[0].model_copy(update={"text": "alpha \ud800"})])
        async with self.opened(tmp_path) as store:
            try:
                await store.put_documents([make_document("good.md", "alpha"), broken])
            except DataMindError:
                assert await store.counts() == KBCounts(documents=0, chunks=0)
            else:
                pytest.skip("the store keeps any text")

    async def test_g1_b18_each_document_is_as_if_it_were_put_alone(self, tmp_path: Path) -> None:
        """The later of two with one id counts, the same again changes nothing, and none is no batch."""
        old, new, other = make_document("a.md", "old"), make_document("a.md", "new"), make_document("b.md", "other")
        async with self.opened(tmp_path) as store:
            await store.put_documents([])
            await store.put_documents([old, other, new])
            assert await found(store, "old") == []
            assert await found(store, "new other") != []
            before = await state(store)
            await store.put_documents([other, new])
            assert await state(store) == before
            assert await store.counts() == KBCounts(documents=2, chunks=2)


def _batch(number: int) -> list[Document]:
    changing = [make_document(f"{name}.md", f"{name} {number}") for name in "ab"]
    return [*changing, make_document("same.md", "same"), *(make_document(f"n{i}.md", "new") for i in range(number))]


def _rows(batch: Sequence[Document]) -> list[object]:
    return [one.row for one in sorted(batch, key=lambda one: one.row.source.uri)]


async def _put(store: SupportsBatches, batches: Sequence[Sequence[Document]]) -> None:
    for batch in batches:
        await store.put_documents(batch)
