"""Files that survive a power loss."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def write_synced(path: Path, content: bytes | Iterable[bytes], *, mode: int = 0o666) -> None:
    """Put ``content`` in place of ``path`` in one step; the folder's entry is durable after ``sync_folder``.

    A draft ``.<name>.<8 hex digits>`` stands beside it meanwhile; a failed write removes it and leaves the old file.

    Args:
        path: Where it goes.
        content: All of it, in one piece or several.
        mode: Permissions of the new file, less the process's mask.

    Raises:
        OSError: The disk is full, or the folder cannot be written to.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, _CREATE, mode), "wb") as file:
            for piece in (content,) if isinstance(content, bytes) else content:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder survive a power loss.

    Raises:
        OSError: It cannot be opened.
    """
    if os.name == "nt":  # folders cannot be opened there, and the file system keeps their entries itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
