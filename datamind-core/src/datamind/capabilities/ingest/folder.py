"""What is in a folder: the files each surface takes, and what is passed over, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from datamind.capabilities.ingest.files import EntryKind, Located, PathPolicy, entries, printable
from datamind.capabilities.ingest.ignoring import Ignored, is_junk
from datamind.capabilities.ingest.routing import SKILL_FILE, surface_of
from datamind.core.errors import DataMindError, NotFound
from datamind.core.receipts import SkippedFile
from datamind.core.types import DataSurface

SETTINGS_FILE: Final = "datamind.toml"


@dataclass(slots=True)
class Survey:
    """A folder as it was found.

    Attributes:
        files: By surface, in the order of their names; a folder that cannot be opened stands among the documents, for
            whoever reads it is told why.
        skipped: Everything else; a folder that was passed over stands for all that is in it.
    """

    top: Located
    files: dict[DataSurface, list[Located]] = field(default_factory=dict)
    skipped: list[tuple[Located, str]] = field(default_factory=list)

    def of(self, surface: DataSurface) -> list[Located]:
        """The files a surface takes."""
        return self.files.get(surface, [])

    def everything(self) -> Iterator[Located]:
        """All that exists, whether it is stored or not."""
        for files in self.files.values():
            yield from files
        yield from (located for located, _ in self.skipped)

    def told(self, located: Located, code: str) -> SkippedFile:
        """One thing that was passed over, as a result shows it."""
        inside = located.parts[len(self.top.parts) :]
        return SkippedFile(path=printable("/".join(inside) or located.path), code=code)


def survey(top: Located, policy: PathPolicy) -> Survey:
    """Look through a folder. Links are never followed, so there are no loops. Blocking.

    Raises:
        PathDenied: The folder itself cannot be opened.
        NotFound: There is no such folder.
    """
    look = _Look(Survey(top), policy)
    waiting = look.inside(top, entries(top), Ignored(), None)
    while waiting:
        waiting += look.at(waiting.pop())
    return look.found


@dataclass(frozen=True, slots=True)
class _Entry:
    """Something in a folder, with the rules that hold there; ``skill`` is the skill that the folder belongs to."""

    located: Located
    kind: EntryKind
    rules: Ignored
    skill: Located | None


@dataclass(slots=True)
class _Look:
    found: Survey
    policy: PathPolicy

    def inside(
        self, folder: Located, listed: list[tuple[Located, EntryKind]], rules: Ignored, skill: Located | None
    ) -> list[_Entry]:
        """What a folder holds, last name first."""
        names = [located.parts[-1] for located, _ in listed]
        rules = rules.within(folder, names)
        skill = skill or (folder if SKILL_FILE in names else None)
        return [_Entry(located, kind, rules, skill) for located, kind in reversed(listed)]

    def at(self, entry: _Entry) -> list[_Entry]:
        """Note an entry down; a folder gives what is in it."""
        code = self._reason(entry)
        if code:
            self.found.skipped.append((entry.located, code))
        elif entry.kind == "folder":
            return self._opened(entry)
        elif surface := surface_of(entry.located):
            self.found.files.setdefault(surface, []).append(entry.located)
        else:
            self.found.skipped.append((entry.located, "skipped.no_loader"))
        return []

    def _opened(self, entry: _Entry) -> list[_Entry]:
        try:
            return self.inside(entry.located, entries(entry.located), entry.rules, entry.skill)
        except NotFound:  # it has vanished meanwhile
            return []
        except DataMindError:
            self.found.files.setdefault(DataSurface.KB, []).append(entry.located)
            return []

    def _reason(self, entry: _Entry) -> str:
        """Why an entry is passed over; empty for one that is not."""
        located, is_folder = entry.located, entry.kind == "folder"
        name = located.parts[-1]
        if name.startswith("."):
            return "skipped.hidden"
        if entry.kind in ("link", "special"):
            return f"skipped.{entry.kind}"
        # A folder may hold the stores and the settings of profiles, as the working folder does.
        if any(located.path.is_relative_to(store) for store in self.policy.forbidden):
            return "skipped.storage"
        if name == SETTINGS_FILE:
            return "skipped.settings"
        if is_junk(name, is_folder=is_folder):
            return "skipped.junk"
        if entry.rules.covers(located, is_folder=is_folder):
            return "skipped.ignored"
        is_own = entry.skill is None or (located.parts[:-1] == entry.skill.parts and name == SKILL_FILE)
        return "" if is_own or is_folder else "skipped.bundled"
