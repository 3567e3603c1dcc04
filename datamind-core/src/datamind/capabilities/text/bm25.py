"""A small incremental BM25 index in memory."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable

from datamind.core.errors import InputInvalid


class BM25Index:
    """Okapi BM25 over tokens the caller made.

    A query visits only the postings of its own tokens, so that a document which shares none of them is no hit.
    Filters do not change the statistics: a score is the same whoever asks. Not thread-safe while it is written.

    Source: Robertson and Zaragoza 2009, with the inverse document frequency of Lucene (never negative).
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1 = k1
        self._b = b
        self._documents: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._documents

    def add(self, document_id: str, tokens: Iterable[str]) -> None:
        """Adds a document, replacing the one of the same id."""
        self.remove(document_id)
        counts = Counter(tokens)
        length = counts.total()
        self._documents[document_id] = counts
        self._lengths[document_id] = length
        self._total_length += length
        for token, count in counts.items():
            self._postings.setdefault(token, {})[document_id] = count

    def remove(self, document_id: str) -> bool:
        """Removes a document and every trace of it in the statistics; False if it was not there."""
        counts = self._documents.pop(document_id, None)
        if counts is None:
            return False
        self._total_length -= self._lengths.pop(document_id)
        for token in counts:
            postings = self._postings[token]
            del postings[document_id]
            if not postings:
                del self._postings[token]
        return True

    def search(
        self, tokens: Iterable[str], limit: int, *, allowed: Callable[[str], bool] | None = None
    ) -> list[tuple[str, float]]:
        """Ids with their scores, best first; ties by id; every score is above 0.

        Args:
            tokens: Of the query; a token that occurs twice counts twice.
            limit: Most hits to return.
            allowed: Keeps only the ids for which it is true.

        Raises:
            InputInvalid: ``limit`` is below 1.
        """
        if limit < 1:
            raise InputInvalid(f"A search limit must be at least 1, not {limit!r}.")
        scores: dict[str, float] = {}
        for token, weight in Counter(tokens).items():
            self._score(token, weight, scores)
        hits = scores.items() if allowed is None else [hit for hit in scores.items() if allowed(hit[0])]
        return heapq.nsmallest(limit, hits, key=lambda hit: (-hit[1], hit[0]))

    def _score(self, token: str, weight: int, scores: dict[str, float]) -> None:
        postings = self._postings.get(token)
        if postings is None:
            return
        total = len(self._documents)
        rarity = math.log1p((total - len(postings) + 0.5) / (len(postings) + 0.5))
        gain = weight * rarity * (self._k1 + 1)
        floor = self._k1 * (1 - self._b)
        slope = self._k1 * self._b * total / self._total_length
        lengths = self._lengths
        for document_id, count in postings.items():
            score = gain * count / (count + floor + slope * lengths[document_id])
            scores[document_id] = scores.get(document_id, 0.0) + score
