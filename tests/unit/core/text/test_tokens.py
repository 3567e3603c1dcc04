"""What documents and queries are cut into, and that the two meet."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from datamind.capabilities.text import tokens
from datamind.capabilities.text.tokens import (
    MAX_TOKEN_CHARS,
    tokenize,
    tokenize_for_index,
    tokenize_with_spans,
)


def is_found(query: str, document: str, language: str | None = None) -> bool:
    """Whether every token of the query is one of the document's."""
    return set(tokenize(query, language=language)) <= set(tokenize_for_index(document, language=language))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The retries are configured", ["retri", "configur"]),
        ("2024年预算", ["2024", "年预", "预算"]),
        ("API网关超时", ["api", "网关", "关超", "超时"]),
        ("Kubernetes集群", ["kubernet", "集群"]),
        ("データベース", ["デー", "ータ", "タベ", "ベー", "ース"]),
        ("한국어", ["한국", "국어"]),
        ("3.5mg", ["3.5mg", "3.5", "mg"]),
        ("v1.2", ["v1.2", "1.2"]),
        ("AB-1234", ["ab1234", "ab", "1234"]),
        ("1,200", ["1200"]),
        ("C++ C#", ["c++", "c#"]),
        ("", []),
        ("!?… —", []),
    ],
)
def test_a_query_is_cut_by_script_and_shape(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_a37_and_b17_latin_and_digits_never_join_a_chinese_run() -> None:
    for token in tokenize_for_index("用Python3写API网关，2024年v2上线"):
        kinds = {"cjk" if char >= "\u3000" else "latin" for char in token}
        assert len(kinds) == 1, token


@pytest.mark.parametrize("query", ["who", "it", "The Who", "to be or not to be", "什么", "是什么", "的"])
def test_a_query_of_stop_words_alone_keeps_them_and_is_found(query: str) -> None:
    assert tokenize(query)
    assert is_found(query, f"Notes: {query} — 记录")


def test_stop_words_of_a_query_fall_away_beside_others() -> None:
    assert tokenize("what is the capital of Norway") == ["capit", "norway"]
    assert tokenize("光合作用是什么") == ["光合", "合作", "作用", "用是"]
    assert tokenize("Linux和Windows") == ["linux", "window"]
    assert tokenize("don't panic, it's John's") == ["panic", "john"]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("龙", "传说中的恐龙与龙王"),
        ("물", "물을 마신다"),
        ("AB 1234", "part AB-1234"),
        ("ab1234", "part AB-1234"),
        ("AB-1234", "part ab1234"),
        ("3.5 mg", "take 3.5mg daily"),
        ("3.5mg", "take 3.5mg daily"),
        ("1200", "1,200 people"),
        ("max retry count", "self.max_retry_count = 3"),
        ("maxRetryCount", "max_retry_count"),
        ("http server", "class HTTPServer:"),
        ("cafe", "the Café"),
        ("resume", "his résumés"),
        ("Lodz", "Łódź"),
        ("strasse", "Straße"),
        ("U.S.", "the US economy"),
        ("OBrien", "O'Brien"),
        ("email", "send an e-mail"),
        ("running dogs", "a dog runs"),
        ("2024-05-01", "on 2024-05-01, at"),
        ("2024", "on 2024-05-01, at"),
        ("C++", "written in C++."),
        ("information", "infor\u00admation"),
        ("ＡＢＣ", "abc"),
        ("ガギ", "ｶﾞｷﾞ"),
        ("книга", "много книг"),
        ("γλωσσα", "η γλώσσα"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
    ],
)
def test_what_a_person_would_type_finds_what_is_written(query: str, document: str) -> None:
    assert is_found(query, document)


@pytest.mark.parametrize(
    ("query", "document"),
    [("9", "19"), ("1.2", "v1.25"), ("C++", "C and D"), ("cat", "category"), ("京都", "东京 都市")],
)
def test_what_is_not_written_is_not_found(query: str, document: str) -> None:
    assert not is_found(query, document)


def test_words_are_stemmed_and_stopped_by_language() -> None:
    assert tokenize("die Häuser", language="de") == ["haus"]
    assert is_found("Häusern", "das Haus", language="de-AT")
    assert tokenize("les chevaux", language="fr") == ["cheval"]
    assert tokenize("die", language="en") == ["die"]
    assert tokenize("running dogs", language="zh") == tokenize("running dogs")
    assert tokenize("mbwa wanakimbia", language="sw") == ["mbwa", "wanakimbia"]


def test_spans_point_into_the_text_as_given() -> None:
    text = "ﬁnance: ３．５ｍｇ ｶﾞス, Cafe\u0301s, infor\u00admation"
    spans = {token: text[start:end] for token, start, end in tokenize_with_spans(text)}
    assert spans["financ"] == "ﬁnance"
    assert spans["3.5"] == "３．５"
    assert spans["mg"] == "ｍｇ"
    assert spans["ガス"] == "ｶﾞス"
    assert spans["cafe"] == "Cafe\u0301s"
    assert spans["inform"] == "infor\u00admation"


def test_spans_of_a_compound_point_at_its_parts() -> None:
    text = "see max_retry_count"
    assert {token: text[start:end] for token, start, end in tokenize_with_spans(text)} == {
        "see": "see",
        "maxretrycount": "max_retry_count",
        "max": "max",
        "retri": "retry",
        "count": "count",
    }


def test_a_blob_gives_bounded_tokens() -> None:
    blob = "x" * 100_000 + " " + "a1" * 50_000 + " " + "-".join("ab" for _ in range(10_000))
    assert max(map(len, tokenize_for_index(blob))) == MAX_TOKEN_CHARS
    assert is_found("x" * 100_000, blob)


def test_words_are_stemmed_right_from_many_threads() -> None:
    words = [f"organ{'x' * n}izations" for n in range(300)]
    expected = [tokens._stem(word, "en") for word in words]
    tokens._stem.cache_clear()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda word: tokens._stem(word, "en"), words * 3)) == expected * 3
    finally:
        sys.setswitchinterval(interval)
