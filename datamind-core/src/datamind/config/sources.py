"""The five places a setting can come from, each read into entries of one dotted key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from datamind.config.catalogue import (
    ENVIRONMENT_PREFIX,
    environment_name,
    is_known,
    is_options_table,
    known_keys,
    nearest_key,
    section_types,
    unknown_key_text,
)
from datamind.config.fields import parse_options
from datamind.config.mistakes import Mistake
from datamind.config.profile import Profile
from datamind.config.sections import Section
from datamind.config.toml import read_toml
from datamind.core.errors import ConfigError

SHORT_NAMES: Final = {
    "DATAMIND_PLUGINS": "plugins.allow",
    "DATAMIND_PLUGINS_BLOCK": "plugins.block",
    "DATAMIND_PLUGINS_STRICT": "plugins.strict",
}
VENDOR_VARIABLES: Final = {
    "ANTHROPIC_API_KEY": "llm.api_key",
    "ANTHROPIC_AUTH_TOKEN": "llm.api_key",
    "ANTHROPIC_BASE_URL": "llm.api_base",
    "OPENAI_API_KEY": "llm.api_key",
    "OPENAI_BASE_URL": "llm.api_base",
}
"""Variables of model vendors, and the setting each would be; never read as settings."""


class Origin(StrEnum):
    """Where a value comes from, highest first."""

    CALL = "call"
    FLAG = "flag"
    ENVIRONMENT = "env"
    DOTENV = ".env"
    PROFILE_FILE = "profile file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of one key, such as ``llm.model`` or ``kb.options.path``.

    Attributes:
        where: Variable name or file path; empty where the origin says it all.
    """

    key: str
    value: Any = field(repr=False)
    origin: Origin
    where: str = ""

    @property
    def place(self) -> str:
        """Where it was set, for a message."""
        return self.where or {Origin.CALL: "in the call", Origin.FLAG: "on the command line"}.get(self.origin, "")


class SourceReader:
    """Reads sources and collects every mistake on the way, so that all are reported at once."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []

    def call(self, sections: Mapping[str, Any]) -> list[Entry]:
        """Keyword arguments of ``Settings``: a mapping or a section object each."""
        tables = {name: _explicit(table) if isinstance(table, Section) else table for name, table in sections.items()}
        return list(self._tables(tables, Origin.CALL, ""))

    def flags(self, flags: Mapping[str, str]) -> list[Entry]:
        """Dotted keys of the command line."""
        return [entry for key, text in flags.items() for entry in self._entries(Entry(key, text, Origin.FLAG))]

    def environment(self, variables: Mapping[str, str | None], dotenv: Path | None = None) -> list[Entry]:
        """Variables of the process, or of a ``.env`` file; an empty one is not set."""
        origin = Origin.DOTENV if dotenv else Origin.ENVIRONMENT
        found: dict[str, Entry] = {}
        for name, text in variables.items():
            # A secret that was mounted from a file often ends in a line break.
            value = (text or "").strip()
            if not value or not (key := self._key_of_variable(name)):
                continue
            where = f"{name} in {dotenv}" if dotenv else name
            for entry in self._entries(Entry(key, value, origin, where)):
                if entry.key in found:
                    self.mistakes.append(f"{found[entry.key].where} and {where} set the same key; remove one.")
                found[entry.key] = entry
        return list(found.values())

    def dotenv(self, path: Path) -> list[Entry]:
        """The ``.env`` file, if there is one; variables that are not ours are left alone."""
        try:
            return self.environment(_read_dotenv(path), path.absolute()) if path.is_file() else []
        except (OSError, UnicodeDecodeError) as error:
            self.mistakes.append(f"{path} cannot be read ({error}); save it as UTF-8, readable by you.")
            return []

    def profile_file(self, profile: Profile) -> list[Entry]:
        """``datamind.toml`` of the profile, if there is one."""
        try:
            return self.profile_tables(profile, read_toml(profile.settings_file))
        except ConfigError as error:
            self.mistakes.append(str(error))
            return []

    def profile_tables(self, profile: Profile, tables: Mapping[str, Any]) -> list[Entry]:
        """What ``datamind.toml`` holds, or is about to hold."""
        entries = list(self._tables(tables, Origin.PROFILE_FILE, str(profile.settings_file)))
        for entry in entries:
            if entry.key in ("data.profile", "data.base_dir"):
                text = f"cannot be set in a profile file, which is found by it; use {environment_name(entry.key)}"
                self._report(entry, text)
        return entries

    def _tables(self, tables: Mapping[str, Any], origin: Origin, where: str) -> Iterator[Entry]:
        for section, table in tables.items():
            if section not in section_types():
                self._report(Entry(section, None, origin, where), unknown_key_text(section))
            elif not isinstance(table, Mapping):
                self._report(Entry(section, None, origin, where), "must be a table of settings")
            else:
                for name, value in table.items():
                    yield from self._entries(Entry(f"{section}.{name}", value, origin, where))

    def _entries(self, entry: Entry) -> list[Entry]:
        if not is_known(entry.key):
            self._report(entry, unknown_key_text(entry.key))
            return []
        if not is_options_table(entry.key):
            return [entry]
        try:
            options = parse_options(entry.value)
        except ValueError as error:
            self._report(entry, str(error))
            return []
        if not isinstance(options, Mapping):
            self._report(entry, "must be a table of options")
            return []
        return [Entry(f"{entry.key}.{name}", value, entry.origin, entry.where) for name, value in options.items()]

    def _report(self, entry: Entry, text: str) -> None:
        self.mistakes.append(Mistake(entry.key, "", text).line(entry.place))

    def _key_of_variable(self, name: str) -> str | None:
        upper = name.upper()
        if upper in SHORT_NAMES:
            return SHORT_NAMES[upper]
        if not upper.startswith(ENVIRONMENT_PREFIX):
            if upper.startswith("DATAMIND") and (meant := _names_by_letters().get(_letters(upper))):
                self.mistakes.append(f"{name} is not read; did you mean {meant}?")
            return None
        key = ".".join(upper.removeprefix(ENVIRONMENT_PREFIX).lower().split("__", 2))
        if is_known(key):
            return key
        nearest = nearest_key(key)
        text = f"is not a setting; did you mean {environment_name(nearest)}?" if nearest else unknown_key_text(key)
        self.mistakes.append(Mistake(name, "", text).line(""))
        return None


def _read_dotenv(path: Path) -> dict[str, str | None]:
    from dotenv import dotenv_values

    # No interpolation: a key may hold a dollar sign.
    return dotenv_values(path, interpolate=False)


def _explicit(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in section.model_fields_set}


def _letters(name: str) -> str:
    return name.replace("_", "")


@cache
def _names_by_letters() -> dict[str, str]:
    return {_letters(name): name for name in map(environment_name, known_keys())}


def seen_vendor_variables() -> list[str]:
    """Variables of model vendors that are set here, for a person to be asked about; DataMind reads none of them."""
    return [name for name in VENDOR_VARIABLES if os.environ.get(name, "").strip()]
