"""What the host knows about one installed plugin."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CORE_PLUGIN: Final = "core"
"""The plugin that holds core's own registrations: always first, never blocked, its name never taken."""


class PluginState(StrEnum):
    """How loading ended. Only ``ok`` contributes anything."""

    OK = "ok"
    BLOCKED = "blocked"
    DUPLICATE = "duplicate"
    INCOMPATIBLE = "incompatible"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PluginRecord:
    """One row of ``datamind plugins``.

    Attributes:
        name: Entry point name; what ``DATAMIND_PLUGINS`` and ``DATAMIND_PLUGINS_BLOCK`` refer to.
        cause: Why it is not ``ok``, on one line; empty when it is.
        traceback: The whole traceback of a ``failed`` plugin, else empty.
    """

    name: str
    distribution: str
    version: str
    state: PluginState = PluginState.OK
    cause: str = ""
    traceback: str = ""

    @property
    def label(self) -> str:
        """``<distribution> <version>``, as errors name it."""
        return f"{self.distribution} {self.version}".strip()

    @property
    def is_broken(self) -> bool:
        """Whether it should have worked and does not; a blocked plugin is not broken."""
        return self.state not in (PluginState.OK, PluginState.BLOCKED)

    def is_same_plugin(self, other: PluginRecord) -> bool:
        """Whether both speak of one plugin, whatever its state was then."""
        return (self.name, self.distribution) == (other.name, other.distribution)

    def __str__(self) -> str:
        state = self.state if self.state is PluginState.FAILED else f"is {self.state}"
        line = f"plugin {self.name!r} of {self.label} {state}"
        return f"{line}: {self.cause}" if self.cause else line
