"""Who owns an intent: a lock file that is held as long as the process lives."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path


class Owner:
    """This process, as other processes can check it. The lock file appears at the first write.

    ``hold`` and ``is_alive`` are called within a transaction of the profile's control.db, so that nobody takes a file
    for a dead owner's between its making and its locking.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor: int | None = None
        self.name = f"{os.getpid()}-{secrets.token_hex(8)}"

    def hold(self) -> str:
        """Take the lock if it is not held yet, and sweep what dead owners left; returns the owner's name."""
        if self._descriptor is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sweep(self.folder)
            descriptor = os.open(_file(self.folder, self.name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._descriptor = descriptor
        return self.name

    def release(self) -> None:
        """Give the lock up and remove the file; may be called twice."""
        if self._descriptor is not None:
            _file(self.folder, self.name).unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def is_alive(folder: Path, name: str) -> bool:
    """Whether the owner's process still holds its lock; process ids alone are reused."""
    try:
        descriptor = os.open(_file(folder, name), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sweep(folder: Path) -> None:
    # An owner without a file is as dead as one whose file nobody locks.
    for path in folder.glob("*.lock"):
        if not is_alive(folder, path.stem):
            path.unlink(missing_ok=True)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.lock"
