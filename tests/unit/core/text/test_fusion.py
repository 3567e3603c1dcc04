from __future__ import annotations

import pytest

from datamind.capabilities.text.fusion import reciprocal_rank_fusion
from datamind.core.errors import InputInvalid


def ids(fused: list[tuple[str, float]]) -> list[str]:
    return [candidate for candidate, _ in fused]


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["b", "c"]], [1.0, 0.5], k=60)
    assert dict(fused) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 0.5 / 61, "c": 0.5 / 62})
    assert ids(fused) == ["b", "a", "c"]


def test_ties_are_broken_by_id() -> None:
    assert ids(reciprocal_rank_fusion([["b", "a"], ["a", "b"]])) == ["a", "b"]


def test_a_fresh_candidate_takes_its_lexical_rank_as_its_vector_rank() -> None:
    lexical, vector = ["fresh", "x", "y"], ["x", "y", "z"]
    assert ids(reciprocal_rank_fusion([lexical, vector]))[0] == "x"
    fused = reciprocal_rank_fusion([lexical, vector], unembedded={"fresh"})
    assert fused[0] == ("fresh", pytest.approx(2 / 61))


def test_a_rank_of_its_own_is_never_replaced() -> None:
    lexical, vector = ["a", "b"], ["b", "a"]
    assert reciprocal_rank_fusion([lexical, vector], unembedded={"a", "b"}) == reciprocal_rank_fusion([lexical, vector])


def test_the_rule_follows_the_pairs_of_several_queries() -> None:
    rankings = [["x", "fresh"], ["x"], ["fresh"], ["x"]]
    fused = dict(reciprocal_rank_fusion(rankings, unembedded={"fresh"}, lexical_of={1: 0, 3: 2}))
    assert fused["fresh"] == pytest.approx(2 / 62 + 2 / 61)


def test_one_ranking_and_none() -> None:
    assert ids(reciprocal_rank_fusion([["b", "a"]], unembedded={"a"})) == ["b", "a"]
    assert reciprocal_rank_fusion([]) == []


def test_a_repeated_id_counts_at_its_first_place() -> None:
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_a_weight_of_zero_leaves_a_ranking_out() -> None:
    assert reciprocal_rank_fusion([["a"], ["noise"]], [1.0, 0.0]) == reciprocal_rank_fusion([["a"]])


@pytest.mark.parametrize("weights", [[1.0], [1.0, -0.1]])
def test_weights_must_fit(weights: list[float]) -> None:
    with pytest.raises(InputInvalid, match="weights"):
        reciprocal_rank_fusion([["a"], ["b"]], weights)


def test_k_must_not_be_negative() -> None:
    with pytest.raises(InputInvalid, match="-1"):
        reciprocal_rank_fusion([["a"]], k=-1)
