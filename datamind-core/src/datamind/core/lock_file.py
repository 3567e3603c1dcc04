"""A lock file that names who holds it, and beside it one that shows whether someone waits."""

from __future__ import annotations

import fcntl
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class Holder(NamedTuple):
    """Who has a lock.

    Attributes:
        pid: Its process.
        since: When it took the lock, with its time zone.
        url: Where it serves, or "".
    """

    pid: int
    since: datetime
    url: str = ""

    @property
    def is_suspended(self) -> bool:
        """Whether the process is stopped (Ctrl-Z, SIGSTOP), as far as the system tells."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[:1] == ["T"]


class LockFile:
    """Held by one open file at a time, of whatever process; the system frees it when the process dies.

    Blocking, some microseconds a call.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue = path.with_name(f"{path.name}.waiting")
        self._descriptor: int | None = None
        self._place: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._descriptor is not None

    def try_take(self, url: str = "") -> bool:
        """Take it unless another has it.

        Raises:
            OSError: The file cannot be written.
        """
        descriptor = os.open(self.path, _FLAGS, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry = {"pid": os.getpid(), "since": datetime.now().astimezone().isoformat("T", "seconds"), "url": url}
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(entry).encode(), 0)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def let_go(self) -> None:
        """Give it up; does nothing if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def holder(self) -> Holder | None:
        """Who took it last, so whoever has it if anyone has; None while that is being written."""
        try:
            entry = json.loads(self.path.read_bytes())
            return Holder(int(entry["pid"]), datetime.fromisoformat(entry["since"]), str(entry["url"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def queue_up(self) -> None:
        """Let the holder see that someone waits; until ``leave_queue``."""
        self._place = os.open(self._queue, _FLAGS, 0o600)
        fcntl.flock(self._place, fcntl.LOCK_SH)

    def leave_queue(self) -> None:
        """End ``queue_up``."""
        if self._place is not None:
            os.close(self._place)
            self._place = None

    def is_wanted(self) -> bool:
        """Whether someone waits for it now."""
        try:
            queue = os.open(self._queue, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(queue)
        return False
