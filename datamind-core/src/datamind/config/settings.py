"""Settings: the sections, filled from call, flags, environment, profile file and defaults."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

from datamind.config.catalogue import section_types
from datamind.config.mistakes import SectionInvalid, join_lines
from datamind.config.profile import Profile
from datamind.config.redaction import redact_value, secrets_in
from datamind.config.sections import DataSettings, Section, Sections
from datamind.config.sources import Entry, Origin, SourceReader
from datamind.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """One setting as it holds, and where it was set.

    Attributes:
        value: JSON-like; a secret is masked.
        where: Variable name or file path; empty for a call, a flag and a default.
    """

    key: str
    value: Any
    origin: Origin
    where: str


class Settings(Sections):
    """Every setting, immutable, checked as a whole.

    A value is taken, key by key, from the first place that has it: the call, the flags, the environment, ``.env`` in
    the working directory, ``data/profiles/<profile>/datamind.toml``, the default. ``data.profile`` and
    ``data.base_dir`` decide which profile file that is. An empty variable is not set; an empty value elsewhere is none.

    Raises:
        ConfigError: Settings that do not exist or do not hold; one line per mistake, never the value of a secret.
    """

    _sources: dict[str, tuple[Origin, str]] = PrivateAttr(default_factory=dict)

    def __init__(self, *, _flags: Mapping[str, str] | None = None, **call: Section | Mapping[str, Any]) -> None:
        reader = SourceReader()
        entries = _gather(reader, call, _flags or {})
        super().__init__(**_sections(entries, reader.mistakes))
        self._sources = {key: (entry.origin, entry.where) for key, entry in entries.items()}

    @classmethod
    def load(cls, flags: Mapping[str, str], **call: Section | Mapping[str, Any]) -> Settings:
        """Settings with the flags of a command line, by dotted key, between call and environment."""
        return cls(_flags=flags, **call)

    def for_profile(self, profile: Profile) -> Settings:
        """The same call, flags and environment over another profile, with the file that this one has."""
        call: dict[str, dict[str, Any]] = {"data": {"profile": profile.name, "base_dir": profile.base_dir}}
        for key, value in self._values():
            section, name, *option = key.split(".", 2)
            if section != "data" and self._sources.get(key, (Origin.DEFAULT, ""))[0] in (Origin.CALL, Origin.FLAG):
                table = call.setdefault(section, {})
                if option:
                    table.setdefault(name, {})[option[0]] = value
                else:
                    table[name] = value
        return Settings(**call)

    def origins(self) -> list[SettingOrigin]:
        """Every setting in the order of the documentation, each option of a provider by its own key."""
        return [self._origin(key, value) for key, value in self._values()]

    def secrets(self) -> frozenset[str]:
        """Every secret value that is set, for a redactor to hide."""
        return frozenset(text for key, value in self._values() for text in secrets_in(key, value) if text)

    def _values(self) -> Iterator[tuple[str, Any]]:
        for section, kind in section_types().items():
            table = getattr(self, section)
            yield from ((f"{section}.{name}", getattr(table, name)) for name in kind.model_fields if name != "options")
            yield from ((f"{section}.options.{name}", value) for name, value in getattr(table, "options", {}).items())

    def _origin(self, key: str, value: Any) -> SettingOrigin:
        origin, where = self._sources.get(key, (Origin.DEFAULT, ""))
        return SettingOrigin(key, redact_value(key, value), origin, where)


def check_profile_tables(profile: Profile, tables: Mapping[str, Any]) -> None:
    """Checks what a profile file is about to hold, with defaults for everything else.

    Raises:
        ConfigError: As for ``Settings``.
    """
    reader = SourceReader()
    _sections(_first_of([reader.profile_tables(profile, tables)]), reader.mistakes)


def _gather(reader: SourceReader, call: Mapping[str, Any], flags: Mapping[str, str]) -> dict[str, Entry]:
    upper = [
        reader.call(call),
        reader.flags(flags),
        reader.environment(os.environ),
        reader.dotenv(Path(".env")),
    ]
    entries = _first_of(upper)
    try:
        data = DataSettings(**_values_of("data", entries))
    except SectionInvalid:
        return entries  # reported with the other sections
    return _first_of([*upper, reader.profile_file(Profile(data.profile, data.base_dir))])


def _first_of(levels: Iterable[list[Entry]]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for level in levels:
        for entry in level:
            entries.setdefault(entry.key, entry)
    return entries


def _sections(entries: Mapping[str, Entry], mistakes: list[str]) -> dict[str, Section]:
    sections = {}
    for name, kind in section_types().items():
        try:
            sections[name] = kind(**_values_of(name, entries))
        except SectionInvalid as error:
            mistakes += [mistake.line(_place(mistake.key, entries)) for mistake in error.mistakes]
    if mistakes:
        raise ConfigError(join_lines(mistakes))
    return sections


def _values_of(section: str, entries: Mapping[str, Entry]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for entry in entries.values():
        owner, name, *option = entry.key.split(".", 2)
        if owner == section and option:
            values.setdefault(name, {})[option[0]] = entry.value
        elif owner == section:
            values[name] = entry.value
    return values


def _place(key: str, entries: Mapping[str, Entry]) -> str:
    return entries[key].place if key in entries else ""
