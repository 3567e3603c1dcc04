"""Which plugins are installed, and which of them the environment lets in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from datamind.core.errors import ConfigError
from datamind.plugins.records import CORE_PLUGIN, PluginRecord, PluginState

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

ENTRY_POINT_GROUP: Final = "datamind"
ALLOW_VARIABLE: Final = "DATAMIND_PLUGINS"
BLOCK_VARIABLE: Final = "DATAMIND_PLUGINS_BLOCK"
STRICT_VARIABLE: Final = "DATAMIND_PLUGINS_STRICT"
CORE_DISTRIBUTION: Final = "datamind-core"

_UNKNOWN: Final = "unknown distribution"
_SWITCH: Final = {"": False, "0": False, "false": False, "1": True, "true": True}


def normalized(distribution: str) -> str:
    """The name by which two spellings of a distribution are one (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def record_of(entry: EntryPoint) -> PluginRecord:
    """The record of an entry point before it is loaded."""
    if entry.dist is None:
        return PluginRecord(entry.name, _UNKNOWN, "")
    return PluginRecord(entry.name, *_identity(entry.dist))


def _identity(distribution: Distribution) -> tuple[str, str]:
    try:
        return distribution.name or _UNKNOWN, distribution.version or ""
    except Exception:  # metadata of a damaged installation; its plugin is still worth a row
        return _UNKNOWN, ""


def installed_entry_points(path: Sequence[str] | None = None) -> tuple[list[EntryPoint], list[PluginRecord]]:
    """Read every entry point of the group, and a record for each distribution whose file is unreadable.

    ``importlib.metadata.entry_points()`` raises as a whole when one distribution's file is malformed, so each is
    read alone. The first distribution of a name on ``path`` (default ``sys.path``) hides later ones, as for imports.
    """
    from importlib import metadata  # 27 ms, not needed to declare a plugin

    found: list[EntryPoint] = []
    unreadable: list[PluginRecord] = []
    seen: set[str] = set()
    for distribution in metadata.distributions() if path is None else metadata.distributions(path=list(path)):
        try:
            entries = _entries_of(distribution)
            name = normalized(_identity(distribution)[0]) if entries else ""
        except Exception as error:
            unreadable.append(_unreadable(distribution, error))
            continue
        if entries and name not in seen:
            seen.add(name)
            found.extend(entries)
    return found, unreadable


def _entries_of(distribution: Distribution) -> list[EntryPoint]:
    text = distribution.read_text("entry_points.txt")
    if text is None or f"[{ENTRY_POINT_GROUP}]" not in text:  # spares parsing the files of every other distribution
        return []
    return list(distribution.entry_points.select(group=ENTRY_POINT_GROUP))


def _unreadable(distribution: Distribution, error: Exception) -> PluginRecord:
    name, version = _identity(distribution)
    cause = f"its entry_points.txt is unreadable: {type(error).__name__}: {error}"
    return PluginRecord(name, name, version, PluginState.FAILED, cause)


def core_plugin() -> tuple[EntryPoint, PluginRecord]:
    """Core's own plugin. Named here and not in metadata, so that no installation lacks it."""
    from importlib import metadata

    entry = metadata.EntryPoint(CORE_PLUGIN, "datamind.plugins.builtin", ENTRY_POINT_GROUP)
    try:
        version = metadata.version(CORE_DISTRIBUTION)
    except metadata.PackageNotFoundError:  # run from a source tree
        version = ""
    return entry, PluginRecord(CORE_PLUGIN, CORE_DISTRIBUTION, version)


@dataclass(frozen=True, slots=True)
class PluginPolicy:
    """What the environment allows.

    Attributes:
        allow: Entry point names that may load besides core; None for all.
        block: Names that may not, even when allowed.
        strict: Whether a broken plugin is an error at once, instead of a warning.
    """

    allow: frozenset[str] | None = None
    block: frozenset[str] = frozenset()
    strict: bool = False

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> PluginPolicy:
        """Read the three variables; names are separated by commas or spaces, an empty value counts as unset.

        Raises:
            ConfigError: ``DATAMIND_PLUGINS_STRICT`` is not 0 or 1.
        """
        switch = environ.get(STRICT_VARIABLE, "").strip()
        if switch.lower() not in _SWITCH:
            raise ConfigError(f"{STRICT_VARIABLE}={switch!r:.40} is not 0 or 1.", hint="Set it to 1, or unset it.")
        allow = _names(environ.get(ALLOW_VARIABLE, ""))
        return cls(allow or None, _names(environ.get(BLOCK_VARIABLE, "")), _SWITCH[switch.lower()])

    def refusal(self, name: str) -> str:
        """Why a plugin may not load; empty if it may."""
        if name in self.block:
            return f"named in {BLOCK_VARIABLE}"
        if self.allow is not None and name not in self.allow:
            return f"not named in {ALLOW_VARIABLE}"
        return ""

    def unmatched(self, installed: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield each variable with a name in it that no installed plugin has, in alphabetical order."""
        known = {CORE_PLUGIN, *installed}
        for variable, names in ((ALLOW_VARIABLE, self.allow or frozenset()), (BLOCK_VARIABLE, self.block)):
            for name in sorted(names - known):
                yield variable, name


def _names(value: str) -> frozenset[str]:
    return frozenset(re.split(r"[,\s]+", value.strip())) - {""}
