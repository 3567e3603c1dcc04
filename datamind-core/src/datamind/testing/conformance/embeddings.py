"""The tests of an embedding."""

from __future__ import annotations

import math
from array import array
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from datamind.core.errors import DataMindError, InputInvalid
from datamind.core.protocols.models import EmbeddingProvider
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance


class EmbeddingConformance(ProviderConformance):
    """Tests of EmbeddingProvider.

    Capabilities: ``remote`` (its rows come from a service, which ``open_faulty`` can make answer wrongly).
    """

    protocols = (EmbeddingProvider,)
    kind = ProviderKind.EMBEDDING
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"remote"})
    texts: ClassVar[tuple[str, ...]] = ("The gateway restarts.", "网关在夜间重启。", "!?", "x " * 3_000)

    async def open_faulty(self, folder: Path, fault: Literal["one_short", "one_more", "shuffled"]) -> EmbeddingProvider:
        """With ``remote``: the provider over a service whose rows are short by one, one too many, or out of order."""
        raise NotImplementedError(f"{type(self).__name__} needs an open_faulty")

    async def test_g1_rows_are_normalised_float32_in_the_order_of_the_texts(self, tmp_path: Path) -> None:
        """For none, one and several texts."""
        async with self.opened(tmp_path) as provider:
            assert isinstance(provider, EmbeddingProvider)
            dim = provider.description.dim
            assert provider.description.model_id
            for texts in ([], list(self.texts[:1]), list(self.texts)):
                rows = rows_of(await provider.embed_documents(texts), dim)
                assert len(rows) == len(texts)
                assert [sum(value * value for value in row) for row in rows] == pytest.approx(
                    [1.0] * len(rows), abs=1e-3
                )
            (row,) = rows_of(await provider.embed_query(self.texts[0]), dim)
            assert length_of(row) == pytest.approx(1.0, abs=1e-3)

    async def test_g1_a48_rows_out_of_order_are_put_in_order(self, tmp_path: Path) -> None:
        """By the index that the service gives."""
        self.need("remote")
        async with self.opened(tmp_path / "right") as provider:
            right = await provider.embed_documents(self.texts)
        shuffled = await self.open_faulty(tmp_path / "wrong", "shuffled")
        assert await shuffled.embed_documents(self.texts) == right

    async def test_g2_the_same_text_gives_the_same_vector_in_any_batch(self, tmp_path: Path) -> None:
        """Alone, repeated, and beside a long one."""
        async with self.opened(tmp_path) as provider:
            dim = provider.description.dim
            together = rows_of(await provider.embed_documents([*self.texts, self.texts[0]]), dim)
            assert together[0] == pytest.approx(together[-1], abs=1e-4)
            for text, row in zip(self.texts, together, strict=False):
                (alone,) = rows_of(await provider.embed_documents([text]), dim)
                assert alone == pytest.approx(row, abs=1e-4), text[:20]

    async def test_g3_an_empty_text_is_refused(self, tmp_path: Path) -> None:
        """Wherever it stands in the batch, and as a query."""
        async with self.opened(tmp_path) as provider:
            with pytest.raises(InputInvalid):
                await provider.embed_documents(["fine", ""])
            with pytest.raises(InputInvalid):
                await provider.embed_query("")

    async def test_g3_nul_and_lone_surrogates_do_not_reach_the_model(self, tmp_path: Path) -> None:
        """They neither raise nor cut the text."""
        async with self.opened(tmp_path) as provider:
            dim = provider.description.dim
            texts = ["gateway\0 restarts at night", "gateway\ud800 restarts at night", "gateway"]
            nul, surrogate, short = rows_of(await provider.embed_documents(texts), dim)
            for row in (nul, surrogate):
                assert row != pytest.approx(short, abs=1e-4)

    async def test_g4_a48_another_number_of_rows_raises(self, tmp_path: Path) -> None:
        """One short, or one too many."""
        self.need("remote")
        for provider in [await self.open_faulty(tmp_path, "one_short"), await self.open_faulty(tmp_path, "one_more")]:
            with pytest.raises(DataMindError):
                await provider.embed_documents(self.texts)

    async def test_aclose_may_be_called_twice(self, tmp_path: Path) -> None:
        """Before anything was asked."""
        async with self.opened(tmp_path) as provider:
            await provider.aclose()


def rows_of(buffer: bytes, dim: int) -> list[list[float]]:
    """The rows of float32 bytes in C order."""
    assert isinstance(buffer, bytes)
    assert len(buffer) % (4 * dim) == 0
    values = list(array("f", buffer))
    return [values[start : start + dim] for start in range(0, len(values), dim)]


def length_of(row: list[float]) -> float:
    """Euclidean length of a vector."""
    return math.hypot(*row)
