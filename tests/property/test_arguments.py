"""The strict reader against the standard library's, on what is valid and on what is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamind.core.arguments import read_arguments
from datamind.core.errors import ArgumentsInvalid
from datamind.testing.strategies import hostile_arguments, json_objects, texts

layouts = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 0, 3]), "sort_keys": st.booleans()}
)


@given(json_objects(), layouts)
def test_valid_text_is_read_as_json_loads_reads_it(value: dict[str, object], layout: dict[str, object]) -> None:
    text = json.dumps(value, **layout)  # type: ignore[arg-type]
    assert read_arguments(text) == json.loads(text) == value


@given(hostile_arguments())
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        read_arguments(text)
    assert caught.value.code.startswith("arguments_invalid")
    assert len(str(caught.value)) < 300
    str(caught.value).encode("utf-8")


@given(texts(max_size=60) | st.text(alphabet='{}[]":,\\u d8f0123456789eE+-.ntrue\n', max_size=40))
def test_any_text_is_read_as_json_loads_would_or_refused(text: str) -> None:
    try:
        value = read_arguments(text)
    except ArgumentsInvalid:
        return
    assert value == (json.loads(text) if text.strip() else {})
