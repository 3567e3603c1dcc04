"""Makes one durable step of this process fail: a real SIGKILL, or a full disk. Nothing is changed until it is armed.

A durable step is a call that leaves something on the disk (``fsync``, ``replace``, ``link``, ``unlink``, ``rmdir``)
or a commit of SQLite. Each has a moment before and a moment after it; ``around`` adds moments of other calls. No module
of the product knows of this one.
"""

from __future__ import annotations

import errno
import functools
import inspect
import os
import runpy
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

VARIABLE: Final = "DATAMIND_FAILPOINT"
"""``kill@7`` or ``full@7``: what happens, and at which moment, counted from 1. ``log@PATH`` writes their names."""

_FILE_CALLS: Final = ("fsync", "replace", "link", "unlink", "rmdir")

Action = Literal["kill", "full", "log"]


@dataclass
class Failpoints:
    """The moments of this process so far, and the one at which something happens.

    Attributes:
        action: ``kill`` ends the process without a word; ``full`` raises what a full disk raises, at a moment before
            a call (after it there is nothing left to write); ``log`` only counts.
        at: The moment, from 1; 0 for none.
        log: File that every moment is appended to, so that it can be read after the process is gone.
        with_children: ``kill`` ends the processes that this one has started too, first.
    """

    action: Action = "log"
    at: int = 0
    log: Path | None = None
    count: int = 0
    armed: bool = False
    with_children: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def arm(self) -> None:
        """Begin to count. Connections that SQLite opened before are not seen."""
        for name in _FILE_CALLS:
            self.around(os, name)
        connect: Callable[..., Any] = sqlite3.connect

        def counting_connect(database: Any, *args: Any, **options: Any) -> Any:
            options.setdefault("factory", functools.partial(_CountingConnection, self, _file_name(database)))
            return connect(database, *args, **options)

        setattr(sqlite3, "connect", counting_connect)  # noqa: B010 - the module's own function has overloads
        self.armed = True

    def around(self, owner: Any, name: str, label: str = "") -> None:
        """Make the moments before and after a function of a module or class count; async ones too."""
        work = getattr(owner, name)
        label = label or name

        @functools.wraps(work)
        def run(*args: Any, **kwargs: Any) -> Any:
            self.reach(f"before {label}")
            result = work(*args, **kwargs)
            self.reach(f"after {label}")
            return result

        @functools.wraps(work)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            self.reach(f"before {label}")
            result = await work(*args, **kwargs)
            self.reach(f"after {label}")
            return result

        setattr(owner, name, run_async if inspect.iscoroutinefunction(work) else run)

    def reach(self, moment: str) -> None:
        """Count a moment; what was armed for it happens."""
        with self._lock:
            if not self.armed:
                return
            self.count += 1
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(f"{moment}\n")
            if self.count != self.at:
                return
            if self.action == "kill":
                for pid in children_of(os.getpid()) if self.with_children else ():
                    os.kill(pid, signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)
        if self.action == "full" and moment.startswith("before"):
            raise _full(moment)


def children_of(pid: int) -> list[int]:
    """Processes that a process has started and that are still there. Linux only."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in path.read_text(encoding="ascii").split()]


def from_environment(text: str | None = None) -> Failpoints:
    """Armed as ``DATAMIND_FAILPOINT`` says; not armed when it is unset.

    Raises:
        ValueError: It is neither ``kill@N`` nor ``full@N`` nor ``log@PATH``.
    """
    text = os.environ.get(VARIABLE, "") if text is None else text
    if not text:
        return Failpoints()
    action, _, rest = text.partition("@")
    if action == "log" and rest:
        points = Failpoints(log=Path(rest))
    elif action in ("kill", "full") and rest.isdecimal():
        points = Failpoints("kill" if action == "kill" else "full", int(rest))
    else:
        raise ValueError(f"{VARIABLE}={text!r} is neither kill@N nor full@N nor log@PATH")
    points.arm()
    return points


class _CountingConnection(sqlite3.Connection):
    def __init__(self, points: Failpoints, name: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._points = points
        self._name = name

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql.strip().upper() != "COMMIT":
            return super().execute(sql, *args)
        self._points.reach(f"before commit of {self._name}")
        cursor = super().execute(sql, *args)
        self._points.reach(f"after commit of {self._name}")
        return cursor


def _file_name(database: Any) -> str:
    return os.fspath(database).rpartition("/")[2].partition("?")[0] if isinstance(database, str | Path) else "?"


def _full(moment: str) -> Exception:
    if ".db" not in moment:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


def main() -> None:
    """``python -m datamind.testing.failpoints MODULE [ARGUMENT …]``: that module, with what the variable arms."""
    from_environment()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
