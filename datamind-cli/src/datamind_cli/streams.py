"""Standard streams that never make a command fail: any encoding, a closed pipe, a stream that is not there."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Final, TextIO

import click

from datamind.core.errors import InputInvalid

# Control characters but tab and newline, and those that reorder or hide text on a terminal.
_UNSAFE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_UNSAFE_IN_LINE: Final = re.compile(rf"[\t\n]|{_UNSAFE.pattern}")


def prepare_streams() -> None:
    """Let every character and every byte through, escaped where the stream's encoding has none for it."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Point standard output nowhere, so that nothing complains when the interpreter flushes it at its end.

    Source: the note on SIGPIPE in the documentation of Python's ``signal`` module.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def can_show(text: str, stream: TextIO | None) -> bool:
    """Whether the stream's encoding has every character of ``text``."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Write to the standard stream of this moment, in the encoding it has; styles are left out of a pipe."""
    # The stream is named because click would replace one that is ASCII by one of its own, in UTF-8.
    click.echo(text, file=sys.stderr if err else sys.stdout, nl=nl)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads or types there; False for a stream that is closed or absent."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def printable(text: str) -> str:
    """Text that cannot move the cursor, change colours or turn its own reading direction; lines stay lines."""
    return _UNSAFE.sub(_escaped, text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    """The same on one line."""
    return _UNSAFE_IN_LINE.sub(_escaped, text)


def printable_json(text: str) -> str:
    """JSON that is equal and as harmless on a terminal: what ``printable`` escapes stands only inside strings."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def read_standard_input() -> str:
    """All of standard input as text: UTF-8, else the encoding of the terminal.

    Raises:
        InputInvalid: There is none, or it is not text.
    """
    if sys.stdin is None:
        raise InputInvalid("standard input is closed;", hint="give the text as an argument.")
    content = sys.stdin.buffer.read()
    for encoding in ("utf-8-sig", sys.stdin.encoding or "utf-8"):
        with contextlib.suppress(UnicodeDecodeError, LookupError):
            return content.decode(encoding)
    raise InputInvalid("standard input is not text;", hint="save it as UTF-8, or use `datamind ingest FILE`.")


@contextlib.contextmanager
def progress_line(*, enabled: bool) -> Iterator[ProgressLine]:
    """One line on standard error that is written over, and gone afterwards; nothing without a terminal."""
    line = ProgressLine(enabled=enabled and is_terminal(sys.stderr))
    try:
        yield line
    finally:
        line.clear()


class ProgressLine:
    """Shows the newest text only."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._width = 0

    def show(self, text: str) -> None:
        """Replace what is shown; cut to 100 characters so that it stays one line."""
        if self._enabled:
            text = printable_line(text)[:100]
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()
