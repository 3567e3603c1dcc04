"""Writing settings into a profile's ``datamind.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from datamind.config.catalogue import is_known, unknown_key_text
from datamind.config.profile import Profile, make_folder
from datamind.config.settings import check_profile_tables
from datamind.config.toml import format_toml, read_text, read_toml
from datamind.core.durable import sync_folder, write_synced
from datamind.core.errors import ConfigError

_HEADER: Final = """\
# Settings of one profile. Calls, flags and variables come before them; `datamind config show --origin` says what holds.
# DataMind rewrites this file when a setting is saved: values and these first lines stay, other comments do not.
"""


def write_profile_file(profile: Profile, values: Mapping[str, Any]) -> Path:
    """Sets dotted keys in the profile's file and keeps its other values; None removes a key.

    The new file replaces the old one in one step, is readable by its owner alone, and is durable when the call
    returns. Comments below the first lines are lost. Of two writers at one moment the last one wins.

    Raises:
        ConfigError: The file would not be valid settings, or cannot be written; the old one stays.
    """
    path = profile.settings_file
    tables = read_toml(path)
    for key, value in values.items():
        _set(tables, key, _plain(value))
    check_profile_tables(profile, tables)
    make_folder(profile.data_dir, 0o777)
    try:
        write_synced(path, f"{_first_comment(path)}\n{format_toml(tables)}".encode(), mode=0o600)  # it may hold keys
        sync_folder(path.parent)
    except (OSError, TypeError, UnicodeEncodeError) as error:
        raise ConfigError(f"{path} cannot be written ({error});", hint="the old settings hold.") from None
    return path


def _set(tables: dict[str, Any], key: str, value: Any) -> None:
    if not is_known(key):
        raise ConfigError(f"{key} {unknown_key_text(key)}")
    *parents, name = key.split(".", 2)
    table = tables
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{key} cannot be set: {parent} is a value in the profile file;", hint="make it a table.")
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _first_comment(path: Path) -> str:
    lines = read_text(path).splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:end]) or _HEADER
