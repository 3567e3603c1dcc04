"""An error that travelled as a code and a message is of its class again."""

from __future__ import annotations

import pytest

from datamind.core.errors import (
    ApprovalRequired,
    BudgetExceeded,
    Conflict,
    DataMindError,
    IntegrityError,
    PathDenied,
    PluginError,
    error_of,
)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("conflict", Conflict),
        ("conflict.running", Conflict),
        ("path_denied.link", PathDenied),
        ("approval_required", ApprovalRequired),
        ("integrity_error", IntegrityError),
        ("plugin_error.clash", PluginError),
        ("something_of_a_plugin.else", DataMindError),
        ("", DataMindError),
    ],
)
def test_the_first_part_of_a_code_says_the_class(code: str, kind: type[DataMindError]) -> None:
    error = error_of(code, "It went wrong. Try again.")
    assert (type(error), str(error), error.code) == (kind, "It went wrong. Try again.", code or "error")


def test_a_budget_error_keeps_its_limit() -> None:
    error = error_of("budget_exceeded.max_turns", "12 turns are over")
    assert isinstance(error, BudgetExceeded)
    assert (error.limit, error.code) == ("max_turns", "budget_exceeded.max_turns")
