"""Absolute paths, and the folders a system keeps per user for what must live outside every profile."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def absolute(path: str | Path) -> Path:
    """The absolute path, ``~`` and symbolic links followed; relative ones start at the working directory.

    Raises:
        ValueError: It cannot be resolved; the text continues a sentence that begins with the path.
    """
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"cannot be resolved ({error}); give an absolute path") from None


def user_config_dir() -> Path | None:
    """Where a user's programs keep configuration; None where the user has no home folder."""
    return _from_variable("XDG_CONFIG_HOME") or _platform_dir(Path(".config"))


def _from_variable(name: str) -> Path | None:
    # A relative value is to be ignored. Source: XDG Base Directory Specification 0.8.
    path = Path(os.environ.get(name, ""))
    return path if path.is_absolute() else None


def _platform_dir(unix: Path) -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return _from_variable("LOCALAPPDATA") or home / "AppData" / "Local"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return home / unix
