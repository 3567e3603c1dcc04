"""Writing one SKILL.md in one step, durable when the call returns."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from datamind_skills.skill_files import FILE_NAME

_TEMPORARY = f".{FILE_NAME}."
_ABANDONED_S: Final = 3600
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def write_skill_file(root: Path, folder: str, content: bytes) -> None:
    """Put ``content`` in place: a reader sees the old file or the new one, and a failed write leaves the old.

    Raises:
        OSError: The disk is full, or the folder is a link, a file or not writable.
    """
    _make_folders(root / folder)
    with _opened(root, folder) as descriptor:
        _remove_abandoned(root / folder)
        temporary = f"{_TEMPORARY}{os.urandom(8).hex()}"
        try:
            with os.fdopen(os.open(temporary, _WRITE, 0o644, dir_fd=descriptor), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, FILE_NAME, src_dir_fd=descriptor, dst_dir_fd=descriptor)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=descriptor)
            with suppress(OSError):
                (root / folder).rmdir()  # goes only if nothing is in it
            raise
        os.fsync(descriptor)


def remove_skill_file(root: Path, folder: str) -> bool:
    """Remove SKILL.md, and the folder if nothing else is in it; whether there was one.

    Bundled files stay: no write of ours made them, and a skill put back finds them again.
    """
    try:
        with _opened(root, folder) as descriptor:
            os.unlink(FILE_NAME, dir_fd=descriptor)
            os.fsync(descriptor)
    except FileNotFoundError:
        return False
    with suppress(OSError):
        (root / folder).rmdir()
        _sync(root)
    return True


@contextmanager
def _opened(root: Path, folder: str) -> Iterator[int]:
    # The root and what is above it may be links that the user made; what is inside it may not.
    descriptor = os.open(root.resolve() / folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make_folders(path: Path) -> None:
    if path.is_dir():
        return
    _make_folders(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
    _sync(path.parent)


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob(f"{_TEMPORARY}*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                path.unlink()


def _sync(folder: Path) -> None:
    with _opened(folder, ".") as descriptor:
        os.fsync(descriptor)
