"""What an operation of an engine is given, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from io import FileIO
from typing import Any, NamedTuple, TypeAlias

Payload: TypeAlias = bytes | bytearray | memoryview
"""Bytes that cross as they are; Arrow IPC is just bytes."""


class EngineRequest(NamedTuple):
    """What an operation is called with.

    Attributes:
        args: JSON values.
        payloads: Read-only, as they were sent.
        files: One for each descriptor that was passed, open for reading; closed when the operation has ended.
            The offset is shared with the sender.
    """

    args: Mapping[str, Any]
    payloads: tuple[memoryview, ...] = ()
    files: tuple[FileIO, ...] = ()


class EngineReply(NamedTuple):
    """An answer, or one part of it.

    Attributes:
        value: A JSON value without NaN, infinities or lone surrogates; 256 KiB at most, so large results are payloads.
        payloads: Memoryviews when received.
    """

    value: Any = None
    payloads: tuple[Payload, ...] = ()
