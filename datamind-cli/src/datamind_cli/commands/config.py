from __future__ import annotations

import json
from typing import Any

import click

from datamind_cli.exits import ExitCode
from datamind_cli.render import Output
from datamind_cli.session import load_settings
from datamind_cli.state import common_options, state_of


@click.group("config")
def cli() -> None:
    """Show the settings."""


@cli.command("show")
@click.argument("prefix", metavar="[KEY]", default="")
@click.option("--origin", is_flag=True, help="Say where each value was set.")
@common_options
@click.pass_context
def show(ctx: click.Context, prefix: str, origin: bool) -> int:
    """Show every setting as it holds, or those of KEY: a section such as llm, or one key.

    Flags come before variables, variables before .env, that before the profile's datamind.toml, that before defaults.
    Secrets are masked.
    """
    from datamind.core.errors import NotFound

    state = state_of(ctx)
    out = Output(state)
    rows = [row for row in load_settings(state).origins() if _is_below(row.key, prefix)]
    if not rows:
        raise NotFound(f"there is no setting {prefix[:80]!r};", hint="`datamind config show` lists all.")
    if out.is_json:
        out.json([{"key": row.key, "value": row.value, "origin": row.origin, "where": row.where} for row in rows])
    elif origin:
        cells = [(row.key, _value(row.value), row.origin.value, row.where) for row in rows]
        out.table(("setting", "value", "origin", "where"), cells)
    else:
        out.table(("setting", "value"), [(row.key, _value(row.value)) for row in rows])
    return ExitCode.OK


def _is_below(key: str, prefix: str) -> bool:
    return not prefix or key == prefix or key.startswith(f"{prefix}.")


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
