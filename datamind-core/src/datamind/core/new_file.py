"""A file that is there whole and synced, or not at all, and never in place of one that may not go."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from datamind.core.durable import sync_folder
from datamind.core.errors import InputInvalid, NotFound, StoreError

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})


@contextmanager
def written_file(target: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """A file to write; it stands at ``target``, whole and synced, when the block ends without an error.

    Raises:
        InputInvalid: There is a file, and it may not be replaced.
        NotFound: There is no such folder.
        StoreError: The disk does not take it.
    """
    check_free(target, replace=replace)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(draft, target, replace=replace)
    except OSError as error:
        raise StoreError(f"{str(target)[:200]!r} cannot be written ({error.strerror or error})") from None
    finally:
        draft.unlink(missing_ok=True)


def check_free(target: Path, *, replace: bool) -> None:
    """Refuse a file that could not be written.

    Raises:
        InputInvalid: There is a file, and it may not be replaced.
        NotFound: There is no such folder.
    """
    if not target.parent.is_dir():
        raise NotFound(f"there is no folder {str(target.parent)[:200]!r}", code="not_found.file")
    if target.exists() and not replace:
        raise _is_there(target)


def _put_in_place(draft: Path, target: Path, *, replace: bool) -> None:
    if replace:
        draft.replace(target)
    else:
        try:
            _link(draft, target)  # fails where a file has come meanwhile
        except FileExistsError:
            raise _is_there(target) from None
    sync_folder(target.parent)


def _link(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Such as FAT: an empty file takes the name first, so that nothing is replaced that somebody wrote.
        target.open("xb").close()
        try:
            draft.replace(target)
        except OSError:
            target.unlink(missing_ok=True)
            raise


def _is_there(target: Path) -> InputInvalid:
    return InputInvalid(
        f"the file {str(target)[:200]!r} exists", code="input_invalid.file_exists", hint="Replace it with --force."
    )
