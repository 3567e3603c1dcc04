"""The files written anew: the engine keeps every text it was ever given, whether a statement still says it or not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyoxigraph as ox

from datamind.core.durable import sync_folder


def write_anew(folder: Path) -> None:
    """Copy every statement into a new store that takes the place of the old; the index of names is made anew later.

    Raises:
        OSError: It failed; the old store is as it was, or aside for the moment until this is repeated.
    """
    old, new = folder.with_name(f"{folder.name}.old"), folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    if old.exists() and not folder.exists():
        old.rename(folder)  # a process died between the two renames
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        _copy(folder, new)
        folder.rename(old)
        new.rename(folder)
        sync_folder(folder.parent)
        shutil.rmtree(old)
    for name in ("names.db", "names.db-wal", "names.db-shm"):
        folder.with_name(name).unlink(missing_ok=True)
    sync_folder(folder.parent)


def _copy(folder: Path, new: Path) -> None:
    held, fresh = ox.Store(str(folder)), ox.Store(str(new))
    fresh.bulk_extend(iter(held))
    fresh.flush()
    del held, fresh  # the engine closes its files when nothing refers to it any more
    for path in new.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(new)
