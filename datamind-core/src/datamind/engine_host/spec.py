"""What an engine is, and what its child process may use."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from datamind.core.errors import ConfigError

# Without these an interpreter may not start, or reads text and clocks as its parent does not.
_PASSED: Final = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_NEVER: Final = re.compile(r"(key|token|secret|password|passwd|credentials?|dsn)$|^datamind__", re.IGNORECASE)

# In the child, `sys.path` is that of its parent: what was imported here is found there, and nothing else.
_START: Final = (
    "import sys; descriptor, parent, *sys.path = sys.argv[1:]; sys.argv = ['datamind-engine']; "
    "from datamind.engine_host.child import main; main(int(descriptor), int(parent))"
)


@dataclass(frozen=True)
class EngineLimits:
    """Bounds the system enforces on the child, set before the engine is imported; ``None`` leaves one off.

    Attributes:
        address_space_bytes: Reserved memory counts, not only what is used: each thread takes some 72 MB of it.
            Not enforced by macOS.
        cpu_s: Of the child's whole life, so for engines that are thrown away after a call.
        file_bytes: The largest file it may write.
        open_files: Descriptors.
    """

    address_space_bytes: int | None = 2 * 1024**3
    cpu_s: int | None = None
    file_bytes: int | None = None
    open_files: int | None = 256


@dataclass(frozen=True)
class EngineSpec:
    """How to start an engine.

    Attributes:
        name: For messages and logs.
        factory: ``"module:attr"`` of ``factory(options)``, imported in the child alone. It returns an object whose
            ``operations`` maps each name that may be called to ``operation(EngineRequest)``, which returns an
            EngineReply or a JSON value; a generator of these is a stream. ``close``, if listed, flushes: it is
            called before an orderly end, never before a kill.
        options: JSON values; they may hold secrets, for they are never in process arguments, environment or logs.
        limits: What the child may use.
        environment: Variables to add, such as ``MALLOC_ARENA_MAX``. The child gets these and seven named ones.
        max_frame_bytes: Of one request, and of one answer that is no stream.
        start_s: For the child to start and the factory to return.
        close_s: For the ``close`` operation and the end of the child; then it is killed.
        idle_s: Close the child after so long without work; ``None`` keeps it.

    Raises:
        ConfigError: ``environment`` names what looks like a secret.
    """

    name: str
    factory: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    limits: EngineLimits = EngineLimits()
    environment: Mapping[str, str] = field(default_factory=dict)
    max_frame_bytes: int = 64 * 1024**2
    start_s: float = 30.0
    close_s: float = 10.0
    idle_s: float | None = None

    def __post_init__(self) -> None:
        for name in self.environment:
            if _NEVER.search(name):
                raise ConfigError(f"engine {self.name!r}: {name!r} is not passed to a child", hint="Use `options`.")


def child_environment(spec: EngineSpec) -> dict[str, str]:
    """Every variable the child has."""
    return {name: os.environ[name] for name in _PASSED if name in os.environ} | dict(spec.environment)


def child_command(descriptor: int) -> list[str]:
    """The command that starts a child whose channel is ``descriptor``."""
    paths = [os.path.abspath(path) for path in sys.path]  # noqa: PTH100 - "" is the working directory
    return [sys.executable, "-I", "-X", "utf8", "-c", _START, str(descriptor), str(os.getpid()), *paths]
