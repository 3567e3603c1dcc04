"""Whatever ends a command early becomes one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import sys
from collections.abc import Iterator

import click

from datamind.core.errors import DataMindError
from datamind_cli.exits import ExitCode, exit_code_of
from datamind_cli.state import State
from datamind_cli.streams import can_show, discard_output, echo, printable, printable_line


@contextlib.contextmanager
def reported(state: State) -> Iterator[None]:
    """Report what is raised inside, and leave with its exit code.

    Raises:
        click.exceptions.Exit: Instead of everything but SystemExit.
    """
    try:
        yield
    except (click.exceptions.Exit, SystemExit):
        raise
    except BaseException as error:
        raise click.exceptions.Exit(int(_report(_innermost(error), state))) from None


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _report(error: BaseException, state: State) -> ExitCode:
    match error:
        case KeyboardInterrupt() | click.Abort():
            _print(state, "interrupted", "Interrupted.")
            return ExitCode.INTERRUPTED
        case click.exceptions.NoArgsIsHelpError():
            echo(error.format_message(), err=True)
            return ExitCode.USAGE
        case click.ClickException():
            _print(state, "usage", _usage_text(error))
            return ExitCode.USAGE
        case DataMindError():
            _print(state, error.code, str(error), retryable=error.retryable)
            return exit_code_of(error.code)
        case BrokenPipeError():
            discard_output()
            return ExitCode.READER_GONE
        case OSError():
            return _report_system(error, state)
    return _report_fault(error, state)


def _usage_text(error: click.ClickException) -> str:
    text = error.format_message()
    text = text if text.endswith((".", "?")) else f"{text}."
    page = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
    return f"{text} See `{page} --help`." if page else text


def _report_system(error: OSError, state: State) -> ExitCode:
    place = f"{str(error.filename)[:300]!r}: " if error.filename is not None else ""
    hint = " Free some space and run it again." if error.errno == errno.ENOSPC else ""
    _print(state, "store_error.system", f"{place}{error.strerror or error}.{hint}")
    # A full disk may be the one that standard output goes to.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        return ExitCode.STORE
    discard_output()
    return ExitCode.STORE


def _report_fault(error: BaseException, state: State) -> ExitCode:
    if state.verbosity:
        import traceback

        echo(_hidden("".join(traceback.format_exception(error)), state), err=True)
    text = f"{type(error).__name__}: {error}"
    _print(state, "fault", f"a fault in DataMind: {text[:300]}. Run it again with -v and report what it prints.")
    return ExitCode.FAULT


def _print(state: State, code: str, message: str, *, retryable: bool = False) -> None:
    message = _hidden(message, state)
    if state.as_json:
        body = {"error": {"code": code, "message": message, "retryable": retryable}}
        text = json.dumps(body, ensure_ascii=not can_show(message, sys.stderr))
    else:
        # Several mistakes in one error stand below one another; anything else is one line.
        text = "\n".join(printable_line(line) for line in f"datamind: {message}".splitlines())
    with contextlib.suppress(OSError):
        echo(printable(text), err=True)


def _hidden(text: str, state: State) -> str:
    from datamind.core.logging import Redactor

    return Redactor(state.secrets).text(text)
