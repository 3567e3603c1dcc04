"""From the options of a command line to an open system, and back to an exit code."""

from __future__ import annotations

import asyncio
import gc
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from datamind_cli.state import State

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.config import Profile, Settings
    from datamind.core.protocols.agent import Approver
    from datamind.plugins import PluginHost

_T = TypeVar("_T")
_ESCAPED = re.compile("[\ud800-\udfff]")
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


def need_profile(settings: Settings) -> None:
    """For a command that only reads: a profile that somebody named must be there, and is not made by looking at it.

    Raises:
        NotFound: There is no such profile.
    """
    from datamind.config import Profile
    from datamind.core.errors import NotFound

    profile = Profile.of(settings)
    if _is_named_in_vain(settings, profile):
        hint = "`datamind profiles` lists those there are, `datamind init` makes one."
        raise NotFound(
            f"there is no profile {profile.name!r} in {profile.base_dir};", code="not_found.profile", hint=hint
        )


def _new_profile_note(settings: Settings) -> str:
    """What a command that writes says when it makes a profile that somebody named; empty when it is there."""
    from datamind.config import Profile

    profile = Profile.of(settings)
    return f"profile {profile.name} is new, in {profile.data_dir}" if _is_named_in_vain(settings, profile) else ""


def _is_named_in_vain(settings: Settings, profile: Profile) -> bool:
    is_named = any(row.key == "data.profile" and row.origin != "default" for row in settings.origins())
    return is_named and not (profile.settings_file.is_file() or profile.storage_dir.is_dir())


@asynccontextmanager
async def opened_for_reading(state: State, *, approver: Approver | None = None) -> AsyncIterator[DataMind]:
    """``opened_system`` for a command that only reads, or needs what is there already.

    Raises:
        ConfigError: As there.
        NotFound: The profile that is named does not exist.
    """
    settings = load_settings(state)
    need_profile(settings)
    async with opened_system(state, settings, approver=approver) as system:
        yield system


@asynccontextmanager
async def opened_for_writing(state: State, *, approver: Approver | None = None) -> AsyncIterator[DataMind]:
    """``opened_system`` for a command that stores: it makes the profile where there is none, and says so.

    Args:
        state: Options of the command line.
        approver: As there.

    Raises:
        ConfigError: As there.
    """
    from datamind_cli.render import Output

    settings = load_settings(state)
    if note := _new_profile_note(settings):
        Output(state).note(note)
    async with opened_system(state, settings, approver=approver) as system:
        yield system


@asynccontextmanager
async def opened_system(
    state: State,
    settings: Settings | None = None,
    *,
    host: PluginHost | None = None,
    approver: Approver | None = None,
) -> AsyncIterator[DataMind]:
    """Everything that is installed and selected, closed again at the end.

    Args:
        state: Options of the command line.
        settings: Those loaded already.
        host: The plugins found already.
        approver: Who decides; whoever sits at the terminal when left out.

    Raises:
        ConfigError: A setting is wrong, or a plugin it names is missing or broken.
    """
    from datamind.agent import build_datamind
    from datamind_cli.approve import TerminalApprover

    approver = approver or TerminalApprover(state)
    system = await build_datamind(settings or load_settings(state), approver=approver, host=host)
    if not gc.isenabled():
        gc.freeze()  # what is there by now stays to the end
        gc.enable()
    try:
        yield system
    finally:
        await system.aclose()


async def whole_id(system: DataMind, given: str) -> str:
    """The id that the beginning of a receipt id stands for, as tables show it; any other id as it is.

    Raises:
        InputInvalid: Several receipts begin like that.
    """
    from datamind.core.errors import InputInvalid

    if not given.startswith("rcpt_"):
        return given
    found = [
        receipt_id
        for control in system.services.controls()
        for receipt_id in await control.receipts.starting_with(given)
    ]
    if len(found) > 1 and given not in found:
        raise InputInvalid(f"several receipts begin with {given[:80]!r};", hint="give more of the id.")
    return found[0] if len(found) == 1 else given


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
        # Under a locale without Unicode, Python escapes the bytes of arguments instead of reading them as UTF-8.
        return os.fsencode(text).decode("utf-8") if _ESCAPED.search(text) else text
    except UnicodeError:
        raise InputInvalid(f"the {what} is not UTF-8 text: {text[:40]!r};", hint="check its encoding.") from None
