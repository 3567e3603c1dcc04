"""Exit codes: every error has one, and scripts may branch on it."""

from __future__ import annotations

import pytest

from datamind.core import errors
from datamind_cli.exits import MEANINGS, ExitCode, error_classes, exit_code_of, exit_code_of_failures


def test_every_exit_code_is_explained():
    assert set(MEANINGS) == set(ExitCode)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("config_invalid", ExitCode.CONFIG),
        ("plugin_error.missing", ExitCode.CONFIG),
        ("access_denied.hook", ExitCode.DENIED),
        ("path_denied.link", ExitCode.DENIED),
        ("approval_required", ExitCode.DENIED),
        ("arguments_invalid.json", ExitCode.USAGE),
        ("input_invalid", ExitCode.USAGE),
        ("not_found.file", ExitCode.USAGE),
        ("source_unreadable.no_loader", ExitCode.USAGE),
        ("store_error", ExitCode.STORE),
        ("integrity_error", ExitCode.STORE),
        ("surface_unavailable", ExitCode.STORE),
        ("conflict", ExitCode.STORE),
        ("limit_exceeded", ExitCode.STORE),
        ("model_refused", ExitCode.MODEL),
        ("budget_exceeded.max_turns", ExitCode.MODEL),
        ("answer_invalid", ExitCode.MODEL),
        ("of.a.plugin", ExitCode.STORE),
    ],
)
def test_the_exit_code_follows_from_the_stable_code(code, expected):
    assert exit_code_of(code) is expected


def test_no_error_exits_as_if_all_were_well():
    assert errors.DataMindError in error_classes()
    for kind in error_classes():
        assert exit_code_of(kind.default_code) not in (ExitCode.OK, ExitCode.NEGATIVE)


def test_writes_that_were_all_refused_are_a_denial_and_any_other_failure_a_negative_outcome():
    assert exit_code_of_failures(["path_denied.link", "access_denied"]) is ExitCode.DENIED
    assert exit_code_of_failures(["path_denied.link", "store_error"]) is ExitCode.NEGATIVE
    assert exit_code_of_failures([]) is ExitCode.NEGATIVE
