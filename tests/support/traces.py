"""Reads what strace saw: which files and folders were changed, and which of these were synced, at each line printed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CALLS: Final = (
    "openat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,fallocate,copy_file_range,sendfile,"
    "rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,fsync,fdatasync,sync_file_range,msync"
)
_LINE: Final = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)")
_DESCRIPTOR: Final = re.compile(r"\d+<([^>]*)>")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WRITING: Final = frozenset(("write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate"))
_MOVING: Final = frozenset(("rename", "renameat", "renameat2", "link", "linkat"))


def strace(out: Path, *command: str) -> list[str]:
    """The command that runs another one and writes what it calls to a file."""
    return [
        "strace",
        "-f",
        "-qq",
        "-y",
        "-s",
        "80",
        "-e",
        f"trace={CALLS}",
        "-e",
        "signal=none",
        "-o",
        str(out),
        *command,
    ]


@dataclass
class Seen:
    """What had happened when a line was printed, since the line before.

    Attributes:
        line: What was printed.
        unsynced: Files and folders below the root whose last change no sync has followed.
        syncs: How often each was synced.
    """

    line: str
    unsynced: set[str]
    syncs: Counter[str]


@dataclass
class _State:
    root: str
    ignored: re.Pattern[str]
    known: set[str] = field(default_factory=set)
    unsynced: set[str] = field(default_factory=set)
    syncs: Counter[str] = field(default_factory=Counter)

    def inside(self, path: str) -> bool:
        below = path.startswith(self.root + "/") and not self.ignored.search(path)
        return below or path == self.root

    def changed(self, path: str) -> None:
        if self.inside(path):
            self.unsynced.add(path)

    def made(self, path: str) -> None:
        if self.inside(path) and path not in self.known:
            self.known.add(path)
            self.changed(str(Path(path).parent))

    def moved(self, old: str, new: str) -> None:
        is_unsynced = old in self.unsynced
        self.unsynced.discard(old)
        if self.inside(new):
            if is_unsynced:
                self.unsynced.add(new)
            self.known.add(new)
            self.changed(str(Path(new).parent))

    def removed(self, path: str) -> None:
        self.unsynced.discard(path)
        self.known.discard(path)

    def synced(self, path: str) -> None:
        if self.inside(path):
            self.unsynced.discard(path)
            self.syncs[path] += 1


def read(trace: Path, root: Path, ignored: re.Pattern[str]) -> Iterator[Seen]:
    """For each line that was printed on standard output, what was synced before it.

    Args:
        trace: What ``strace`` wrote.
        root: Changes elsewhere are left out,
        ignored: and those of files whose path has this in it.
    """
    state = _State(str(root), ignored)
    begun: dict[tuple[str, str], str] = {}
    for pid, name, text in _calls(trace.read_text(encoding="utf-8", errors="replace").splitlines()):
        if text.endswith("<unfinished ...>"):
            begun[pid, name] = text
            continue
        text = begun.pop((pid, name), "") + text
        if re.search(r"\) += -1 E\w+ ", text):
            continue
        if name == "write" and text.startswith("1<"):
            line = _QUOTED.search(text)
            assert line is not None
            yield Seen(line[1].removesuffix("\\n"), set(state.unsynced), state.syncs)
            state.syncs = Counter()
        else:
            _apply(state, name, text)


def _calls(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        found = _LINE.match(line)
        if found:
            yield found[1], found[2], found[3]


def _apply(state: _State, name: str, text: str) -> None:
    descriptor = _DESCRIPTOR.search(text)
    if name in ("fsync", "fdatasync") and descriptor:
        state.synced(descriptor[1])
    elif name in _WRITING and descriptor:
        state.changed(descriptor[1])
    elif name == "openat" and ("O_CREAT" in text or "O_TMPFILE" in text):
        opened = _DESCRIPTOR.search(text.rpartition("=")[2])
        if opened and "(deleted)" not in text:
            state.made(opened[1])
    elif name in ("mkdir", "mkdirat"):
        (path, *_) = _QUOTED.findall(text)
        state.made(path)
    elif name in ("unlink", "unlinkat", "rmdir"):
        (path, *_) = _QUOTED.findall(text)
        state.removed(path)
    elif name in _MOVING:
        old, new = _QUOTED.findall(text)
        state.moved(old, new)
