"""What a process of its own is needed for: another user's rights, and how much memory a call takes."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from datamind.capabilities.ingest.files import Located, PathPolicy, locate, read_file, walk
from datamind.core.errors import DataMindError

NOBODY = 65534
_LIMIT = 1 << 20


def become_nobody() -> None:
    """Give up root's rights, where we have them."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def read_as_nobody(root: str, path: str) -> list[str]:
    """Code and message of the refusal."""
    become_nobody()
    return _refusal(root, path, _LIMIT)


def walk_as_nobody(root: str) -> list[list[str]]:
    """Each thing a walk gives, with its text or why it has none."""
    become_nobody()
    return [["/".join(located.parts), _text(located)] for located in walk(Located(Path(root), ()))]


def read_and_measure(root: str, path: str, limit: int) -> list[object]:
    """Code of the refusal and how many bytes the process grew by."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code, _ = _refusal(root, path, limit)
    return [code, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024]


def _text(located: Located) -> str:
    try:
        return read_file(located, max_bytes=_LIMIT).decode()
    except DataMindError as error:
        return error.code


def _refusal(root: str, path: str, limit: int) -> list[str]:
    try:
        read_file(locate(path, PathPolicy(Path(root))), max_bytes=limit)
    except DataMindError as error:
        return [error.code, str(error)]
    return ["", ""]
