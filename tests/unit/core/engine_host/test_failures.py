"""Errors that cross: kept if an engine may say them, one line of anything else, forgeries refused."""

from __future__ import annotations

from typing import Any

import pytest

from datamind.core import errors
from datamind.engine_host.failures import describe_failure, read_failure
from datamind.engine_host.frames import FrameError, FrameTooLarge


def crossed(error: Exception) -> errors.DataMindError:
    return read_failure(describe_failure(error, "shop", "query"))


def test_g9_an_error_of_datamind_arrives_as_it_was() -> None:
    sent = errors.LimitExceeded("too many rows", code="limit_exceeded.rows", hint="Ask for fewer.", retryable=True)
    got = crossed(sent)
    assert type(got) is errors.LimitExceeded
    assert (got.message, got.code, got.hint, got.retryable) == (sent.message, sent.code, sent.hint, True)
    assert str(got) == str(sent)


def test_g9_an_error_no_engine_may_raise_is_a_store_error() -> None:
    for sent in (errors.ApprovalRequired("ask me"), errors.BudgetExceeded("max_turns", "x"), errors.ModelError("x")):
        assert type(crossed(sent)) is errors.StoreError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("first\nsecond"), "engine 'shop' in 'query': ValueError: first"),
        (KeyError("k"), "engine 'shop' in 'query': KeyError: 'k'"),
        (RuntimeError(), "engine 'shop' in 'query': RuntimeError:"),
        (RuntimeError("a\x1b[31m\u202eb"), "engine 'shop' in 'query': RuntimeError: a\ufffd[31m\ufffdb"),
    ],
)
def test_g9_an_error_of_a_library_is_its_first_line(error: Exception, line: str) -> None:
    got = crossed(error)
    assert type(got) is errors.StoreError
    assert str(got) == line
    assert not got.retryable


def test_g9_a_line_is_bounded() -> None:
    assert len(str(crossed(ValueError("x" * 1_000_000)))) <= 1_000


def test_g8_memory_and_size_have_codes_of_their_own() -> None:
    assert crossed(MemoryError()).code == "limit_exceeded.memory"
    assert crossed(FrameTooLarge("x")).code == "limit_exceeded.size"
    assert crossed(FrameError("x")).code == "store_error"


FORGED = {"kind": "StoreError", "code": "store_error", "message": "m", "hint": "", "retryable": False}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "ApprovalRequired", "code": "approval_required"},
        {"kind": "Exception"},
        {"kind": ["StoreError"]},
        {"code": "access_denied"},
        {"code": "store_errorx"},
        {"code": "store_error.A b"},
        {"code": "store_error" + ".x" * 10},
        {"code": 1},
        {"message": None},
        {"hint": 1},
        {"retryable": "yes"},
    ],
)
def test_g4_a_forged_error_is_refused(change: dict[str, Any]) -> None:
    assert read_failure(FORGED)
    with pytest.raises(FrameError):
        read_failure(FORGED | change)


@pytest.mark.parametrize("value", [None, "text", [], {}, 1])
def test_g4_what_is_no_error_is_refused(value: Any) -> None:
    with pytest.raises(FrameError):
        read_failure(value)
