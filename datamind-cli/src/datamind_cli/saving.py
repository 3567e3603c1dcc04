"""Answers as files: where they may go, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datamind.core.saved_page import SavedFile
    from datamind.core.verification import SavedAnswer


def check_target(target: Path, *, replace: bool) -> None:
    """Refuse before anything is asked what could not be written afterwards.

    Raises:
        InputInvalid: Another suffix, or there is such a file.
        NotFound: There is no such folder.
    """
    from datamind.core.errors import InputInvalid
    from datamind.core.new_file import check_free

    if target.suffix.lower() not in (".html", ".json"):
        raise InputInvalid(f"an answer is saved as .html or .json, not {target.name[:80]!r}", hint="Name it so.")
    check_free(target, replace=replace)


def write_saved(saved: SavedAnswer, target: Path) -> None:
    """Write an answer in the form that the suffix names; whole, or not at all.

    Raises:
        StoreError: The disk does not take it.
    """
    from datamind.core.new_file import written_file
    from datamind.core.saved_page import to_html, to_json

    text = to_html(saved) if target.suffix.lower() == ".html" else to_json(saved)
    with written_file(target, replace=True) as file:
        file.write(text.encode("utf-8", "surrogatepass"))


def read_saved_file(path: Path) -> SavedFile:
    """The answer in a file.

    Raises:
        NotFound: There is no such file.
        InputInvalid: It is no saved answer, or too large for one.
        SourceUnreadable: It cannot be read.
    """
    from datamind.core.errors import InputInvalid, NotFound, SourceUnreadable
    from datamind.core.saved_page import MAX_BYTES, read_saved

    try:
        if not path.is_file():
            raise NotFound(f"there is no file {str(path)[:200]!r}", code="not_found.file")
        if path.stat().st_size > MAX_BYTES:
            raise InputInvalid(f"{str(path)[:200]!r} has more than {MAX_BYTES:,} bytes, no saved answer has")
        return read_saved(path.read_bytes(), path.name)
    except OSError as error:
        raise SourceUnreadable(f"{str(path)[:200]!r} cannot be read ({error.strerror or error})") from None
