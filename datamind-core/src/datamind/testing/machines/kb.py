"""A KB store with vectors against a model made of dicts, in any order of writes and readings. Needs hypothesis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, rule

from datamind.capabilities.kb.providers.filtering import matches
from datamind.core.protocols.kb import ChunkHit, KBCounts, KBFilter
from datamind.testing.kb_data import Document, make_document, make_query, make_vectors
from datamind.testing.machines.base import ProviderMachine

_WORDS = ("alpha", "beta", "网关", "gamma7")
_NAMES = ("a.md", "notes/a.md", "b.md", "c.txt")
_METADATA: tuple[dict[str, str | int | float | bool], ...] = ({}, {}, {"v": 1}, {"v": True}, {"v": "1"})
_MODELS = st.sampled_from(["model-a", "model-b"])
_ANGLES = st.sampled_from([0.0, 0.5, 1.0, 3.0])
_PARAGRAPHS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Documents so few and alike that they meet."""
    paragraphs = draw(st.lists(_PARAGRAPHS, min_size=1, max_size=4))
    return make_document(draw(st.sampled_from(_NAMES)), *paragraphs, metadata=draw(st.sampled_from(_METADATA)))


@st.composite
def filters(draw: st.DrawFn) -> KBFilter:
    """Filters that let some of those documents through."""
    chosen = [make_document(name, "").document_id for name in draw(st.lists(st.sampled_from(_NAMES), max_size=2))]
    return KBFilter(
        document_ids=tuple(chosen),
        sources=draw(st.sampled_from([(), ("a.md",), ("file:a.md", "b.md"), ("nobody.md",)])),
        metadata=draw(st.sampled_from(_METADATA)),
    )


class KBMachine(ProviderMachine):
    """A store that is a VectorStore and SupportsVectors."""

    written: Bundle[Document] = Bundle("written")

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Document] = {}
        self.vectors: dict[str, dict[str, float]] = {"model-a": {}, "model-b": {}}

    @rule(target=written, document=documents())
    def put(self, document: Document) -> Document:
        """A new document or a new version; the same again changes nothing."""
        self.run(self.provider.put_document(*document))
        if self.known.get(document.document_id) != document:
            self._bury(document.document_id, kept=document)
            self.known[document.document_id] = document  # at the end: the backlog is oldest first
        return document

    @rule(document=written)
    def put_again(self, document: Document) -> None:
        """A version that was written before, which may be the present one."""
        self.put(document)

    @rule(chosen=st.lists(st.sampled_from(_NAMES), max_size=3))
    def delete(self, chosen: list[str]) -> None:
        """Some of them unknown, some twice."""
        ids = [make_document(name, "").document_id for name in chosen]
        expected = len(self.known.keys() & set(ids))
        for document_id in set(ids):
            self._bury(document_id)
        assert self.run(self.provider.delete_documents(ids)) == expected

    @rule(document=written, model=_MODELS, angle=_ANGLES)
    def embed(self, document: Document, model: str, angle: float) -> None:
        """All chunks of a version, which may be gone."""
        angles = {chunk_id: angle + i / 10 for i, chunk_id in enumerate(document.chunk_ids)}
        rows = [(math.cos(value), math.sin(value)) for value in angles.values()]
        self.run(self.provider.put_vectors(model, list(angles), make_vectors(*rows)))
        self.vectors[model].update({key: value for key, value in angles.items() if key in self._living()})

    @rule(words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=2), where=filters(), limit=st.integers(1, 3))
    def search_words(self, words: list[str], where: KBFilter, limit: int) -> None:
        """Every chunk that shares a word and no other, and a smaller limit gives the beginning."""
        query = make_query(" ".join(words), 100).model_copy(update={"where": where})
        hits = self.run(self.provider.read_view().search_words(query))
        expected = {
            key
            for key, (one, tokens) in self._living().items()
            if tokens & set(query.tokens) and matches(one.row, where)
        }
        assert {hit.chunk.chunk_id for hit in hits} == expected
        assert_ordered(hits)
        first = self.run(self.provider.search_words(query.model_copy(update={"limit": limit})))
        assert list(first) == list(hits)[:limit]

    @rule(model=_MODELS, where=filters(), limit=st.integers(1, 3))
    def search_vectors(self, model: str, where: KBFilter, limit: int) -> None:
        """Every chunk that has a vector of the model and no other."""
        east = make_vectors((1.0, 0.0))
        hits = self.run(self.provider.search_vectors(model, east, 100, where))
        living = self._living()
        assert {hit.chunk.chunk_id for hit in hits} == {
            key for key in self.vectors[model] if matches(living[key][0].row, where)
        }
        assert_ordered(hits)
        for before, after in pairwise(hits):
            angles = [math.cos(self.vectors[model][hit.chunk.chunk_id]) for hit in (before, after)]
            assert angles[0] >= angles[1] - 1e-3
        assert list(self.run(self.provider.search_vectors(model, east, limit, where))) == list(hits)[:limit]

    @rule(model=_MODELS, limit=st.integers(1, 5))
    def backlog(self, model: str, limit: int) -> None:
        """Chunks without a vector in the order they were written."""
        expected = [key for key in self._living() if key not in self.vectors[model]]
        rows = self.run(self.provider.chunks_without_vector(model, limit))
        assert [row.chunk_id for row in rows] == expected[:limit]

    @invariant()
    def lists_and_counts_agree(self) -> None:
        """The list, each document, its chunks and the counts are those of the model."""
        view = self.provider.read_view()
        page = self.run(view.documents(limit=100))
        expected = sorted(self.known.values(), key=lambda one: one.row.source.uri)
        assert (page.total, list(page.documents)) == (len(expected), [one.row for one in expected])
        for one in expected:
            assert self.run(view.document(one.document_id)) == one.row
            assert tuple(self.run(view.chunks(one.document_id))) == one.chunks
        embedded = set().union(*self.vectors.values())
        counts = KBCounts(documents=len(expected), chunks=len(self._living()), embedded=len(embedded))
        assert self.run(view.counts()) == counts

    def _living(self) -> dict[str, tuple[Document, set[str]]]:
        return {chunk.chunk_id: (one, set(chunk.tokens)) for one in self.known.values() for chunk in one.chunks}

    def _bury(self, document_id: str, kept: Document | None = None) -> None:
        gone = self.known.pop(document_id, None)
        still = kept.chunks if kept else ()
        for chunk in gone.chunks if gone else ():
            if chunk not in still:
                for rows in self.vectors.values():
                    rows.pop(chunk.chunk_id, None)


def assert_ordered(hits: Sequence[ChunkHit]) -> None:
    """Fail unless hits are best first, ties by chunk id."""
    order: list[Any] = [(-hit.score, hit.chunk.chunk_id) for hit in hits]
    assert order == sorted(order)
