"""Names shared by every layer: surfaces, effects, roles and ids."""

from __future__ import annotations

import os
import re
import time
from enum import StrEnum
from hashlib import sha256
from typing import Final, Literal

Origin = Literal["user", "file", "derived"]
"""Where stored text came from. Only ``user`` text may become a long-term fact on its own."""

SHARED_PROFILE: Final = "_shared"
"""Reserved profile that holds global memories; no user can name it."""

_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DEVICE_NAMES = frozenset({"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)})
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_CROCKFORD_PAIRS = [one + other for one in _CROCKFORD for other in _CROCKFORD]
_PAIR_SHIFTS = range(120, -1, -10)


class DataSurface(StrEnum):
    """The five surfaces, and ``utility`` for tools that touch no data."""

    KB = "kb"
    DB = "db"
    GRAPH = "graph"
    SKILLS = "skills"
    MEMORY = "memory"
    UTILITY = "utility"


class ToolEffect(StrEnum):
    """What a tool does to the world; access follows from it."""

    PURE = "pure"
    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class ToolAccess(StrEnum):
    """What a role must hold to call a tool."""

    READ = "read"
    WRITE = "write"
    UTILITY = "utility"

    @classmethod
    def of(cls, effect: ToolEffect) -> ToolAccess:
        """The one mapping from effect to access."""
        return _ACCESS_OF[effect]


_ACCESS_OF: Final = {
    ToolEffect.PURE: ToolAccess.UTILITY,
    ToolEffect.READ: ToolAccess.READ,
    ToolEffect.WRITE: ToolAccess.WRITE,
    ToolEffect.DESTRUCTIVE: ToolAccess.WRITE,
}


class Role(StrEnum):
    """The two agents. A role is fixed when its agent is built."""

    STORE = "store"
    RETRIEVE = "retrieve"

    @property
    def access(self) -> frozenset[ToolAccess]:
        """What this role may call; the two sets are disjoint."""
        return _ROLE_ACCESS[self]


_ROLE_ACCESS: Final = {
    Role.STORE: frozenset({ToolAccess.WRITE}),
    Role.RETRIEVE: frozenset({ToolAccess.READ, ToolAccess.UTILITY}),
}


def is_profile_name(name: str) -> bool:
    """Whether a user may name a profile so: ``[a-z0-9][a-z0-9_-]{0,63}``, no device name of any system."""
    return _PROFILE.fullmatch(name) is not None and name not in _DEVICE_NAMES


def _base32(value: int, length: int) -> str:
    return "".join(_CROCKFORD[(value >> (5 * i)) & 31] for i in reversed(range(length)))


def new_id(kind: str) -> str:
    """A fresh id ``<kind>_<26 characters>``: 48 bits of milliseconds, then 80 random bits; sorts by time."""
    milliseconds = time.time_ns() // 1_000_000
    return f"{kind}_{_base32(milliseconds, 10)}{_base32(int.from_bytes(os.urandom(10)), 16)}"


def derived_id(kind: str, *parts: str) -> str:
    """The id that always follows from ``parts``; what makes redoing a write idempotent."""
    framed = "".join([f"{len(part)}:{part}" for part in parts])
    digest = sha256(framed.encode("utf-8", "surrogatepass")).digest()
    # The first 130 bits in 26 characters, two at a time: of large files there are many chunks.
    bits = int.from_bytes(digest[:17]) >> 6
    return f"{kind}_{''.join([_CROCKFORD_PAIRS[bits >> shift & 1023] for shift in _PAIR_SHIFTS])}"


def content_hash(content: bytes | str) -> str:
    """SHA-256 of the bytes (text as UTF-8), in hex."""
    return sha256(content.encode("utf-8") if isinstance(content, str) else content).hexdigest()
