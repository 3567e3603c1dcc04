"""Exit codes: what a script may branch on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from datamind.core import errors

if TYPE_CHECKING:
    from datamind.core.receipts import IngestReceipt


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    NEGATIVE = 1
    USAGE = 2
    CONFIG = 3
    DENIED = 4
    STORE = 5
    MODEL = 6
    FAULT = 70
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS: Final = {
    ExitCode.OK: "done; finding nothing is no failure",
    ExitCode.NEGATIVE: "it ran, and the outcome is negative: nothing or only part was stored, a check failed",
    ExitCode.USAGE: "the command line, or something it names, is wrong",
    ExitCode.CONFIG: "a setting or a plugin named in Settings is wrong; nothing was opened",
    ExitCode.DENIED: "refused by a rule, or waiting for a person's approval; nothing ran",
    ExitCode.STORE: "a store, an engine or the disk failed",
    ExitCode.MODEL: "the model failed, or a run limit was reached",
    ExitCode.FAULT: "a fault in DataMind itself",
    ExitCode.INTERRUPTED: "interrupted; what was acknowledged stays",
    ExitCode.READER_GONE: "whoever read the output went away",
}

# The first class that fits: subclasses stand before their bases.
_OF_ERROR: Final = (
    (errors.ConfigError, ExitCode.CONFIG),
    (errors.AccessDenied, ExitCode.DENIED),
    (errors.ArgumentsInvalid, ExitCode.USAGE),
    (errors.InputInvalid, ExitCode.USAGE),
    (errors.NotFound, ExitCode.USAGE),
    (errors.SourceUnreadable, ExitCode.USAGE),
    (errors.ModelError, ExitCode.MODEL),
    (errors.AnswerInvalid, ExitCode.MODEL),
    (errors.BudgetExceeded, ExitCode.MODEL),
    (errors.DataMindError, ExitCode.STORE),
)


def error_classes() -> list[type[errors.DataMindError]]:
    """Every class of the error tree, in the order of its module."""
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.DataMindError) and value.__module__ == errors.__name__
    ]


def exit_code_of(code: str) -> ExitCode:
    """The exit code of an error that ended a command, by the first part of its stable code."""
    first = code.partition(".")[0]
    kind = next((kind for kind in error_classes() if kind.default_code == first), errors.DataMindError)
    return next(exit_code for base, exit_code in _OF_ERROR if issubclass(kind, base))


def exit_code_of_failures(codes: Iterable[str]) -> ExitCode:
    """The exit code of writes that did not all succeed, from the error code of each that failed."""
    kinds = {exit_code_of(code) for code in codes}
    return ExitCode.DENIED if kinds == {ExitCode.DENIED} else ExitCode.NEGATIVE


def exit_code_of_receipts(receipts: Sequence[IngestReceipt]) -> ExitCode:
    """The exit code of writes that all have their receipt."""
    failed = [receipt.result.error.code for receipt in receipts if receipt.result.error]
    if failed:
        return exit_code_of_failures(failed)
    return ExitCode.NEGATIVE if any(receipt.status == "partial" for receipt in receipts) else ExitCode.OK
