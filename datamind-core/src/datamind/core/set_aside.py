"""Damaged files of a store: marked when they are met, moved away under a name with the time."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from datamind.core.errors import StoreError

_MARK: Final = ".damaged"


def mark(path: Path) -> None:
    """Leave word beside the main file or folder of a store, so that the next use begins anew."""
    with suppress(OSError):
        _mark_of(path).touch()


def is_marked(path: Path) -> bool:
    """Whether a process has met damage here."""
    return _mark_of(path).exists()


def _mark_of(path: Path) -> Path:
    return path.with_name(path.name + _MARK)


def set_aside(path: Path, others: Iterable[str]) -> str:
    """Move a store, its mark and what belongs to it to ``damaged-<time>`` beside it; empty if nothing is there.

    Args:
        path: Its main file or folder.
        others: Names beside it.

    Raises:
        StoreError: The folder cannot be changed.
    """
    folder = path.parent
    wanted = (path, _mark_of(path), *(folder / name for name in others))
    found = [one for one in wanted if one.exists()]
    if not found:
        return ""
    target = folder / f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**6:06}"
    try:
        target.mkdir(mode=0o700)
        for one in found:
            one.rename(target / one.name)
    except OSError as error:
        raise StoreError(f"damaged files in {str(folder)!r} could not be moved ({error.strerror or error}).") from error
    return str(target)
