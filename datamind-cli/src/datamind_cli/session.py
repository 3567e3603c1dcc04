"""From the options of a command line to an open system, and back to an exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from datamind_cli.state import State

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.config import Settings

_T = TypeVar("_T")
_LEVELS = {1: "info", 2: "debug"}


def load_settings(state: State, defaults: Mapping[str, str] | None = None) -> Settings:
    """The settings of this command line; from here on its output hides their secrets.

    Args:
        state: Options of the command line.
        defaults: Flags of the command itself, for what the user's flags leave open.

    Raises:
        ConfigError: A setting is wrong.
    """
    from datamind.config import Settings

    flags = {**(defaults or {}), **state.flags}
    if state.verbosity:
        flags.setdefault("logging.level", _LEVELS[min(state.verbosity, 2)])
    settings = Settings.load(flags=flags)
    state.secrets = settings.secrets()
    return settings


def _log_to_file(settings: Settings) -> None:
    from datamind.core.logging import configure_logging

    if stream := _log_stream(settings.logging.file):
        configure_logging(settings.logging.level, settings.logging.format, stream)


def _log_stream(path: Path | None) -> TextIO | None:
    from datamind.core.errors import ConfigError

    if path is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        hint = "set logging.file to a file you can write."
        raise ConfigError(f"the log file {str(path)!r} cannot be opened ({error.strerror});", hint=hint) from error


@asynccontextmanager
async def opened_system(state: State, settings: Settings | None = None) -> AsyncIterator[DataMind]:
    """Everything that is installed and selected, closed again at the end.

    Raises:
        ConfigError: A setting is wrong, or a plugin it names is missing or broken.
    """
    from datamind.agent import build_datamind
    from datamind_cli.approve import TerminalApprover

    settings = settings or load_settings(state)
    system = await build_datamind(settings, approver=TerminalApprover(state))
    _log_to_file(settings)
    try:
        yield system
    finally:
        await system.aclose()


def run(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run a command's coroutine. Ctrl-C cancels it, so that it can close what it opened."""

    async def main() -> _T:
        return await work()

    return asyncio.run(main())


def given_text(words: tuple[str, ...], what: str) -> str:
    """The text of an argument, or of standard input for ``-``.

    Raises:
        InputInvalid: It is empty, or is not Unicode.
    """
    from datamind.core.errors import InputInvalid
    from datamind_cli.streams import read_standard_input

    text = (read_standard_input() if words == ("-",) else " ".join(words)).strip()
    if not text:
        raise InputInvalid(f"the {what} is empty;", hint="give it as an argument, or - to read standard input.")
    try:
        text.encode()
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        raise InputInvalid(f"the {what} is not {encoding} text: {text[:40]!r};", hint="check its encoding.") from None
    return text
