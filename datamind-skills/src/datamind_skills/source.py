"""The ``profile`` skill source: SKILL.md folders in the profile's data folder, and further folders to read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from datamind.capabilities.ingest.files import printable
from datamind.core.errors import (
    AccessDenied,
    Conflict,
    DataMindError,
    InputInvalid,
    LimitExceeded,
    PathDenied,
    StoreError,
)
from datamind.core.protocols.skills import Skill, SkillDraft, SkillHit, SkillProblem, SkillReader
from datamind.core.types import content_hash
from datamind_skills.skill_files import (
    MAX_FILE_BYTES,
    SkillFile,
    SkillLibrary,
    SkillRoot,
    SkillScan,
    bundled_files,
    read_skill_file,
)
from datamind_skills.skill_format import (
    MAX_DESCRIPTION_CHARS,
    SkillHeader,
    check_skill_name,
    clean_keywords,
    read_skill,
    write_skill,
)
from datamind_skills.skill_search import SCORE_MEANING, SkillIndex
from datamind_skills.skill_writer import remove_skill_file, write_skill_file

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext
    from datamind_skills.options import SkillSourceOptions

FOLDER: Final = "skills"
"""Folder of the profile's own skills, inside its data folder."""

T = TypeVar("T")


async def open_source(ctx: ProviderContext, options: SkillSourceOptions) -> ProfileSkillSource:
    """Open the source of one profile. Nothing is read or created before it is used."""
    own = SkillRoot(ctx.data_dir / FOLDER, writable=True, shown_as=FOLDER)
    extra = [ctx.data_dir / path.expanduser() for path in options.extra_dirs]
    roots = (own, *(SkillRoot(path, writable=False, shown_as=printable(str(path))) for path in extra))
    return ProfileSkillSource(roots)


class _Shelf:
    """Everything both views share. Work runs in a thread, one call at a time."""

    def __init__(self, roots: tuple[SkillRoot, ...]) -> None:
        self._library = SkillLibrary(roots)
        self._index = SkillIndex(_body_of)
        self._lock = threading.Lock()

    async def run(self, work: Callable[[SkillScan, SkillIndex], T]) -> T:
        return await asyncio.to_thread(self._locked, work)

    def _locked(self, work: Callable[[SkillScan, SkillIndex], T]) -> T:
        with self._lock:
            try:
                return work(self._library.scan(), self._index)
            except OSError as error:
                raise StoreError(f"the skills cannot be read or written: {error.strerror or error}") from error


class ProfileSkillReader:
    """The skills of a profile, to read. Holds no way to write."""

    def __init__(self, shelf: _Shelf) -> None:
        self._shelf = shelf

    async def skills(self) -> Sequence[Skill]:
        """All skills by name, without bodies."""
        return await self._shelf.run(lambda scan, _: [_skill(file) for file in scan.skills.values()])

    async def skill(self, name: str) -> Skill | None:
        """One skill with its body, or None."""

        def load(scan: SkillScan, _: SkillIndex) -> Skill | None:
            file = scan.skills.get(name)
            return None if file is None else _loaded(file)

        return await self._shelf.run(load)

    async def search(self, text: str, limit: int) -> Sequence[SkillHit]:
        """The best ``limit`` skills for the first 2,000 characters of ``text``.

        Raises:
            InputInvalid: ``limit`` is less than 1.
        """
        if limit < 1:
            raise InputInvalid(f"limit is {limit}", hint="Ask for at least one skill.")

        def rank(scan: SkillScan, index: SkillIndex) -> list[SkillHit]:
            return [
                SkillHit(skill=_skill(scan.skills[name]), score=score, score_meaning=SCORE_MEANING)
                for name, score in index.search(scan.skills, text, limit)
            ]

        return await self._shelf.run(rank)

    async def problems(self) -> Sequence[SkillProblem]:
        """What could not be read."""
        return await self._shelf.run(
            lambda scan, _: [SkillProblem(location=item.location, message=item.message) for item in scan.problems]
        )


