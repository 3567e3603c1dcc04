"""What each measure of ``scoring`` weighs.

Fitted by logistic regression on public English and Chinese question sets and on invented everyday ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CHOICE: Final[Mapping[str, float]] = {
    "own": 2.3, "related": 2.6, "head": 1.6, "before": 0.3, "chunk": -2.4, "missing": -2.7, "names_missing": -0.2,
    "names_far": 0.3, "worst": -1.7, "kind": 0.8, "kind_missing": -1.3, "cue": 0.6, "unit": 0.5, "unit_missing": -0.5,
    "near": 0.7, "phrase": 0.7, "share": 1.7, "rank": 1.2, "length": -0.3, "new": -1.5, "faq": 0.2, "bare": -1.0,
    "whose": -0.8, "mine": 0.9, "attribute_missing": -1.4,
}  # fmt: skip
"""The sentence that holds the answer has the highest sum among those found."""

TRUST: Final[Mapping[str, float]] = {
    "bias": 0.7, "missing": -3.6, "names_missing": -0.5, "names_far": -1.6, "worst": -0.8, "own": 2.4, "related": 1.1,
    "head": 0.7, "before": 0.7, "phrase": 0.9, "faq": 0.3, "unit": 0.3, "unit_missing": -0.2, "bare": -1.2,
    "whose": -1.1, "attribute_missing": -1.0,
}  # fmt: skip
"""The sum is above 0 when the question can be answered from what was found."""
