"""Joining several rankings into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Final

from datamind.core.errors import InputInvalid

LEXICAL_THEN_VECTOR: Final[Mapping[int, int]] = MappingProxyType({1: 0})
"""The usual pair: ranking 0 is lexical and ranking 1 is by vector."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]],
    weights: Sequence[float] | None = None,
    *,
    k: int = 60,
    unembedded: Set[str] = frozenset(),
    lexical_of: Mapping[int, int] = LEXICAL_THEN_VECTOR,
) -> list[tuple[str, float]]:
    """Ids with their fused scores, best first; ties by id.

    A candidate that has no vector yet takes its lexical rank as its vector rank. Otherwise what was stored a
    moment ago would stand behind everything that is found by both.

    Args:
        rankings: Ids, best first; an id that comes twice in one ranking counts at its first place.
        weights: One a ranking, not negative; all 1 when None. A weight of 0 leaves the ranking out.
        k: Dampens the first ranks.
        unembedded: Ids that have no vector yet.
        lexical_of: Position of a vector ranking to the position of the lexical ranking of the same query.

    Raises:
        InputInvalid: Not one weight a ranking, a negative weight, or ``k`` below 0.

    Source: Cormack, Clarke and Büttcher 2009, k=60.
    """
    weights = _checked_weights(rankings, weights, k)
    ranks = [_ranks(ranking) for ranking in rankings]
    for vector, lexical in lexical_of.items():
        if vector < len(ranks):
            _stand_in(ranks[vector], ranks[lexical], unembedded)
    scores: dict[str, float] = {}
    for weight, ranking in zip(weights, ranks, strict=True):
        for candidate, rank in ranking.items() if weight else ():
            scores[candidate] = scores.get(candidate, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _checked_weights(rankings: Sequence[Sequence[str]], weights: Sequence[float] | None, k: int) -> Sequence[float]:
    if k < 0:
        raise InputInvalid(f"k of reciprocal rank fusion must not be negative: {k!r}.")
    if weights is None:
        return [1.0] * len(rankings)
    if len(weights) != len(rankings) or any(weight < 0 for weight in weights):
        raise InputInvalid(f"{len(rankings)} rankings need as many weights, none negative; got {list(weights)!r}.")
    return weights


def _ranks(ranking: Sequence[str]) -> dict[str, int]:
    return {candidate: rank for rank, candidate in enumerate(dict.fromkeys(ranking), start=1)}


def _stand_in(vector: dict[str, int], lexical: Mapping[str, int], unembedded: Set[str]) -> None:
    for candidate, rank in lexical.items():
        if candidate in unembedded:
            vector.setdefault(candidate, rank)
