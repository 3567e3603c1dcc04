"""What the options that every command takes have said, and the options themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
_SECRET_KEY: Final = re.compile(r"(api_key|dsn|keys|token|password|secret)$")


@dataclass
class State:
    """Options of one run, wherever on the command line they stood.

    Attributes:
        flags: Settings of the command line, by dotted key.
        secrets: Values that no output may show; known once the settings are loaded.
    """

    flags: dict[str, str] = field(default_factory=dict)
    as_json: bool = False
    use_color: bool = field(default_factory=lambda: not os.environ.get("NO_COLOR"))
    verbosity: int = 0
    secrets: frozenset[str] = frozenset()


def state_of(ctx: click.Context) -> State:
    """The state of this run."""
    return ctx.ensure_object(State)


def common_options(command: _Command) -> _Command:
    """Give a command the options that all share; its function does not see them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _take_profile(ctx: click.Context, _: click.Parameter, name: str | None) -> None:
    if name is not None:
        state_of(ctx).flags["data.profile"] = name


def _take_settings(ctx: click.Context, parameter: click.Parameter, pairs: Sequence[str]) -> None:
    for pair in pairs:
        key, separator, value = pair.partition("=")
        key = key.strip()
        if not separator or not key:
            raise click.BadParameter(f"{pair[:80]!r} is not of the form section.key=value", ctx, parameter)
        if _SECRET_KEY.search(key):
            name = "DATAMIND__" + key.upper().replace(".", "__")
            raise click.BadParameter(
                f"{key} is a secret, and other users of this machine can read a command line; set {name} instead",
                ctx,
                parameter,
            )
        state_of(ctx).flags[key] = value


def _take_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    state_of(ctx).as_json |= value


def _take_no_color(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    state_of(ctx).use_color &= not value


def _take_verbosity(ctx: click.Context, _: click.Parameter, value: int) -> None:
    state_of(ctx).verbosity += value


_OPTIONS: Final = (
    click.option("--profile", metavar="NAME", callback=_take_profile, expose_value=False, help="Profile to work in."),
    click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        callback=_take_settings,
        expose_value=False,
        help="One setting, such as retrieval.top_k=8; may be repeated.",
    ),
    click.option("--json", is_flag=True, callback=_take_json, expose_value=False, help="Print JSON."),
    click.option(
        "--no-color", is_flag=True, callback=_take_no_color, expose_value=False, help="No colours; as NO_COLOR=1."
    ),
    click.option(
        "-v", "--verbose", count=True, callback=_take_verbosity, expose_value=False, help="Say more; -vv logs all."
    ),
)
