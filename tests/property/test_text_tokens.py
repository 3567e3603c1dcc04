"""What holds for the tokens of every text."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.capabilities.text.offsets import normalize_nfkc, normalize_with_offsets
from datamind.capabilities.text.tokens import MAX_TOKEN_CHARS, tokenize, tokenize_for_index, tokenize_with_spans

LANGUAGES = st.sampled_from([None, "en", "de", "fr", "zh", "ru", "sw"])
PIECES = st.sampled_from(
    ["the ", "who", "AB-1234", "3.5mg", "v1.2", "1,200", "don't", "O'Brien", "maxRetryCount", "snake_case",
     "C++", "C# ", "U.S.",
     "Café", "cafe\u0301", "ﬁ", "㎏", "①", "ｶﾞ", "ガ", "が", "か\u3099",
     "网关", "API", "龙", "한국",
     "\u1112\u1161\u11ab", "हिन्दी", "ไทย", "infor\u00admal", "\u00ad",
     " ", "\n", ".", "-", "_", "’", ",", "İ", "ǅ", "ŉ", "µ", "Ω", "й", "\u0301", "１２", "𠀀", "\u200d"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60)


@settings(max_examples=400, deadline=None)
@given(TEXTS, LANGUAGES)
def test_spans_agree_with_tokens_and_lie_in_the_text(text: str, language: str | None) -> None:
    spans = tokenize_with_spans(text, language=language)
    assert [span.token for span in spans] == tokenize_for_index(text, language=language)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


@settings(max_examples=400, deadline=None)
@given(TEXTS, LANGUAGES)
def test_a_text_is_found_by_itself(text: str, language: str | None) -> None:
    query, document = tokenize(text, language=language), tokenize_for_index(text, language=language)
    assert set(query) <= set(document)
    assert bool(query) == bool(document)


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_passage_is_found_inside_a_longer_text(before: str, passage: str, after: str) -> None:
    assert set(tokenize(passage)) <= set(tokenize_for_index(f"{before} {passage} {after}"))


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_a_token_is_one_bounded_word(text: str) -> None:
    for token in tokenize_for_index(text):
        assert token.split() == [token]
        assert len(token) <= 2 * MAX_TOKEN_CHARS


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_composed_and_decomposed_text_have_the_same_tokens(text: str) -> None:
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(unicodedata.normalize("NFC", text))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=80))
def test_ascii_is_cut_alike_alone_and_among_other_letters(text: str) -> None:
    assert tokenize_for_index(f"{text} é") == [*tokenize_for_index(text), "e"]


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_normalising_with_offsets_equals_normalising(text: str) -> None:
    normalized = normalize_with_offsets(text)
    assert normalized.text == normalize_nfkc(text)
    assert len(normalized.starts) == len(normalized.ends) == len(normalized.text)
    for position, char in enumerate(normalized.text):
        start, end = normalized.source_span(position, position + 1)
        assert char in normalize_nfkc(text[start:end])


@given(st.text(alphabet="aBcdEILNRSTYsxz", min_size=1, max_size=20))
def test_case_does_not_matter_for_words_of_one_case(word: str) -> None:
    assert tokenize(word.upper()) == tokenize(word.lower())
