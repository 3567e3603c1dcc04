"""What a folder's own ignore files leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from datamind.capabilities.ingest.files import Located, read_file
from datamind.core.errors import DataMindError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES: Final = (".gitignore", ".datamindignore")
_MAX_BYTES: Final = 256 * 1024
_JUNK_FOLDERS: Final = frozenset({"node_modules", "bower_components", "__pycache__", "__MACOSX", "$RECYCLE.BIN"})
_JUNK_FILES: Final = frozenset({"Thumbs.db", "desktop.ini"})
_JUNK_ENDINGS: Final = ("~", ".tmp", ".swp", ".swo", ".part", ".crdownload", ".pyc")
_OFFICE_LOCK: Final = "~$"


def is_junk(name: str, *, is_folder: bool) -> bool:
    """Whether programs leave such files and folders about."""
    if is_folder:
        return name in _JUNK_FOLDERS
    return name in _JUNK_FILES or name.startswith(_OFFICE_LOCK) or name.endswith(_JUNK_ENDINGS)


class Ignored:
    """The rules of a folder and of those above it, up to the one that was named; the nearest decides."""

    def __init__(self, rules: tuple[tuple[int, GitIgnoreSpec], ...] = ()) -> None:
        self._rules = rules

    def within(self, folder: Located, names: Sequence[str]) -> Ignored:
        """These rules and those that the folder brings itself. An ignore file that cannot be read has none."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            if name in names:
                lines += _lines(Located(folder.root, (*folder.parts, name)))
        if not lines:
            return self
        spec = _spec(lines)
        return Ignored(((len(folder.parts), spec), *self._rules))

    def covers(self, located: Located, *, is_folder: bool) -> bool:
        """Whether the rules leave this file or folder out."""
        for depth, spec in self._rules:
            path = "/".join(located.parts[depth:]) + ("/" if is_folder else "")
            verdict = spec.check_file(path).include
            if verdict is not None:
                return verdict
        return False


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # git passes over a line that is no pattern, and so do we
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _lines(located: Located) -> list[str]:
    try:
        content = read_file(located, max_bytes=_MAX_BYTES)
    except DataMindError:
        return []
    return content.decode("utf-8-sig", "surrogateescape").splitlines()
