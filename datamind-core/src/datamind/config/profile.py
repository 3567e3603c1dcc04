"""A profile: one name that decides two folders, which always move together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from datamind.config.paths import absolute
from datamind.core.errors import ConfigError
from datamind.core.types import SHARED_PROFILE, is_profile_name

if TYPE_CHECKING:
    from datamind.config.settings import Settings

_PACKAGE_FOLDERS: Final = frozenset({"site-packages", "dist-packages"})
_PROFILES: Final = Path("data", "profiles")
_STORAGE: Final = Path("storage")


PROFILE_NAME_RULE: Final = (
    "use 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit, and no device name such as con"
)


def usable_base_dir(base_dir: str | Path) -> Path:
    """The absolute folder that may hold profiles.

    Raises:
        ValueError: It cannot be resolved, or lies among installed packages, where an upgrade would delete data;
            the text continues a sentence that begins with the path.
    """
    resolved = absolute(base_dir)
    if _PACKAGE_FOLDERS.isdisjoint(resolved.parts):
        return resolved
    raise ValueError("lies among installed packages; set data.base_dir to a folder of your own")


@dataclass(frozen=True, slots=True)
class Profile:
    """Where one profile keeps what the user gives it (``data_dir``) and what DataMind makes of it (``storage_dir``).

    Raises:
        ConfigError: A name outside the rule (the reserved ``_shared`` is allowed here), or an unusable ``base_dir``.
    """

    name: str
    base_dir: Path

    def __post_init__(self) -> None:
        if self.name != SHARED_PROFILE and not is_profile_name(self.name):
            raise ConfigError(f"profile name {self.name[:80]!r} is not allowed;", hint=f"{PROFILE_NAME_RULE}.")
        object.__setattr__(self, "base_dir", _checked(self.base_dir))

    @classmethod
    def of(cls, settings: Settings) -> Profile:
        """The profile that ``data.profile`` names."""
        return cls(settings.data.profile, settings.data.base_dir)

    @classmethod
    def shared(cls, settings: Settings) -> Profile:
        """The reserved profile of global memories, beside the named one."""
        return cls(SHARED_PROFILE, settings.data.base_dir)

    @property
    def data_dir(self) -> Path:
        """``data/profiles/<name>``: the user's own files and ``datamind.toml``."""
        return self.base_dir / _PROFILES / self.name

    @property
    def storage_dir(self) -> Path:
        """``storage/<name>``: stores, ledger and audit; readable by its owner alone."""
        return self.base_dir / _STORAGE / self.name

    @property
    def settings_file(self) -> Path:
        """The profile file, whether or not it exists."""
        return self.data_dir / "datamind.toml"

    def ensure(self) -> None:
        """Creates what is missing, storage with mode 0o700; the shared profile has storage alone.

        Raises:
            ConfigError: A folder cannot be created or written to.
        """
        if self.name != SHARED_PROFILE:
            make_folder(self.data_dir, 0o777)
        make_folder(self.storage_dir.parent, 0o700)
        make_folder(self.storage_dir, 0o700)
        if not os.access(self.storage_dir, os.W_OK | os.X_OK):
            raise _unusable(self.storage_dir, "it is not writable")


def make_folder(folder: Path, mode: int) -> None:
    """Creates a folder and its parents; an existing one keeps its mode.

    Raises:
        ConfigError: It cannot be created.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=mode, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from error


def _unusable(folder: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"folder {str(folder)!r} cannot be used ({reason});",
        hint="set data.base_dir to a folder you can write to.",
    )


def _checked(base_dir: str | Path) -> Path:
    try:
        return usable_base_dir(base_dir)
    except ValueError as error:
        raise ConfigError(f"base folder {str(base_dir)[:200]!r} {error}.") from None


def list_profiles(base_dir: str | Path) -> list[Profile]:
    """Every profile that has a data or a storage folder, by name; the shared one is not among them."""
    root = _checked(base_dir)
    names = {folder.name for parent in (root / _PROFILES, root / _STORAGE) for folder in _folders(parent)}
    return [Profile(name, root) for name in sorted(filter(is_profile_name, names))]


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    try:
        return [folder for folder in parent.iterdir() if folder.is_dir()]
    except OSError as error:
        raise _unusable(parent, error.strerror or str(error)) from error
