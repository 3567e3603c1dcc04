"""A fresh profile in a temporary folder, for what must neither see nor change the user's own data."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datamind_cli.state import State

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.config import Settings

_SERVERS: Final = ("db.dsn", "db.read_dsn", "memory.dsn", "graph.dsn")


@contextmanager
def temporary_folder(*, keep: bool = False) -> Iterator[Path]:
    """A folder that is gone afterwards, unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="datamind-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def temporary_flags(profile: str, folder: Path) -> dict[str, str]:
    """Settings that put everything a profile writes into ``folder``, its audit key too."""
    return {
        "data.profile": profile,
        "data.base_dir": str(folder),
        "hooks.audit_key": str(folder / "keys"),
    }


def settings_with(state: State, flags: Mapping[str, str]) -> Settings:
    """Settings of the command line with ``flags`` before them.

    A default that is absent gives way to core's own, a server to a store in the folder: what it holds is the user's.

    Raises:
        ConfigError: A setting is wrong.
    """
    from datamind.plugins import PluginHost, ProviderRegistry
    from datamind_cli.initialising import absent_defaults
    from datamind_cli.plugin_commands import lenient_environ, quiet_plugins
    from datamind_cli.session import load_settings

    chosen = State({**state.flags, **flags}, state.as_json, state.use_color, state.verbosity)
    settings = load_settings(chosen)
    with quiet_plugins():
        absent = absent_defaults(settings, ProviderRegistry(PluginHost(environ=lenient_environ())))
    servers = [row.key for row in settings.origins() if row.key in _SERVERS and row.value is not None]
    if absent or servers:
        chosen.flags |= {**dict.fromkeys(absent, "memory"), **dict.fromkeys(servers, "")}
        settings = load_settings(chosen)
    state.secrets = chosen.secrets
    return settings


@asynccontextmanager
async def temporary_system(state: State, profile: str, like: Path | None = None) -> AsyncIterator[DataMind]:
    """An open system over a fresh profile.

    Args:
        state: Options of the command line.
        profile: Name of the fresh profile.
        like: Profile file whose settings it takes over.
    """
    from datamind_cli.session import opened_system

    with temporary_folder() as folder:
        if like is not None:
            _copy_settings(like, folder / "data" / "profiles" / profile)
        async with opened_system(state, settings_with(state, temporary_flags(profile, folder))) as system:
            yield system


def _copy_settings(file: Path, home: Path) -> None:
    if file.is_file():
        home.mkdir(parents=True)
        shutil.copyfile(file, home / file.name)
