"""Approvals on a terminal: the person sees the stored call, never a model's words about it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from datamind_cli.state import State
from datamind_cli.streams import echo, is_terminal, printable, printable_line

if TYPE_CHECKING:
    from datamind.core.protocols.agent import ApprovalRequest

_MAX_CHARS: Final = 2_000
_MAX_CANDIDATES: Final = 20


class TerminalApprover:
    """Asks whoever sits at the terminal; without one it denies at once, and anything but y or yes is a denial."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def decide(self, request: ApprovalRequest) -> bool:
        """Show the stored call and wait for an answer."""
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            text = f"{request.tool} needs a person's approval ({request.reason}); there is no terminal to ask on."
            echo(printable_line(text), err=True)
            return False
        for line in request_lines(request):
            echo(line, err=True)
        echo("Allow this call? [y/N] ", nl=False, err=True)
        return (await typed(sys.stdin.readline)).strip().lower() in ("y", "yes")


class AgreedApprover(TerminalApprover):
    """A person who named one call with all its arguments, and said that they need not be asked about it."""

    def __init__(self, state: State, tool: str) -> None:
        super().__init__(state)
        self._tool = tool

    async def decide(self, request: ApprovalRequest) -> bool:
        """Yes to that tool; about any other the person is asked."""
        return request.tool == self._tool or await super().decide(request)


def request_lines(request: ApprovalRequest) -> Iterator[str]:
    """The prompt, with control characters and text direction marks escaped."""
    yield printable_line(f"{request.tool} ({request.effect}) in profile {request.profile}: {request.reason}")
    for name, value in request.arguments.items():
        yield f"  {printable_line(name)} = {_shown(value)}"
    for label in request.candidates[:_MAX_CANDIDATES]:
        yield f"  - {printable_line(label)}"
    if len(request.candidates) > _MAX_CANDIDATES:
        yield f"  - and {len(request.candidates) - _MAX_CANDIDATES} more"


def _shown(value: Any) -> str:
    text = printable(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]} (and {len(text) - _MAX_CHARS} more characters)"


async def typed(read: Callable[[], str]) -> str:
    """What a person types; Ctrl-C ends the waiting at once, with nothing typed, and cancels the run.

    asyncio's own handler would let a blocking read wait for the next line.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return read()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, before)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)  # where the run is cancelled
        return ""
    finally:
        signal.signal(signal.SIGINT, before)
