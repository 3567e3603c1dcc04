"""The in-memory index against the formula, worked by hand, and against itself."""

from __future__ import annotations

import math

import pytest

from datamind.capabilities.text.bm25 import BM25Index
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.errors import InputInvalid


def index_of(documents: dict[str, str]) -> BM25Index:
    index = BM25Index()
    for document_id, text in documents.items():
        index.add(document_id, tokenize_for_index(text))
    return index


def ids(index: BM25Index, query: str, limit: int = 10) -> list[str]:
    return [document_id for document_id, _ in index.search(tokenize(query), limit)]


def test_scores_follow_the_formula() -> None:
    index = BM25Index(k1=1.2, b=0.75)
    index.add("a", ["x", "x", "y"])
    index.add("b", ["x"])
    index.add("c", ["z", "z"])
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {
        "a": rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)),
        "b": rarity * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2)),
    }
    assert dict(index.search(["x"], 10)) == pytest.approx(expected)


def test_a_token_that_a_query_repeats_counts_twice() -> None:
    index = BM25Index()
    index.add("a", ["x", "y"])
    index.add("b", ["z"])
    once, twice = index.search(["x"], 1), index.search(["x", "x"], 1)
    assert twice[0][1] == pytest.approx(2 * once[0][1])


def test_a37_chinese_words_find_their_document_first() -> None:
    index = index_of({
        "gateway": "API网关负责路由与限流，部署在边缘节点。",
        "cluster": "Kubernetes集群的升级在周末进行。",
        "budget": "2024年预算由财务部门审批。",
        "other": "团队每周一开例会，讨论产品路线。",
    })  # fmt: skip
    assert ids(index, "网关")[0] == "gateway"
    assert ids(index, "集群")[0] == "cluster"
    assert ids(index, "预算")[0] == "budget"
    assert ids(index, "今年的预算是谁审批的？")[0] == "budget"


def test_a42_an_unrelated_query_finds_nothing_and_a_limit_is_filled() -> None:
    index = index_of({f"m{n:02}": f"记忆{n}：用户喜欢喝绿茶 the user likes green tea" for n in range(30)})
    assert len(ids(index, "green tea", limit=20)) == 20
    assert len(ids(index, "用户喜欢喝什么茶", limit=20)) == 20
    assert ids(index, "火星移民计划") == []
    assert ids(index, "what is the weather on Mars?") == []
    assert ids(index, "") == []


def test_b17_japanese_is_found_at_rank_one() -> None:
    index = index_of({"weekly": "週報は中国語で書く", "lunch": "昼食は十二時に食べる"})
    assert ids(index, "週報") == ["weekly"]
    assert ids(index, "宇宙船") == []


def test_ties_are_broken_by_id_whatever_the_order_of_adding() -> None:
    index = BM25Index()
    for document_id in ("c", "a", "b"):
        index.add(document_id, ["same", "words"])
    assert [document_id for document_id, _ in index.search(["words"], 2)] == ["a", "b"]


def test_a_filter_keeps_scores_and_fills_the_limit() -> None:
    index = index_of({f"d{n}": "green tea " * (n + 1) for n in range(9)})
    everything = dict(index.search(["tea"], 9))
    allowed = {"d1", "d5", "d7"}
    hits = index.search(["tea"], 3, allowed=allowed.__contains__)
    assert {document_id for document_id, _ in hits} == allowed
    assert all(score == everything[document_id] for document_id, score in hits)


def test_removing_leaves_no_trace() -> None:
    index, fresh = BM25Index(), BM25Index()
    index.add("gone", ["x", "gone", "gone"])
    index.add("kept", ["x", "y"])
    assert index.remove("gone") and not index.remove("gone")
    fresh.add("kept", ["x", "y"])
    assert "gone" not in index and len(index) == 1
    assert index.search(["x", "gone"], 5) == fresh.search(["x", "gone"], 5)
    assert index.remove("kept") and index.search(["x"], 5) == []


def test_adding_again_replaces() -> None:
    index = BM25Index()
    index.add("a", ["old"])
    index.add("a", ["new"])
    assert index.search(["old"], 5) == [] and [hit[0] for hit in index.search(["new"], 5)] == ["a"]
    assert len(index) == 1


def test_a_document_without_tokens_is_kept_and_never_found() -> None:
    index = BM25Index()
    index.add("empty", [])
    assert "empty" in index and index.search(["x"], 5) == []


@pytest.mark.parametrize("limit", [0, -3])
def test_a61_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(InputInvalid, match="at least 1"):
        BM25Index().search(["x"], limit)
