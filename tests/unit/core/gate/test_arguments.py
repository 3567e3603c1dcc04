"""The strict reader: everything a model may send that is not one complete JSON object."""

from __future__ import annotations

import json
import sys

import pytest

from datamind.core.arguments import MAX_DEPTH, read_arguments
from datamind.core.errors import ArgumentsInvalid


def refused(text: str, **limits: int) -> ArgumentsInvalid:
    with pytest.raises(ArgumentsInvalid) as caught:
        read_arguments(text, **limits)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        '{"q": 1, "q": 2}',
        '{"a": {"q": 1, "q": 1}}',
        '{"a": [0, {"b": [{"q": 1, "q": 2}]}]}',
        '{"q": 1, "\\u0071": 2}',
        '{"": 1, "": 2}',
    ],
)
def test_a_repeated_key_is_refused_at_any_depth(text: str) -> None:
    assert refused(text).code == "arguments_invalid.duplicate_key"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, f"{'9' * 5000}.0"])
@pytest.mark.parametrize("place", ['{{"n": {}}}', '{{"a": [1, {{"n": {}}}]}}'])
def test_what_is_no_finite_number_is_refused(number: str, place: str) -> None:
    assert refused(place.format(number)).code == "arguments_invalid.number"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH, 10_000, 200_000])
def test_a_depth_bomb_is_refused_without_a_recursion_error(opening: str, depth: int) -> None:
    assert refused('{"a": ' + opening * depth, max_bytes=1 << 22).code == "arguments_invalid.depth"


def test_the_depth_bound_is_exact_and_brackets_in_strings_do_not_count() -> None:
    inner = MAX_DEPTH - 1
    deepest = '{"a": ' + "[" * inner + "]" * inner + "}"
    assert read_arguments(deepest) == json.loads(deepest)
    text = json.dumps({"a": '[{"' * 500 + "\\", "b": "\\\\" + "[" * 500})
    assert read_arguments(text) == json.loads(text)


def test_the_depth_is_held_whatever_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        assert refused('{"a": ' + "[" * 10_000).code == "arguments_invalid.depth"
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    "text",
    [
        '{"q": "\ud800"}',
        '{"\udfff": 1}',
        '{"q": "\\ud800"}',
        '{"q": "\\uDC00\\uD800"}',
        '{"q": ["a", {"b": "x\\udc00"}]}',
        '{"\\ud83d": 1}',
        "\ud800",
    ],
)
def test_a20_a_lone_surrogate_is_refused_raw_and_escaped(text: str) -> None:
    assert refused(text).code == "arguments_invalid.unicode"


def test_an_escaped_pair_is_a_character_and_an_escaped_backslash_is_text() -> None:
    assert read_arguments('{"q": "\\ud83d\\ude00"}') == {"q": "😀"}
    assert read_arguments('{"q": "\\\\ud800"}') == {"q": "\\ud800"}


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null", "true", "[{}]"])
def test_what_is_no_object_is_refused(text: str) -> None:
    assert refused(text).code == "arguments_invalid"


@pytest.mark.parametrize(
    "text",
    [
        '{"q":"a',
        '{"q":',
        "{",
        '{"q": 1',
        '{"q": 1,}',
        "{'q': 1}",
        '{"q": 1} x',
        '{"q": 1}{"q": 1}',
        '{"q": 1}\x00',
        "\ufeff{}",
        '\ufeff{"q": 1}',
        '{"q": 01}',
        '{"q": "a\nb"}',
        '{"q": undefined}',
        "// {}",
        "\u00a0",
        "\u2003{}",
    ],
)
def test_b7_what_is_not_complete_json_is_refused(text: str) -> None:
    assert refused(text).code == "arguments_invalid.json"


@pytest.mark.parametrize("text", ["", " ", "\n\t\r "])
def test_b7_no_text_is_an_empty_object_for_the_schema_to_judge(text: str) -> None:
    assert read_arguments(text) == {}


def test_the_size_bound_counts_bytes_of_utf8() -> None:
    fitting = json.dumps({"q": "网" * 10}, ensure_ascii=False)
    size = len(fitting.encode())
    assert read_arguments(fitting, max_bytes=size) == {"q": "网" * 10}
    assert refused(fitting, max_bytes=size - 1).code == "arguments_invalid.size"
    assert len(fitting) < size - 1, "the case must tell characters from bytes"
    assert refused(" " * 300_000).code == "arguments_invalid.size"


def test_the_message_does_not_repeat_a_long_key_or_number() -> None:
    key = "k" * 5000
    assert len(str(refused(f'{{"{key}": 1, "{key}": 2}}'))) < 200
    assert len(str(refused(f'{{"n": 1{"0" * 4000}.5e999}}'))) < 200
