"""What holds for every index, fusion and comparison."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.capabilities.text.bm25 import BM25Index
from datamind.capabilities.text.fusion import reciprocal_rank_fusion
from datamind.capabilities.text.normalize import contains_normalized, normalize_for_match
from datamind.capabilities.text.numerals import find_numbers

IDS = st.sampled_from([f"d{n}" for n in range(8)])
TOKENS = st.lists(st.sampled_from("abcde"), max_size=6)
RANKINGS = st.lists(IDS, unique=True, max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(IDS, TOKENS | st.none()), max_size=30), TOKENS, st.integers(1, 10))
def test_an_index_that_was_changed_equals_one_built_afresh(
    changes: list[tuple[str, list[str] | None]], query: list[str], limit: int
) -> None:
    index, state = BM25Index(), {}
    for document_id, tokens in changes:
        if tokens is None:
            assert index.remove(document_id) == (state.pop(document_id, None) is not None)
        else:
            index.add(document_id, tokens)
            state[document_id] = tokens
    fresh = BM25Index()
    for document_id in sorted(state):
        fresh.add(document_id, state[document_id])
    hits = index.search(query, limit)
    assert hits == fresh.search(query, limit)
    assert all(score > 0 and set(state[document_id]) & set(query) for document_id, score in hits)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
    assert len(hits) == min(limit, sum(bool(set(tokens) & set(query)) for tokens in state.values()))


@given(RANKINGS, RANKINGS, st.sets(IDS))
def test_fusion_keeps_every_candidate_once(lexical: list[str], vector: list[str], unembedded: set[str]) -> None:
    fused = reciprocal_rank_fusion([lexical, vector], unembedded=unembedded)
    assert sorted(candidate for candidate, _ in fused) == sorted({*lexical, *vector})
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))


@given(RANKINGS, RANKINGS)
def test_with_no_vectors_at_all_the_lexical_order_stands(lexical: list[str], weights: list[str]) -> None:
    fused = reciprocal_rank_fusion([lexical, []], unembedded=set(lexical))
    assert [candidate for candidate, _ in fused] == lexical


@given(RANKINGS, RANKINGS, st.sets(IDS))
def test_a_fresh_candidate_loses_to_no_one_both_sides_rank_behind_it(
    lexical: list[str], vector: list[str], fresh: set[str]
) -> None:
    vector = [candidate for candidate in vector if candidate not in fresh]
    order = [candidate for candidate, _ in reciprocal_rank_fusion([lexical, vector], unembedded=fresh)]
    for candidate in fresh & set(lexical):
        rank = lexical.index(candidate)
        behind = [
            other
            for other in lexical[rank + 1 :]
            if other not in fresh and (other not in vector or vector.index(other) > rank)
        ]
        assert all(order.index(candidate) < order.index(other) for other in behind)


WORDS = st.lists(
    st.sampled_from(["cat", "19", "3.5", "1,200", "网关", "KM", "café", "50%", "x9", "-5"]), min_size=1, max_size=6
)


@settings(max_examples=300, deadline=None)
@given(WORDS, WORDS, WORDS)
def test_a_run_of_words_is_found_where_it_stands(before: list[str], sought: list[str], after: list[str]) -> None:
    haystack = "; ".join([" ".join(before), " ".join(sought), " ".join(after)])
    assert contains_normalized(haystack, " ".join(sought))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_normalising_settles(text: str) -> None:
    once = normalize_for_match(text)
    assert once == once.strip()
    assert bool(once) == contains_normalized(text, text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789,.-e%$ 百分之三十万亿年〇", max_size=40))
def test_numbers_lie_in_the_text(text: str) -> None:
    numbers = find_numbers(text)
    assert all(0 <= number.start < number.end <= len(text) and number.value.is_finite() for number in numbers)
    assert [number.start for number in numbers] == sorted(number.start for number in numbers)
