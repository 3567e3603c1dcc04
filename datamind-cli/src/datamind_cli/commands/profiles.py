from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from datamind_cli.exits import ExitCode
from datamind_cli.render import Output
from datamind_cli.session import load_settings
from datamind_cli.state import common_options, state_of

if TYPE_CHECKING:
    from datamind.config import Profile


@click.command("profiles")
@common_options
@click.pass_context
def cli(ctx: click.Context) -> int:
    """List the profiles of the base folder; * marks the one that commands use now."""
    from datamind.config import list_profiles

    state = state_of(ctx)
    out = Output(state)
    settings = load_settings(state)
    rows = [_described(profile, settings.data.profile) for profile in list_profiles(settings.data.base_dir)]
    if out.is_json:
        out.json(rows)
        return ExitCode.OK
    out.table(
        ("", "profile", "settings", "storage", "data folder"),
        [("*" if row["current"] else "", row["name"], *_presence(row), row["data_dir"]) for row in rows],
    )
    if not rows:
        out.note(f"There is no profile in {settings.data.base_dir}; `datamind init` makes one.")
    return ExitCode.OK


def _described(profile: Profile, current: str) -> dict[str, Any]:
    return {
        "name": profile.name,
        "current": profile.name == current,
        "data_dir": str(profile.data_dir),
        "storage_dir": str(profile.storage_dir),
        "has_settings": profile.settings_file.is_file(),
        "has_storage": profile.storage_dir.is_dir(),
    }


def _presence(row: dict[str, Any]) -> tuple[str, str]:
    return ("datamind.toml" if row["has_settings"] else "defaults", "yes" if row["has_storage"] else "none yet")