class ProfileSkillSource(ProfileSkillReader):
    """The same skills, to read and write. Only the first root is written; a write is durable when its call returns."""

    def __init__(self, roots: tuple[SkillRoot, ...]) -> None:
        super().__init__(_Shelf(roots))
        self._root = roots[0].path

    async def put(self, draft: SkillDraft) -> bool:
        """Write a skill; front matter keys other than ours, and bundled files, stay as they are.

        Raises:
            InputInvalid: A name that is no plain folder name, or an empty description.
            LimitExceeded: More than 1 MiB in all, or too long a description.
            Conflict: The folder of that name holds another skill, or one that cannot be read.
        """
        wanted = _checked(draft)
        return await self._shelf.run(lambda scan, _: self._put(scan, wanted, draft.body))

    def _put(self, scan: SkillScan, wanted: SkillHeader, body: str) -> bool:
        old = scan.skills.get(wanted.name)
        others: tuple[tuple[object, object], ...] = ()
        if old is not None and old.root.writable:
            header, old_body = read_skill(read_skill_file(self._root, old.folder), old.folder)
            if (header, old_body) == (wanted, body):
                return False
            folder, others = old.folder, header.others
        else:
            folder = wanted.name
            _check_vacant(self._root, folder)
        header = SkillHeader(wanted.name, wanted.description, wanted.keywords, others)
        write_skill_file(self._root, folder, _content(header, body))
        return True

    async def remove(self, name: str) -> bool:
        """Remove a skill of the profile; bundled files stay.

        Raises:
            AccessDenied: The skill is in a folder that this source only reads.
        """

        def remove(scan: SkillScan, _: SkillIndex) -> bool:
            file = scan.skills.get(name)
            if file is None:
                return False
            if not file.root.writable:
                raise AccessDenied(f"skill {name!r} is in {file.root.shown_as}, which is only read")
            return remove_skill_file(self._root, file.folder)

        return await self._shelf.run(remove)

    def read_skill_file(self, content: bytes, folder: str) -> SkillDraft:
        """The skill in a SKILL.md file.

        Raises:
            SourceUnreadable: It is none.
            InputInvalid: A name that is not allowed.
        """
        header, body = read_skill(content, folder)
        return SkillDraft(name=header.name, description=header.description, body=body, keywords=header.keywords)

    def read_view(self) -> SkillReader:
        """The same skills without a way to write."""
        return ProfileSkillReader(self._shelf)

    async def sync(self) -> None:
        """Nothing is left to do: each write syncs its file and folders before it returns."""

    async def aclose(self) -> None:
        """Nothing is held open between calls."""


def _body_of(file: SkillFile) -> str:
    try:
        return read_skill(read_skill_file(file.root.path, file.folder), file.folder)[1]
    except DataMindError:  # it changed after the scan, and the next scan reports it
        return ""


def _loaded(file: SkillFile) -> Skill | None:
    try:
        content = read_skill_file(file.root.path, file.folder)
        header, body = read_skill(content, file.folder)
    except DataMindError:
        return None
    return _skill(replace(file, header=header, checksum=content_hash(content)), body=body)


def _skill(file: SkillFile, *, body: str = "") -> Skill:
    header = file.header
    return Skill(
        name=header.name,
        description=header.description,
        body=body,
        keywords=header.keywords,
        checksum=file.checksum,
        location=file.location,
        files=bundled_files(file.root.path, file.folder),
        writable=file.root.writable,
    )


def _checked(draft: SkillDraft) -> SkillHeader:
    name = check_skill_name(draft.name)
    description = draft.description.strip()
    if not description:
        raise InputInvalid(f"skill {name!r} has no description", hint="Say what it does and when to use it.")
    if len(description) > MAX_DESCRIPTION_CHARS:
        raise LimitExceeded(f"the description of skill {name!r} has more than {MAX_DESCRIPTION_CHARS} characters")
    return SkillHeader(name, description, clean_keywords(draft.keywords))


def _content(header: SkillHeader, body: str) -> bytes:
    try:
        content = write_skill(header, body)
    except UnicodeEncodeError:
        raise InputInvalid(
            f"skill {header.name!r} contains half a surrogate pair", hint="Send valid Unicode."
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise LimitExceeded(f"skill {header.name!r} has more than {MAX_FILE_BYTES} bytes")
    try:
        kept = read_skill(content, header.name) == (header, body)
    except DataMindError as error:
        raise InputInvalid(f"skill {header.name!r} cannot be written: {error}") from None
    if not kept:
        raise InputInvalid(f"skill {header.name!r} has characters that front matter cannot hold")
    return content


def _check_vacant(root: Path, folder: str) -> None:
    if (root / folder).is_symlink():
        raise PathDenied(f"folder {folder!r} of the skills is a symbolic link", code="path_denied.link")
    try:
        (root / folder / "SKILL.md").lstat()
    except FileNotFoundError:
        return
    raise Conflict(
        f"folder {folder!r} already holds another skill, or one that cannot be read", hint="See the problems list."
    )
