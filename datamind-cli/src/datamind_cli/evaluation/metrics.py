"""How good a ranking is, and how sure the mean over some queries is."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Final, NamedTuple

_RESAMPLES: Final = 1_000


def ndcg(ranking: Sequence[str], gains: Mapping[str, int], k: int) -> float:
    """Normalised discounted cumulative gain of the first ``k``, with linear gains.

    Source: Järvelin and Kekäläinen 2002, as trec_eval computes it.
    """
    ideal = _discounted(sorted(gains.values(), reverse=True)[:k])
    return _discounted([gains.get(name, 0) for name in ranking[:k]]) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Share of what is relevant that is among the first ``k``."""
    return len(set(ranking[:k]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 / the place of the first that is relevant; 0 when it is not among the first ``k``."""
    return next((1 / place for place, name in enumerate(ranking[:k], 1) if name in relevant), 0.0)


class Estimate(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """The mean and its percentile bootstrap interval; the same values always give the same.

    Source: Efron 1979, 1,000 resamples.
    """
    rng = random.Random(0)  # noqa: S311
    means = sorted(fmean(rng.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return Estimate(fmean(values), means[round(0.025 * _RESAMPLES)], means[round(0.975 * _RESAMPLES) - 1])


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))
