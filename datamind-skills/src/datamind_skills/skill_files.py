"""Skills in folders: found, read and listed without following a link, and cached by what ``stat`` says."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from datamind.capabilities.ingest.files import Located, printable, read_file, walk
from datamind.core.errors import DataMindError, LimitExceeded
from datamind.core.types import content_hash
from datamind_skills.skill_format import SkillHeader, read_skill

FILE_NAME: Final = "SKILL.md"
MAX_FILE_BYTES: Final = 1 << 20
MAX_SKILLS: Final = 1_000
"""Per root; what lies beyond is reported, not read."""

MAX_BUNDLED_FILES: Final = 500
_LINK = "a symbolic link is not followed; name the folder it points into in extra_dirs"
_SETTLED_NS = 100_000_000
"""A file changed less than this ago is read again: its next change could carry the same time stamp."""


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """A folder of skill folders; ``shown_as`` is how a location in it begins."""

    path: Path
    writable: bool
    shown_as: str


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One SKILL.md that was read; the body was not kept."""

    root: SkillRoot
    folder: str
    header: SkillHeader
    checksum: str

    @property
    def location(self) -> str:
        """Where it is, relative to the profile's data folder where it lies inside it."""
        return f"{self.root.shown_as}/{printable(self.folder)}/{FILE_NAME}"


@dataclass(frozen=True, slots=True)
class BrokenSkill:
    """A folder that is no skill, and why."""

    location: str
    message: str


@dataclass(frozen=True, slots=True)
class SkillScan:
    """What the roots hold now: skills by name, in the order of the names, and everything else."""

    skills: dict[str, SkillFile]
    problems: tuple[BrokenSkill, ...]


def read_skill_file(root: Path, folder: str) -> bytes:
    """The bytes of one SKILL.md, opened by descriptor and never through a link below ``root``.

    Raises:
        PathDenied: A link, a file with several hard links, or anything that is no plain file.
        NotFound: There is none.
        LimitExceeded: More than 1 MiB, by what was read and not by what ``stat`` promised.
    """
    try:
        return read_file(Located(root.resolve(), (folder, FILE_NAME)), max_bytes=MAX_FILE_BYTES)
    except LimitExceeded:
        raise LimitExceeded(f"{FILE_NAME} has more than {MAX_FILE_BYTES} bytes") from None


def bundled_files(root: Path, folder: str) -> tuple[tuple[str, int], ...]:
    """Files beside SKILL.md with their sizes, by name; hidden ones and links are left out, at most 500."""
    found: list[tuple[str, int]] = []
    try:
        for located in islice(walk(Located(root.resolve(), (folder,))), MAX_BUNDLED_FILES):
            name = "/".join(located.parts[1:])
            if name != FILE_NAME:
                found.append((printable(name), located.path.lstat().st_size))
    except (OSError, DataMindError):  # what vanishes meanwhile is not listed
        return tuple(found)
    return tuple(found)


def _entries(path: Path) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)


class SkillLibrary:
    """Reads skills from roots, first root first. Not for use by two threads at once."""

    def __init__(self, roots: tuple[SkillRoot, ...]) -> None:
        self.roots = roots
        self._cache: dict[Path, tuple[tuple[int, ...], SkillFile | BrokenSkill]] = {}

    def scan(self) -> SkillScan:
        """What is there now; only files whose ``stat`` changed are read."""
        skills: dict[str, SkillFile] = {}
        problems: list[BrokenSkill] = []
        seen: set[Path] = set()
        for item in self._items(seen):
            if isinstance(item, BrokenSkill):
                problems.append(item)
            elif first := skills.get(item.header.name):
                message = f"skill {item.header.name!r} is already defined by {first.location}; rename one of them"
                problems.append(BrokenSkill(item.location, message))
            else:
                skills[item.header.name] = item
        self._cache = {path: entry for path, entry in self._cache.items() if path in seen}
        return SkillScan(dict(sorted(skills.items())), tuple(problems))

    def _items(self, seen: set[Path]) -> Iterator[SkillFile | BrokenSkill]:
        for root in self.roots:
            try:
                entries = _entries(root.path)
            except FileNotFoundError:
                if not root.writable:
                    yield BrokenSkill(root.shown_as, "the folder does not exist")
                continue
            except OSError as error:
                yield BrokenSkill(root.shown_as, f"the folder cannot be read: {error.strerror}")
                continue
            for entry in entries[:MAX_SKILLS]:
                seen.add(root.path / entry.name)
                if item := self._item(root, entry):
                    yield item
            if len(entries) > MAX_SKILLS:
                yield BrokenSkill(root.shown_as, f"only the first {MAX_SKILLS} of {len(entries)} entries are read")

    def _item(self, root: SkillRoot, entry: os.DirEntry[str]) -> SkillFile | BrokenSkill | None:
        location = f"{root.shown_as}/{printable(entry.name)}"
        if entry.is_symlink():
            return BrokenSkill(location, _LINK)
        if not entry.is_dir(follow_symlinks=False):
            return None
        path = root.path / entry.name
        try:
            state = (path / FILE_NAME).lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            return BrokenSkill(location, f"it cannot be read: {error.strerror}")
        if stat.S_ISLNK(state.st_mode):
            return BrokenSkill(f"{location}/{FILE_NAME}", _LINK)
        signature = (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)
        cached = self._cache.get(path)
        if cached is not None and cached[0] == signature:
            return cached[1]
        item = _read(root, entry.name, f"{location}/{FILE_NAME}")
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > _SETTLED_NS:
            self._cache[path] = (signature, item)
        return item


def _read(root: SkillRoot, folder: str, location: str) -> SkillFile | BrokenSkill:
    try:
        content = read_skill_file(root.path, folder)
        header, _ = read_skill(content, folder)
    except DataMindError as error:
        return BrokenSkill(location, str(error))
    return SkillFile(root, folder, header, content_hash(content))
