"""What the strategies make is what they say."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, find, given, settings

from datamind.core.arguments import read_arguments
from datamind.core.errors import ArgumentsInvalid
from datamind.testing import strategies


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(strategies.hostile_arguments())
def test_hostile_arguments_are_all_refused_by_the_strict_reader(text):
    with pytest.raises(ArgumentsInvalid):
        read_arguments(text)


@settings(max_examples=60)
@given(strategies.valid_arguments())
def test_valid_arguments_are_all_read(text):
    assert read_arguments(text) == json.loads(text)


@settings(max_examples=60)
@given(strategies.texts(min_size=1, max_size=30))
def test_texts_keep_their_size_and_are_utf_8(text):
    assert 1 <= len(text) <= 30
    assert text.encode("utf-8")


@settings(max_examples=30)
@given(strategies.broken_texts())
def test_broken_texts_are_not_utf_8(text):
    with pytest.raises(UnicodeEncodeError):
        text.encode("utf-8")


@pytest.mark.parametrize("char", ["\0", "网", "😀", "한"])
def test_texts_reach_odd_characters(char):
    kind = {"한": lambda text: "\uac00" <= max(text, default="") <= "\ud7a3", "网": lambda text: "网" in text}
    find(strategies.texts(), kind.get(char, lambda text: char in text), settings=settings(max_examples=20_000))
