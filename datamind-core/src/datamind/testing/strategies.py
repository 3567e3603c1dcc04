"""Hypothesis strategies for what people and models really send. Needs hypothesis (extra ``testing``)."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import strategies as st

ONE_MEGABYTE: Final = 1 << 20

_WORDS: Final = (
    *("server", "restart", "budget", "the", "naïve", "Straße", "ﬁle", "C++", "v1.2.3", "don't", "北京", "网关", "配置"),
    *(
        "週報",
        "こんにちは",
        "서버",
        "привет",
        "καλημέρα",
        "مرحبا",
        "हिन्दी",
        "😀",
        "👩‍👩‍👧",
        "e\u0301",
        "\u200b",
        "ＡＢＣ",
    ),
)
_GAPS: Final = (" ", "\n", "\r\n", "\t", "，", "。", ". ", "/", "")
_LONE_SURROGATES: Final = st.characters(categories=["Cs"])


def texts(*, min_size: int = 0, max_size: int = 200) -> st.SearchStrategy[str]:
    """Text that UTF-8 can hold: words of many scripts, any other characters, NUL among them."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=max_size)
    words = st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from(_GAPS)), min_size=1, max_size=20)
    spoken = words.map(lambda pairs: "".join(map("".join, pairs))).filter(lambda text: len(text) >= min_size)
    return st.one_of(spoken.map(lambda text: text[:max_size]), anything)


def broken_texts() -> st.SearchStrategy[str]:
    """Text with a lone surrogate somewhere, which no file and no database can hold."""
    return st.tuples(texts(max_size=20), _LONE_SURROGATES, texts(max_size=20)).map("".join)


def json_values(max_leaves: int = 20) -> st.SearchStrategy[Any]:
    """Any JSON value that the strict reader accepts."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts(max_size=40)
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts(max_size=10), inner, max_size=5),
        max_leaves=max_leaves,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """A JSON object that the strict reader accepts."""
    return st.dictionaries(texts(max_size=10), json_values(), max_size=5)


def valid_arguments() -> st.SearchStrategy[str]:
    """JSON text of a tool call that may run."""
    return json_objects().map(json.dumps)


def hostile_arguments() -> st.SearchStrategy[str]:
    """JSON text of a tool call that must not run, whatever its schema.

    Repeated keys, NaN and overflow, nesting without end, lone surrogates written out or escaped, a string of a
    megabyte, no object, and objects cut off in the middle.
    """
    return st.one_of(_duplicate_keys(), _no_numbers(), _deep(), _surrogates(), _large(), _no_objects(), _cut_off())


def _duplicate_keys() -> st.SearchStrategy[str]:
    pairs = st.tuples(texts(max_size=10), json_values(3), json_values(3))
    return pairs.map(lambda p: f"{{{json.dumps(p[0])}: {json.dumps(p[1])}, {json.dumps(p[0])}: {json.dumps(p[2])}}}")


def _no_numbers() -> st.SearchStrategy[str]:
    digits = st.sampled_from(["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000])
    return st.tuples(st.sampled_from(['{{"n": {}}}', '{{"n": [{}]}}']), digits).map(lambda p: p[0].format(p[1]))


def _deep() -> st.SearchStrategy[str]:
    depths = st.sampled_from([65, 1_000, 100_000])
    forms = st.sampled_from([("[", "]"), ('{"a": ', "}")])
    return st.tuples(depths, forms).map(lambda p: f'{{"n": {p[1][0] * p[0]}1{p[1][1] * p[0]}}}')


def _surrogates() -> st.SearchStrategy[str]:
    written = broken_texts().map(lambda text: json.dumps({"text": text}, ensure_ascii=False))
    escaped = broken_texts().map(lambda text: json.dumps({"text": text}, ensure_ascii=True))
    as_key = _LONE_SURROGATES.map(lambda char: json.dumps({char: 1}))
    return written | escaped | as_key


def _large() -> st.SearchStrategy[str]:
    return st.sampled_from(["x", "网", "\\u7f51"]).map(lambda char: f'{{"text": "{char * ONE_MEGABYTE}"}}')


def _no_objects() -> st.SearchStrategy[str]:
    return json_values(3).filter(lambda value: not isinstance(value, dict)).map(json.dumps)


def _cut_off() -> st.SearchStrategy[str]:
    whole = json_objects().map(json.dumps).filter(lambda text: len(text) > 2)
    return st.tuples(whole, st.integers(1, 1_000)).map(lambda p: p[0][: 1 + p[1] % (len(p[0]) - 1)])
